"""Weighted pools of Balancer v2: the product of the balances, each to the power of its weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quoteway_amm.balancer_vault import VaultPool
from quoteway_amm.fixed_point import ONE, complement, div_down, div_up, mul_down, mul_up, pow_up, word

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
        balance_in, balance_out = self.upscaled(i), self.upscaled(j)
        if upscaled_in > mul_down(balance_in, MAX_SHARE):
            raise OverflowError("MAX_IN_RATIO")
        base = div_up(balance_in, balance_in + upscaled_in)
        exponent = div_down(self.weights[i], self.weights[j])
        return mul_down(balance_out, complement(pow_up(base, exponent, self.exact_powers)))

    def upscaled_in(self, i: int, j: int, upscaled_out: int) -> int:
        """Returns the input with 18 decimals, without fee. Source: WeightedMath._calcInGivenOut."""
        balance_in, balance_out = self.upscaled(i), self.upscaled(j)
        if upscaled_out > mul_down(balance_out, MAX_SHARE):
            raise OverflowError("MAX_OUT_RATIO")
        base = div_up(balance_out, balance_out - upscaled_out)
        exponent = div_up(self.weights[j], self.weights[i])
        return mul_up(balance_in, word(pow_up(base, exponent, self.exact_powers) - ONE))
