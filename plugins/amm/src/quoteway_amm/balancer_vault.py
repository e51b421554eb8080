"""What all pools of the Balancer v2 Vault have in common: balances, scaling to 18 decimals, swap fee."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from quoteway_amm.fixed_point import ONE, complement, div_down, div_up, mul_down, mul_up, word
from quoteway_amm.pool import PIPS

MAX_BALANCE = 2**112 - 1
"""The Vault keeps balances as uint112 and reverts with BALANCE_TOTAL_OVERFLOW above."""


@dataclass(frozen=True, slots=True)
class VaultPool:
    """A pool at one block. `id` is the Vault's 32-byte pool id.

    `balances` are the Vault's totals in base units. `scaling_factors` are `10^(36 - decimals)`, times the
    rate that the swap will use where a token has one: `getScalingFactors` of the pool. `swap_fee` has 18
    decimals. The whole balances are taken to be in the Vault: what a pool's asset manager
    holds elsewhere cannot be paid out.
    """

    id: str
    tokens: tuple[str, ...]
    balances: tuple[int, ...]
    scaling_factors: tuple[int, ...]
    swap_fee: int

    def check_state(self) -> None:
        """Raises ValueError for a state that no pool can have."""
        count = len(self.tokens)
        if count < 2 or len(set(self.tokens)) != count:
            raise ValueError(f"pool {self.id}: two or more different tokens are needed, got {self.tokens}")
        if not len(self.balances) == len(self.scaling_factors) == count:
            raise ValueError(
                f"pool {self.id}: each of the {count} tokens needs a balance and a scaling factor"
            )
        if not all(0 <= balance <= MAX_BALANCE for balance in self.balances):
            raise ValueError(f"pool {self.id}: balances {self.balances} must fit uint112")
        if min(self.scaling_factors) <= 0 or not 0 <= self.swap_fee < ONE:
            raise ValueError(
                f"pool {self.id}: scaling factors must be positive and the swap fee below 10^18, "
                f"got {self.scaling_factors} and {self.swap_fee}"
            )

    @property
    def has_liquidity(self) -> bool:
        """Whether no balance is zero."""
        return min(self.balances) > 0

    def swap_fee_pips(self) -> int:
        """Returns the fee in pips, rounded down."""
        return self.swap_fee * PIPS // ONE

    def exact_in(self, i: int, j: int, amount_in: int) -> int | None:
        """Returns the output of token `j`, 0 for dust; None when the Vault or the pool would revert."""
        if amount_in <= 0 or self.balances[i] + amount_in > MAX_BALANCE:
            return None
        try:
            less_fee = word(amount_in - mul_up(amount_in, self.swap_fee))
            upscaled = self.upscaled_out(i, j, mul_down(less_fee, self.scaling_factors[i]))
            amount_out = div_down(upscaled, self.scaling_factors[j])
        except ArithmeticError:
            return None
        return amount_out if amount_out <= self.balances[j] else None

    def exact_out(self, i: int, j: int, amount_out: int) -> int | None:
        """Returns the input of token `i` that the pool asks; None when the Vault or the pool would revert."""
        if amount_out <= 0 or amount_out > self.balances[j]:
            return None
        try:
            upscaled = self.upscaled_in(i, j, mul_down(amount_out, self.scaling_factors[j]))
            amount_in = div_up(div_up(upscaled, self.scaling_factors[i]), complement(self.swap_fee))
        except ArithmeticError:
            return None
        return amount_in if self.balances[i] + amount_in <= MAX_BALANCE else None

    def mid_price(self, i: int, j: int) -> tuple[int, int]:
        """Returns (numerator, denominator): base units of `j` per one of `i`, before fees; (0, 1) if none."""
        if not self.has_liquidity:
            return 0, 1
        try:
            return self.formula_price(i, j)
        except ArithmeticError:
            return 0, 1

    @abstractmethod
    def formula_price(self, i: int, j: int) -> tuple[int, int]:
        """Returns the mid price. Raises ArithmeticError where the pool reverts."""

    def upscaled(self, i: int) -> int:
        """Returns the balance of token `i` with 18 decimals. Raises ArithmeticError on overflow."""
        return mul_down(self.balances[i], self.scaling_factors[i])

    @abstractmethod
    def upscaled_out(self, i: int, j: int, upscaled_in: int) -> int:
        """Returns the output, both with 18 decimals. Raises ArithmeticError where the pool reverts."""

    @abstractmethod
    def upscaled_in(self, i: int, j: int, upscaled_out: int) -> int:
        """Returns the input before the fee. Raises ArithmeticError where the pool reverts."""
