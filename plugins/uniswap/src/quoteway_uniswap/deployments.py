"""The contracts of Uniswap and its forks on a network, as rows of data.

A row is a mapping from a network's ``deployments["uniswap"]`` or from ``[plugin.uniswap]
deployments``::

    {
        "protocol": "uniswap",                  # shown in routes; one row per protocol and network
        "router": "0x66a9...", "router_version": "2.0",
        "wrapped_native": "0xC02a...",          # default: the network's
        "base_tokens": ["0xA0b8..."],           # tokens that routes may pass through
        "priority_fee_wei": 100000000,          # tip assumed on top of the base fee when gas is priced
        "usd_tokens": ["0xA0b8..."],            # tokens that count as a US dollar for prices
        "v2": {"factory": "0x5C69...", "init_code_hash": "0x96e8...", "fee": [997, 1000],
               "protocol_share": [1, 6],        # the protocol's part of fees where the factory has feeTo
               "router": "0x7a25..."},          # UniswapV2Router02, for liquidity
        "v3": {"factory": "0x1F98...", "init_code_hash": "0xe34f...", "fees": [[500, 10], [3000, 60]],
               "position_manager": "0xC364..."},  # NonfungiblePositionManager, for liquidity
        "v4": {"pool_manager": "0x0000...", "fees": [[500, 10], [3000, 60]],
               "position_manager": "0xbD21...",   # PositionManager, for liquidity
               "since_block": 21688329},        # the block of the first v4 event
        "v4_known_pools": [
            {"currency0": "0x...", "currency1": "0x...", "fee": 100, "tick_spacing": 1, "hooks": "0x..."}
        ],
    }

A row with ``router_kind`` is a fork with a router of its own: see ``forks``.

``v2``, ``v3`` and ``v4`` are optional. Members default to Uniswap's values where these are the same on every
chain. Without a router or position manager a version's pools are listed and traded, but liquidity cannot be
added or removed. A router only uses pools of its own factories, so a path never mixes rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from quoteway import NATIVE, Address, ConfigError, Network
from quoteway.evm import permit2
from quoteway.evm.address import parse_address
from quoteway.evm.calls.router_commands import dialect
from quoteway_router.venue import PRIORITY_FEE_WEI

V2_PAIR_INIT_CODE_HASH = "0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f"
V3_POOL_INIT_CODE_HASH = "0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54"
_SWAP_DELTA_HOOKS = 0b1100
"""v4-core Hooks: BEFORE_SWAP_RETURNS_DELTA_FLAG and AFTER_SWAP_RETURNS_DELTA_FLAG."""

FEE_TIERS = ((100, 1), (500, 10), (3000, 60), (10000, 200))
"""(fee in pips, tick spacing): the tiers of v3, and of almost all v4 pools without hooks."""
PROVIDER_ID = "uniswap"


@dataclass(frozen=True, slots=True)
class V2Deployment:
    """A UniswapV2Factory. The swap fee is ``1 - fee_numerator / fee_denominator``.

    ``router`` is a UniswapV2Router02, for liquidity. ``protocol_share`` is the part of the fees, as (part,
    parts), that the pair mints to the factory's feeTo.
    """

    factory: Address
    init_code_hash: bytes
    fee_numerator: int = 997
    fee_denominator: int = 1000
    router: Address | None = None
    protocol_share: tuple[int, int] = (1, 6)


@dataclass(frozen=True, slots=True)
class V3Deployment:
    """A UniswapV3Factory.

    ``deployer`` creates the pools: the factory, in some forks another contract. ``position_manager`` is a
    NonfungiblePositionManager. ``factory`` tells new pools by events; None: not configured.
    """

    deployer: Address
    init_code_hash: bytes
    fee_tiers: tuple[tuple[int, int], ...] = FEE_TIERS
    position_manager: Address | None = None
    factory: Address | None = None


@dataclass(frozen=True, slots=True)
class PoolKey:
    """v4-core PoolKey, whose hash is the pool's id. ``currency0`` may be the native coin (zero address)."""

    currency0: Address
    currency1: Address
    fee: int
    tick_spacing: int
    hooks: Address = NATIVE


