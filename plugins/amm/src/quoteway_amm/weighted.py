"""Weighted pools of Balancer: the product of the balances, each to the power of its weight."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from typing import ClassVar

from quoteway_amm.balancer_vault import VaultPool
from quoteway_amm.curve import Curve
from quoteway_amm.fixed_point import ONE, complement, div_down, div_up, mul_down, mul_up, pow_up, word
from quoteway_amm.sampled_curve import ROOT_BITS, UNIT, Sample, liquidity_of, sampled_curve

_DIGITS = Context(prec=40)

MAX_SHARE = 3 * ONE // 10
"""More than this share of a balance can neither come in nor go out at once: MAX_IN_RATIO, MAX_OUT_RATIO."""


@dataclass(frozen=True, slots=True)
class WeightedPool(VaultPool):
    """A weighted pool at one block. Source: WeightedMath.sol, BaseMinimalSwapInfoPool.sol.

    `weights` have 18 decimals. `exact_powers` is False for pools of the first factories (2021), which take
    powers of 1, 2 and 4 by logarithms: their amounts differ.
    """

    weights: tuple[int, ...]
    exact_powers: bool = True

    kind: ClassVar[str] = "balancer-v2-weighted"

    def __post_init__(self) -> None:
        self.check_state()
        if len(self.weights) != len(self.tokens) or min(self.weights) <= 0 or sum(self.weights) != ONE:
            raise ValueError(
                f"pool {self.id}: {len(self.tokens)} positive weights of 10^18 in all are needed, "
                f"got {self.weights}"
            )

    def upscaled_out(self, i: int, j: int, upscaled_in: int) -> int:
        """Returns the output with 18 decimals. Source: WeightedMath._calcOutGivenIn."""
        weights = self.weights[i], self.weights[j]
        return out_given_in(self.upscaled(i), self.upscaled(j), weights, upscaled_in, self.exact_powers)

    def upscaled_in(self, i: int, j: int, upscaled_out: int) -> int:
        """Returns the input with 18 decimals, without fee. Source: WeightedMath._calcInGivenOut."""
        weights = self.weights[i], self.weights[j]
        return in_given_out(self.upscaled(i), self.upscaled(j), weights, upscaled_out, self.exact_powers)

    def formula_price(self, i: int, j: int) -> tuple[int, int]:
        """Returns the mid price. Raises ArithmeticError where the pool reverts."""
        end_in = self.upscaled(i), self.scaling_factors[i]
        end_out = self.upscaled(j), self.scaling_factors[j]
        return mid_price_of(end_in, end_out, (self.weights[i], self.weights[j]))

    def curve(self, i: int, j: int, zero_for_one: bool) -> Curve:
        """Returns the curve of `i` for `j`, up to the greatest input that the contract takes."""
        return weighted_curve(
            zero_for_one,
            (self.upscaled(i), self.scaling_factors[i]),
            (self.upscaled(j), self.scaling_factors[j]),
            (self.weights[i], self.weights[j]),
            self.swap_fee,
        )


def mid_price_of(
    end_in: tuple[int, int], end_out: tuple[int, int], weights: tuple[int, int]
) -> tuple[int, int]:
    """Returns (numerator, denominator): base units out per base unit in, as `weighted_curve` takes them."""
    (balance_in, factor_in), (balance_out, factor_out) = end_in, end_out
    return balance_out * weights[0] * factor_in, balance_in * weights[1] * factor_out


def weighted_curve(
    zero_for_one: bool,
    end_in: tuple[int, int],
    end_out: tuple[int, int],
    weights: tuple[int, int],
    swap_fee: int,
) -> Curve:
    """Returns the curve of two tokens of a weighted pool, up to `MAX_SHARE` of the balance in.

    An end is the balance with 18 decimals and the factor that base units are multiplied with for it, over
    10^18. `weights` are of the token in and of the token out; `swap_fee` has 18 decimals.
    """
    context = _DIGITS
    ratio = context.divide(Decimal(weights[0]), Decimal(weights[1]))
    begins_in, begins_out = (
        context.divide(Decimal(balance * ONE * UNIT), Decimal(factor))
        for balance, factor in (end_in, end_out)
    )
    numerator, denominator = mid_price_of(end_in, end_out, weights)
    price = context.divide(Decimal(numerator), Decimal(denominator))
    depth = context.divide(context.multiply(2, context.sqrt(price)), context.add(ratio, 1))
    root_one = Decimal(1 << ROOT_BITS)

    def sample(amount_out: int) -> Sample:
        left = context.subtract(1, context.divide(Decimal(amount_out), begins_out))
        shrunk = context.exp(context.divide(context.ln(left), ratio))
        paid = context.multiply(begins_in, context.subtract(context.divide(1, shrunk), 1))
        fallen = context.sqrt(context.multiply(shrunk, left))
        root = context.multiply(context.multiply(context.sqrt(price), fallen), root_one)
        grown = context.divide(context.multiply(begins_in, fallen), shrunk)
        liquidity = float(context.multiply(depth, grown)) / UNIT
        return Sample(int(paid), amount_out, int(root), liquidity_of(liquidity))

    least = context.exp(context.multiply(ratio, context.ln(context.divide(ONE, ONE + MAX_SHARE))))
    most_out = int(context.multiply(begins_out, context.subtract(1, least)))
    return sampled_curve(zero_for_one, sample, most_out, ONE - swap_fee, ONE, lambda _: 0)


def out_given_in(
    balance_in: int,
    balance_out: int,
    weights: tuple[int, int],
    amount_in: int,
    exact_powers: bool = True,
) -> int:
    """Returns the output, all with 18 decimals; `weights` as in `weighted_curve`.

    Raises ArithmeticError where the contract reverts. Source: WeightedMath._calcOutGivenIn of v2, and
    computeOutGivenExactIn of v3.
    """
    if amount_in > mul_down(balance_in, MAX_SHARE):
        raise OverflowError("MAX_IN_RATIO")
    base = div_up(balance_in, balance_in + amount_in)
    exponent = div_down(*weights)
    return mul_down(balance_out, complement(pow_up(base, exponent, exact_powers)))


def in_given_out(
    balance_in: int,
    balance_out: int,
    weights: tuple[int, int],
    amount_out: int,
    exact_powers: bool = True,
) -> int:
    """Returns the input without fee, as `out_given_in` has them. Source: WeightedMath._calcInGivenOut of v2,
    and computeInGivenExactOut of v3."""
    if amount_out > mul_down(balance_out, MAX_SHARE):
        raise OverflowError("MAX_OUT_RATIO")
    base = div_up(balance_out, balance_out - amount_out)
    exponent = div_up(weights[1], weights[0])
    return mul_up(balance_in, word(pow_up(base, exponent, exact_powers) - ONE))
