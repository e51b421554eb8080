"""The formula of StableSwap, which Curve and Balancer share, without a contract's rounding: for curves.

`A n S + D = A n D + D^(n+1) / (n^n P)`, with the sum S and the product P of the balances.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, prod, sqrt

from quoteway_amm.sampled_curve import UNIT, Sample, liquidity_of, root_of


@dataclass(frozen=True, slots=True)
class StableFormula:
    """One direction of a pool. `balances`, in the formula's unit, are of the token in, out, and the others.

    `ann / precision` is A n. `worth_in` and `worth_out` are (numerator, denominator): base units per unit of
    the formula. `scale` is (numerator, denominator): a share of the amounts, for a fee that is taken from the
    output.
    """

    balances: tuple[int, ...]
    invariant: int
    ann: int
    precision: int
    worth_in: tuple[int, int]
    worth_out: tuple[int, int]
    scale: tuple[int, int] = (1, 1)

    def mid_price(self) -> tuple[int, int]:
        """Returns (numerator, denominator): base units out per base unit in, before fees."""
        balance_in, balance_out, *others = self.balances
        return self._price(balance_in, balance_out, self._product(others), self.invariant)

    def most_out(self) -> int:
        """Returns the balance out in 1 / `UNIT` base units, scaled."""
        return self._out(self.balances[1] * UNIT)

    def balanced_out(self) -> int:
        """Returns the output at which both balances are equal, in 1 / `UNIT` base units, scaled."""
        begins_out, *others = self.balances[1:]
        product = self._product(others)
        low, high = 1, self.invariant * self.precision + max(self.balances)
        while high - low > low >> 16:
            middle = (low + high) // 2
            if self._other(middle, product, self.invariant, others) > middle:
                low = middle
            else:
                high = middle
        return self._out((begins_out - low) * UNIT)

    def sample(self, amount_out: int) -> Sample:
        """Returns the trade with an output in 1 / `UNIT` base units, scaled."""
        base_out, one_out = self.worth_out[0] * self.scale[0], self.worth_out[1] * self.scale[1]
        begins_out, *others = (balance * UNIT for balance in self.balances[1:])
        balance_out = max(begins_out - amount_out * one_out // base_out, 1)
        total = self.invariant * UNIT
        product = self._product(others)
        begins_in = self._other(begins_out, product, total, others)
        balance_in = max(self._other(balance_out, product, total, others), begins_in)
        numerator, denominator = self._price(balance_in, balance_out, product, total)
        paid = (balance_in - begins_in) * self.worth_in[0] * self.scale[0]
        return Sample(
            paid // (self.worth_in[1] * self.scale[1]),
            amount_out,
            root_of(numerator, denominator),
            self._liquidity(balance_in, balance_out, product, total),
        )

    def lacks(self) -> int:
        """Returns by how much the formula's balance out is below the pool's, in base units, rounded up."""
        begins_in, begins_out, *others = (balance * UNIT for balance in self.balances)
        at_start = self._other(begins_in, self._product(others), self.invariant * UNIT, others)
        return -(-max(self._out(begins_out - at_start), 0) // UNIT)

    def _out(self, amount: int) -> int:
        return amount * self.worth_out[0] * self.scale[0] // (self.worth_out[1] * self.scale[1])

    def _product(self, others: list[int]) -> int:
        """Returns n^n times the product of the balances that stay."""
        count = len(self.balances)
        return prod(others) * prod([count] * count)

    def _other(self, balance: int, product: int, total: int, others: list[int]) -> int:
        """Returns the balance of one traded token beside that of the other: x^2 + x linear = constant."""
        count = len(self.balances)
        linear = sum(others) + balance + total * self.precision // self.ann - total
        constant = total ** (count + 1) * self.precision // (product * balance * self.ann)
        root = isqrt(linear * linear + 4 * constant)
        # Of the two forms of the solution, the one without a difference of almost equal numbers.
        return 2 * constant // (root + linear) if linear > 0 else (root - linear) // 2

    def _price(self, balance_in: int, balance_out: int, product: int, total: int) -> tuple[int, int]:
        power = total ** (len(self.balances) + 1) * self.precision
        whole = product * balance_in * balance_out * self.ann
        (base_in, one_in), (base_out, one_out) = self.worth_in, self.worth_out
        numerator = (whole * balance_in + power) * balance_out * base_out * one_in
        return numerator, (whole * balance_out + power) * balance_in * one_out * base_in

    def _liquidity(self, balance_in: int, balance_out: int, product: int, total: int) -> int:
        curved = total ** (len(self.balances) + 1) // (product * balance_in * balance_out)
        numerator, denominator = self._price(balance_in, balance_out, product, total)
        (base_in, one_in), (base_out, one_out) = self.worth_in, self.worth_out
        price = numerator * one_out * base_in / (denominator * base_out * one_in)
        share = price * (balance_in / balance_out)
        slope = self.ann / self.precision + curved / balance_in
        unscaled = sqrt(price) * (balance_in / UNIT) ** 2 * slope
        unscaled /= max(curved / UNIT, 1e-30) * (1 - share + share * share)
        worth = sqrt(base_in / one_in * (base_out / one_out))
        return liquidity_of(unscaled * worth * self.scale[0] / self.scale[1])
