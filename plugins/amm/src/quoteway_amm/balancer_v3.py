"""Weighted pools of Balancer v3: v2's formula behind a Vault with other rounding, rates and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quoteway_amm.curve import Curve
from quoteway_amm.fixed_point import ONE, complement, div_down, div_up, divided_up, mul_down, mul_up, word
from quoteway_amm.pool import PIPS
from quoteway_amm.weighted import in_given_out, mid_price_of, out_given_in, weighted_curve

MAX_BALANCE = 2**128 - 1
"""The Vault keeps balances as uint128, in base units and with 18 decimals."""


class TooSmall(ArithmeticError):  # noqa: N818 - named as the contract's TradeAmountTooSmall
    """A trade below the Vault's minimum."""


@dataclass(frozen=True, slots=True)
class WeightedV3Pool:
    """A weighted pool at one block, without hooks. `id` is its address.

    Source: Vault.sol (swap), ScalingHelpers.sol, WeightedPool.sol, release 1.0.0 of the makers' packages.

    `balances` are base units after the yield fees that are due: those of the Vault's `getPoolData`, like
    `decimal_factors` (`10^(18 - decimals)`) and `rates` (18 decimals; `10^18` without a provider).
    `swap_fee` and `weights` have 18 decimals. `least_balances` (18 decimals) are the pool's
    `getMinTokenBalances`, and `least_trade` (18 decimals) is the Vault's `getMinimumTradeAmount`: for input
    and output, both with their rate.
    """

    id: str
    tokens: tuple[str, ...]
    balances: tuple[int, ...]
    decimal_factors: tuple[int, ...]
    rates: tuple[int, ...]
    swap_fee: int
    weights: tuple[int, ...]
    least_balances: tuple[int, ...]
    least_trade: int

    kind: ClassVar[str] = "balancer-v3-weighted"

    def __post_init__(self) -> None:
        """Raises ValueError for a state that no pool can have."""
        count = len(self.tokens)
        if count < 2 or len(set(self.tokens)) != count:
            raise ValueError(f"pool {self.id}: two or more different tokens are needed, got {self.tokens}")
        of_tokens = self.balances, self.decimal_factors, self.rates, self.weights, self.least_balances
        if any(len(values) != count for values in of_tokens):
            raise ValueError(f"pool {self.id}: each of the {count} tokens needs a value of each kind")
        if min(*self.decimal_factors, *self.rates) <= 0 or min(*self.least_balances, self.least_trade) < 0:
            raise ValueError(f"pool {self.id}: factors and rates must be positive, and limits not negative")
        if min(self.balances) < 0 or not all(self._fits(at, 0) for at in range(count)):
            raise ValueError(f"pool {self.id}: balances {self.balances} must fit uint128, with rates too")
        if not 0 <= self.swap_fee < ONE:
            raise ValueError(f"pool {self.id}: the swap fee must be below 10^18, got {self.swap_fee}")
        if min(self.weights) <= 0 or sum(self.weights) != ONE:
            raise ValueError(
                f"pool {self.id}: {count} positive weights of 10^18 in all are needed, got {self.weights}"
            )

    @property
    def has_liquidity(self) -> bool:
        """Whether no balance is zero."""
        return min(self.balances) > 0

    def swap_fee_pips(self) -> int:
        """Returns the fee in pips, rounded down."""
        return self.swap_fee * PIPS // ONE

    def exact_in(self, i: int, j: int, amount_in: int) -> int | None:
        """Returns the output of token `j`; None when the Vault or the pool would revert.

        0 where it reverts because the trade is too small: a greater one may be accepted.
        """
        if amount_in <= 0 or not self._fits(i, amount_in):
            return None
        try:
            given = mul_down(word(amount_in * self.decimal_factors[i]), self.rates[i])
            given = self._traded(word(given - mul_up(given, self.swap_fee)))
            self._check_balance(i, self._balance_in(i))
            balance_out = self._live(j)
            found = out_given_in(self._balance_in(i), balance_out, self._weights(i, j), given)
            self._check_balance(j, word(balance_out - found))
            return div_down(self._traded(found), self._factor_out(j))
        except TooSmall:
            return 0
        except ArithmeticError:
            return None

    def exact_out(self, i: int, j: int, amount_out: int) -> int | None:
        """Returns the input of token `i` that the pool asks; None when the Vault or the pool would revert."""
        if amount_out <= 0:
            return None
        try:
            rate_out = _rounded_up(self.rates[j])
            given = self._traded(mul_up(word(amount_out * self.decimal_factors[j]), rate_out))
            self._check_balance(i, self._balance_in(i))
            balance_out = self._live(j)
            found = in_given_out(self._balance_in(i), balance_out, self._weights(i, j), given)
            self._check_balance(j, word(balance_out - given))
            self._traded(found)
            found = word(found + divided_up(word(found * self.swap_fee), complement(self.swap_fee)))
            amount_in = div_up(found, self.decimal_factors[i] * self.rates[i])
            paid = 0 <= amount_out <= self.balances[j] and self._fits(i, amount_in)
        except ArithmeticError:
            return None
        return amount_in if paid else None

    def mid_price(self, i: int, j: int) -> tuple[int, int]:
        """Returns (numerator, denominator): base units of `j` per one of `i`, before fees; (0, 1) if none."""
        if not self.has_liquidity:
            return 0, 1
        return mid_price_of(*self._ends(i, j), self._weights(i, j))

    def curve(self, i: int, j: int, zero_for_one: bool) -> Curve:
        """Returns the curve of `i` for `j`, up to the greatest input that the contract takes."""
        return weighted_curve(zero_for_one, *self._ends(i, j), self._weights(i, j), self.swap_fee)

    def _live(self, i: int) -> int:
        """Returns the balance with 18 decimals and rate, rounded down."""
        return mul_down(self.balances[i] * self.decimal_factors[i], self.rates[i])

    def _balance_in(self, i: int) -> int:
        """Returns what the pool counts as the balance of the token that comes in."""
        return self._live(i) + 1

    def _factor_out(self, j: int) -> int:
        return self.decimal_factors[j] * _rounded_up(self.rates[j])

    def _ends(self, i: int, j: int) -> tuple[tuple[int, int], tuple[int, int]]:
        factor_in = self.decimal_factors[i] * self.rates[i]
        return (self._balance_in(i), factor_in), (self._live(j), self._factor_out(j))

    def _weights(self, i: int, j: int) -> tuple[int, int]:
        return self.weights[i], self.weights[j]

    def _traded(self, amount: int) -> int:
        """Returns an amount with 18 decimals. Raises TooSmall when it is for the Vault."""
        if amount < self.least_trade:
            raise TooSmall
        return amount

    def _check_balance(self, i: int, balance: int) -> None:
        """Raises OverflowError when the pool refuses so small a balance, with 18 decimals."""
        if balance < self.least_balances[i]:
            raise OverflowError("TokenBalanceBelowMin")

    def _fits(self, i: int, amount_in: int) -> bool:
        """Whether the balance after an input fits uint128 in both forms, all fees counted as the pool's."""
        after = self.balances[i] + amount_in
        live = after * self.decimal_factors[i] * self.rates[i] // ONE
        return max(after, live) <= MAX_BALANCE


def _rounded_up(rate: int) -> int:
    """Returns a rate for the token that goes out. Source: ScalingHelpers.computeRateRoundUp."""
    return rate if rate % ONE == 0 else rate + 1
