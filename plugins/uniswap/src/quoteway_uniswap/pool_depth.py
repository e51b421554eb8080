"""How deep a pool is, as a number that pools of one pair are compared by and that is expensive to fake."""

from __future__ import annotations

from math import isqrt

from quoteway_amm import (
    MAX_TICK,
    MIN_TICK,
    ConcentratedPool,
    amounts_for_liquidity,
    sqrt_ratio_at_tick,
)

BAND_TICKS = 198
"""Two per cent of the price."""


def depth(pool: ConcentratedPool) -> int:
    """Returns the geometric mean of the reserves within two per cent of the price, on each side one token.

    A price that somebody makes up costs no less: for a given product of both amounts, their value is least
    at the market's price. Much liquidity in one narrow range counts for what is deposited there.
    """
    low, high = max(pool.tick - BAND_TICKS, MIN_TICK), min(pool.tick + BAND_TICKS, MAX_TICK)
    above, liquidity, price = 0, pool.liquidity, pool.sqrt_price_x96
    for tick, net in (*((t, n) for t, n in pool.ticks if pool.tick < t < high), (high, 0)):
        end = sqrt_ratio_at_tick(tick)
        above += amounts_for_liquidity(price, price, max(end, price), liquidity)[0]
        price, liquidity = max(end, price), liquidity + net
    below, liquidity, price = 0, pool.liquidity, pool.sqrt_price_x96
    for tick, net in (*((t, n) for t, n in reversed(pool.ticks) if low < t <= pool.tick), (low, 0)):
        end = sqrt_ratio_at_tick(tick)
        below += amounts_for_liquidity(price, min(end, price), price, liquidity)[1]
        price, liquidity = min(end, price), liquidity - net
    return isqrt(above * below)
