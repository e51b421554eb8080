"""Computes a proposed flow again, exactly, and refuses it when it is no flow or has other amounts."""

from __future__ import annotations

from collections.abc import Sequence

from quoteway_amm import NATIVE, BandExceeded, Hop, Pool

from quoteway_router.solver_messages import Leg, Order


def resimulate(pools: Sequence[Pool], order: Order, legs: Sequence[Leg]) -> tuple[Hop, ...] | None:
    """Returns the hops of ``legs`` by the pools' own maths; None when the legs are not exactly a flow.

    A flow spends ``order.amount_in`` and leaves tokens at the output alone; each pool is used once, of one
    with more than two tokens one pair; every leg into a node comes before every leg out of it. The native
    coin and its wrapped form are one node. The amounts of every leg must be those that the pools give.
    """
    if not 0 < len(legs) <= order.max_legs or not all(0 <= leg.pool < len(pools) for leg in legs):
        return None
    if len({pools[leg.pool].id for leg in legs}) != len(legs):
        return None
    start, end = graph_node(order, order.token_in), graph_node(order, order.token_out)
    held = {start: order.amount_in}
    left: set[str] = set()
    hops = []
    for leg in legs:
        hop = _hop(pools[leg.pool], leg)
        if hop is None:
            return None
        node_in, node_out = graph_node(order, hop.token_in), graph_node(order, hop.token_out)
        left.add(node_in)
        if node_out in left or hop.amount_in > held.get(node_in, 0):
            return None
        held[node_in] -= hop.amount_in
        held[node_out] = held.get(node_out, 0) + hop.amount_out
        hops.append(hop)
    unspent = [node for node, amount in held.items() if amount and node != end]
    return tuple(hops) if held.get(end) and not unspent else None


def _hop(pool: Pool, leg: Leg) -> Hop | None:
    if leg.amount_in <= 0 or leg.amount_out <= 0:
        return None
    try:
        given = pool.exact_in(leg.zero_for_one, leg.amount_in)
    except BandExceeded:
        return None
    if given is None or given[0] != leg.amount_out:
        return None
    token_in, token_out = (pool.token0, pool.token1) if leg.zero_for_one else (pool.token1, pool.token0)
    return Hop(
        pool,
        leg.zero_for_one,
        token_in,
        token_out,
        leg.amount_in,
        given[0],
        pool.swap_fee_pips(leg.zero_for_one),
        given[1],
    )


def graph_node(order: Order, token: str) -> str:
    """Returns the node of a token, as ``Graph.node``."""
    return order.wrapped_native if token == NATIVE and order.wrapped_native is not None else token
