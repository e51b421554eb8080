"""StableSwap pools of Curve: plain, lending and meta pools, and those of the NG factory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from quoteway_amm.curve import Curve
from quoteway_amm.fixed_point import ONE, word
from quoteway_amm.least_input import least_input
from quoteway_amm.pool import PIPS
from quoteway_amm.sampled_curve import UNIT, Sample, sampled_curve
from quoteway_amm.stable_samples import StableFormula

FEE_DENOMINATOR = 10**10
_MAX_ROUNDS = 255
_MAX_AMOUNT = 2**255

Product = Literal["each", "each_plus_one", "last"]
"""How `get_D` divides its product by the balances: by `x * n` each; by `x * n + 1` each; by `x` each and by
`n^n` at last."""


@dataclass(frozen=True, slots=True)
class StableSwapFormula:
    """What differs between the releases of the contract.

    `a_precision` is the precision of `A`. `rounding` is what `exchange` takes off the output. Where `get_D`
    and `get_y` do not end in 255 rounds, the contract reverts if `must_converge`, else goes on with the last.
    `keeps_prices`: the swap updates an oracle of prices, which reverts for numbers that are too large.
    """

    a_precision: int = 100
    product: Product = "each"
    rounding: int = 1
    must_converge: bool = True
    keeps_prices: bool = False


FIRST = StableSwapFormula(1, "each_plus_one", 0, must_converge=False)
"""The first pools: compound, usdt, y, busd."""
THREE_POOL = StableSwapFormula(1, must_converge=False)
"""3pool and its contemporaries."""
TEMPLATE = StableSwapFormula()
"""`SwapTemplateBase` and pools made from it."""
NG = StableSwapFormula(product="last", keeps_prices=True)
"""Pools of the StableSwap-NG factory."""


@dataclass(frozen=True, slots=True)
class StableSwapPool:
    """A pool at one block. Amounts are those of `exchange`: it takes the fee before it converts by the rate.

    `get_dy` of many pools converts first: it may differ by one base unit from what `exchange` pays.

    `balances` are what the contract trades with, without admin fees. `rates` are `10^(36 - decimals)`, times
    what one unit is worth where a token earns, as the swap itself will read it. `amplification` is `A` with
    the formula's precision, at the block of the swap. `fee` is of 10^10. `offpeg_fee_multiplier` of 10^10 is
    that of NG pools; up to 10^10 it has no effect.

    Sources: curve-contract `StableSwap3Pool.vy`, `StableSwapCompound.vy`, `SwapTemplateBase.vy`;
    stableswap-ng `CurveStableSwapNG.vy`.
    """

    id: str
    tokens: tuple[str, ...]
    balances: tuple[int, ...]
    rates: tuple[int, ...]
    amplification: int
    fee: int
    formula: StableSwapFormula = TEMPLATE
    offpeg_fee_multiplier: int = 0

    kind: ClassVar[str] = "curve-stableswap"

    def __post_init__(self) -> None:
        count = len(self.tokens)
        if count < 2 or len(set(self.tokens)) != count:
            raise ValueError(f"pool {self.id}: two or more different tokens are needed, got {self.tokens}")
        if not len(self.balances) == len(self.rates) == count:
            raise ValueError(f"pool {self.id}: each of the {count} tokens needs a balance and a rate")
        if min(self.balances) < 0 or min(self.rates) <= 0:
            raise ValueError(
                f"pool {self.id}: balances must not be negative and rates must be positive, "
                f"got {self.balances} and {self.rates}"
            )
        if self.amplification < self.formula.a_precision:
            raise ValueError(
                f"pool {self.id}: the amplification {self.amplification} is below its precision "
                f"{self.formula.a_precision}"
            )
        if not 0 <= self.fee < FEE_DENOMINATOR or self.offpeg_fee_multiplier < 0:
            raise ValueError(
                f"pool {self.id}: the fee must be 0 or more, below 10^10, the multiplier not negative, "
                f"got {self.fee} and {self.offpeg_fee_multiplier}"
            )

    @property
    def has_liquidity(self) -> bool:
        """Whether no balance is zero."""
        return min(self.balances) > 0

    def swap_fee_pips(self) -> int:
        """Returns the fee in pips, rounded down, without what NG pools add off the peg."""
        return self.fee * PIPS // FEE_DENOMINATOR

    def exact_in(self, i: int, j: int, amount_in: int) -> int | None:
        """Returns the output of token `j`, 0 for dust; None when the contract would revert."""
        if amount_in <= 0 or not self.has_liquidity:
            return None
        try:
            balances = self._upscaled()
            return word(self._output(i, j, amount_in, balances, self.invariant(balances)))
        except ArithmeticError:
            return None

    def exact_out(self, i: int, j: int, amount_out: int) -> int | None:
        """Returns the input of token `i` that gives at least `amount_out`; None when there is none.

        The contract has no exact output. One base unit less gives less than `amount_out`.
        """
        if amount_out <= 0 or not self.has_liquidity or amount_out >= self.balances[j]:
            return None
        try:
            balances = self._upscaled()
            total = self.invariant(balances)
        except ArithmeticError:
            return None
        try:
            guess = self._input(i, j, amount_out, balances, total)
        except ArithmeticError:
            guess = 1
        found = least_input(
            lambda amount_in: self._output(i, j, amount_in, balances, total), amount_out, guess, _MAX_AMOUNT
        )
        # What is too large for the contract counted as enough.
        return found if found is not None and (self.exact_in(i, j, found) or 0) >= amount_out else None

    def mid_price(self, i: int, j: int) -> tuple[int, int]:
        """Returns (numerator, denominator): base units of `j` per one of `i`, before fees; (0, 1) if none."""
        if not self.has_liquidity:
            return 0, 1
        try:
            return self._formula(i, j, 0).mid_price()
        except ArithmeticError:
            return 0, 1

    def curve(self, i: int, j: int, zero_for_one: bool) -> Curve:
        """Returns the curve of `i` for `j`, with the least fee that an NG pool can take in this direction.

        For pools of NG that trade far from the peg it is above the output by more than `MAX_ERROR`: by what
        the fee is above its least. Far from it that fee can be all of the output: then nothing is traded.
        """
        fee = self._least_fee(i, j)
        if fee >= FEE_DENOMINATOR:
            # `Curve.excess` is in both directions or in none.
            return Curve(zero_for_one, (), 0, 1, 0, excess=1)
        formula = self._formula(i, j, fee)
        return sampled_curve(
            zero_for_one,
            formula.sample,
            formula.most_out(),
            FEE_DENOMINATOR - fee,
            FEE_DENOMINATOR,
            lambda samples: self._rounding(i, j, fee, formula, samples),
            formula.balanced_out(),
        )

    def _formula(self, i: int, j: int, fee: int) -> StableFormula:
        """Returns the formula of one direction. Raises ArithmeticError where the contract reverts."""
        balances = self._upscaled()
        if not min(balances):
            raise ZeroDivisionError("a balance is zero")
        others = (balance for at, balance in enumerate(balances) if at not in (i, j))
        return StableFormula(
            (balances[i], balances[j], *others),
            self.invariant(balances),
            self.amplification * len(balances),
            self.formula.a_precision,
            (ONE, self.rates[i]),
            (ONE, self.rates[j]),
            (FEE_DENOMINATOR - fee, FEE_DENOMINATOR),
        )

    def _least_fee(self, i: int, j: int) -> int:
        """Returns the fee where the mean balances are nearest to each other."""
        balances = self._upscaled()
        # From here on the input's balance grows and the output's falls.
        balance_in, balance_out = balances[i], balances[j]
        return self.fee if balance_in < balance_out else self._fee_between(balance_in, balance_out)

    def _rounding(self, i: int, j: int, fee: int, formula: StableFormula, samples: list[Sample]) -> int:
        """Returns by how many base units the contract's rounding may favour the trader."""
        balances, most, count = self._upscaled(), 0.0, len(self.tokens)
        for sample in samples:
            kept = (FEE_DENOMINATOR - fee) * ONE * UNIT
            after_in = balances[i] + sample.amount_in * self.rates[i] * FEE_DENOMINATOR // kept
            after_out = balances[j] - sample.amount_out * self.rates[j] * FEE_DENOMINATOR // kept
            # `get_y` cuts off each of these divisions.
            c, lost = formula.invariant, 0.0
            for at, balance in enumerate(balances):
                if at != j:
                    c = c * formula.invariant // ((after_in if at == i else balance) * count)
                    lost += 1 / max(c, 1)
            c = c * formula.invariant * formula.precision // (formula.ann * count)
            most = max(most, max(after_out, 1) * min(lost + 1 / max(c, 1), 1.0))
        upscaled = int(most * 1.001) + 4
        return formula.lacks() + -(-upscaled * ONE // self.rates[j])

    def invariant(self, balances: list[int]) -> int:
        """Returns D of balances with 18 decimals. Raises ArithmeticError where the contract reverts.

        Source: `get_D`.
        """
        total, count = word(sum(balances)), len(balances)
        found, ann, precision = total, self.amplification * count, self.formula.a_precision
        for _ in range(_MAX_ROUNDS):
            product = found
            for balance in balances:
                product = word(product * found) // self._divisor(balance, count)
            if self.formula.product == "last":
                product //= count**count
            previous = found
            numerator = word(ann * total) // precision + word(product * count)
            denominator = word((ann - precision) * found) // precision + word((count + 1) * product)
            found = word(word(numerator) * found) // word(denominator)
            if abs(found - previous) <= 1:
                return found
        return self._unfinished(found)

    def _unfinished(self, found: int) -> int:
        if self.formula.must_converge:
            raise OverflowError("get_D or get_y does not converge")
        return found

    def _divisor(self, balance: int, count: int) -> int:
        if self.formula.product == "last":
            return balance
        return balance * count + (self.formula.product == "each_plus_one")

    def _upscaled(self) -> list[int]:
        return [word(balance * rate) // ONE for balance, rate in zip(self.balances, self.rates, strict=True)]

    def _output(self, i: int, j: int, amount_in: int, balances: list[int], total: int) -> int:
        """Returns what `exchange` pays, negative where it reverts because the input is too small."""
        after_in = word(balances[i] + word(amount_in * self.rates[i]) // ONE)
        after_out = self._balance_of(i, j, after_in, balances, total)
        moved = balances[j] - after_out - self.formula.rounding
        if moved < 0:
            return moved
        if self.formula.keeps_prices:
            self._require_prices(i, j, after_in, after_out, balances, total)
        between = (balances[i] + after_in) // 2, (balances[j] + after_out) // 2
        fee = word(moved * self._fee_between(*between)) // FEE_DENOMINATOR
        return word(word(moved - fee) * ONE) // self.rates[j]

    def _require_prices(
        self, i: int, j: int, after_in: int, after_out: int, balances: list[int], total: int
    ) -> None:
        """Raises ArithmeticError where the update of the oracle reverts. Source: `upkeep_oracles`."""
        after = list(balances)
        after[i], after[j] = after_in, after_out
        ratio = total // len(after) ** len(after)
        for balance in after:
            ratio = word(ratio * total) // balance
        first = word(self.amplification * len(after) * after[0]) // self.formula.a_precision
        for balance in after[1:]:
            _ = word(ONE * word(first + word(ratio * after[0]) // balance)) // word(first + ratio)
        if total >= 2**128:
            raise OverflowError("D does not fit the oracle")

    def _fee_between(self, balance_in: int, balance_out: int) -> int:
        """Returns the fee for mean balances. Source: CurveStableSwapNG._dynamic_fee."""
        multiplier = self.offpeg_fee_multiplier
        if multiplier <= FEE_DENOMINATOR:
            return self.fee
        square = word((balance_in + balance_out) ** 2)
        weight = word((multiplier - FEE_DENOMINATOR) * 4 * balance_in * balance_out) // square
        return multiplier * self.fee // (weight + FEE_DENOMINATOR)

    def _balance_of(self, i: int, j: int, after_in: int, balances: list[int], total: int) -> int:
        """Returns the balance of token `j` once that of token `i` is `after_in`. Source: `get_y`."""
        count = len(balances)
        ann, precision = self.amplification * count, self.formula.a_precision
        others, c = 0, total
        for at, balance in enumerate(balances):
            if at != j:
                here = after_in if at == i else balance
                others += here
                c = word(c * total) // word(here * count)
        c = word(word(c * total) * precision) // (ann * count)
        b = word(others + word(total * precision) // ann)
        found = total
        for _ in range(_MAX_ROUNDS):
            previous = found
            found = word(word(found * found) + c) // word(2 * found + b - total)
            if abs(found - previous) <= 1:
                return found
        return self._unfinished(found)

    def _input(self, i: int, j: int, amount_out: int, balances: list[int], total: int) -> int:
        """Returns about what gives `amount_out`: where the search for it begins."""
        with_fee = amount_out * FEE_DENOMINATOR // (FEE_DENOMINATOR - self.fee)
        after_out = balances[j] - with_fee * self.rates[j] // ONE
        if after_out <= 0:
            return self.balances[i]
        after_in = self._balance_of(j, i, after_out, balances, total)
        return (after_in - balances[i]) * ONE // self.rates[i]
