"""Describes a flow to the reader of a quote: its pools, the paths it consists of, and its price impact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from quoteway import Address, RouteLeg, RoutePath
from quoteway import Hop as RouteHop
from quoteway_amm import Hop
from quoteway_amm.bound import node_of

from quoteway_router.venue import Venue

_WHOLE_BPS = 10_000


def route_legs(venue: Venue, hops: Sequence[Hop]) -> tuple[RouteLeg, ...]:
    """Returns the pools of a flow. The shares of what leaves a token sum to 10,000 basis points."""
    nodes = [node_of(hop.token_in, venue.wrapped_native) for hop in hops]
    total, used, legs = Counter[Address](), Counter[Address](), []
    for node, hop in zip(nodes, hops, strict=True):
        total[node] += hop.amount_in
    for node, hop in zip(nodes, hops, strict=True):
        before = _WHOLE_BPS * used[node] // total[node]
        used[node] += hop.amount_in
        legs.append(
            RouteLeg(
                venue.provider,
                venue.label(hop.pool.kind),
                hop.pool.id,
                hop.token_in,
                hop.token_out,
                hop.amount_in,
                hop.amount_out,
                hop.fee_pips / 100,
                share_bps=_WHOLE_BPS * used[node] // total[node] - before,
            )
        )
    return tuple(legs)


@dataclass(frozen=True, slots=True)
class _Part:
    """What passes through a pool on one path, in base units."""

    hop: Hop
    amount_in: int
    amount_out: int


_Parcel = tuple[tuple[_Part, ...], int]
"""The parts that an amount of a token has passed, and that amount."""


def route_paths(venue: Venue, hops: Sequence[Hop]) -> tuple[RoutePath, ...]:
    """Returns a flow as paths, no more than it has hops. The parts of a pool on all paths sum to its amounts.

    What arrives at a token first leaves it first. The output of a pool is divided by its input; roundings add
    up in the last part.
    """

    def node(token: Address) -> Address:
        return node_of(token, venue.wrapped_native)

    start, end = node(hops[0].token_in), node(hops[-1].token_out)
    sold = sum(hop.amount_in for hop in hops if node(hop.token_in) == start)
    waiting: dict[Address, list[_Parcel]] = {start: [((), sold)]}
    for hop in hops:
        taken, waiting[node(hop.token_in)] = _split(waiting[node(hop.token_in)], hop.amount_in)
        arrived = waiting.setdefault(node(hop.token_out), [])
        used = 0
        for passed, amount in taken:
            got = hop.amount_out * (used + amount) // hop.amount_in - hop.amount_out * used // hop.amount_in
            used += amount
            arrived.append(((*passed, _Part(hop, amount, got)), got))
    paths, shared, used = [], 0, 0
    for passed, _ in waiting[end]:
        used += passed[0].amount_in
        share = _WHOLE_BPS * used // sold - shared
        shared += share
        paths.append(RoutePath(share, tuple(_route_hop(venue, part) for part in passed)))
    return tuple(paths)


def price_impact_bps(venue: Venue, hops: Sequence[Hop]) -> int:
    """Returns how far the price of a flow is below the mid prices of its pools without fees, rounded.

    Where a flow divides, the mid prices count by the amounts that the pools take.
    """
    sold, worth = Counter[Address](), dict[Address, Fraction]()
    wrapped, got = venue.wrapped_native, 0
    end = node_of(hops[-1].token_out, wrapped)
    for hop in reversed(hops):
        source, target = node_of(hop.token_in, wrapped), node_of(hop.token_out, wrapped)
        mid_price = Fraction(*hop.pool.mid_price(hop.zero_for_one))
        if target == end:
            got += hop.amount_out
        else:
            mid_price *= worth[target] / sold[target]
        worth[source] = worth.get(source, Fraction(0)) + hop.amount_in * mid_price
        sold[source] += hop.amount_in
    ideal = worth[node_of(hops[0].token_in, wrapped)]
    return ((ideal - got) * 2 * _WHOLE_BPS + ideal) // (2 * ideal)


def _split(parcels: Sequence[_Parcel], amount: int) -> tuple[list[_Parcel], list[_Parcel]]:
    """Returns (the first ``amount`` of the parcels, the rest)."""
    taken: list[_Parcel] = []
    rest = [*parcels]
    while rest and rest[0][1] <= amount:  # also one of which a rounding has left nothing
        amount -= rest[0][1]
        taken.append(rest.pop(0))
    if amount:
        passed, held = rest[0]
        first, second = list[_Part](), list[_Part]()
        wanted = amount
        for part in reversed(passed):
            share = part.amount_in * wanted // part.amount_out
            first.insert(0, _Part(part.hop, share, wanted))
            second.insert(0, _Part(part.hop, part.amount_in - share, part.amount_out - wanted))
            wanted = share
        taken.append((tuple(first), amount))
        rest[0] = tuple(second), held - amount
    return taken, rest


def _route_hop(venue: Venue, part: _Part) -> RouteHop:
    hop = part.hop
    return RouteHop(
        venue.provider,
        venue.label(hop.pool.kind),
        hop.pool.id,
        hop.token_in,
        hop.token_out,
        part.amount_in,
        part.amount_out,
        hop.fee_pips / 100,
    )
