"""The search of every provider that routes: the best single path, and the flow that pays more than it."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway import Address, Block, IntegratorFee
from quoteway_amm import FREE, UNISWAP_GAS, BandsExceeded, GasModel, GasPrice, Graph, NoPath

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
    joins: bool = True
    """Whether paths of a flow may share tokens between its ends."""


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
    path, unknown = settled_path(
        graph, *ends, search.amount_in, weight, search.path_hops, search.gas_model, last=last
    )
    if isinstance(path, NoPath):
        return path
    if splitting is None:
        return Found(Split(path), price, unknown)
    hops, gas_model = search.path_hops, search.gas_model
    usable = graph if search.joins else separate_paths(graph, path, hops, gas_model, weight)
    try:
        split = await splitting.improve(
            path,
            usable,
            search.chain_id,
            search.block,
            weight,
            search.flow_hops,
            search.max_legs,
            search.gas_model,
        )
    except BandsExceeded as error:
        if not last:
            raise
        split, unknown = error.settled, True
    if usable is not graph:
        # The bound is that of fewer pools than there are.
        split = Split(split.flow)
    return Found(split, price, unknown)


def _before_fee(gas_price: GasPrice, fee: IntegratorFee | None) -> GasPrice:
    """Returns a price of gas in units of the output before fee: the recipient pays for it after fee."""
    if fee is None:
        return gas_price
    return GasPrice(gas_price.numerator * _WHOLE_BPS, gas_price.denominator * (_WHOLE_BPS - fee.bps))
