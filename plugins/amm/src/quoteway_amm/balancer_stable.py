"""Composable stable pools of Balancer v2: swaps between the tokens that back the pool token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quoteway_amm.balancer_vault import VaultPool
from quoteway_amm.curve import Curve
from quoteway_amm.fixed_point import ONE, divided_up, word
from quoteway_amm.sampled_curve import sampled_curve
from quoteway_amm.stable_samples import StableFormula

AMP_PRECISION = 1000
_MAX_ROUNDS = 255


@dataclass(frozen=True, slots=True)
class ComposableStablePool(VaultPool):
    """A stable pool at one block, without its own pool token.

    Source: StableMath.sol, ComposableStablePool.sol.

    The Vault lists the pool token among the pool's tokens: leave it out here, with its balance and scaling
    factor. Swaps into or out of it are joins and exits with another formula. `amplification` is
    `getAmplificationParameter` at the block of the swap, with its precision of 1000.
    """

    amplification: int

    kind: ClassVar[str] = "balancer-v2-composable-stable"

    def __post_init__(self) -> None:
        self.check_state()
        if self.amplification < AMP_PRECISION:
            raise ValueError(f"pool {self.id}: amplification {self.amplification} is below {AMP_PRECISION}")

    def upscaled_out(self, i: int, j: int, upscaled_in: int) -> int:
        """Returns the output with 18 decimals. Source: StableMath._calcOutGivenIn."""
        balances = [self.upscaled(at) for at in range(len(self.tokens))]
        total = invariant(self.amplification, balances)
        balance_out = balances[j]
        balances[i] = word(balances[i] + upscaled_in)
        return word(balance_out - _balance_of(self.amplification, balances, total, j) - 1)

    def upscaled_in(self, i: int, j: int, upscaled_out: int) -> int:
        """Returns the input with 18 decimals, without fee. Source: StableMath._calcInGivenOut."""
        balances = [self.upscaled(at) for at in range(len(self.tokens))]
        total = invariant(self.amplification, balances)
        balances[j] = word(balances[j] - upscaled_out)
        return word(_balance_of(self.amplification, balances, total, i) - balances[i]) + 1

    def formula_price(self, i: int, j: int) -> tuple[int, int]:
        """Returns the mid price. Raises ArithmeticError where the pool reverts."""
        return self._formula(i, j).mid_price()

    def curve(self, i: int, j: int, zero_for_one: bool) -> Curve:
        """Returns the curve of `i` for `j`."""
        formula = self._formula(i, j)
        return sampled_curve(
            zero_for_one,
            formula.sample,
            formula.most_out(),
            ONE - self.swap_fee,
            ONE,
            lambda _: formula.lacks(),
            formula.balanced_out(),
        )

    def _formula(self, i: int, j: int) -> StableFormula:
        balances = [self.upscaled(at) for at in range(len(self.tokens))]
        if not min(balances):
            raise ZeroDivisionError("a balance is zero")
        others = (balance for at, balance in enumerate(balances) if at not in (i, j))
        return StableFormula(
            (balances[i], balances[j], *others),
            invariant(self.amplification, balances),
            self.amplification * len(balances),
            AMP_PRECISION,
            (ONE, self.scaling_factors[i]),
            (ONE, self.scaling_factors[j]),
        )


def invariant(amplification: int, balances: list[int]) -> int:
    """Returns D. Raises ArithmeticError on overflow, for a zero balance, and when it does not converge.

    Source: StableMath._calculateInvariant.
    """
    total, count = sum(balances), len(balances)
    if not total:
        return 0
    found, amp_times_total = word(total), amplification * count
    for _ in range(_MAX_ROUNDS):
        product = found
        for balance in balances:
            product = word(product * found) // (balance * count)
        previous = found
        numerator = word(amp_times_total * total) // AMP_PRECISION + product * count
        denominator = word((amp_times_total - AMP_PRECISION) * found) // AMP_PRECISION
        found = word(numerator * found) // word(denominator + (count + 1) * product)
        if abs(found - previous) <= 1:
            return found
    raise OverflowError("STABLE_INVARIANT_DIDNT_CONVERGE")


def _balance_of(amplification: int, balances: list[int], total: int, at: int) -> int:
    """Returns the balance that the token needs beside the others; its own entry must not be zero.

    Source: StableMath._getTokenBalanceGivenInvariantAndAllOtherBalances.
    """
    count = len(balances)
    amp_times_total = amplification * count
    product = balances[0] * count
    for balance in balances[1:]:
        product = word(word(product * balance) * count) // total
    others = word(sum(balances)) - balances[at]
    square = word(total * total)
    c = word(word(divided_up(square, word(amp_times_total * product)) * AMP_PRECISION) * balances[at])
    b = word(others + total // amp_times_total * AMP_PRECISION)
    found = divided_up(word(square + c), word(total + b))
    for _ in range(_MAX_ROUNDS):
        previous = found
        found = divided_up(word(word(found * found) + c), word(2 * found + b - total))
        if abs(found - previous) <= 1:
            return found
    raise OverflowError("STABLE_GET_BALANCE_DIDNT_CONVERGE")
