"""An upper bound on what an exact input pays, without looking for the flow.

It is over every flow through the pools, however it splits and joins: for contracts that execute paths alone
it is a bound too, and the distance to it contains what splitting would add. Needs numpy (the extra `solver`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from quoteway_amm.approach import solve_from_spot
from quoteway_amm.bound import LeastCost, PoolProfit, dual_value, node_of
from quoteway_amm.flow import Flow
from quoteway_amm.gas import FREE, GasModel, GasPrice
from quoteway_amm.market import Market, integer_prices
from quoteway_amm.pool import NATIVE, Kind, Pool
from quoteway_amm.routing import NoPath
from quoteway_amm.spot import start_prices


@dataclass(frozen=True, slots=True)
class Trade:
    """An exact input of one token for another, and what gas costs in the output token."""

    token_in: str
    token_out: str
    amount_in: int
    gas_model: GasModel
    gas_price: GasPrice

    def net(self, amount_out: int, gas_units: int) -> Fraction:
        """Returns an output less its gas."""
        return amount_out - self.gas(gas_units)

    def score(self, flow: Flow) -> int:
        """Returns the output of a flow less its gas, times the gas price's denominator."""
        return flow.amount_out * self.gas_price.denominator - flow.gas_units * self.gas_price.numerator

    def gas(self, gas_units: int) -> Fraction:
        """Returns the exact cost of gas units in the output token."""
        return Fraction(gas_units * self.gas_price.numerator, self.gas_price.denominator)

    def once(self) -> int:
        """Returns the gas units of a transaction without any pool."""
        model = self.gas_model
        return model.transaction + (0 if self.token_in == NATIVE else model.pull)


@dataclass(frozen=True, slots=True)
class OutputBound:
    """An upper bound on the output, provable with `bound.check_bound` from `prices`.

    `net_bound` is one on the output less gas: every transaction and every pool used costs its least gas.
    `arbitrage`: at most so much of the output token the pools offer without any input. Base units.
    `exceeded`: the best trade of a pool leaves its known ticks. What lies beyond them is not counted.
    """

    bound: int
    net_bound: int
    arbitrage: int
    pools: int
    families: tuple[Kind, ...]
    prices: Mapping[str, int]
    exceeded: bool


def output_bound(
    pools: Sequence[Pool] | Market,
    wrapped_native: str | None,
    token_in: str,
    token_out: str,
    amount_in: int,
    gas_model: GasModel,
    gas_price: GasPrice = FREE,
) -> OutputBound | NoPath:
    """Returns the least bound found on the output of any flow through `pools`.

    Give a `Market` to use one block's pools for many trades. Raises ValueError for a bad request.
    """
    if amount_in <= 0:
        raise ValueError(f"amount {amount_in} must be positive")
    market = pools if isinstance(pools, Market) else Market(pools, wrapped_native)
    node_in, node_out = (node_of(token, wrapped_native) for token in (token_in, token_out))
    if node_in == node_out:
        raise ValueError(f"{token_in} and {token_out} are the same token: a swap needs two")
    most_hops = len(market.nodes)
    if not market.graph.joined(node_in, node_out, most_hops):
        return NoPath("no_liquidity" if market.graph.linked(node_in, node_out, most_hops) else "no_pool")
    trade = Trade(token_in, token_out, amount_in, gas_model, gas_price)
    number_in, number_out = market.number[node_in], market.number[node_out]
    start = start_prices(market.spot(number_out), market.idle[0], number_out)
    solution = solve_from_spot(market.pieces, start, number_in, number_out, float(amount_in))
    prices = integer_prices(market.nodes, solution.prices)
    profits = market.profits(prices)
    bound = math.floor(value_of(market, trade, prices, profits))
    hops = shortest_way(market, trade)
    net_bound = min(
        net_bound_of(market, trade, prices, profits),
        bound - trade.gas(trade.once() + hops * least_hop(market, trade)),
    )
    return OutputBound(
        bound,
        math.ceil(net_bound),
        # At the prices of the bound the pools alone are worth no more either.
        min(market.arbitrage(node_out), bound),
        len(market.pools),
        market.families,
        prices,
        any(profit.exceeded for profit in profits),
    )


def value_of(
    market: Market,
    trade: Trade,
    prices: Mapping[str, int],
    profits: Sequence[PoolProfit],
    least_cost: LeastCost = None,
) -> Fraction:
    """Returns the bound that prices prove, see `bound.dual_value`."""
    node_in, node_out = (node_of(token, market.wrapped_native) for token in (trade.token_in, trade.token_out))
    return dual_value(profits, prices, node_in, node_out, trade.amount_in, least_cost)


def net_bound_of(
    market: Market, trade: Trade, prices: Mapping[str, int], profits: Sequence[PoolProfit]
) -> Fraction:
    """Returns a bound on output less gas: every transaction and every pool used costs its least gas."""
    model, price = trade.gas_model, trade.gas_price
    scale = prices[node_of(trade.token_out, market.wrapped_native)] << 96
    costs = {kind: scale * gas.hop * price.numerator // price.denominator for kind, gas in model.hops.items()}
    value = value_of(market, trade, prices, profits, lambda index: costs[market.pools[index].kind])
    return value - trade.gas(trade.once())


def shortest_way(market: Market, trade: Trade) -> int:
    """Returns how many pools the shortest path has. Its two ends must be joined."""
    node_in, node_out = (node_of(token, market.wrapped_native) for token in (trade.token_in, trade.token_out))
    hops = 1
    while not market.graph.joined(node_in, node_out, hops):
        hops += 1
    return hops


def least_hop(market: Market, trade: Trade) -> int:
    """Returns the gas units of the cheapest pool."""
    return min(trade.gas_model.of(kind).hop for kind in market.families)
