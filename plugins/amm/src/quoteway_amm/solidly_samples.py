"""The formula of Solidly's stable pools without the contract's rounding, for curves: `x^3 y + y^3 x = K`."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, sqrt

from quoteway_amm.sampled_curve import UNIT, Sample, liquidity_of, root_of

_MOST_ROUNDS = 200
_FLATTEST = 1e-9


@dataclass(frozen=True, slots=True)
class SolidlyFormula:
    """One direction of a pool. Reserves have 18 decimals; units are `10^decimals` of the tokens."""

    reserve_in: int
    reserve_out: int
    unit_in: int
    unit_out: int

    def mid_price(self) -> tuple[int, int]:
        """Returns (numerator, denominator): base units out per base unit in, before the fee."""
        return self._price(self.reserve_in, self.reserve_out)

    def most_out(self) -> int:
        """Returns the reserve of the output in 1 / `UNIT` base units."""
        return self.reserve_out * UNIT * self.unit_out // 10**18

    def balanced_out(self) -> int:
        """Returns the output at which both reserves are equal, in 1 / `UNIT` base units."""
        balance = isqrt(isqrt(_level(self.reserve_in * UNIT, self.reserve_out * UNIT) // 2))
        return (self.reserve_out * UNIT - balance) * self.unit_out // 10**18

    def sample(self, amount_out: int) -> Sample:
        """Returns the trade with an output in 1 / `UNIT` base units."""
        begins_in, begins_out = self.reserve_in * UNIT, self.reserve_out * UNIT
        reserve_out = max(begins_out - amount_out * 10**18 // self.unit_out, 1)
        level = _level(begins_in, begins_out)
        reserve_in = max(_solved(reserve_out, level), begins_in)
        paid = (reserve_in - begins_in) * self.unit_in // 10**18
        root = root_of(*self._price(reserve_in, reserve_out))
        return Sample(paid, amount_out, root, self._liquidity(reserve_in, reserve_out))

    def rounding(self, samples: list[Sample]) -> int:
        """Returns by how many base units the contract's rounding of the invariant may favour the trader."""
        x, y = self.reserve_in / 10**18, self.reserve_out / 10**18
        # `_k` and `_f` cut off each of their products.
        lost = 2 * x * y + x * x + y * y + 4
        most = 0.0
        for sample in samples:
            x = (self.reserve_in + sample.amount_in * 10**18 // (self.unit_in * UNIT)) / 10**18
            y = max(self.reserve_out - sample.amount_out * 10**18 // (self.unit_out * UNIT), 1) / 10**18
            most = max(most, min(lost / (3 * x * y * y + x * x * x), y * 1e18))
        return int(most * 1.001 + 2) * self.unit_out // 10**18 + 1

    def _price(self, reserve_in: int, reserve_out: int) -> tuple[int, int]:
        gains = 3 * reserve_in * reserve_in + reserve_out * reserve_out
        pays = reserve_in * reserve_in + 3 * reserve_out * reserve_out
        return reserve_out * gains * self.unit_out, reserve_in * pays * self.unit_in

    def _liquidity(self, reserve_in: int, reserve_out: int) -> int:
        ratio = reserve_out / reserve_in
        square = ratio * ratio
        price = ratio * (3 + square) / (1 + 3 * square)
        # At the balance the formula is flat: any liquidity would be too small.
        bend = max(6 * abs((price - ratio) * (1 - price * ratio)), _FLATTEST * price)
        unscaled = 2 * price**1.5 * (reserve_in / UNIT) * (1 + 3 * square) / bend
        return liquidity_of(unscaled * sqrt(self.unit_in / 10**18 * (self.unit_out / 10**18)))


def _level(x: int, y: int) -> int:
    return x * y * (x * x + y * y)


def _solved(y: int, level: int) -> int:
    """Returns x of x^3 y + y^3 x = level, rounded up, by Newton's method from above."""
    square, wanted = y * y, -(-level // y)
    # x^3 = wanted is above the solution, and so is wanted / y^2.
    x = 1 << -(-wanted.bit_length() // 3)
    x = max(min(x, -(-wanted // square)), 1)
    for _ in range(_MOST_ROUNDS):
        value = x * (x * x + square)
        better = x - (value - wanted) // (3 * x * x + square)
        if better >= x:
            break
        x = better
    return x
