"""Amounts between two square-root prices, and the price after an amount.

Source: v3-core SqrtPriceMath; v4-core SqrtPriceMath gives the same results for every swap. Prices are Q64.96.
"""

from __future__ import annotations

from collections.abc import Callable

Q96 = 1 << 96
_UINT256 = 1 << 256


def amount0_delta(sqrt_a_x96: int, sqrt_b_x96: int, liquidity: int) -> int:
    """Returns token0 between two prices, rounded down. Source: getAmount0Delta(roundUp = false)."""
    if sqrt_a_x96 > sqrt_b_x96:
        sqrt_a_x96, sqrt_b_x96 = sqrt_b_x96, sqrt_a_x96
    # Two divisions, each rounded, as in the contract: a single division would differ by a wei.
    return (liquidity << 96) * (sqrt_b_x96 - sqrt_a_x96) // sqrt_b_x96 // sqrt_a_x96


def amount0_delta_up(sqrt_a_x96: int, sqrt_b_x96: int, liquidity: int) -> int:
    """Returns token0 between two prices, rounded up. Source: getAmount0Delta(roundUp = true)."""
    if sqrt_a_x96 > sqrt_b_x96:
        sqrt_a_x96, sqrt_b_x96 = sqrt_b_x96, sqrt_a_x96
    quotient = -(-(liquidity << 96) * (sqrt_b_x96 - sqrt_a_x96) // sqrt_b_x96)
    return -(-quotient // sqrt_a_x96)


def amount1_delta(sqrt_a_x96: int, sqrt_b_x96: int, liquidity: int) -> int:
    """Returns token1 between two prices, rounded down. Source: getAmount1Delta(roundUp = false)."""
    return liquidity * abs(sqrt_b_x96 - sqrt_a_x96) >> 96


def amount1_delta_up(sqrt_a_x96: int, sqrt_b_x96: int, liquidity: int) -> int:
    """Returns token1 between two prices, rounded up. Source: getAmount1Delta(roundUp = true)."""
    return -(-liquidity * abs(sqrt_b_x96 - sqrt_a_x96) >> 96)


Delta = Callable[[int, int, int], int]
"""(sqrt price, sqrt price, liquidity) -> amount between the two prices, given in any order."""


def deltas_of(zero_for_one: bool) -> tuple[Delta, Delta]:
    """Returns the functions of a swap's input (rounded up) and output (rounded down)."""
    return (amount0_delta_up, amount1_delta) if zero_for_one else (amount1_delta_up, amount0_delta)


def sqrt_price_after_input(sqrt_price_x96: int, liquidity: int, amount_in: int, zero_for_one: bool) -> int:
    """Returns the price after an input without fee. Source: SqrtPriceMath.getNextSqrtPriceFromInput."""
    if not zero_for_one:
        return sqrt_price_x96 + (amount_in << 96) // liquidity
    if amount_in == 0:
        return sqrt_price_x96
    numerator = liquidity << 96
    product = amount_in * sqrt_price_x96
    denominator = numerator + product
    if denominator < _UINT256:
        return -(-numerator * sqrt_price_x96 // denominator)
    # What the contract does when product or sum does not fit a uint256: less precise.
    return -(-numerator // (numerator // sqrt_price_x96 + amount_in))


def sqrt_price_after_output(sqrt_price_x96: int, liquidity: int, amount_out: int, zero_for_one: bool) -> int:
    """Returns the price after an output. Source: SqrtPriceMath.getNextSqrtPriceFromOutput.

    Raises ValueError where the contract reverts: the liquidity cannot give `amount_out` at any price.
    """
    if zero_for_one:
        quotient = -(-(amount_out << 96) // liquidity)
        if quotient >= sqrt_price_x96:
            raise ValueError(f"liquidity {liquidity} cannot give {amount_out} of token1 at {sqrt_price_x96}")
        return sqrt_price_x96 - quotient
    if amount_out == 0:
        return sqrt_price_x96
    numerator = liquidity << 96
    product = amount_out * sqrt_price_x96
    if product >= _UINT256 or product >= numerator:
        raise ValueError(f"liquidity {liquidity} cannot give {amount_out} of token0 at {sqrt_price_x96}")
    return -(-numerator * sqrt_price_x96 // (numerator - product))
