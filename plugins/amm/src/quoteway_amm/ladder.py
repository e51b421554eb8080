"""Running totals of a pool's full swap steps: a quote is one bisection and one partial step.

Every full step of the swap loop runs between two fixed prices (initialised ticks and word edges, starting
from the pool's own price), so its amounts are constants of the state and are summed once. The result is
exact: `floor(remaining * (1e6 - fee) / 1e6) >= amount_in`, the contracts' test for a full step, holds exactly
when `remaining >= amount_in + ceil(amount_in * fee / (1e6 - fee))`, which is what the full step takes.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, bisect_right

from quoteway_amm.concentrated_state import ConcentratedState
from quoteway_amm.errors import BandExceeded
from quoteway_amm.pool import PIPS
from quoteway_amm.sqrt_price_math import deltas_of, sqrt_price_after_input, sqrt_price_after_output
from quoteway_amm.tick_math import MAX_SQRT_RATIO, MAX_TICK, MIN_SQRT_RATIO, MIN_TICK, sqrt_ratio_at_tick

# v3 takes an int256 and v4 returns int128 deltas; a larger amount reverts in the contract.
_MAX_AMOUNT, _MAX_AMOUNT_V4 = 2**255 - 1, 2**127 - 1


class Ladder:
    """The totals of one pool in one direction. Steps are added when a quote needs them."""

    __slots__ = (
        "_amount_in",
        "_amount_out",
        "_crossed",
        "_fee_pips",
        "_indices",
        "_ins",
        "_is_stop",
        "_liquidities",
        "_liquidity",
        "_max_amount",
        "_outs",
        "_pool_ref",
        "_price",
        "_starts",
        "_stop_initialised",
        "_targets",
        "_tick",
        "_tick_at",
        "_ticks_crossed",
        "_zero_for_one",
    )  # fmt: skip

    def __init__(self, pool: ConcentratedState, zero_for_one: bool) -> None:
        # The pool has this object. With a reference back, only a collection of garbage would free the two.
        self._pool_ref = weakref.ref(pool)
        self._zero_for_one = zero_for_one
        self._fee_pips = pool.swap_fee_pips(zero_for_one)
        self._max_amount = _MAX_AMOUNT_V4 if pool.is_v4 else _MAX_AMOUNT
        self._amount_in, self._amount_out = deltas_of(zero_for_one)
        # One entry per full step: totals at its end, then the step itself.
        self._ins: list[int] = []
        self._outs: list[int] = []
        self._starts: list[int] = []
        self._targets: list[int] = []
        self._liquidities: list[int] = []
        self._crossed: list[int] = []
        self._stop_initialised: list[bool] = []
        self._is_stop: list[bool] = []
        """Whether the contract stops at the end of a step too; else it is the end of what is known."""
        # Where the next step starts.
        self._price = pool.sqrt_price_x96
        self._tick = pool.tick
        self._liquidity = pool.liquidity
        self._ticks_crossed = 0
        self._indices = [tick for tick, _ in pool.ticks]
        if zero_for_one:
            self._tick_at = bisect_right(self._indices, pool.tick) - 1
        else:
            self._tick_at = bisect_right(self._indices, pool.tick)

    @property
    def _pool(self) -> ConcentratedState:
        pool = self._pool_ref()
        assert pool is not None, "the totals of a pool are used through the pool"
        return pool

    def exact_in(self, amount_in: int) -> tuple[int, int] | None:
        """Returns (amount out, ticks crossed); None when the pool cannot take the whole amount."""
        if amount_in <= 0 or amount_in > self._max_amount:
            return None
        if self._fee_pips == PIPS:
            return 0, 0
        ins = self._ins
        at = bisect_left(ins, amount_in)
        if at == len(ins):
            if not self._grow_to(ins, amount_in):
                return None
            at = bisect_left(ins, amount_in, at)
        if ins[at] == amount_in and self._is_stop[at]:
            return self._outs[at], self._crossed[at] + self._stop_initialised[at]
        spent, given = (ins[at - 1], self._outs[at - 1]) if at else (0, 0)
        price, liquidity = self._starts[at], self._liquidities[at]
        less_fee = (amount_in - spent) * (PIPS - self._fee_pips) // PIPS
        price_next = sqrt_price_after_input(price, liquidity, less_fee, self._zero_for_one)
        return given + self._amount_out(price, price_next, liquidity), self._crossed[at]

    def exact_out(self, amount_out: int) -> tuple[int, int] | None:
        """Returns (amount in, ticks crossed); None when the pool cannot give the whole amount."""
        if amount_out <= 0 or amount_out > self._max_amount or self._fee_pips == PIPS:
            return None
        outs = self._outs
        at = bisect_left(outs, amount_out)
        if at == len(outs):
            if not self._grow_to(outs, amount_out):
                return None
            at = bisect_left(outs, amount_out, at)
        if outs[at] == amount_out and self._is_stop[at]:
            total_in, crossed = self._ins[at], self._crossed[at] + self._stop_initialised[at]
        else:
            spent, given = (self._ins[at - 1], outs[at - 1]) if at else (0, 0)
            price, liquidity = self._starts[at], self._liquidities[at]
            price_next = sqrt_price_after_output(price, liquidity, amount_out - given, self._zero_for_one)
            step_in = self._amount_in(price, price_next, liquidity)
            total_in = spent + step_in - (-step_in * self._fee_pips // (PIPS - self._fee_pips))
            # Rounding may move the price to the stop although output is left: the tick is crossed.
            reached = price_next == self._targets[at]
            crossed = self._crossed[at] + (reached and self._stop_initialised[at])
        return (total_in, crossed) if total_in <= self._max_amount else None

    def _totals(self) -> tuple[int, int]:
        return (self._ins[-1], self._outs[-1]) if self._ins else (0, 0)

    def _band_exceeded(self, tick: int) -> BandExceeded:
        return BandExceeded(self._pool, self._zero_for_one, tick, *self._totals(), self._price)

    def _grow_to(self, totals: list[int], amount: int) -> bool:
        """Adds steps until the last of `totals` reaches `amount`; returns whether it does."""
        while self._grow():
            if totals[-1] >= amount:
                return True
        return False

    def _grow(self) -> bool:
        """Adds the next step that has liquidity; returns False at the lowest or highest price."""
        if not self._liquidity and not self._walk_to_liquidity():
            return False
        end = MIN_SQRT_RATIO + 1 if self._zero_for_one else MAX_SQRT_RATIO - 1
        if self._price == end:
            return False
        tick_next, initialised = self._next_stop()
        target = sqrt_ratio_at_tick(tick_next)
        at_end = target <= end if self._zero_for_one else target >= end
        if at_end:
            target, initialised = end, False
        price, liquidity = self._price, self._liquidity
        step_in = self._amount_in(price, target, liquidity)
        step_out = self._amount_out(price, target, liquidity)
        spent, given = self._totals()
        cost = step_in - (-step_in * self._fee_pips // (PIPS - self._fee_pips))
        self._ins.append(spent + cost)
        self._outs.append(given + step_out)
        self._starts.append(price)
        self._targets.append(target)
        self._liquidities.append(liquidity)
        self._crossed.append(self._ticks_crossed)
        self._stop_initialised.append(initialised)
        self._is_stop.append(initialised or at_end or self._pool.stops_at_words)
        self._price = target
        if not at_end:
            self._pass(tick_next, initialised)
        return True

    def _next_stop(self) -> tuple[int, bool]:
        """Returns (next stop, whether it is an initialised tick), as `next_tick_within_one_word` does."""
        try:
            edge = self._pool.word_edge(self._tick, self._zero_for_one)
        except BandExceeded as error:
            raise self._band_exceeded(error.tick) from None
        if 0 <= self._tick_at < len(self._indices):
            tick = self._indices[self._tick_at]
            if (tick >= edge) if self._zero_for_one else (tick <= edge):
                return tick, True
        return edge, False

    def _pass(self, tick: int, initialised: bool) -> None:
        self._tick = tick - 1 if self._zero_for_one else tick
        if not initialised:
            return
        net = self._pool.ticks[self._tick_at][1]
        if self._zero_for_one:
            self._liquidity -= net
            self._tick_at -= 1
        else:
            self._liquidity += net
            self._tick_at += 1
        self._ticks_crossed += 1

    def _walk_to_liquidity(self) -> bool:
        """Moves to the next range with liquidity at no cost; returns False when there is none."""
        pool = self._pool
        spacing = pool.tick_spacing
        while not self._liquidity:
            # Raises BandExceeded when the price is outside the known words.
            self._next_stop()
            if 0 <= self._tick_at < len(self._indices):
                tick = self._indices[self._tick_at]
                if not MIN_TICK < tick < MAX_TICK:
                    return False
                self._price = sqrt_ratio_at_tick(tick)
                self._pass(tick, True)
                continue
            low, high = (pool.word_lo << 8) * spacing, ((pool.word_hi << 8) + 255) * spacing
            if self._zero_for_one and low > MIN_TICK:
                raise self._band_exceeded(low - 1)
            if not self._zero_for_one and high < MAX_TICK:
                raise self._band_exceeded(high + spacing)
            return False
        return True
