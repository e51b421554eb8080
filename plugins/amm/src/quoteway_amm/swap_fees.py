"""Fees of a past swap, computed from its event.

The event gives the input and the price afterwards. The steps between the two prices are computed again,
because each step rounds and splits its fee separately.
"""

from __future__ import annotations

from quoteway_amm.concentrated_state import ConcentratedState, next_tick_within_one_word
from quoteway_amm.pool import PIPS
from quoteway_amm.sqrt_price_math import deltas_of
from quoteway_amm.tick_math import sqrt_ratio_at_tick


def fees_of_swap(
    pool: ConcentratedState,
    zero_for_one: bool,
    amount_in: int,
    sqrt_price_after_x96: int,
    swap_fee_pips: int | None = None,
) -> tuple[int, int]:
    """Returns (LP fee, protocol fee) of a swap that took `amount_in`, in base units of its input.

    `pool` is the pool just before the swap, with all ticks between the two prices and the protocol fees of
    that time. `swap_fee_pips` overrides the fee (v4's Swap event gives it). Source: v3 UniswapV3Pool.swap, v4
    Pool.swap, SwapMath.computeSwapStep. Raises BandExceeded when ticks are missing, ValueError when the event
    does not fit the pool.
    """
    fee_pips = pool.swap_fee_pips(zero_for_one) if swap_fee_pips is None else swap_fee_pips
    price, tick, liquidity = pool.sqrt_price_x96, pool.tick, pool.liquidity
    input_between, _ = deltas_of(zero_for_one)
    left, lp_total, protocol_total = amount_in, 0, 0
    while left:
        tick_next, liquidity_net = next_tick_within_one_word(pool, tick, zero_for_one)
        price_next = sqrt_ratio_at_tick(tick_next)
        target = (
            max(price_next, sqrt_price_after_x96) if zero_for_one else min(price_next, sqrt_price_after_x96)
        )
        if (target > price) if zero_for_one else (target < price):
            raise ValueError(
                f"the event does not fit the pool: its price {sqrt_price_after_x96} is not beyond {price}"
            )
        step_in = input_between(price, target, liquidity)
        if target == price_next and step_in < left:
            fee = min(-(-step_in * fee_pips // (PIPS - fee_pips)), left - step_in)
        else:
            if step_in > left:
                raise ValueError(
                    "the event does not fit the pool: its price change takes more than its input"
                )
            if pool.is_v4:
                # v4 counts the remaining input less the fee as amount, v3 only what the price change takes.
                # The two differ where one price step is worth many base units. For exact outputs both agree.
                step_in = left * (PIPS - fee_pips) // PIPS
            fee = left - step_in
        protocol = _protocol_part(pool, zero_for_one, step_in, fee, fee_pips)
        lp_total, protocol_total = lp_total + fee - protocol, protocol_total + protocol
        left -= step_in + fee
        price = target
        if price == price_next:
            if liquidity_net is not None:
                liquidity += -liquidity_net if zero_for_one else liquidity_net
            tick = tick_next - 1 if zero_for_one else tick_next
    return lp_total, protocol_total


def _protocol_part(pool: ConcentratedState, zero_for_one: bool, step_in: int, fee: int, fee_pips: int) -> int:
    setting = pool.protocol_fee(zero_for_one)
    if not setting:
        return 0
    if not pool.is_v4:
        return fee // setting
    return fee if fee_pips == setting else (step_in + fee) * setting // PIPS
