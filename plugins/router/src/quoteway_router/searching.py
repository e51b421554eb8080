"""The search of every provider that routes: the best single path, and the flow that pays more than it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from quoteway import Address, Block, DataPrice, IntegratorFee
from quoteway_amm import FREE, UNISWAP_GAS, BandsExceeded, GasModel, GasPrice, Graph, NoPath
from quoteway_amm.flow import Flow, make_flow

from quoteway_router.data_gas import with_data_gas
from quoteway_router.output_bounds import bound_over, with_bound
from quoteway_router.paths import gas_price_in, settled_path
from quoteway_router.separate_paths import separate_paths
from quoteway_router.splitting import Split, Splitting

_WHOLE_BPS = 10_000


@dataclass(frozen=True, slots=True)
class Search:
    """An exact input to route at a block. ``amount_in`` is what arrives at the pools, in base units.

    ``gas_price_wei`` is None where gas has no price. A single path has at most ``path_hops`` pools, each way
    through a flow ``flow_hops``, None: any number. ``max_legs`` None: as many as a flow may have.
    """

    chain_id: int
    block: Block
    token_in: Address
    token_out: Address
    amount_in: int
    gas_price_wei: int | None
    path_hops: int
    flow_hops: int | None
    max_legs: int | None
    gas_model: GasModel = UNISWAP_GAS
    fee: IntegratorFee | None = None
    splits: bool = True
    """Whether a flow may have several paths."""
    joins: bool = True
    """Whether paths of a flow may share tokens between its ends."""
    data_price: DataPrice | None = None
    """What a rollup charges for data: it counts in the choice of pools, not in the gas of what is found."""


@dataclass(frozen=True, slots=True)
class Found:
    """``gas_price`` is in the output token, None when the pools do not tell it. ``unknown``: pools that may
    win were left out, because their state is not known far enough.
    """

    split: Split
    gas_price: GasPrice | None
    unknown: bool


async def best_flow(
    splitting: Splitting | None, graph: Graph, priced: Graph, search: Search, *, last: bool = True
) -> Found | NoPath:
    """Returns the flow through ``graph`` that pays most after gas and fee; with ``splitting`` None, a path.

    What gas costs follows from the pools of ``priced``: it does not depend on which ones the route may use.
    Raises BandsExceeded when pools that may win lack ticks, unless this is the ``last`` try.
    """
    price = gas_price_in(priced, search.token_out, search.gas_price_wei, search.gas_model)
    weight = _before_fee(price or FREE, search.fee)
    ends = search.token_in, search.token_out
    hops = search.path_hops
    gas_model = with_data_gas(search.gas_model, search.data_price, search.gas_price_wei)
    path, unknown = settled_path(graph, *ends, search.amount_in, weight, hops, gas_model, last=last)
    if isinstance(path, NoPath):
        return path
    if splitting is None:
        return Found(_without_data(Split(path), search, weight, graph.wrapped_native), price, unknown)
    split, exceeded = await _improved(splitting, path, graph, search, weight, gas_model, last=last)
    return Found(_without_data(split, search, weight, graph.wrapped_native), price, unknown or exceeded)


async def _improved(
    splitting: Splitting,
    path: Flow,
    graph: Graph,
    search: Search,
    weight: GasPrice,
    gas_model: GasModel,
    *,
    last: bool,
) -> tuple[Split, bool]:
    """Returns (the flow that pays most and its optimality, whether pools that may win were left out).

    The optimality is always over all pools of ``graph``, also where the flow may not use all of them.
    """
    place = search.chain_id, search.block, weight

    async def improve(usable: Graph) -> tuple[Split, bool]:
        limits = search.flow_hops, search.max_legs
        try:
            return await splitting.improve(path, usable, *place, *limits, gas_model), False
        except BandsExceeded as error:
            if not last:
                raise
            return error.settled, True

    usable = graph
    if search.splits and not search.joins:
        usable = separate_paths(graph, path, search.path_hops, gas_model, weight)
    if search.splits and usable is graph:
        return await improve(graph)
    bounding = asyncio.ensure_future(bound_over(splitting, path, graph, *place, gas_model))
    try:
        split, exceeded = await improve(usable) if search.splits else (Split(path), False)
        return with_bound(split, await bounding, search.block, graph.wrapped_native), exceeded
    finally:
        bounding.cancel()


def _without_data(split: Split, search: Search, weight: GasPrice, wrapped_native: Address | None) -> Split:
    """Returns a split with the gas of its execution alone: the core adds the fee for data to every quote."""
    if search.data_price is None:
        return split
    flow = split.flow
    ends = flow.token_in, flow.token_out
    made = make_flow(flow.legs, *ends, flow.amount_in, search.gas_model, weight, wrapped_native)
    return replace(split, flow=made)


def _before_fee(gas_price: GasPrice, fee: IntegratorFee | None) -> GasPrice:
    """Returns a price of gas in units of the output before fee: the recipient pays for it after fee."""
    if fee is None:
        return gas_price
    return GasPrice(gas_price.numerator * _WHOLE_BPS, gas_price.denominator * (_WHOLE_BPS - fee.bps))
