"""A lower bound on what an exact output takes, from one price per token, in exact arithmetic.

The mirror image of `bound.py`. For any prices `v >= 0` with `v[token_in] > 0`, a trade that pays `bought` of
the output token takes at least `(v[token_out] * bought - sum of the greatest arbitrage profits of the pools)
/ v[token_in]` of the input token: the worth of what the pools give, less that of what they take, is at most
the sum of their profits. Profits are rounded upwards, so the bound holds for good and for bad prices alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil

from quoteway_amm.bound import LeastCost, PoolProfit, node_of, pool_profits
from quoteway_amm.pool import Pool


def check_input_bound(
    pools: Sequence[Pool],
    prices: Mapping[str, int],
    token_in: str,
    token_out: str,
    amount_out: int,
    wrapped_native: str | None = None,
) -> int:
    """Returns the least input that any flow through `pools` can have which pays `amount_out`.

    `prices` has an integer per token and base unit, all at one scale; the native coin has that of its wrapped
    form. Liquidity beyond the known ticks is not counted. Raises ValueError for prices that prove nothing.
    """
    profits = pool_profits(pools, prices, wrapped_native)
    ends = node_of(token_in, wrapped_native), node_of(token_out, wrapped_native)
    return ceil(input_bound(profits, prices, *ends, amount_out))


def input_bound(
    profits: Iterable[PoolProfit],
    prices: Mapping[str, int],
    node_in: str,
    node_out: str,
    amount_out: int,
    least_cost: LeastCost = None,
) -> Fraction:
    """Returns the bound in base units of the input token, at least 0. Inputs are integers: a fraction can be
    rounded up.

    With `least_cost` the bound is for the input with these costs, as leaving a pool out is free. Raises as
    `check_input_bound`.
    """
    scale = prices[node_in] << 96
    if scale <= 0 or any(price < 0 for price in prices.values()):
        raise ValueError(f"the price of {node_in} must be positive, and no price negative")
    value = prices[node_out] * amount_out << 96
    for profit in profits:
        cost = 0 if least_cost is None else least_cost(profit.index)
        value -= max(profit.profit_x96 - cost, 0)
    return Fraction(max(value, 0), scale)