@dataclass(frozen=True, slots=True)
class V4Deployment:
    """A v4 PoolManager.

    ``known_pools`` are keys outside the standard fees or with hooks. Swaps use pools with hooks only where
    ``hooks``, those that the operator allows, has them. ``since_block`` is the block of its first event.
    """

    pool_manager: Address
    fee_tiers: tuple[tuple[int, int], ...] = FEE_TIERS
    known_pools: tuple[PoolKey, ...] = ()
    position_manager: Address | None = None
    since_block: int = 0
    hooks: frozenset[Address] = frozenset()

    def allows(self, hooks: Address) -> bool:
        """Returns whether swaps may use pools with these hooks: always without any."""
        return hooks == NATIVE or hooks in self.hooks


@dataclass(frozen=True, slots=True)
class AlgebraDeployment:
    """An AlgebraFactory of Algebra Integral. ``deployer`` creates its pools, one for each two tokens."""

    factory: Address
    deployer: Address
    init_code_hash: bytes


@dataclass(frozen=True, slots=True)
class Deployment:
    """One protocol on one network, reached through one Universal Router."""

    protocol: str
    chain_id: int
    router: Address
    router_version: str
    wrapped_native: Address
    base_tokens: tuple[Address, ...]
    v2: V2Deployment | None = None
    v3: V3Deployment | None = None
    v4: V4Deployment | None = None
    algebra: AlgebraDeployment | None = None
    priority_fee_wei: int = PRIORITY_FEE_WEI
    usd_tokens: tuple[Address, ...] = ()

    @property
    def provider(self) -> str:
        return PROVIDER_ID

    def label(self, kind: str) -> str:
        """See ``Venue``."""
        return f"{self.protocol}-{kind}"

    @property
    def pass_through(self) -> tuple[Address, ...]:
        """Returns the tokens that routes may pass through: the wrapped native coin, then the base tokens."""
        return tuple(dict.fromkeys((self.wrapped_native, *self.base_tokens)))

    @property
    def contracts(self) -> Mapping[Address, str]:
        """Returns every contract of the row, and Permit2, each with a label."""
        name = self.protocol.title()
        found = {self.router: f"{name} Universal Router", permit2.ADDRESS: "Permit2"}
        if self.v2 is not None:
            found |= labelled((self.v2.factory, f"{name} v2 factory"), (self.v2.router, f"{name} v2 router"))
        if self.v3 is not None:
            manager = self.v3.position_manager
            found |= labelled(
                (self.v3.deployer, f"{name} v3 factory"), (manager, f"{name} v3 position manager")
            )
        if self.v4 is not None:
            manager = self.v4.position_manager
            found |= labelled(
                (self.v4.pool_manager, f"{name} v4 PoolManager"), (manager, f"{name} v4 position manager")
            )
        tokens = dict.fromkeys((*self.base_tokens, *self.usd_tokens), f"{name} base token")
        return found | tokens | {self.wrapped_native: "Wrapped native coin"}

    @property
    def factories(self) -> tuple[Address, ...]:
        """Returns the contracts whose events tell new pools: the factories and the PoolManager.

        Empty when one of them is not configured.
        """
        found = (
            *((self.v2.factory,) if self.v2 else ()),
            *((self.v3.factory,) if self.v3 else ()),
            *((self.v4.pool_manager,) if self.v4 else ()),
            *((self.algebra.factory,) if self.algebra else ()),
        )
        known = tuple(address for address in found if address is not None)
        return known if len(known) == len(found) else ()


