"""Running totals of a pool's full steps: a quote of any depth is one bisection and one partial step.

Every full step of the swap loop runs between two fixed prices (initialised ticks and word edges, starting
from the pool's own price), so its amounts are constants of the snapshot and may be summed once. That is
exact, not an approximation: `floor(remaining * (1e6 - fee) / 1e6) >= amount_in`, the contracts' test for a
full step, holds exactly when `remaining >= amount_in + ceil(amount_in * fee / (1e6 - fee))`, which is what
the full step then takes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from quoteway_amm.errors import BandExceeded
from quoteway_amm.pool import PIPS
from quoteway_amm.sqrt_price_math import (
    amount0_delta,
    amount0_delta_up,
    amount1_delta,
    amount1_delta_up,
    sqrt_price_after_input,
    sqrt_price_after_output,
)
from quoteway_amm.tick_math import MAX_SQRT_RATIO, MAX_TICK, MIN_SQRT_RATIO, MIN_TICK, sqrt_ratio_at_tick

if TYPE_CHECKING:
    from quoteway_amm.concentrated import ConcentratedPool

# v3 takes an int256 and v4 returns int128 deltas; a larger amount reverts in the contract.
_MAX_AMOUNT = {"v3": 2**255 - 1, "v4": 2**127 - 1}


class Ladder:
    """Totals of one pool in one direction; grows as far as quotes ask, never past the known words."""

    __slots__ = (
        "_crossed",
        "_fee_pips",
        "_indices",
        "_ins",
        "_liquidities",
        "_liquidity",
        "_max_amount",
        "_outs",
        "_pool",
        "_price",
        "_starts",
        "_stop_initialised",
        "_targets",
        "_tick",
        "_tick_at",
        "_ticks_crossed",
        "_zero_for_one",
    )  # fmt: skip

    def __init__(self, pool: ConcentratedPool, zero_for_one: bool) -> None:
        self._pool = pool
        self._zero_for_one = zero_for_one
        self._fee_pips = pool.swap_fee_pips(zero_for_one)
        self._max_amount = _MAX_AMOUNT[pool.kind]
        # One entry per full step: totals up to its end, then the step itself.
        self._ins: list[int] = []
        self._outs: list[int] = []
        self._starts: list[int] = []
        self._targets: list[int] = []
        self._liquidities: list[int] = []
        self._crossed: list[int] = []
        self._stop_initialised: list[bool] = []
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

    def exact_in(self, amount_in: int) -> tuple[int, int] | None:
        """(amount out, ticks crossed) for all of `amount_in`; None when the last price comes first."""
        if amount_in <= 0 or amount_in > self._max_amount:
            return None
        if self._fee_pips == PIPS:
            return 0, 0
        ins = self._ins
        at = bisect_left(ins, amount_in)
        while at == len(ins):
            if not self._grow():
                return None
            if ins[at] < amount_in:
                at += 1
        if ins[at] == amount_in:
            return self._outs[at], self._crossed[at] + self._stop_initialised[at]
        spent, given = (ins[at - 1], self._outs[at - 1]) if at else (0, 0)
        price, liquidity = self._starts[at], self._liquidities[at]
        less_fee = (amount_in - spent) * (PIPS - self._fee_pips) // PIPS
        price_next = sqrt_price_after_input(price, liquidity, less_fee, self._zero_for_one)
        if self._zero_for_one:
            return given + amount1_delta(price_next, price, liquidity), self._crossed[at]
        return given + amount0_delta(price, price_next, liquidity), self._crossed[at]

    def exact_out(self, amount_out: int) -> tuple[int, int] | None:
        """(amount in, ticks crossed) for all of `amount_out`; None when the pool cannot give it all."""
        if amount_out <= 0 or amount_out > self._max_amount or self._fee_pips == PIPS:
            return None
        outs = self._outs
        at = bisect_left(outs, amount_out)
        while at == len(outs):
            if not self._grow():
                return None
            if outs[at] < amount_out:
                at += 1
        if outs[at] == amount_out:
            total_in, crossed = self._ins[at], self._crossed[at] + self._stop_initialised[at]
        else:
            spent, given = (self._ins[at - 1], outs[at - 1]) if at else (0, 0)
            price, liquidity = self._starts[at], self._liquidities[at]
            price_next = sqrt_price_after_output(price, liquidity, amount_out - given, self._zero_for_one)
            if self._zero_for_one:
                step_in = amount0_delta_up(price_next, price, liquidity)
            else:
                step_in = amount1_delta_up(price, price_next, liquidity)
            total_in = spent + step_in - (-step_in * self._fee_pips // (PIPS - self._fee_pips))
            # Rounding may land the price on the stop with some of its output left: the tick is crossed.
            reached = price_next == self._targets[at]
            crossed = self._crossed[at] + (reached and self._stop_initialised[at])
        return (total_in, crossed) if total_in <= self._max_amount else None

    def _totals(self) -> tuple[int, int]:
        return (self._ins[-1], self._outs[-1]) if self._ins else (0, 0)

    def _band_exceeded(self, tick: int) -> BandExceeded:
        return BandExceeded(self._pool, self._zero_for_one, tick, *self._totals(), self._price)

    def _grow(self) -> bool:
        """Add the next step that has liquidity; False at the last price."""
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
        if self._zero_for_one:
            step_in = amount0_delta_up(target, price, liquidity)
            step_out = amount1_delta(target, price, liquidity)
        else:
            step_in = amount1_delta_up(price, target, liquidity)
            step_out = amount0_delta(price, target, liquidity)
        spent, given = self._totals()
        cost = step_in - (-step_in * self._fee_pips // (PIPS - self._fee_pips))
        self._ins.append(spent + cost)
        self._outs.append(given + step_out)
        self._starts.append(price)
        self._targets.append(target)
        self._liquidities.append(liquidity)
        self._crossed.append(self._ticks_crossed)
        self._stop_initialised.append(initialised)
        self._price = target
        if not at_end:
            self._pass(tick_next, initialised)
        return True

    def _next_stop(self) -> tuple[int, bool]:
        """The next initialised tick or word edge, as TickBitmap.nextInitializedTickWithinOneWord gives it."""
        pool, spacing = self._pool, self._pool.tick_spacing
        compressed = self._tick // spacing
        at = self._tick_at
        if self._zero_for_one:
            word = compressed >> 8
            if not pool.word_lo <= word <= pool.word_hi:
                raise self._band_exceeded(self._tick)
            edge = max((word << 8) * spacing, MIN_TICK)
            if at >= 0 and self._indices[at] >= edge:
                return self._indices[at], True
        else:
            word = compressed + 1 >> 8
            if not pool.word_lo <= word <= pool.word_hi:
                raise self._band_exceeded((compressed + 1) * spacing)
            edge = min(((word << 8) + 255) * spacing, MAX_TICK)
            if at < len(self._indices) and self._indices[at] <= edge:
                return self._indices[at], True
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
        """Cross what holds no liquidity, where steps cost nothing. False at the last price."""
        pool, spacing = self._pool, self._pool.tick_spacing
        while not self._liquidity:
            # For its BandExceeded: the price may stand outside the known words already.
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
