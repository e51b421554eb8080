"""Compute pool prices, ticks and liquidity from USD prices.

Used to create pools, not to quote: only the opening price of a pool is exact.
"""

import math
from fractions import Fraction
from math import isqrt

from quoteway_devnet.tables import Range, TokenRow

Q96 = 2**96
MAX_TICK = 887272
"""Uniswap v3 and v4, TickMath."""


def pool_price(row0: TokenRow, row1: TokenRow) -> Fraction:
    """Return base units of token1 per base unit of token0."""
    return row0.price / row1.price * Fraction(10) ** (row1.decimals - row0.decimals)


def sqrt_price_x96(price: Fraction) -> int:
    """Return sqrt(price) * 2**96, rounded down."""
    return isqrt((price.numerator << 192) // price.denominator)


def tick_range(price: Fraction, bounds: Range, tick_spacing: int) -> tuple[int, int]:
    """Return the ticks that enclose a range, rounded outwards to the spacing."""
    limit = MAX_TICK // tick_spacing * tick_spacing
    lower, upper = -limit, limit
    if bounds.lower is not None:
        lower = math.floor(_tick(price * Fraction(bounds.lower)) / tick_spacing) * tick_spacing
    if bounds.upper is not None:
        upper = math.ceil(_tick(price * Fraction(bounds.upper)) / tick_spacing) * tick_spacing
    return lower, upper


def liquidity(price: Fraction, ticks: tuple[int, int], amount0: int, amount1: int) -> int:
    """Return the liquidity of both amounts within ``ticks`` (v3-periphery, LiquidityAmounts).

    It is 0.1 % lower, so that rounding never requires more than the amounts.
    """
    lower, upper = (math.exp(tick / 2 * math.log(1.0001)) for tick in ticks)
    current = min(max(math.sqrt(price), lower), upper)
    from0 = amount0 * current * upper / (upper - current) if current < upper else math.inf
    from1 = amount1 / (current - lower) if current > lower else math.inf
    return int(min(from0, from1) * 0.999)


def _tick(price: Fraction) -> float:
    return (math.log(price.numerator) - math.log(price.denominator)) / math.log(1.0001)