def parse_deployment(row: Mapping[str, Any], network: Network) -> Deployment:
    """Returns a row as a ``Deployment``. Raises ConfigError with the network, the row and the member."""
    where = f"deployments.uniswap row {row.get('protocol', '?')!r} of network {network.slug!r}"
    try:
        check_members(row, _PROTOCOL_MEMBERS | _POOL_MEMBERS)
        wrapped = row.get("wrapped_native") or network.wrapped_native
        if wrapped is None:
            raise ValueError("wrapped_native is required because the network has none")
        v2, v3, v4 = row.get("v2"), row.get("v3"), row.get("v4")
        if v2 is None and v3 is None and v4 is None:
            raise ValueError("at least one of v2, v3 and v4 is required")
        return Deployment(
            protocol=str(row["protocol"]),
            chain_id=network.chain_id,
            router=parse_address(row["router"]),
            router_version=_version(row["router_version"]),
            wrapped_native=parse_address(wrapped),
            base_tokens=tuple(parse_address(token) for token in row.get("base_tokens", ())),
            v2=None if v2 is None else parse_v2(v2),
            v3=None if v3 is None else parse_v3(v3),
            v4=None if v4 is None else _v4(v4, row.get("v4_known_pools", ())),
            priority_fee_wei=int(row.get("priority_fee_wei", PRIORITY_FEE_WEI)),
            usd_tokens=tuple(parse_address(token) for token in row.get("usd_tokens", ())),
        )
    except KeyError as error:
        raise ConfigError(f"{where}: {error.args[0]} is required") from None
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{where}: {error}") from None


def allowed_hooks(addresses: Sequence[str]) -> frozenset[Address]:
    """Returns hooks that swaps may pass. Raises ``ValueError`` for hooks that may change amounts of a swap.

    v4 reads what a hook may do from the last bits of its address (v4-core, Hooks.sol).
    """
    found = frozenset(map(parse_address, addresses))
    for hooks in sorted(found):
        if hooks == NATIVE or int(hooks, 16) & _SWAP_DELTA_HOOKS:
            raise ValueError(f"hooks {hooks} may change what a swap takes or pays: no quote of it is exact")
    return found


def deployments_of(
    network: Network, extra_rows: Sequence[Mapping[str, Any]] = (), hooks: frozenset[Address] = frozenset()
) -> tuple[Deployment, ...]:
    """Returns the protocols on a network that a Universal Router executes, their pools with ``hooks`` too."""
    rows = rows_of(network, extra_rows)
    found = (parse_deployment(row, network) for row in rows if "router_kind" not in row)
    return tuple(row if row.v4 is None else replace(row, v4=replace(row.v4, hooks=hooks)) for row in found)


def rows_of(network: Network, extra_rows: Sequence[Mapping[str, Any]] = ()) -> tuple[Mapping[str, Any], ...]:
    """Returns the rows of a network: built-in ones, the network's own, then ``extra_rows``.

    A later row replaces an earlier one of the same ``protocol``.
    """
    from quoteway_uniswap.public_forks import FORK_ROWS
    from quoteway_uniswap.public_networks import ROWS

    built_in = (*ROWS.get(network.chain_id, ()), *FORK_ROWS.get(network.chain_id, ()))
    rows = (*built_in, *network.deployments.get("uniswap", ()), *extra_rows)
    return tuple({str(row.get("protocol")): row for row in rows}.values())


def contracts_of(deployments: Sequence[Deployment]) -> Mapping[Address, str]:
    """Returns the contracts of all these rows."""
    return {address: label for row in deployments for address, label in row.contracts.items()}


def labelled(*rows: tuple[Address | None, str]) -> dict[Address, str]:
    """Returns those of the labels whose contract is configured."""
    return {address: label for address, label in rows if address is not None}


_PROTOCOL_MEMBERS = {
    "protocol",
    "router",
    "router_version",
    "wrapped_native",
    "base_tokens",
    "priority_fee_wei",
    "usd_tokens",
}
_POOL_MEMBERS = {"v2", "v3", "v4", "v4_known_pools"}


