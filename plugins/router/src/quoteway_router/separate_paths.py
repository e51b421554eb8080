"""The pools of paths that share no token but their ends, for contracts that cannot join paths in between."""

from __future__ import annotations

from quoteway_amm import BandsExceeded, GasModel, GasPrice, Graph, NoPath, best_path_exact_in
from quoteway_amm.flow import Flow

MOST_PATHS = 4
"""How many paths through further tokens are looked for."""


def separate_paths(
    graph: Graph, path: Flow, max_hops: int, gas_model: GasModel, gas_price: GasPrice
) -> Graph:
    """Returns the graph of ``path``, of all pools of its two ends, and of the best paths beside it.

    Between its ends, each token has one pool that leads to it and one that leads on: a flow through these
    pools cannot join there. The paths beside it are the best for a part of the amount. Where ``graph`` has no
    other pools it is returned itself: a bound over it is then one over all pools.
    """
    start, end = graph.node(path.token_in), graph.node(path.token_out)
    ends = frozenset((start, end))

    def nodes(pool: object) -> frozenset[str]:
        return frozenset((graph.node(pool.token0), graph.node(pool.token1)))  # type: ignore[attr-defined]

    kept = {id(pool): pool for pool in graph.pools if nodes(pool) == ends}
    hops = path.legs
    amount = max(path.amount_in // MOST_PATHS, 1)
    passed: set[str] = set()
    used: set[str] = set()
    for _ in range(MOST_PATHS):
        if len(hops) > 1:
            kept |= {id(hop.pool): hop.pool for hop in hops}
        used |= {hop.pool.id for hop in hops}
        passed |= {graph.node(hop.token_out) for hop in hops} - ends
        rest = [
            pool
            for pool in graph.pools
            if nodes(pool) != ends and pool.id not in used and not nodes(pool) & passed
        ]
        beside = Graph(rest, graph.wrapped_native)
        try:
            found = best_path_exact_in(
                beside, path.token_in, path.token_out, amount, gas_model, gas_price, max_hops
            )
        except BandsExceeded:
            break
        if isinstance(found, NoPath):
            break
        hops = found.hops
    return graph if len(kept) == len(graph.pools) else Graph(kept.values(), graph.wrapped_native)
