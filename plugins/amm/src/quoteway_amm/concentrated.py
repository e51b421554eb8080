"""Pools with concentrated liquidity as routing uses them: exact amounts from running totals."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

from quoteway_amm.concentrated_state import ConcentratedState, word_of_tick
from quoteway_amm.curve import Curve, Segment
from quoteway_amm.ladder import Ladder
from quoteway_amm.pool import PIPS
from quoteway_amm.tick_math import MAX_SQRT_RATIO, MAX_TICK, MIN_SQRT_RATIO, MIN_TICK, sqrt_ratio_at_tick

MAX_LIQUIDITY_NET = 2**127 - 1
"""The greatest `liquidityNet`: an int128."""

_state = attrgetter(*(member.name for member in fields(ConcentratedState)))


@dataclass(frozen=True, slots=True)
class ConcentratedPool(ConcentratedState):
    """A v3 or hookless v4 pool at one block. Gives the same amounts as `swap_loop`, many times faster."""

    _ladders: list[Ladder | None] = field(
        default_factory=lambda: [None, None], init=False, repr=False, compare=False
    )

    def __reduce__(self) -> tuple[type[ConcentratedPool], tuple[Any, ...]]:
        """Pickles the state alone: the running totals are made again where they are needed."""
        return ConcentratedPool, _state(self)

    def exact_in(self, zero_for_one: bool, amount_in: int) -> tuple[int, int] | None:
        """Returns (amount out, initialised ticks crossed); None when the pool cannot take it all."""
        return self.ladder(zero_for_one).exact_in(amount_in)

    def exact_out(self, zero_for_one: bool, amount_out: int) -> tuple[int, int] | None:
        """Returns (amount in, initialised ticks crossed); None when the pool cannot give it all."""
        return self.ladder(zero_for_one).exact_out(amount_out)

    def curve(self, zero_for_one: bool) -> Curve:
        """Returns the segments from the price to the end of the known words, without empty ones."""
        spacing, price, liquidity = self.tick_spacing, self.sqrt_price_x96, self.liquidity
        retained = PIPS - self.swap_fee_pips(zero_for_one)
        word = word_of_tick(self.tick if zero_for_one else self.tick + spacing, spacing)
        if not self.word_lo <= word <= self.word_hi:
            return Curve(zero_for_one, (), retained, PIPS, price, complete=False)
        split = bisect_right(self.ticks, (self.tick, MAX_LIQUIDITY_NET))
        ahead = reversed(self.ticks[:split]) if zero_for_one else iter(self.ticks[split:])
        if zero_for_one:
            last, end_tick, end = MIN_TICK, (self.word_lo << 8) * spacing, MIN_SQRT_RATIO + 1
            complete = end_tick <= last
        else:
            last, end_tick, end = MAX_TICK, ((self.word_hi << 8) + 255) * spacing, MAX_SQRT_RATIO - 1
            complete = end_tick >= last
        if not complete:
            end = sqrt_ratio_at_tick(end_tick)
        segments: list[Segment] = []
        for tick, net in ahead:
            if tick == last:
                break
            target = sqrt_ratio_at_tick(tick)
            if liquidity and target != price:
                segments.append(Segment(min(price, target), max(price, target), liquidity))
            price = target
            liquidity += -net if zero_for_one else net
        if liquidity and price != end and (price > end) == zero_for_one:
            segments.append(Segment(min(price, end), max(price, end), liquidity))
        return Curve(zero_for_one, tuple(segments), retained, PIPS, end, complete)

    def ladder(self, zero_for_one: bool) -> Ladder:
        """Returns the running totals of one direction, made once per pool object."""
        ladder = self._ladders[zero_for_one]
        if ladder is None:
            ladder = self._ladders[zero_for_one] = Ladder(self, zero_for_one)
        return ladder
