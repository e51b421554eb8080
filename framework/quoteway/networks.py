"""Networks as data: names, chain ids, native coins, explorers, endpoints and deployment rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from quoteway.errors import ConfigError
from quoteway.near_names import suggestion

L1FeeKind = Literal["op-stack", "arbitrum"]
"""How a rollup charges for the data of a transaction on its parent chain (``evm.l1_fee``)."""

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MAX_CHAIN_ID = (1 << 53) - 1


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One JSON-RPC upstream of a network.

    ``ws`` is its WebSocket URL for new heads, empty when it has none. ``url``, ``headers`` and ``ws`` may
    hold credentials: never show or log them. ``tier`` 0 is a primary; endpoints of a higher tier are used
    only while none of a lower one is usable. ``cordoned`` says why the endpoint is not to be used; empty: it
    is used.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    name: str = ""
    ws: str = field(default="", repr=False)
    tier: int = 0
    cordoned: str = ""


@dataclass(frozen=True, slots=True)
class Network:
    """An EVM network as data.

    ``slug`` is the lowercase name in the API, ``chain_id`` the EIP-155 id. ``deployments`` maps a protocol
    family (``"uniswap"``) to rows that the family's plugin reads, so a fork or a new chain needs a row and no
    code. ``contracts`` gives the kind of each contract by address, such as ``"uniswap.v2-router"``: the core
    reads calls of these contracts only (``evm.calls``). ``token_lists`` are paths or URLs of Token Lists.
    ``private_submission`` is the https URL of a JSON-RPC endpoint that keeps transactions from the public
    mempool. Callers see it; only the configuration sets it. ``head_poll_s`` is the time between two polls
    of the head while the network is in use. ``block_time_s`` is the usual time between two blocks.
    ``head_stale_s`` is the age of the newest block above which operators are told that the network stands
    still; None: ten block times and at least 60 s; 0: never, for chains that make blocks on demand.
    ``l1_fee`` says how a rollup charges for data on its parent chain; None: it does not. ``quorum`` is how
    many endpoints must give the same answer to a read that feeds a quote, simulation or action.
    ``ens_registry`` is the address of the registry of the Ethereum Name Service; None: the network has none.
    The core knows those of public networks, and only the configuration sets others.
    """

    slug: str
    chain_id: int
    name: str
    native_symbol: str = "ETH"
    native_name: str = "Ether"
    native_decimals: int = 18
    wrapped_native: str | None = None
    explorer_url: str | None = None
    block_time_s: float = 12.0
    head_poll_s: float = 2.0
    head_stale_s: float | None = None
    testnet: bool = False
    endpoints: tuple[Endpoint, ...] = ()
    deployments: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    token_lists: tuple[str, ...] = ()
    contracts: Mapping[str, str] = field(default_factory=dict)
    private_submission: str | None = None
    l1_fee: L1FeeKind | None = None
    quorum: int = 1
    ens_registry: str | None = None

    @property
    def caip2(self) -> str:
        """Returns the CAIP-2 id, ``eip155:<chain id>``."""
        return f"eip155:{self.chain_id}"

    def with_rows_of(self, other: Network) -> Network:
        """Returns this network with the endpoints, rows, token lists and contracts of ``other`` added."""
        deployments = {family: tuple(rows) for family, rows in self.deployments.items()}
        for family, rows in other.deployments.items():
            deployments[family] = deployments.get(family, ()) + tuple(rows)
        return replace(
            self,
            endpoints=self.endpoints + tuple(e for e in other.endpoints if e not in self.endpoints),
            deployments=deployments,
            token_lists=tuple(dict.fromkeys(self.token_lists + other.token_lists)),
            contracts={**other.contracts, **self.contracts},
        )


class Networks:
    """The networks of this deployment, found by slug, decimal chain id or CAIP-2 id."""

    def __init__(self, networks: Iterable[Network] = ()) -> None:
        self._by_slug: dict[str, Network] = {}
        self._by_id: dict[int, Network] = {}
        for network in networks:
            self.add(network)

    def add(self, network: Network) -> None:
        """Adds a network, or merges it with the one of the same slug and chain id.

        Raises ``ConfigError`` for a slug with two chain ids, a chain id with two slugs, and an invalid slug
        or chain id.
        """
        if not _SLUG.fullmatch(network.slug) or network.slug.isdigit():
            # A slug of digits alone would be read as a chain id, maybe of another network.
            raise ConfigError(
                f"network name {network.slug!r}: expected lowercase letters, digits and single dashes, "
                "not digits alone"
            )
        if type(network.chain_id) is not int or not 0 < network.chain_id <= _MAX_CHAIN_ID:
            raise ConfigError(
                f"network {network.slug!r}: chain id {network.chain_id!r} is not between 1 and 2^53 - 1"
            )
        if network.l1_fee not in (None, *get_args(L1FeeKind)):
            known = ", ".join(get_args(L1FeeKind))
            raise ConfigError(f"network {network.slug!r}: l1_fee is {network.l1_fee!r}; known: {known}")
        same_slug = self._by_slug.get(network.slug)
        same_id = self._by_id.get(network.chain_id)
        for other in (same_slug, same_id):
            if other is not None and (other.slug, other.chain_id) != (network.slug, network.chain_id):
                raise ConfigError(
                    f"network {network.slug!r} (chain id {network.chain_id}) clashes with "
                    f"{other.slug!r} (chain id {other.chain_id}): rename one of them or load one plugin only"
                )
        if same_slug is not None:
            network = same_slug.with_rows_of(network)
        self._by_slug[network.slug] = network
        self._by_id[network.chain_id] = network

    def __iter__(self) -> Iterator[Network]:
        return iter(sorted(self._by_slug.values(), key=lambda network: network.chain_id))

    def __len__(self) -> int:
        return len(self._by_slug)

    def by_chain_id(self, chain_id: int) -> Network | None:
        """Returns the network with this EIP-155 id, or None."""
        return self._by_id.get(chain_id)

    def find(self, text: str) -> Network | None:
        """Returns the network with this slug, decimal chain id or ``eip155:N``, or None."""
        found = self._by_slug.get(text.lower())
        if found is not None:
            return found
        digits = text.removeprefix("eip155:")
        if digits.isascii() and digits.isdigit() and len(digits) <= 20 and digits == str(int(digits)):
            return self._by_id.get(int(digits))
        return None

    def suggestion(self, text: str) -> str:
        """Returns a sentence with the network nearest to an unknown name, or with all networks."""
        return suggestion(text, (network.slug for network in self), "Known networks")

    def configured(self, name: object, where: str) -> Network:
        """Returns the network that the configuration names at ``where``.

        Raises ``ConfigError`` when it is unknown.
        """
        found = self.find(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(network.slug for network in self)
            raise ConfigError(f"{where}: network {name!r} is unknown; known: {known}")
        return found
