"""Pools of Algebra Integral: concentrated liquidity whose swaps stop at initialised ticks alone.

Ticks are a linked list, so that no swap stops at the end of a bitmap word as in v3, and the words hold ticks
whatever the tick spacing is. The step is that of v3. The fee is the stored one, for pools without a plugin
that is asked before a swap. Source: integral-core 1.2 (PriceMovementMath, TickManagement, TickTree).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields
from operator import attrgetter, itemgetter
from typing import Any

from quoteway_amm.concentrated import ConcentratedPool
from quoteway_amm.concentrated_state import ConcentratedState
from quoteway_amm.errors import BandExceeded
from quoteway_amm.tick_math import MAX_TICK, MIN_TICK

TICKS_PER_WORD = 256

_index = itemgetter(0)
_state = attrgetter(*(member.name for member in fields(ConcentratedState)))


@dataclass(frozen=True, slots=True)
class AlgebraPool(ConcentratedPool):
    """A pool at one block. ``tick_spacing`` is 1, as the words count ticks."""

    def __reduce__(self) -> tuple[type[ConcentratedPool], tuple[Any, ...]]:
        """See ``ConcentratedPool``."""
        return AlgebraPool, _state(self)

    @property
    def stops_at_words(self) -> bool:
        """Returns False: the end of the known words is no stop of the contract."""
        return False

    def word_edge(self, tick: int, zero_for_one: bool) -> int:
        """Returns the last tick as far as which a swap at ``tick`` meets no tick that is not known.

        Raises BandExceeded when nothing is known there.
        """
        low, high = self.word_lo * TICKS_PER_WORD, (self.word_hi + 1) * TICKS_PER_WORD - 1
        at = bisect_right(self.ticks, tick, key=_index)
        first = tick if zero_for_one else tick + 1
        if not low <= first <= high:
            raise BandExceeded(self, zero_for_one, first, 0, 0, self.sqrt_price_x96)
        if zero_for_one:
            return MIN_TICK if at > 0 or low <= MIN_TICK else low
        return MAX_TICK if at < len(self.ticks) or high >= MAX_TICK else high
