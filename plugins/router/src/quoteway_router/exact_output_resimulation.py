"""Computes proposed paths of an exact output again, exactly, and refuses them when they are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quoteway_amm import NATIVE, BandExceeded, Hop, Pool

from quoteway_router.paths import PATH_HOPS
from quoteway_router.resimulation import graph_node
from quoteway_router.solver_messages import Leg, Order

_TicksOf = Callable[[Pool, Leg], int | None]
"""Checks the amounts of a leg, and returns the ticks that it crosses; None when they are wrong."""


def recomputed_exact_output(
    pools: Sequence[Pool], order: Order, legs: Sequence[Leg]
) -> tuple[Hop, ...] | None:
    """Returns the hops of ``legs`` by the pools' own maths; None when they do not buy exactly the output.

    They are paths from the input to the output, one after the other: each through one family with one form of
    the native coin, each pool once. The amounts of every leg must be those that the pools take for what the
    leg after it needs.
    """
    hops = _paths(pools, order, legs, _taken)
    if hops is None:
        return None
    bought = sum(hop.amount_out for hop in hops if _at_end(order, hop))
    return hops if bought == order.amount_out else None


def executed_exact_output(pools: Sequence[Pool], order: Order, legs: Sequence[Leg]) -> tuple[Hop, ...] | None:
    """Returns the hops of ``legs`` with what the pools pay; None when they do not buy the output by it.

    Unlike ``recomputed_exact_output``, a v2 pair pays all that its input is worth.
    """
    hops = _paths(pools, order, legs, _executed)
    if hops is None:
        return None
    start = graph_node(order, order.token_in)
    taken = sum(hop.amount_in for hop in hops if graph_node(order, hop.token_in) == start)
    bought = sum(hop.amount_out for hop in hops if _at_end(order, hop))
    enough = taken == order.amount_in and bought >= (order.amount_out or 0)
    return hops if enough else None


def _paths(
    pools: Sequence[Pool], order: Order, legs: Sequence[Leg], ticks_of: _TicksOf
) -> tuple[Hop, ...] | None:
    if not 0 < len(legs) <= order.max_legs or len({leg.pool for leg in legs}) != len(legs):
        return None
    start = graph_node(order, order.token_in)
    hops, path = list[Hop](), list[Hop]()
    for leg in legs:
        hop = _hop(pools[leg.pool], leg, ticks_of) if 0 <= leg.pool < len(pools) else None
        if hop is None:
            return None
        if path:
            before = path[-1]
            follows = (before.token_out, before.amount_out) == (hop.token_in, hop.amount_in)
            if not follows or before.pool.kind != hop.pool.kind or len(path) >= (order.max_hops or PATH_HOPS):
                return None
        elif graph_node(order, hop.token_in) != start:
            return None
        path.append(hop)
        hops.append(hop)
        if _at_end(order, hop):
            tokens = {token for each in path for token in (each.token_in, each.token_out)}
            if {NATIVE, order.wrapped_native} <= tokens or len(tokens) != len(path) + 1:
                return None
            path = []
    return None if path else tuple(hops)


def _at_end(order: Order, hop: Hop) -> bool:
    return graph_node(order, hop.token_out) == graph_node(order, order.token_out)


def _taken(pool: Pool, leg: Leg) -> int | None:
    """Returns the ticks that the leg crosses; None when the pool takes another input for its output."""
    answer = pool.exact_out(leg.zero_for_one, leg.amount_out)
    return answer[1] if answer is not None and answer[0] == leg.amount_in else None


def _executed(pool: Pool, leg: Leg) -> int | None:
    if pool.kind != "v2":
        return _taken(pool, leg)
    answer = pool.exact_in(leg.zero_for_one, leg.amount_in)
    return answer[1] if answer is not None and answer[0] == leg.amount_out else None


def _hop(pool: Pool, leg: Leg, ticks_of: _TicksOf) -> Hop | None:
    if leg.amount_in <= 0 or leg.amount_out <= 0:
        return None
    try:
        ticks = ticks_of(pool, leg)
    except BandExceeded:
        return None
    if ticks is None:
        return None
    ends = (pool.token0, pool.token1) if leg.zero_for_one else (pool.token1, pool.token0)
    fee_pips = pool.swap_fee_pips(leg.zero_for_one)
    return Hop(pool, leg.zero_for_one, *ends, leg.amount_in, leg.amount_out, fee_pips, ticks)
