"""Constant-product pools with any fee, and transfer taxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from quoteway_amm.curve import Curve, Segment
from quoteway_amm.pool import PIPS, Kind

MAX_RESERVE = 2**112 - 1
"""UniswapV2Pair keeps reserves as uint112 and reverts with OVERFLOW above."""


def get_amount_out(
    amount_in: int, reserve_in: int, reserve_out: int, fee_numerator: int = 997, fee_denominator: int = 1000
) -> int:
    """Returns the output of an exact input, rounded down. Source: UniswapV2Library.getAmountOut."""
    if amount_in <= 0:
        raise ValueError(f"amount_in must be positive, got {amount_in}")
    if reserve_in <= 0 or reserve_out <= 0:
        raise ValueError(f"both reserves must be positive, got {reserve_in} and {reserve_out}")
    amount_in_with_fee = amount_in * fee_numerator
    return amount_in_with_fee * reserve_out // (reserve_in * fee_denominator + amount_in_with_fee)


def get_amount_in(
    amount_out: int, reserve_in: int, reserve_out: int, fee_numerator: int = 997, fee_denominator: int = 1000
) -> int:
    """Returns the input of an exact output, rounded up. Source: UniswapV2Library.getAmountIn."""
    if amount_out <= 0:
        raise ValueError(f"amount_out must be positive, got {amount_out}")
    if reserve_in <= 0 or reserve_out <= amount_out:
        raise ValueError(
            f"the pair cannot give amount_out {amount_out}: its reserves are {reserve_in} and {reserve_out}"
        )
    return reserve_in * amount_out * fee_denominator // ((reserve_out - amount_out) * fee_numerator) + 1


@dataclass(frozen=True, slots=True)
class V2Pool:
    """A pair's reserves at one block. The fee is `1 - fee_numerator / fee_denominator`.

    `kind` names the family: one with the same formula and another executor has a name of its own.
    """

    address: str
    token0: str
    token1: str
    reserve0: int
    reserve1: int
    fee_numerator: int = 997
    fee_denominator: int = 1000

    kind: Kind = "v2"

    def __post_init__(self) -> None:
        if not 0 < self.fee_numerator <= self.fee_denominator:
            raise ValueError(
                f"pair {self.address}: fee {self.fee_numerator}/{self.fee_denominator} is not in (0, 1]"
            )
        if not (0 <= self.reserve0 <= MAX_RESERVE and 0 <= self.reserve1 <= MAX_RESERVE):
            raise ValueError(
                f"pair {self.address}: reserves {self.reserve0} and {self.reserve1} must fit uint112"
            )

    @property
    def id(self) -> str:
        """The pair's address."""
        return self.address

    @property
    def has_liquidity(self) -> bool:
        """Whether both reserves are non-zero."""
        return self.reserve0 > 0 and self.reserve1 > 0

    def swap_fee_pips(self, zero_for_one: bool) -> int:
        """Returns the fee in pips, rounded down."""
        return (self.fee_denominator - self.fee_numerator) * PIPS // self.fee_denominator

    def mid_price(self, zero_for_one: bool) -> tuple[int, int]:
        """Returns (numerator, denominator): base units out per base unit in, before the fee."""
        return (self.reserve1, self.reserve0) if zero_for_one else (self.reserve0, self.reserve1)

    def exact_in(self, zero_for_one: bool, amount_in: int) -> tuple[int, int] | None:
        """Returns (amount out, 0); None when the pair would revert."""
        reserve_in, reserve_out = self._reserves(zero_for_one)
        if not reserve_in or not reserve_out or reserve_in + amount_in > MAX_RESERVE:
            return None
        with_fee = amount_in * self.fee_numerator
        return with_fee * reserve_out // (reserve_in * self.fee_denominator + with_fee), 0

    def exact_out(self, zero_for_one: bool, amount_out: int) -> tuple[int, int] | None:
        """Returns (amount in, 0); None when the pair would revert."""
        reserve_in, reserve_out = self._reserves(zero_for_one)
        if not reserve_in or amount_out >= reserve_out:
            return None
        denominator = (reserve_out - amount_out) * self.fee_numerator
        amount_in = reserve_in * amount_out * self.fee_denominator // denominator + 1
        if reserve_in + amount_in > MAX_RESERVE:
            return None
        return amount_in, 0

    def curve(self, zero_for_one: bool) -> Curve:
        """Returns one segment that contains the pair's curve.

        Liquidity and starting price are irrational: both are rounded in the trader's favour.
        """
        return constant_product_curve(
            zero_for_one, self.reserve0, self.reserve1, self.fee_numerator, self.fee_denominator
        )

    def _reserves(self, zero_for_one: bool) -> tuple[int, int]:
        return (self.reserve0, self.reserve1) if zero_for_one else (self.reserve1, self.reserve0)


def constant_product_curve(
    zero_for_one: bool,
    reserve0: int,
    reserve1: int,
    kept: int,
    whole: int,
    most_reserve: int = MAX_RESERVE,
    excess: int = 0,
) -> Curve:
    """Returns one segment that contains the curve of these reserves, of which none exceeds `most_reserve`."""
    if not reserve0 or not reserve1:
        return Curve(zero_for_one, (), kept, whole, 0)
    liquidity = _sqrt_up(reserve0 * reserve1)
    if zero_for_one:
        start = _sqrt_up(-(-(reserve1 << 192) // reserve0))
        # At the lowest price less than one base unit is left.
        end = min(max((liquidity << 96) // most_reserve, 1), start)
        segment = Segment(end, start, liquidity)
    else:
        start = max(isqrt((reserve1 << 192) // reserve0), 1)
        end = max(-(-(most_reserve << 96) // liquidity), start)
        segment = Segment(start, end, liquidity)
    return Curve(zero_for_one, (segment,), kept, whole, end, True, excess)


def _sqrt_up(value: int) -> int:
    root = isqrt(value)
    return root + (root * root < value)


def taxed_amount(amount: int, tax_bps: int) -> int:
    """Returns `amount` less a transfer tax of `tax_bps`, the tax rounded down."""
    return amount - amount * tax_bps // 10_000


def exact_in_taxed(
    pool: V2Pool,
    zero_for_one: bool,
    amount_in: int,
    received_by_pair: Callable[[int], int],
    received_by_recipient: Callable[[int], int],
) -> int | None:
    """Returns what the recipient gets when a token taxes transfers; None when the pair would revert.

    The pair uses the amount that it received. Each callable maps an amount sent to the amount received, for
    example `lambda sent: taxed_amount(sent, 100)`. Source:
    UniswapV2Router02._swapSupportingFeeOnTransferTokens.
    """
    received = received_by_pair(amount_in)
    if received <= 0:
        return None
    quoted = pool.exact_in(zero_for_one, received)
    return None if quoted is None else received_by_recipient(quoted[0])
