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

from quoteway_amm.approach import solve_from_spot
from quoteway_amm.bound import PoolProfit, exceeded_pools, node_of
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
from quoteway_amm.output_bound import Trade, least_hop, net_bound_of, shortest_way, value_of
from quoteway_amm.pieces import Floats
from quoteway_amm.polish import polished
from quoteway_amm.pool import Pool
from quoteway_amm.routing import NoPath, Path, best_path_exact_in
from quoteway_amm.single import Known, better_path, first_path, prices_after
from quoteway_amm.spot import start_prices
from quoteway_amm.support import ANY_HOPS, Problem, Support, choose

MAX_HOPS = 4
"""The most pools on each way through a flow that a caller may ask for."""

MAX_LEGS = 25
"""The most pools of a flow unless the caller says otherwise."""

_ROOM = 1e-6
"""A pool that would be used up gets so much less, so that integers fit."""

_GOOD_ENOUGH_BPS = 0.1
"""A single path so near to its bound is not split."""

_NEAR_SPOT = 0.998
"""A path that loses more of the spot price is not tried for a proof: its trade moves the price too far."""


def best_flow_exact_in(
    pools: Sequence[Pool] | Market,
    wrapped_native: str | None,
    token_in: str,
    token_out: str,
    amount_in: int,
    gas_model: GasModel,
    gas_price: GasPrice = FREE,
    max_hops: int | None = None,
    max_legs: int = MAX_LEGS,
    deadline_s: float = 1.0,
) -> FlowResult | NoPath:
    """Returns the flow with the greatest output after gas found, never less than the best single path.

    Give a `Market` to use one block's pools for many trades: making it takes longer than a trade. Each way
    through the flow has at most `max_hops` pools (1 to 4; None: any number, but single paths are looked for
    up to 4), the flow at most `max_legs`. A single path within 0.1 bps of a bound is not split. After
    `deadline_s` nothing more is improved. Raises BandsExceeded, with this result as `settled`, when pools
    that may win lack ticks, and ValueError for a bad request.
    """
    if max_legs < 1 or not (max_hops is None or 1 <= max_hops <= MAX_HOPS):
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
    trade = Trade(token_in, token_out, amount_in, gas_model, gas_price)
    path_hops = MAX_HOPS if max_hops is None else max_hops
    if not market.graph.joined(node_in, node_out, path_hops):
        return _no_path(market, trade, path_hops)
    numbers = market.number[node_in], market.number[node_out]
    single = _single(market, trade, path_hops)
    if isinstance(single, FlowResult):
        return single
    problem = _problem(market, trade, max_hops, max_legs, lambda: time.monotonic() > ends)
    start = start_prices(market.spot(numbers[1]), market.idle[0], numbers[1])
    solution = solve_from_spot(market.pieces, start, *numbers, problem.amount_in)
    proof = _Proof.at(market, trade, solution.prices)
    net_bounds = [proof.net, _pools_bound(market, trade, proof.bound)]
    support = choose(problem, solution)
    flow = None
    if support is not None:
        flow = _exact(market, support, trade)
        if flow is not None:
            flow = polished(flow, gas_model, gas_price, wrapped_native, problem.expired)
        if gas_price.numerator:
            near = integer_prices(market.nodes, np.where(support.prices > 0, support.prices, solution.prices))
            net_bounds.append(net_bound_of(market, trade, near, market.profits(near)))
    exceeded: tuple[BandExceeded, ...] = exceeded_pools(market.pools, proof.profits)
    if single is None:
        try:
            path = _better_path(
                market, trade, path_hops, proof.known(None if flow is None else trade.score(flow))
            )
        except BandsExceeded as error:
            exceeded, path = (*error.exceeded, *exceeded), error.settled
        single = None if path is None else flow_of_path(path)
    if single is not None and (flow is None or trade.score(single) >= trade.score(flow)):
        flow = single
    if flow is None:
        return _no_path(market, trade, path_hops)
    result = FlowResult(flow, _optimality(market, trade, flow, proof, min(net_bounds)))
    named = {(id(error.pool), error.zero_for_one): error for error in exceeded}
    if named:
        raise BandsExceeded(tuple(named.values()), result)
    return result


@dataclass(frozen=True, slots=True)
class _Proof:
    """Prices with the bounds that they prove on the output, and on the output net of gas."""

    floats: Floats
    scale: int
    prices: dict[str, int]
    profits: list[PoolProfit]
    bound: int
    net: Fraction

    @classmethod
    def at(cls, market: Market, trade: Trade, floats: Floats) -> _Proof:
        prices = integer_prices(market.nodes, floats)
        profits = market.profits(prices)
        bound = math.floor(value_of(market, trade, prices, profits))
        scale = prices[node_of(trade.token_out, market.wrapped_native)] << 96
        return cls(floats, scale, prices, profits, bound, net_bound_of(market, trade, prices, profits))

    def known(self, score: int | None) -> Known:
        """Returns what the path search needs to know."""
        return Known(self.floats, [profit.profit_x96 / self.scale for profit in self.profits], score)


