"""Pools of Solidly's descendants (Velodrome v2, Aerodrome): volatile `x * y` and stable `x^3 y + y^3 x`."""

from __future__ import annotations

from dataclasses import dataclass, field

from quoteway_amm.curve import Curve
from quoteway_amm.curve_cache import CurveCache
from quoteway_amm.fixed_point import ONE, word
from quoteway_amm.least_input import least_input
from quoteway_amm.pool import PIPS, Kind
from quoteway_amm.sampled_curve import sampled_curve
from quoteway_amm.solidly_samples import SolidlyFormula
from quoteway_amm.v2 import constant_product_curve

_MAX_ROUNDS = 255
_MAX_AMOUNT = 2**255


@dataclass(frozen=True, slots=True)
class SolidlyPool:
    """A pool at one block. Source: Aerodrome and Velodrome v2, `Pool.sol`.

    `unit0` and `unit1` are `10^decimals` of the tokens. Of an input, `fee / fee_denominator`, rounded down,
    leaves the pool before it trades: a v2 pair with the same fee rounds otherwise. A router pays what
    `getAmountOut` answers, and the pool refuses it where its invariant would fall. `kind` names the family:
    each deployment with a router of its own has one.
    """

    address: str
    token0: str
    token1: str
    reserve0: int
    reserve1: int
    unit0: int
    unit1: int
    stable: bool
    fee: int
    fee_denominator: int = 10_000

    kind: Kind = "solidly"

    _curves: CurveCache = field(default_factory=CurveCache, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.fee < self.fee_denominator:
            raise ValueError(
                f"pool {self.address}: the fee {self.fee}/{self.fee_denominator} must be 0 or more, below 1"
            )
        if min(self.reserve0, self.reserve1) < 0 or min(self.unit0, self.unit1) <= 0:
            raise ValueError(
                f"pool {self.address}: reserves must not be negative and units must be positive, got "
                f"{self.reserve0}, {self.reserve1} and {self.unit0}, {self.unit1}"
            )

    @property
    def id(self) -> str:
        """The pool's address."""
        return self.address

    @property
    def has_liquidity(self) -> bool:
        """Whether both reserves are non-zero; of a stable pool, with 18 decimals too."""
        if not self.stable:
            return self.reserve0 > 0 and self.reserve1 > 0
        return self.reserve0 * ONE >= self.unit0 and self.reserve1 * ONE >= self.unit1

    def swap_fee_pips(self, zero_for_one: bool) -> int:
        """Returns the fee in pips, rounded down."""
        return self.fee * PIPS // self.fee_denominator

    def mid_price(self, zero_for_one: bool) -> tuple[int, int]:
        """Returns (numerator, denominator): base units out per base unit in, before the fee."""
        if self.stable:
            return self._formula(zero_for_one).mid_price()
        reserve_in, reserve_out = self._ordered(zero_for_one, self.reserve0, self.reserve1)
        return reserve_out, reserve_in

    def curve(self, zero_for_one: bool) -> Curve:
        """Returns a curve that contains the pool's: of a volatile pool one segment, else samples.

        Its excess is one base unit of the input, as the fee is rounded down, and the invariant's rounding.
        """
        return self._curves.get(zero_for_one, self._curve)

    def _curve(self, zero_for_one: bool) -> Curve:
        kept, whole = self.fee_denominator - self.fee, self.fee_denominator
        if not self.has_liquidity:
            return Curve(zero_for_one, (), kept, whole, 0)
        numerator, denominator = self.mid_price(zero_for_one)
        fee_rounding = -(-numerator // denominator) if self.fee else 0
        if not self.stable:
            return constant_product_curve(
                zero_for_one, self.reserve0, self.reserve1, kept, whole, _MAX_AMOUNT, fee_rounding
            )
        formula = self._formula(zero_for_one)
        return sampled_curve(
            zero_for_one,
            formula.sample,
            formula.most_out(),
            kept,
            whole,
            lambda samples: formula.rounding(samples) + fee_rounding,
            formula.balanced_out(),
        )

    def _formula(self, zero_for_one: bool) -> SolidlyFormula:
        reserves = self._ordered(zero_for_one, *self._upscaled(self.reserve0, self.reserve1))
        return SolidlyFormula(*reserves, *self._ordered(zero_for_one, self.unit0, self.unit1))

    def exact_in(self, zero_for_one: bool, amount_in: int) -> tuple[int, int] | None:
        """Returns (amount out, 0); None when `getAmountOut` or the swap of its answer reverts."""
        if amount_in <= 0 or not min(self.reserve0, self.reserve1):
            return None
        try:
            amount_out = self._output(zero_for_one, amount_in)
            return (amount_out, 0) if self._accepts(zero_for_one, amount_in, amount_out) else None
        except ArithmeticError:
            return None

    def exact_out(self, zero_for_one: bool, amount_out: int) -> tuple[int, int] | None:
        """Returns (amount in, 0) for an input that gives at least `amount_out`; None when there is none.

        The routers have no exact output. One base unit less gives less than `amount_out`. A stable pool
        that is nearly empty or far from balance refuses amounts between others: an input may be missed.
        """
        reserve_out = self.reserve1 if zero_for_one else self.reserve0
        if amount_out <= 0 or not min(self.reserve0, self.reserve1) or amount_out >= reserve_out:
            return None
        try:
            guess = self._input(zero_for_one, amount_out)
        except ArithmeticError:
            guess = 1
        amount_in = least_input(
            lambda amount: self._output(zero_for_one, amount), amount_out, guess, _MAX_AMOUNT
        )
        if amount_in is None:
            return None
        # What is too large for the contract counted as enough.
        given = self.exact_in(zero_for_one, amount_in)
        return (amount_in, 0) if given is not None and given[0] >= amount_out else None

    def _output(self, zero_for_one: bool, amount_in: int) -> int:
        """Returns the answer of getAmountOut. Raises ArithmeticError where it reverts."""
        traded = amount_in - word(amount_in * self.fee) // self.fee_denominator
        if not self.stable:
            reserve_in, reserve_out = self._ordered(zero_for_one, self.reserve0, self.reserve1)
            return word(traded * reserve_out) // word(reserve_in + traded)
        reserve_in, reserve_out = self._ordered(zero_for_one, *self._upscaled(self.reserve0, self.reserve1))
        unit_in, unit_out = self._ordered(zero_for_one, self.unit0, self.unit1)
        level = self._level(self.reserve0, self.reserve1)
        after_in = word(word(traded * ONE) // unit_in + reserve_in)
        after_out = self._reserve_of(after_in, level, reserve_out)
        return word(word(reserve_out - after_out) * unit_out) // ONE

    def _accepts(self, zero_for_one: bool, amount_in: int, amount_out: int) -> bool:
        """Returns whether `swap` accepts the amounts. Raises ArithmeticError where it reverts on overflow."""
        reserve_in, reserve_out = self._ordered(zero_for_one, self.reserve0, self.reserve1)
        if not 0 < amount_out < reserve_out:
            return False
        after_in = word(reserve_in + amount_in) - word(amount_in * self.fee) // self.fee_denominator
        after = self._ordered(zero_for_one, after_in, reserve_out - amount_out)
        return self._level(*after) >= self._level(self.reserve0, self.reserve1)

    def _input(self, zero_for_one: bool, amount_out: int) -> int:
        """Returns about what gives `amount_out`: where the search for it begins."""
        if self.stable:
            reserve_in, reserve_out = self._ordered(
                zero_for_one, *self._upscaled(self.reserve0, self.reserve1)
            )
            unit_in, unit_out = self._ordered(zero_for_one, self.unit0, self.unit1)
            after_out = reserve_out - amount_out * ONE // unit_out
            level = self._level(self.reserve0, self.reserve1)
            traded = (self._reserve_of(after_out, level, reserve_in) - reserve_in) * unit_in // ONE
        else:
            reserve_in, reserve_out = self._ordered(zero_for_one, self.reserve0, self.reserve1)
            traded = reserve_in * amount_out // (reserve_out - amount_out) + 1
        return traded * self.fee_denominator // (self.fee_denominator - self.fee)

    def _level(self, balance0: int, balance1: int) -> int:
        """Returns the invariant of balances in base units. Source: `_k`."""
        return _curve(*self._upscaled(balance0, balance1)) if self.stable else word(balance0 * balance1)

    def _reserve_of(self, other: int, level: int, start: int) -> int:
        """Returns the reserve beside `other` on the curve, both with 18 decimals. Source: `_get_y`."""
        found = start
        for _ in range(_MAX_ROUNDS):
            here = _curve(other, found)
            if here < level:
                step = word((level - here) * ONE) // _slope(other, found)
                if not step:
                    # As in the contract, which scales the two reserves by their units once more here.
                    if self._level(other, word(found + 1)) > level:
                        return found + 1
                    step = 1
                found = word(found + step)
            else:
                step = word((here - level) * ONE) // _slope(other, found)
                if not step:
                    if here == level or _curve(other, word(found - 1)) < level:
                        return found
                    step = 1
                found = word(found - step)
        raise OverflowError("!y")

    def _upscaled(self, balance0: int, balance1: int) -> tuple[int, int]:
        return word(balance0 * ONE) // self.unit0, word(balance1 * ONE) // self.unit1

    @staticmethod
    def _ordered(zero_for_one: bool, first: int, second: int) -> tuple[int, int]:
        return (first, second) if zero_for_one else (second, first)


def _curve(x: int, y: int) -> int:
    """Returns `x^3 y + y^3 x` with 18 decimals. Source: `_f` and `_k`."""
    a = word(x * y) // ONE
    b = word(word(x * x) // ONE + word(y * y) // ONE)
    return word(a * b) // ONE


def _slope(x: int, y: int) -> int:
    """Returns the derivative by `y`. Source: `_d`."""
    return word(word(3 * x * (word(y * y) // ONE)) // ONE + word(word(x * x) // ONE * x) // ONE)