def _version(text: str) -> str:
    dialect(text)
    return text


def parse_v2(row: Mapping[str, Any]) -> V2Deployment:
    """Returns the member ``v2`` of a row. Raises KeyError, ValueError or TypeError for a wrong one."""
    check_members(row, {"factory", "init_code_hash", "fee", "router", "protocol_share"})
    numerator, denominator = row.get("fee", (997, 1000))
    if not 0 < numerator <= denominator:
        raise ValueError(f"v2.fee must be above 0 and at most 1, got {numerator}/{denominator}")
    share, parts = (int(each) for each in row.get("protocol_share", (1, 6)))
    if not 0 <= share < parts:
        raise ValueError(f"v2.protocol_share must be at least 0 and below 1, got {share}/{parts}")
    code_hash = _hash(row.get("init_code_hash", V2_PAIR_INIT_CODE_HASH))
    router = _optional(row, "router")
    return V2Deployment(
        parse_address(row["factory"]), code_hash, int(numerator), int(denominator), router, (share, parts)
    )


def parse_v3(row: Mapping[str, Any]) -> V3Deployment:
    """Returns the member ``v3`` of a row. Raises KeyError, ValueError or TypeError for a wrong one."""
    check_members(row, {"factory", "deployer", "init_code_hash", "fees", "position_manager"})
    deployer = parse_address(row.get("deployer") or row["factory"])
    code_hash = _hash(row.get("init_code_hash", V3_POOL_INIT_CODE_HASH))
    manager, factory = _optional(row, "position_manager"), _optional(row, "factory")
    return V3Deployment(deployer, code_hash, _tiers(row), manager, factory)


def parse_algebra(row: Mapping[str, Any]) -> AlgebraDeployment:
    """Returns the member ``algebra`` of a row. Raises KeyError, ValueError or TypeError for a wrong one."""
    check_members(row, {"factory", "deployer", "init_code_hash"})
    code_hash = _hash(row["init_code_hash"])
    return AlgebraDeployment(parse_address(row["factory"]), parse_address(row["deployer"]), code_hash)


def _v4(row: Mapping[str, Any], known_pools: Sequence[Mapping[str, Any]]) -> V4Deployment:
    check_members(row, {"pool_manager", "fees", "position_manager", "since_block"})
    keys = tuple(
        PoolKey(
            parse_address(pool["currency0"]),
            parse_address(pool["currency1"]),
            int(pool["fee"]),
            int(pool["tick_spacing"]),
            parse_address(pool.get("hooks", NATIVE)),
        )
        for pool in known_pools
    )
    return V4Deployment(
        parse_address(row["pool_manager"]),
        _tiers(row),
        keys,
        _optional(row, "position_manager"),
        int(row.get("since_block", 0)),
    )


def _optional(row: Mapping[str, Any], member: str) -> Address | None:
    address = row.get(member)
    return None if address is None else parse_address(address)


def _tiers(row: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    tiers = tuple((int(fee), int(spacing)) for fee, spacing in row.get("fees", FEE_TIERS))
    for fee, spacing in tiers:
        if not (0 <= fee < 1_000_000 and 0 < spacing < 32768):
            raise ValueError(
                f"fees: fee {fee} must be below 1000000 and tick spacing {spacing} from 1 to 32767"
            )
    return tiers


def _hash(text: str) -> bytes:
    raw = bytes.fromhex(text.removeprefix("0x"))
    if len(raw) != 32:
        raise ValueError(f"init_code_hash must have 32 bytes, got {len(raw)}")
    return raw


def check_members(row: Mapping[str, Any], members: Set[str]) -> None:
    """Raises ValueError that names a member of ``row`` that is none of ``members``."""
    unknown = sorted(set(row) - members)
    if unknown:
        raise ValueError(f"unknown member {unknown[0]!r}: expected one of {', '.join(sorted(members))}")
