"""Concentrated liquidity: a pool's snapshot, and the swap loop of v3-core and of v4-core without hooks.

`swap_exact_in` and `swap_exact_out` follow the contracts step by step, with price limits and the whole state
afterwards. `ConcentratedPool.exact_in` and `exact_out` give the same amounts through `ladder.py`, many times
faster.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Literal

from quoteway_amm.errors import BandExceeded
from quoteway_amm.ladder import Ladder
from quoteway_amm.pool import PIPS
from quoteway_amm.swap_math import (
    combined_fee,
    swap_step_exact_in,
    swap_step_exact_in_v3,
    swap_step_exact_out,
)
from quoteway_amm.tick_math import (
    MAX_SQRT_RATIO,
    MAX_TICK,
    MIN_SQRT_RATIO,
    MIN_TICK,
    sqrt_ratio_at_tick,
    tick_at_sqrt_ratio,
)


def word_of_tick(tick: int, tick_spacing: int) -> int:
    """Index of the bitmap word that holds `tick`. Source: TickBitmap.compress and position."""
    return tick // tick_spacing >> 8


@dataclass(frozen=True, slots=True)
class ConcentratedPool:
    """A v3 or hookless v4 pool at one block, as far as its tick bitmap was read.

    `id` is the pool's address (v3) or its 32-byte id (v4). `fee_pips` is the v3 fee or the `lpFee` of v4's
    slot0. `ticks` holds every initialised tick of the bitmap words `word_lo` to `word_hi`, both inclusive,
    ascending, as (index, liquidityNet). The protocol fees are v4's pips per direction, added to the LP fee;
    v3 takes its share out of the LP fee, so there they move no amount and are kept as slot0 gives them (0, or
    4 to 10, a denominator).
    """

    kind: Literal["v3", "v4"]
    id: str
    token0: str
    token1: str
    fee_pips: int
    tick_spacing: int
    sqrt_price_x96: int
    tick: int
    liquidity: int
    ticks: tuple[tuple[int, int], ...]
    word_lo: int
    word_hi: int
    protocol_fee_zero_for_one: int = 0
    protocol_fee_one_for_zero: int = 0
    _ladders: list[Ladder | None] = field(
        default_factory=lambda: [None, None], init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not MIN_SQRT_RATIO <= self.sqrt_price_x96 < MAX_SQRT_RATIO:
            raise ValueError(f"pool {self.id}: sqrt price {self.sqrt_price_x96} is of no initialised pool")
        if self.tick_spacing <= 0 or not 0 <= self.fee_pips <= PIPS:
            raise ValueError(
                f"pool {self.id}: tick spacing {self.tick_spacing} or fee {self.fee_pips} out of range"
            )
        previous = MIN_TICK - 1
        for tick, _ in self.ticks:
            if tick <= previous or tick % self.tick_spacing or tick > MAX_TICK:
                raise ValueError(f"pool {self.id}: tick {tick} is out of order or off the spacing")
            if not self.word_lo <= word_of_tick(tick, self.tick_spacing) <= self.word_hi:
                raise ValueError(
                    f"pool {self.id}: tick {tick} is outside words [{self.word_lo}, {self.word_hi}]"
                )
            previous = tick

    @property
    def has_liquidity(self) -> bool:
        """Whether a swap may find any: in range, at a known tick, or beyond the known words."""
        spacing = self.tick_spacing
        all_known = self.word_lo <= word_of_tick(MIN_TICK, spacing) and self.word_hi >= word_of_tick(
            MAX_TICK, spacing
        )
        return self.liquidity > 0 or bool(self.ticks) or not all_known

    def swap_fee_pips(self, zero_for_one: bool) -> int:
        """All that is withheld from the input: the fee (v3), LP and protocol fee together (v4)."""
        if self.kind == "v3":
            return self.fee_pips
        protocol = self.protocol_fee_zero_for_one if zero_for_one else self.protocol_fee_one_for_zero
        return combined_fee(protocol, self.fee_pips)

    def mid_price(self, zero_for_one: bool) -> tuple[int, int]:
        """(numerator, denominator): base units out per base unit in, before fees."""
        square = self.sqrt_price_x96 * self.sqrt_price_x96
        return (square, 1 << 192) if zero_for_one else (1 << 192, square)

    def exact_in(self, zero_for_one: bool, amount_in: int) -> tuple[int, int] | None:
        """(amount out, initialised ticks crossed); None when the pool cannot take it all."""
        return self.ladder(zero_for_one).exact_in(amount_in)

    def exact_out(self, zero_for_one: bool, amount_out: int) -> tuple[int, int] | None:
        """(amount in, initialised ticks crossed); None when the pool cannot give it all."""
        return self.ladder(zero_for_one).exact_out(amount_out)

    def ladder(self, zero_for_one: bool) -> Ladder:
        """The pool's running totals in one direction, grown on demand and kept with the snapshot."""
        ladder = self._ladders[zero_for_one]
        if ladder is None:
            ladder = self._ladders[zero_for_one] = Ladder(self, zero_for_one)
        return ladder


