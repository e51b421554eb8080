"""Square-root prices of ticks, and the tick of a price, for loops over many events."""

from __future__ import annotations

from functools import lru_cache
from math import floor, log

from quoteway_amm import sqrt_ratio_at_tick

Q96 = 1 << 96
_LOG_OF_TICK = log(1.0001) / 2

ratio_at = lru_cache(1 << 16)(sqrt_ratio_at_tick)
"""``sqrt_ratio_at_tick`` of ticks that come again and again."""


def tick_of(sqrt_price_x96: int) -> int:
    """Returns the greatest tick whose ratio is at most a price within the bounds of v3.

    The logarithm only says where to look: the ratios of the ticks decide.
    """
    tick = floor(log(sqrt_price_x96 / Q96) / _LOG_OF_TICK)
    while ratio_at(tick) > sqrt_price_x96:
        tick -= 1
    while ratio_at(tick + 1) <= sqrt_price_x96:
        tick += 1
    return tick
