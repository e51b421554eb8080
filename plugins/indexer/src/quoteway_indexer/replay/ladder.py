"""The initialised ticks of a pool, with what is held on both sides of the interval that has the price."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from quoteway_amm.sqrt_price_math import amount0_delta, amount1_delta

from quoteway_indexer.replay.tick_prices import ratio_at


class Ladder:
    """Ticks in ascending order and the liquidity from each to the next one.

    ``at`` is the number of ticks at or below the pool's tick: the price is in interval ``at - 1``. What an
    interval below it holds is token1, above it token0, each rounded down as a burn of it pays.
    """

    __slots__ = ("above0", "at", "below1", "gross", "held", "liquidities", "ratios", "ticks")

    def __init__(
        self,
        tick: int,
        ticks: list[int] | None = None,
        liquidities: list[int] | None = None,
        gross: list[int] | None = None,
    ) -> None:
        self.ticks: list[int] = ticks or []
        self.liquidities: list[int] = liquidities or []
        self.gross: list[int] = gross or []
        self.ratios = [ratio_at(each) for each in self.ticks]
        self.held = [0] * len(self.ticks)
        self.below1 = self.above0 = 0
        self.at = bisect_right(self.ticks, tick)
        self._hold(0, len(self.ticks))

    @property
    def liquidity(self) -> int:
        """Returns the liquidity at the price."""
        return self.liquidities[self.at - 1] if self.at else 0

    def fits(self, tick: int) -> bool:
        """Tells whether a tick is in the interval of the price."""
        at, ticks = self.at, self.ticks
        return (at == 0 or ticks[at - 1] <= tick) and (at == len(ticks) or tick < ticks[at])

    def move_to(self, tick: int) -> None:
        """Puts the price into the interval of a tick, however far away."""
        self._release(0, len(self.ticks))
        self.at = bisect_right(self.ticks, tick)
        self._hold(0, len(self.ticks))

    def step_down(self) -> None:
        """Moves the price below the tick at the lower end of its interval."""
        current = self.at - 1
        self.at = current
        if current >= 0:
            self._hold(current, current + 1)
        if current > 0:
            self.below1 -= self.held[current - 1]
            self.held[current - 1] = 0

    def step_up(self) -> None:
        """Moves the price to the tick at the upper end of its interval."""
        current = self.at - 1
        self.above0 -= self.held[current + 1]
        self.held[current + 1] = 0
        self.at += 1
        if current >= 0:
            self._hold(current, current + 1)

    def change(self, tick_lower: int, tick_upper: int, delta: int, tick: int) -> tuple[list[int], list[int]]:
        """Adds liquidity between two ticks, or takes it. Returns the ticks that came and those that went.

        Raises ``ValueError`` when there is less than what is taken.
        """
        first = max(bisect_left(self.ticks, tick_lower) - 1, 0)
        self._release(first, bisect_right(self.ticks, tick_upper))
        came = [each for each in (tick_lower, tick_upper) if self._touch(each, tick)]
        lower, upper = bisect_left(self.ticks, tick_lower), bisect_left(self.ticks, tick_upper)
        for place in range(lower, upper):
            self.liquidities[place] += delta
        self.gross[lower] += delta
        self.gross[upper] += delta
        wrong = min(self.gross[lower], self.gross[upper], *self.liquidities[lower:upper]) < 0
        went = [each for each in (tick_upper, tick_lower) if self._forget(each, tick)]
        self._hold(first, bisect_right(self.ticks, tick_upper))
        if wrong:
            raise ValueError(
                f"less than {-delta} of liquidity is between ticks {tick_lower} and {tick_upper}"
            )
        return came, went

    def principal(self, sqrt_price_x96: int) -> tuple[int, int]:
        """Returns what a burn of all liquidity pays: (amount0, amount1)."""
        current = self.at - 1
        amount0, amount1 = self.above0, self.below1
        if current < 0 or current + 1 >= len(self.ticks):
            return amount0, amount1
        liquidity = self.liquidities[current]
        if not liquidity:
            return amount0, amount1
        low, high = self.ratios[current], self.ratios[current + 1]
        if sqrt_price_x96 < high:
            amount0 += amount0_delta(max(sqrt_price_x96, low), high, liquidity)
        if sqrt_price_x96 > low:
            amount1 += amount1_delta(low, min(sqrt_price_x96, high), liquidity)
        return amount0, amount1

    def _touch(self, wanted: int, tick: int) -> bool:
        place = bisect_left(self.ticks, wanted)
        if place < len(self.ticks) and self.ticks[place] == wanted:
            return False
        self.ticks.insert(place, wanted)
        self.ratios.insert(place, ratio_at(wanted))
        self.liquidities.insert(place, self.liquidities[place - 1] if place else 0)
        self.gross.insert(place, 0)
        self.held.insert(place, 0)
        self.at += wanted <= tick
        return True

    def _forget(self, unused: int, tick: int) -> bool:
        place = bisect_left(self.ticks, unused)
        if self.gross[place]:
            return False
        for column in (self.ticks, self.ratios, self.liquidities, self.gross, self.held):
            del column[place]
        self.at -= unused <= tick
        return True

    def _release(self, first: int, end: int) -> None:
        current, held = self.at - 1, self.held
        self.below1 -= sum(held[first : min(end, max(current, 0))])
        self.above0 -= sum(held[max(first, current + 1) : end])
        held[first:end] = [0] * (min(end, len(held)) - first)

    def _hold(self, first: int, end: int) -> None:
        """Computes what intervals hold; those from ``first`` to before ``end`` must hold nothing yet."""
        current, last = self.at - 1, len(self.ticks) - 1
        for place in range(first, min(end, last)):
            liquidity = self.liquidities[place]
            if not liquidity or place == current:
                continue
            low, high = self.ratios[place], self.ratios[place + 1]
            if place < current:
                self.held[place] = amount1_delta(low, high, liquidity)
                self.below1 += self.held[place]
            else:
                self.held[place] = amount0_delta(low, high, liquidity)
                self.above0 += self.held[place]