@dataclass(frozen=True, slots=True)
class SwapResult:
    """What one swap does: amounts (the input includes the fee) and the pool's state afterwards.

    `complete` is False when the price limit came first and part of the specified amount is left.
    """

    amount_in: int
    amount_out: int
    fee_amount: int
    sqrt_price_x96: int
    tick: int
    liquidity: int
    ticks_crossed: int
    complete: bool


def swap_exact_in(
    pool: ConcentratedPool, zero_for_one: bool, amount_in: int, sqrt_price_limit_x96: int | None = None
) -> SwapResult:
    """Swap `amount_in`, or what the price limit allows (None: the last price there is).

    Raises BandExceeded at the edge of the known words, ValueError for an amount or limit that the contract
    refuses.
    """
    return _swap(pool, zero_for_one, amount_in, sqrt_price_limit_x96, exact_in=True)


def swap_exact_out(
    pool: ConcentratedPool, zero_for_one: bool, amount_out: int, sqrt_price_limit_x96: int | None = None
) -> SwapResult:
    """Swap for `amount_out`, or what the price limit allows (None: the last price there is).

    Raises BandExceeded at the edge of the known words, ValueError for an amount or limit that the contract
    refuses.
    """
    return _swap(pool, zero_for_one, amount_out, sqrt_price_limit_x96, exact_in=False)


def next_tick_within_one_word(
    pool: ConcentratedPool, tick: int, zero_for_one: bool
) -> tuple[int, int | None]:
    """(tick, its liquidityNet or None when not initialised): the next stop of a swap that stands at `tick`.

    A word's end stops the loop as an initialised tick does, and each stop rounds once more: skipping it
    overquotes. Source: TickBitmap.nextInitializedTickWithinOneWord, clamped as in Pool.swap. Raises
    BandExceeded.
    """
    spacing = pool.tick_spacing
    compressed = tick // spacing
    if zero_for_one:
        word = compressed >> 8
        if not pool.word_lo <= word <= pool.word_hi:
            raise BandExceeded(pool, zero_for_one, tick, 0, 0, pool.sqrt_price_x96)
        at = bisect_right(pool.ticks, tick, key=_index) - 1
        edge = max((word << 8) * spacing, MIN_TICK)
        return pool.ticks[at] if at >= 0 and pool.ticks[at][0] >= edge else (edge, None)
    word = compressed + 1 >> 8
    if not pool.word_lo <= word <= pool.word_hi:
        raise BandExceeded(pool, zero_for_one, (compressed + 1) * spacing, 0, 0, pool.sqrt_price_x96)
    at = bisect_left(pool.ticks, (compressed + 1) * spacing, key=_index)
    edge = min(((word << 8) + 255) * spacing, MAX_TICK)
    return pool.ticks[at] if at < len(pool.ticks) and pool.ticks[at][0] <= edge else (edge, None)


def _index(tick: tuple[int, int]) -> int:
    return tick[0]


def _swap(
    pool: ConcentratedPool, zero_for_one: bool, specified: int, limit: int | None, exact_in: bool
) -> SwapResult:
    if specified <= 0:
        raise ValueError(f"the amount must be positive, got {specified}")
    limit = _checked_limit(pool, zero_for_one, limit)
    fee_pips = pool.swap_fee_pips(zero_for_one)
    if exact_in:
        step = swap_step_exact_in_v3 if pool.kind == "v3" else swap_step_exact_in
    else:
        step = swap_step_exact_out
    price, tick, liquidity = pool.sqrt_price_x96, pool.tick, pool.liquidity
    remaining, total_in, total_out, total_fee, crossed = specified, 0, 0, 0, 0
    while remaining and price != limit:
        start = price
        try:
            tick_next, liquidity_net = next_tick_within_one_word(pool, tick, zero_for_one)
        except BandExceeded as error:
            raise BandExceeded(pool, zero_for_one, error.tick, total_in, total_out, price) from None
        price_next = sqrt_ratio_at_tick(tick_next)
        target = max(price_next, limit) if zero_for_one else min(price_next, limit)
        price, amount_in, amount_out, fee = step(price, target, liquidity, remaining, fee_pips)
        remaining -= amount_in + fee if exact_in else amount_out
        total_in += amount_in + fee
        total_out += amount_out
        total_fee += fee
        if price == price_next:
            if liquidity_net is not None:
                liquidity += -liquidity_net if zero_for_one else liquidity_net
                crossed += 1
            tick = tick_next - 1 if zero_for_one else tick_next
        elif price != start:
            tick = tick_at_sqrt_ratio(price)
    return SwapResult(total_in, total_out, total_fee, price, tick, liquidity, crossed, not remaining)


def _checked_limit(pool: ConcentratedPool, zero_for_one: bool, limit: int | None) -> int:
    if limit is None:
        return MIN_SQRT_RATIO + 1 if zero_for_one else MAX_SQRT_RATIO - 1
    if zero_for_one and not MIN_SQRT_RATIO < limit < pool.sqrt_price_x96:
        raise ValueError(f"price limit {limit} is not below the price {pool.sqrt_price_x96}")
    if not zero_for_one and not pool.sqrt_price_x96 < limit < MAX_SQRT_RATIO:
        raise ValueError(f"price limit {limit} is not above the price {pool.sqrt_price_x96}")
    return limit
