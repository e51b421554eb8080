"""Limits on the route of a swap, as its caller sets them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields

ROUTE_LIMITS = ("max_hops", "max_legs", "protocols", "exclude_protocols", "pools", "exclude_pools")
"""The limits that a route shows to be kept."""
LIMITS = (*ROUTE_LIMITS, "max_price_impact_bps")
"""The limits that a provider must honour, by its member ``honours``, to be asked for a quote."""


@dataclass(frozen=True, slots=True)
class RoutingLimits:
    """What the route of a swap may use. None or empty: no limit.

    ``max_hops`` is the most pools on any way through the route, ``max_legs`` the most pools in all of it.
    ``protocols`` and ``exclude_protocols`` are protocols as routes show them, or provider ids. ``pools`` and
    ``exclude_pools`` are ids of the form ``{chainId}:{address}``, or ``{chainId}:{32-byte id}``. Of a swap to
    another network they limit the part on the first one.

    ``max_price_impact_bps`` is the most that the price may be below that of the pools before the trade.
    ``gas_price_wei`` is what one unit of gas costs, in place of the network's price, where quotes are
    compared. ``omitted`` names members that the quote token has no space for. Only the core sets it.
    """

    max_hops: int | None = None
    max_legs: int | None = None
    protocols: tuple[str, ...] = ()
    exclude_protocols: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    exclude_pools: tuple[str, ...] = ()
    max_price_impact_bps: int | None = None
    gas_price_wei: int | None = None
    omitted: tuple[str, ...] = ()

    @property
    def given(self) -> tuple[str, ...]:
        """Returns the names of the members that are given."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) not in (None, ()))

    def takes_protocol(self, names: Collection[str]) -> bool:
        """Returns whether a protocol may be used; ``names`` are its own and its provider's id."""
        wanted = not self.protocols or any(name in self.protocols for name in names)
        return wanted and not any(name in self.exclude_protocols for name in names)

    def takes_pool(self, chain_id: int, pool: str) -> bool:
        """Returns whether a pool may be used, by its address or 32-byte id."""
        pool_id = f"{chain_id}:{pool}"
        return (not self.pools or pool_id in self.pools) and pool_id not in self.exclude_pools
