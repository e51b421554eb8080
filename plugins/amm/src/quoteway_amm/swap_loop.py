"""The swap loop of v3-core and of v4-core without hooks, with price limits and the state afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway_amm.concentrated_state import ConcentratedState, next_tick_within_one_word
from quoteway_amm.errors import BandExceeded
from quoteway_amm.swap_math import swap_step_exact_in, swap_step_exact_in_v3, swap_step_exact_out
from quoteway_amm.tick_math import (
    MAX_SQRT_RATIO,
    MIN_SQRT_RATIO,
    sqrt_ratio_at_tick,
    tick_at_sqrt_ratio,
)


@dataclass(frozen=True, slots=True)
class SwapResult:
    """The amounts of a swap (the input includes the fee) and the pool's state afterwards.

    `complete` is False when the swap reached the price limit before the specified amount was used up.
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
    pool: ConcentratedState, zero_for_one: bool, amount_in: int, sqrt_price_limit_x96: int | None = None
) -> SwapResult:
    """Swaps `amount_in`, or as much as the price limit allows (None: the lowest or highest price).

    Raises BandExceeded at the edge of the known words, ValueError for an amount or limit that reverts.
    """
    return _swap(pool, zero_for_one, amount_in, sqrt_price_limit_x96, exact_in=True)


def swap_exact_out(
    pool: ConcentratedState, zero_for_one: bool, amount_out: int, sqrt_price_limit_x96: int | None = None
) -> SwapResult:
    """Swaps for `amount_out`. Limit and errors: as `swap_exact_in`."""
    return _swap(pool, zero_for_one, amount_out, sqrt_price_limit_x96, exact_in=False)


def _swap(
    pool: ConcentratedState, zero_for_one: bool, specified: int, limit: int | None, exact_in: bool
) -> SwapResult:
    if specified <= 0:
        raise ValueError(f"the amount must be positive, got {specified}")
    limit = _checked_limit(pool, zero_for_one, limit)
    fee_pips = pool.swap_fee_pips(zero_for_one)
    step_in = swap_step_exact_in if pool.is_v4 else swap_step_exact_in_v3
    step = step_in if exact_in else swap_step_exact_out
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


def _checked_limit(pool: ConcentratedState, zero_for_one: bool, limit: int | None) -> int:
    if limit is None:
        return MIN_SQRT_RATIO + 1 if zero_for_one else MAX_SQRT_RATIO - 1
    if zero_for_one and not MIN_SQRT_RATIO < limit < pool.sqrt_price_x96:
        raise ValueError(
            f"price limit {limit} must be above {MIN_SQRT_RATIO} and below the price {pool.sqrt_price_x96}"
        )
    if not zero_for_one and not pool.sqrt_price_x96 < limit < MAX_SQRT_RATIO:
        raise ValueError(
            f"price limit {limit} must be above the price {pool.sqrt_price_x96} and below {MAX_SQRT_RATIO}"
        )
    return limit
