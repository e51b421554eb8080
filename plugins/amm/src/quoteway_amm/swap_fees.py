"""What a swap that happened paid in fees, told from its event: liquidity providers' part and the protocol's.

The event names what went in, and the price before and after; between the two the swap's steps are walked
again, since each of them rounds its fee and splits it on its own.
"""

from __future__ import annotations

from quoteway_amm.concentrated import ConcentratedPool, next_tick_within_one_word
from quoteway_amm.pool import PIPS
from quoteway_amm.sqrt_price_math import amount0_delta_up, amount1_delta_up
from quoteway_amm.tick_math import sqrt_ratio_at_tick


def fees_of_swap(
    pool: ConcentratedPool,
    zero_for_one: bool,
    amount_in: int,
    sqrt_price_after_x96: int,
    swap_fee_pips: int | None = None,
) -> tuple[int, int]:
    """(LP fee, protocol fee) of a swap, in base units of its input, of which it took `amount_in`.

    `pool` is the pool just before it, all ticks between the two prices known; its protocol fees are those in
    force. `swap_fee_pips` overrides the fee charged (v4's Swap event tells it). Source: v3
    UniswapV3Pool.swap, v4 Pool.swap, and SwapMath.computeSwapStep of both. Raises BandExceeded when ticks
    are missing, ValueError when the event does not fit the pool.
    """
    fee_pips = pool.swap_fee_pips(zero_for_one) if swap_fee_pips is None else swap_fee_pips
    price, tick, liquidity = pool.sqrt_price_x96, pool.tick, pool.liquidity
    left, lp_total, protocol_total = amount_in, 0, 0
    while left:
        tick_next, liquidity_net = next_tick_within_one_word(pool, tick, zero_for_one)
        price_next = sqrt_ratio_at_tick(tick_next)
        target = (
            max(price_next, sqrt_price_after_x96) if zero_for_one else min(price_next, sqrt_price_after_x96)
        )
        if (target > price) if zero_for_one else (target < price):
            raise ValueError(f"the swap cannot have ended at {sqrt_price_after_x96}: it stood at {price}")
        delta = amount0_delta_up if zero_for_one else amount1_delta_up
        step_in = delta(price, target, liquidity)
        if target == price_next and step_in < left:
            fee = min(-(-step_in * fee_pips // (PIPS - fee_pips)), left - step_in)
        else:
            if step_in > left:
                raise ValueError("the swap took more than its event tells: the pool was another")
            if pool.kind == "v4":
                # v4 books all that is left less the fee, v3 only what moves the price: where prices are
                # coarse the two differ. An exact output gives the same by both.
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


def _protocol_part(pool: ConcentratedPool, zero_for_one: bool, step_in: int, fee: int, fee_pips: int) -> int:
    setting = pool.protocol_fee_zero_for_one if zero_for_one else pool.protocol_fee_one_for_zero
    if not setting:
        return 0
    if pool.kind == "v3":
        return fee // setting
    return fee if fee_pips == setting else (step_in + fee) * setting // PIPS
