"""An upper bound on what a trade can give, from one price per token, in exact arithmetic.

For any prices `v >= 0` with `v[token_out] = 1`, no flow through the pools gives more than
`v[token_in] * amount_in + sum of the greatest arbitrage profit of every pool at these prices` (Lagrangian
duality: Diamandis, Resnick, Chitra, Angeris, "An Efficient Algorithm for Optimal Routing Through Constant
Function Market Makers", arXiv 2302.04938, section 3). Nothing is subtracted for arbitrage that the pools
offer without any input: the difference would be no bound.

Everything is rounded upwards: the pools' curves contain what the contracts do, roots that are subtracted are
rounded down. So the bound holds for good and for bad prices alike.

Pairs of a pool with more than two tokens count as pools of their own. A flow uses one pair of a pool at most,
so that every flow is one of those that the bound is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, isqrt

from quoteway_amm.curve import Curve
from quoteway_amm.errors import BandExceeded
from quoteway_amm.pool import NATIVE, Pool

_Q96 = 1 << 96
_Q192 = 1 << 192
_MORE_THAN_KNOWN = 2**127 - 1

LeastCost = Callable[[int], int] | None
"""What using a pool (by index) costs at least, in base units of the output times its price, in Q96."""


@dataclass(frozen=True, slots=True)
class PoolProfit:
    """The profit of one pool at given prices: at most `profit_x96 / 2^96` in units of the prices.

    `exceeded` says that the trade with the greatest profit leaves the known ticks.
    """

    index: int
    zero_for_one: bool
    profit_x96: int
    exceeded: bool


def node_of(token: str, wrapped_native: str | None) -> str:
    """Returns the node of a token: the wrapped native coin for both its forms."""
    return wrapped_native if token == NATIVE and wrapped_native is not None else token


def pool_profits(
    pools: Sequence[Pool], prices: Mapping[str, int], wrapped_native: str | None = None
) -> Iterator[PoolProfit]:
    """Yields the pools with a profit at integer prices per base unit, at any common scale.

    Raises KeyError for a token without a price.
    """
    for index, pool in enumerate(pools):
        node0, node1 = node_of(pool.token0, wrapped_native), node_of(pool.token1, wrapped_native)
        # The native coin against its wrapped form is no pool: see Graph.
        if node0 == node1 or not pool.has_liquidity:
            continue
        price0, price1 = prices[node0], prices[node1]
        numerator, denominator = pool.mid_price(True)
        # Without fees, at most one direction has a profit.
        zero_for_one = price1 * numerator > price0 * denominator
        curve = pool.curve(zero_for_one)
        found = profit_of(index, curve, price0, price1)
        if found is not None:
            yield found
        if curve.excess:
            # Rounding has a profit at any price.
            yield from filter(None, [profit_of(index, pool.curve(not zero_for_one), price0, price1)])


def profit_of(index: int, curve: Curve, price0: int, price1: int) -> PoolProfit | None:
    """Returns the profit of one pool in one direction, or None."""
    profit_x96, exceeded = curve_profit(curve, price0, price1)
    return PoolProfit(index, curve.zero_for_one, profit_x96, exceeded) if profit_x96 or exceeded else None


def curve_profit(curve: Curve, price0: int, price1: int) -> tuple[int, bool]:
    """Returns (greatest profit in Q96, whether it needs more than the known ticks), the profit rounded up.

    The profit is `price_out * amount_out - price_in * amount_in`, greatest where the price after the fee
    equals the ratio of the prices.
    """
    kept, whole = curve.fee_numerator, curve.fee_denominator
    if not kept:
        return 0, False
    # The best square-root price s: s^2 * at_least against level, both without division.
    if curve.zero_for_one:
        factor, level = price1 * kept, price0 * whole * _Q192
    else:
        factor, level = price1 * whole, price0 * kept * _Q192
    gained, paid, partial = 0, 0, 0
    for low, high, liquidity in curve.segments:
        start, end = (high, low) if curve.zero_for_one else (low, high)
        if not _beyond(start, factor, level, curve.zero_for_one):
            break
        if _beyond(end, factor, level, curve.zero_for_one) or end * end * factor == level:
            amount1_x96 = liquidity * (high - low)
            amount0_x96 = liquidity * (high - low) * _Q192
            if curve.zero_for_one:
                gained += price1 * amount1_x96
                paid += price0 * (amount0_x96 // (high * low))
            else:
                gained += price0 * -(-amount0_x96 // (high * low))
                paid += price1 * amount1_x96
            continue
        # Inside: price_out * y + price_in * x / kept - 2 * sqrt(price_in * price_out * x * y / kept), where x
        # and y are the virtual reserves at the start.
        worth0, worth1 = price0 * liquidity * _Q192, price1 * liquidity * start
        if curve.zero_for_one:
            partial = worth1 - (-worth0 * whole // (kept * start))
        else:
            partial = -(-worth0 // start) - (-worth1 * whole // kept)
        root_x32 = isqrt((price0 * price1 * whole << 64) // kept)
        partial -= liquidity * _Q96 * root_x32 >> 31
        break
    exceeded = not curve.complete and _beyond(curve.end_sqrt_price_x96, factor, level, curve.zero_for_one)
    rounded = curve.excess * (price1 if curve.zero_for_one else price0) << 96
    return max(gained - paid * whole // kept + partial, 0) + rounded, exceeded


def _beyond(sqrt_price: int, factor: int, level: int, zero_for_one: bool) -> bool:
    """Returns whether a swap is still worth it at this price."""
    square = sqrt_price * sqrt_price * factor
    return square > level if zero_for_one else square < level


def check_bound(
    pools: Sequence[Pool],
    prices: Mapping[str, int],
    token_in: str,
    token_out: str,
    amount_in: int,
    wrapped_native: str | None = None,
) -> int:
    """Returns the greatest output that any flow through `pools` can have: nothing of the optimiser is used.

    `prices` has an integer per token and base unit, all at one scale; the native coin has that of its wrapped
    form. Liquidity beyond the known ticks is not counted. Raises ValueError for prices that prove nothing.
    """
    profits = pool_profits(pools, prices, wrapped_native)
    node_in, node_out = node_of(token_in, wrapped_native), node_of(token_out, wrapped_native)
    return floor(dual_value(profits, prices, node_in, node_out, amount_in))


def dual_value(
    profits: Iterable[PoolProfit],
    prices: Mapping[str, int],
    node_in: str,
    node_out: str,
    amount_in: int,
    least_cost: LeastCost = None,
) -> Fraction:
    """Returns the bound in base units of the output token. Outputs are integers: a fraction can be cut off.

    With `least_cost` the bound is for the output less these costs, as leaving a pool out is free. Raises
    as `check_bound`.
    """
    scale = prices[node_out] << 96
    if scale <= 0 or any(price < 0 for price in prices.values()):
        raise ValueError(f"the price of {node_out} must be positive, and no price negative")
    value = prices[node_in] * amount_in << 96
    for profit in profits:
        cost = 0 if least_cost is None else least_cost(profit.index)
        value += max(profit.profit_x96 - cost, 0)
    return Fraction(value, scale)


def exceeded_pools(pools: Sequence[Pool], profits: Iterable[PoolProfit]) -> tuple[BandExceeded, ...]:
    """Returns the pools whose best trade leaves their known ticks, as the path search names them."""
    found = []
    for profit in profits:
        if profit.exceeded:
            try:
                pools[profit.index].exact_in(profit.zero_for_one, _MORE_THAN_KNOWN)
            except BandExceeded as error:
                found.append(error)
    return tuple(found)
