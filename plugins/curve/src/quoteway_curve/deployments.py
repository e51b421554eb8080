"""The configured routers and pools, by chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quoteway import Address, ConfigError, Context, Network
from quoteway.evm.address import parse_address
from quoteway_amm.stable_swap import NG, TEMPLATE, THREE_POOL, StableSwapFormula


@dataclass(frozen=True, slots=True)
class PoolRelease:
    """What differs between the releases of the pool's contract."""

    formula: StableSwapFormula

    @property
    def is_ng(self) -> bool:
        """Whether the pool tells its rates and has a fee that grows off the peg."""
        return self.formula is NG


POOL_RELEASES: Mapping[str, PoolRelease] = {
    "3pool": PoolRelease(THREE_POOL),
    "template": PoolRelease(TEMPLATE),
    "ng": PoolRelease(NG),
}

STABLE, STABLE_NG = 1, 10
ROUTER_RELEASES: Mapping[str, int] = {"1.0": STABLE, "1.1": STABLE_NG}
"""How each release of the router names pools of StableSwap-NG: in release 1.0 as any stable pool."""


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A configured pool. ``coins`` is empty where any are accepted."""

    address: Address
    release: str
    coins: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class Deployment:
    """The router of one network, and the pools to route through."""

    router: Address
    ng_type: int
    wrapped_native: Address
    pools: tuple[PoolRow, ...]


def deployments_of(context: Context) -> dict[int, Deployment]:
    """Returns the networks that have a router and a pool. Raises ConfigError that names the wrong row.

    A row of a network that is not configured is left out, as everywhere.
    """
    pools: dict[int, dict[Address, PoolRow]] = {}
    for where, network, row in _rows(context, "pools"):
        try:
            coins = tuple(parse_address(coin) for coin in row["coins"])
            pool = PoolRow(parse_address(row["address"]), row["release"], coins)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from None
        known = pools.setdefault(network.chain_id, {})
        if pool.address in known:
            raise ConfigError(f"{where}: {pool.address} has two rows for network {network.name}")
        known[pool.address] = pool
    found: dict[int, Deployment] = {}
    for where, network, row in _rows(context, "routers"):
        if network.wrapped_native is None:
            raise ConfigError(f"{where}: network {network.name} has no wrapped native coin")
        if network.chain_id in found:
            raise ConfigError(f"{where}: network {network.name} has two routers, and may have one")
        try:
            router = parse_address(row["address"])
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from None
        wrapped = parse_address(network.wrapped_native)
        own = tuple(pools.get(network.chain_id, {}).values())
        found[network.chain_id] = Deployment(router, ROUTER_RELEASES[row["release"]], wrapped, own)
    for chain_id in pools.keys() - found.keys():
        raise ConfigError(
            f"plugin.curve.pools: chain {chain_id} has pools and no row in plugin.curve.routers"
        )
    return {chain_id: row for chain_id, row in found.items() if row.pools}


def _rows(context: Context, name: str) -> list[tuple[str, Network, Mapping[str, Any]]]:
    named = [
        (f"plugin.curve.{name}[{at}]", context.networks.find(row["network"]), row)
        for at, row in enumerate(context.settings[name])
    ]
    return [(where, network, row) for where, network, row in named if network is not None]