def _better_path(market: Market, trade: Trade, max_hops: int, known: Known) -> Path | None:
    return better_path(
        market,
        trade.token_in,
        trade.token_out,
        trade.amount_in,
        trade.gas_model,
        trade.gas_price,
        max_hops,
        known,
    )


def _single(market: Market, trade: Trade, max_hops: int) -> FlowResult | Flow | None:
    """Returns the best single path: a result if prices prove that no flow gives 0.1 bps more; None if it is
    not found at once.
    """
    wrapped = market.wrapped_native
    node_in, node_out = (market.number[node_of(t, wrapped)] for t in (trade.token_in, trade.token_out))
    spot = market.spot(node_out)
    # With a profit in a circle, the search could not tell which pools cannot win.
    if not spot.settled:
        return None
    first = first_path(market, node_in, node_out, trade.amount_in, max_hops)
    if first is None:
        return None
    flow = make_flow(
        first, trade.token_in, trade.token_out, trade.amount_in, trade.gas_model, trade.gas_price, wrapped
    )
    most = trade.amount_in * float(spot.prices[node_in])
    if flow.amount_out < most * _NEAR_SPOT:
        return None
    try:
        path = _better_path(market, trade, max_hops, Known(spot.prices, (), trade.score(flow)))
    except BandsExceeded:
        return None
    flow = flow if path is None else flow_of_path(path)
    after = prices_after(market, flow.legs, node_out)
    proof = _Proof.at(market, trade, after)
    if any(profit.exceeded for profit in proof.profits):
        return flow
    net_bound = min(proof.net, _pools_bound(market, trade, proof.bound))
    optimality = _optimality(market, trade, flow, proof, net_bound)
    if min(optimality.gap_bps, optimality.net_gap_bps) > _GOOD_ENOUGH_BPS:
        return flow
    return FlowResult(flow, optimality)


def _optimality(market: Market, trade: Trade, flow: Flow, proof: _Proof, net_bound: Fraction) -> Optimality:
    net = trade.net(flow.amount_out, flow.gas_units)
    return Optimality(
        proof.bound,
        _gap_bps(Fraction(proof.bound), Fraction(flow.amount_out)),
        _gap_bps(max(net_bound, net), net),
        # At the prices of the bound the pools alone are worth no more either.
        min(market.arbitrage(node_of(trade.token_out, market.wrapped_native)), proof.bound),
        len(market.pools),
        market.families,
        "split" if _splits(flow, market.wrapped_native) else "single_path",
        proof.prices,
    )


def _no_path(market: Market, trade: Trade, max_hops: int) -> NoPath:
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
    market: Market, trade: Trade, max_hops: int | None, max_legs: int, expired: Callable[[], bool]
) -> Problem:
    hops = [trade.gas_model.of(kind) for kind in market.families]
    rate = trade.gas_price.numerator / trade.gas_price.denominator
    return Problem(
        market.pieces,
        market.number[node_of(trade.token_in, market.wrapped_native)],
        market.number[node_of(trade.token_out, market.wrapped_native)],
        float(trade.amount_in),
        ANY_HOPS if max_hops is None else max_hops,
        max_legs,
        np.array([(hop.hop + hop.section) * rate for hop in hops])[market.family],
        np.array([hop.tick * rate for hop in hops])[market.family],
        expired,
        market.rivals,
    )


def _pools_bound(market: Market, trade: Trade, bound: int) -> Fraction:
    """Returns a bound on output less gas of any flow but the single paths that the path search covers.

    Such a flow has at least one pool more than the shortest path.
    """
    gas_units = trade.once() + (shortest_way(market, trade) + 1) * least_hop(market, trade)
    return bound - trade.gas(gas_units)


def _exact(market: Market, support: Support, trade: Trade) -> Flow | None:
    """Returns the flow over the chosen pools with exact amounts; None when integers do not allow it."""
    wrapped = market.wrapped_native
    node_in, node_out = node_of(trade.token_in, wrapped), node_of(trade.token_out, wrapped)
    leaving = np.bincount(support.source, support.amount_in, len(market.nodes))
    shares = support.amount_in / leaving[support.source]
    legs = [
        PlannedLeg(
            market.pools[int(market.index[pool])],
            falling,
            int(share * SHARE_ONE),
            used_up,
            int(amount * (1 - _ROOM)) if used_up else None,
        )
        for pool, falling, share, used_up, amount in zip(
            support.pools.tolist(),
            support.zero_for_one.tolist(),
            shares.tolist(),
            support.used_up.tolist(),
            support.amount_in.tolist(),
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
