"""One swap step at constant liquidity. Source: v3-core and v4-core SwapMath.computeSwapStep.

Both versions move the same totals in every step. They differ in how an exact-input step that does not reach
its target splits the input into amount and fee. A 100 % fee exists only in v4, and only for exact inputs.
"""

from __future__ import annotations

from quoteway_amm.pool import PIPS
from quoteway_amm.sqrt_price_math import deltas_of, sqrt_price_after_input, sqrt_price_after_output

MAX_PROTOCOL_FEE = 1000
"""v4 ProtocolFeeLibrary.MAX_PROTOCOL_FEE: 0.1 % in pips, per direction."""


def combined_fee(protocol_fee_pips: int, lp_fee_pips: int) -> int:
    """Returns the swap fee in pips of a v4 pool: the LP fee applies to the input less the protocol fee.

    Source: v4-core ProtocolFeeLibrary.calculateSwapFee.
    """
    return protocol_fee_pips + lp_fee_pips - protocol_fee_pips * lp_fee_pips // PIPS


def swap_step_exact_in(
    sqrt_price_x96: int, sqrt_target_x96: int, liquidity: int, amount_remaining: int, fee_pips: int
) -> tuple[int, int, int, int]:
    """Returns (next sqrt price, amount in, amount out, fee) of one step, split as in v4."""
    zero_for_one = sqrt_price_x96 >= sqrt_target_x96
    input_between, output_between = deltas_of(zero_for_one)
    less_fee = amount_remaining * (PIPS - fee_pips) // PIPS
    amount_in = input_between(sqrt_price_x96, sqrt_target_x96, liquidity)
    if less_fee >= amount_in:
        sqrt_next_x96 = sqrt_target_x96
        # At a 100 % fee only a step with no input gets here.
        fee = amount_in if fee_pips == PIPS else -(-amount_in * fee_pips // (PIPS - fee_pips))
    else:
        sqrt_next_x96 = sqrt_price_after_input(sqrt_price_x96, liquidity, less_fee, zero_for_one)
        amount_in = less_fee
        fee = amount_remaining - amount_in
    return sqrt_next_x96, amount_in, output_between(sqrt_price_x96, sqrt_next_x96, liquidity), fee


def swap_step_exact_in_v3(
    sqrt_price_x96: int, sqrt_target_x96: int, liquidity: int, amount_remaining: int, fee_pips: int
) -> tuple[int, int, int, int]:
    """As `swap_step_exact_in`, split as in v3: the amount is what the price change takes, the rest is fee."""
    sqrt_next_x96, amount_in, amount_out, fee = swap_step_exact_in(
        sqrt_price_x96, sqrt_target_x96, liquidity, amount_remaining, fee_pips
    )
    if sqrt_next_x96 != sqrt_target_x96:
        input_between, _ = deltas_of(sqrt_price_x96 >= sqrt_target_x96)
        amount_in = input_between(sqrt_price_x96, sqrt_next_x96, liquidity)
        fee = amount_remaining - amount_in
    return sqrt_next_x96, amount_in, amount_out, fee


def swap_step_exact_out(
    sqrt_price_x96: int, sqrt_target_x96: int, liquidity: int, amount_remaining: int, fee_pips: int
) -> tuple[int, int, int, int]:
    """Returns (next sqrt price, amount in, amount out, fee) of one step; amount in excludes the fee.

    Raises ValueError at a 100 % fee (v4 reverts with InvalidFeeForExactOut).
    """
    if fee_pips >= PIPS:
        raise ValueError(f"fee_pips must be below {PIPS} for an exact output, got {fee_pips}")
    zero_for_one = sqrt_price_x96 >= sqrt_target_x96
    input_between, output_between = deltas_of(zero_for_one)
    amount_out = output_between(sqrt_price_x96, sqrt_target_x96, liquidity)
    if amount_remaining >= amount_out:
        sqrt_next_x96 = sqrt_target_x96
    else:
        amount_out = amount_remaining
        sqrt_next_x96 = sqrt_price_after_output(sqrt_price_x96, liquidity, amount_out, zero_for_one)
    amount_in = input_between(sqrt_price_x96, sqrt_next_x96, liquidity)
    return sqrt_next_x96, amount_in, amount_out, -(-amount_in * fee_pips // (PIPS - fee_pips))
