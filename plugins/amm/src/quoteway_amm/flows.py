"""The best flow through a set of pools, net of gas, with its certificate.

Needs numpy (the extra `solver`): import it in a solver process only. Floats choose pools and shares; every
amount comes from the exact simulation of `flow.py`, every bound from the exact arithmetic of `bound.py`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from quoteway_amm.bound import LeastCost, PoolProfit, dual_value, exceeded_pools, node_of
from quoteway_amm.dual import solve
from quoteway_amm.errors import BandExceeded, BandsExceeded
from quoteway_amm.flow import (
    SHARE_ONE,
    Flow,
    FlowResult,
    Optimality,
    PlannedLeg,
    execution_order,
    flow_of_path,
    make_flow,
    simulate,
)
from quoteway_amm.gas import FREE, GasModel, GasPrice
from quoteway_amm.market import Market, integer_prices
from quoteway_amm.pool import NATIVE, Pool
from quoteway_amm.routing import NoPath, Path, best_path_exact_in, better_path_exact_in
from quoteway_amm.search import Ceiling
from quoteway_amm.support import Problem, Support, choose

MAX_HOPS = 4
"""The most pools on each way through a flow that a caller may ask for."""

MAX_LEGS = 25
"""The most pools of a flow unless the caller says otherwise."""

_ROOM = 1e-6
"""A pool that would be used up gets so much less, so that integers fit."""

_GOOD_ENOUGH = Fraction(1, 100_000)
"""A single path within 0.1 bps of the bound is not split."""


@dataclass(frozen=True, slots=True)
class _Trade:
    """A request."""

    token_in: str
    token_out: str
    amount_in: int
    gas_model: GasModel
    gas_price: GasPrice

    def net(self, amount_out: int, gas_units: int) -> Fraction:
        """Returns an output less its gas."""
        return amount_out - self.gas(gas_units)

    def gas(self, gas_units: int) -> Fraction:
        """Returns the exact cost of gas units in the output token."""
        return Fraction(gas_units * self.gas_price.numerator, self.gas_price.denominator)


def best_flow_exact_in(
    pools: Sequence[Pool] | Market,
    wrapped_native: str | None,
    token_in: str,
    token_out: str,
    amount_in: int,
    gas_model: GasModel,
    gas_price: GasPrice = FREE,
    max_hops: int = 3,
    max_legs: int = MAX_LEGS,
    deadline_s: float = 1.0,
) -> FlowResult | NoPath:
    """Returns the flow with the greatest output after gas found, never less than the best single path.

    Give a `Market` to use one block's pools for many trades: making it takes longer than a trade. Each way
    through the flow has at most `max_hops` (1 to 4) pools, the flow at most `max_legs`. After `deadline_s`
    nothing more is improved. Raises BandsExceeded, with this result as `settled`, when pools that may win
    lack ticks, and ValueError for a bad request.
    """
    if not 1 <= max_hops <= MAX_HOPS or max_legs < 1:
        raise ValueError(
            f"max_hops {max_hops} must be from 1 to {MAX_HOPS}, and max_legs {max_legs} at least 1"
        )
    if amount_in <= 0:
        raise ValueError(f"amount {amount_in} must be positive")
    ends = time.monotonic() + deadline_s
    market = pools if isinstance(pools, Market) else Market(pools, wrapped_native)
    node_in, node_out = (node_of(token, wrapped_native) for token in (token_in, token_out))
    if node_in == node_out:
        raise ValueError(f"{token_in} and {token_out} are the same token: a swap needs two")
    trade = _Trade(token_in, token_out, amount_in, gas_model, gas_price)
    if not market.graph.joined(node_in, node_out, max_hops):
        return _no_path(market, trade, max_hops)
    problem = _problem(market, trade, max_hops, max_legs, lambda: time.monotonic() > ends)
    solution = solve(market.pieces, market.idle[0], problem.node_in, problem.node_out, problem.amount_in)
    prices = integer_prices(market.nodes, solution.prices)
    profits = market.profits(prices)
    bound = math.floor(_value(market, trade, prices, profits))
    net_bounds = [_net_bound(market, trade, prices, profits), _pools_bound(market, trade, bound)]
    support = choose(problem, solution)
    flow = None
    if support is not None:
        flow = _exact(market, support, trade)
        near = integer_prices(market.nodes, np.where(support.prices > 0, support.prices, solution.prices))
        net_bounds.append(_net_bound(market, trade, near, market.profits(near)))
    exceeded = exceeded_pools(market.pools, profits)
    path: Path | None
    try:
        path = better_path_exact_in(
            market.graph,
            token_in,
            token_out,
            amount_in,
            gas_model,
            gas_price,
            max_hops,
            _ceiling(market, trade, prices, profits, flow),
        )
    except BandsExceeded as error:
        exceeded, path = (*error.exceeded, *exceeded), error.settled
    if path is not None:
        flow = flow_of_path(path)
    if flow is None:
        return _no_path(market, trade, max_hops)
    net = trade.net(flow.amount_out, flow.gas_units)
    result = FlowResult(
        flow,
        Optimality(
            bound,
            _gap_bps(Fraction(bound), Fraction(flow.amount_out)),
            _gap_bps(max(min(net_bounds), net), net),
            # At the prices of the bound the pools alone are worth no more either.
            min(market.arbitrage(market.nodes[problem.node_out]), bound),
            len(market.pools),
            market.families,
            "split" if _splits(flow, wrapped_native) else "single_path",
            prices,
        ),
    )
    named = {(id(error.pool), error.zero_for_one): error for error in exceeded}
    if named:
        raise BandsExceeded(tuple(named.values()), result)
    return result


def _no_path(market: Market, trade: _Trade, max_hops: int) -> NoPath:
    """Returns why there is no path. Raises BandsExceeded when there may be one."""
    found = best_path_exact_in(
        market.graph,
        trade.token_in,
        trade.token_out,
        trade.amount_in,
        trade.gas_model,
        trade.gas_price,
        max_hops,
    )
    assert isinstance(found, NoPath)
    return found


def _problem(
    market: Market, trade: _Trade, max_hops: int, max_legs: int, expired: Callable[[], bool]
) -> Problem:
    hops = [trade.gas_model.of(kind) for kind in market.families]
    rate = trade.gas_price.numerator / trade.gas_price.denominator
    return Problem(
        market.pieces,
        market.number[node_of(trade.token_in, market.wrapped_native)],
        market.number[node_of(trade.token_out, market.wrapped_native)],
        float(trade.amount_in),
        max_hops,
        max_legs,
        np.array([(hop.hop + hop.section) * rate for hop in hops])[market.family],
        np.array([hop.tick * rate for hop in hops])[market.family],
        expired,
    )


def _value(
    market: Market,
    trade: _Trade,
    prices: dict[str, int],
    profits: list[PoolProfit],
    least_cost: LeastCost = None,
) -> Fraction:
    node_in, node_out = (node_of(token, market.wrapped_native) for token in (trade.token_in, trade.token_out))
    return dual_value(profits, prices, node_in, node_out, trade.amount_in, least_cost)


def _net_bound(market: Market, trade: _Trade, prices: dict[str, int], profits: list[PoolProfit]) -> Fraction:
    """Returns a bound on output less gas: every transaction and every pool used costs its least gas."""
    model, price = trade.gas_model, trade.gas_price
    scale = prices[node_of(trade.token_out, market.wrapped_native)] << 96
    costs = {kind: scale * gas.hop * price.numerator // price.denominator for kind, gas in model.hops.items()}
    value = _value(market, trade, prices, profits, lambda index: costs[market.pools[index].kind])
    return value - trade.gas(_once(trade))


def _pools_bound(market: Market, trade: _Trade, bound: int) -> Fraction:
    """Returns a bound on output less gas of any flow but the single paths that the path search covers.

    Such a flow has at least one pool more than the shortest path.
    """
    node_in, node_out = (node_of(token, market.wrapped_native) for token in (trade.token_in, trade.token_out))
    hops = 1
    while not market.graph.joined(node_in, node_out, hops):
        hops += 1
    least = min(trade.gas_model.of(kind).hop for kind in market.families)
    return bound - trade.gas(_once(trade) + (hops + 1) * least)


def _once(trade: _Trade) -> int:
    """Returns the gas units of a transaction without any pool."""
    model = trade.gas_model
    return model.transaction + (0 if trade.token_in == NATIVE else model.pull)


def _ceiling(
    market: Market, trade: _Trade, prices: dict[str, int], profits: list[PoolProfit], flow: Flow | None
) -> Ceiling:
    """Returns what the prices and the flow found tell the path search."""
    scale = prices[node_of(trade.token_out, market.wrapped_native)]
    most = max((profit.profit_x96 for profit in profits), default=0)
    price = trade.gas_price
    score = None if flow is None else flow.amount_out * price.denominator - flow.gas_units * price.numerator
    return Ceiling({node: units / scale for node, units in prices.items()}, most / (scale << 96), score)


def _exact(market: Market, support: Support, trade: _Trade) -> Flow | None:
    """Returns the flow over the chosen pools with exact amounts; None when integers do not allow it."""
    wrapped = market.wrapped_native
    node_in, node_out = node_of(trade.token_in, wrapped), node_of(trade.token_out, wrapped)
    leaving = np.bincount(support.source, support.amount_in, len(market.nodes))
    shares = support.amount_in / leaving[support.source] * np.where(support.used_up, 1 - _ROOM, 1.0)
    legs = [
        PlannedLeg(market.pools[int(market.index[pool])], falling, int(share * SHARE_ONE), used_up)
        for pool, falling, share, used_up in zip(
            support.pools.tolist(),
            support.zero_for_one.tolist(),
            shares.tolist(),
            support.used_up.tolist(),
            strict=True,
        )
    ]
    order = execution_order(legs, node_in, node_out, wrapped)
    if order is None:
        return None
    try:
        hops = simulate(order, node_in, trade.amount_in, wrapped)
    except BandExceeded:
        return None
    if hops is None:
        return None
    return make_flow(
        hops, trade.token_in, trade.token_out, trade.amount_in, trade.gas_model, trade.gas_price, wrapped
    )


def _splits(flow: Flow, wrapped_native: str | None) -> bool:
    sources = {node_of(leg.token_in, wrapped_native) for leg in flow.legs}
    return len(sources) < len(flow.legs)


def _gap_bps(bound: Fraction, reached: Fraction) -> float:
    """Returns what is missing of the bound, rounded up to 0.0001 bps; 10,000 bps when nothing is reached."""
    if bound <= 0 or reached <= 0:
        return 10_000.0 if bound > reached else 0.0
    return math.ceil((bound - reached) / bound * 10_000 * 10_000) / 10_000
