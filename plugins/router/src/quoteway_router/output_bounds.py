"""Says how near a flow is to the best one by a bound over all pools, also those that it could not use."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import msgspec
from quoteway import MAX_UINT256, Block, Optimality
from quoteway_amm import GasModel, GasPrice, Graph
from quoteway_amm.bound import node_of
from quoteway_amm.flow import Flow

from quoteway_router.solver_messages import Order
from quoteway_router.splitting import Split, Splitting

log = logging.getLogger("quoteway.router.output_bounds")

_WHOLE_BPS = 10_000


@dataclass(frozen=True, slots=True)
class Bound:
    """What a solver process says: the members of ``quoteway_amm.output_bound.OutputBound``."""

    bound: int
    net_bound: int
    arbitrage: int
    pools: int
    families: tuple[str, ...]
    prices: Mapping[str, int]
    exceeded: bool


async def bound_over(
    splitting: Splitting,
    path: Flow,
    graph: Graph,
    chain_id: int,
    block: Block,
    gas_price: GasPrice,
    gas_model: GasModel,
) -> Bound | None:
    """Returns a bound on the output of any flow through ``graph`` between the ends of ``path``, of its input.

    None when the solver processes have none in time, when the bound says nothing, and when the best trade of
    a pool leaves its known ticks: beyond them the pool could give more.
    """
    ends = path.token_in, path.token_out
    order = Order(graph.wrapped_native, *ends, path.amount_in, gas_model, gas_price, None, 1, bound_only=True)
    solution = await splitting.solve(graph, chain_id, block, order)
    if solution is None:
        return None
    try:
        found = msgspec.convert(solution.optimality, Bound)
    except msgspec.ValidationError:
        log.error("the solver described a bound in another form than expected")
        return None
    says_nothing = found.exceeded or max(found.bound, found.arbitrage) > MAX_UINT256
    return None if says_nothing else found


def with_bound(split: Split, bound: Bound | None, block: Block, wrapped_native: str | None) -> Split:
    """Returns a split with what a bound says of it, without ``optimality`` where there is none."""
    flow = split.flow
    if bound is None:
        return Split(flow)
    if flow.amount_out > bound.bound:
        log.error("a flow of %s for %s exceeds its bound", flow.token_in, flow.token_out)
        return Split(flow)
    net = flow.amount_out - flow.gas_cost
    optimality = Optimality(
        bound.bound,
        _gap_bps(bound.bound, flow.amount_out),
        _gap_bps(max(bound.net_bound, net), net),
        bound.arbitrage,
        bound.pools,
        bound.families,
        block,
        "split" if _splits(flow, wrapped_native) else "single_path",
    )
    return Split(flow, optimality, bound.prices)


def _splits(flow: Flow, wrapped_native: str | None) -> bool:
    sources = {node_of(leg.token_in, wrapped_native) for leg in flow.legs}
    return len(sources) < len(flow.legs)


def _gap_bps(bound: int, reached: int) -> float:
    """Returns what is missing of the bound, rounded up to 0.0001 bps; 10,000 bps when nothing is reached."""
    if bound <= 0 or reached <= 0:
        return float(_WHOLE_BPS) if bound > reached else 0.0
    return ceil(Fraction((bound - reached) * _WHOLE_BPS * 10_000, bound)) / 10_000
