"""Constant-product pools: UniswapV2Library.getAmountOut and getAmountIn for any fee, and transfer taxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from quoteway_amm.pool import PIPS, Kind

MAX_RESERVE = 2**112 - 1
"""UniswapV2Pair keeps reserves in uint112 and reverts with OVERFLOW beyond."""


def get_amount_out(
    amount_in: int, reserve_in: int, reserve_out: int, fee_numerator: int = 997, fee_denominator: int = 1000
) -> int:
    """Output of an exact input, rounded down. Source: UniswapV2Library.getAmountOut (997/1000 there)."""
    if amount_in <= 0:
        raise ValueError(f"amount_in must be positive, got {amount_in}")
    if reserve_in <= 0 or reserve_out <= 0:
        raise ValueError(f"both reserves must be positive, got {reserve_in} and {reserve_out}")
    amount_in_with_fee = amount_in * fee_numerator
    return amount_in_with_fee * reserve_out // (reserve_in * fee_denominator + amount_in_with_fee)


def get_amount_in(
    amount_out: int, reserve_in: int, reserve_out: int, fee_numerator: int = 997, fee_denominator: int = 1000
) -> int:
    """Input that buys an exact output, rounded up. Source: UniswapV2Library.getAmountIn (997/1000 there)."""
    if amount_out <= 0:
        raise ValueError(f"amount_out must be positive, got {amount_out}")
    if reserve_in <= 0 or reserve_out <= amount_out:
        raise ValueError(f"the reserve {reserve_out} cannot give {amount_out} (other reserve {reserve_in})")
    return reserve_in * amount_out * fee_denominator // ((reserve_out - amount_out) * fee_numerator) + 1


@dataclass(frozen=True, slots=True)
class V2Pool:
    """A pair's reserves at one block. The fee is data: 997/1000 for Uniswap, 9975/10000 for some forks."""

    address: str
    token0: str
    token1: str
    reserve0: int
    reserve1: int
    fee_numerator: int = 997
    fee_denominator: int = 1000

    kind: ClassVar[Kind] = "v2"

    def __post_init__(self) -> None:
        if not 0 < self.fee_numerator <= self.fee_denominator:
            raise ValueError(
                f"pair {self.address}: fee {self.fee_numerator}/{self.fee_denominator} is not in (0, 1]"
            )
        if not (0 <= self.reserve0 <= MAX_RESERVE and 0 <= self.reserve1 <= MAX_RESERVE):
            raise ValueError(
                f"pair {self.address}: reserves {self.reserve0}, {self.reserve1} are not uint112"
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
        """The fee in pips, rounded down where it is finer than a pip."""
        return (self.fee_denominator - self.fee_numerator) * PIPS // self.fee_denominator

    def mid_price(self, zero_for_one: bool) -> tuple[int, int]:
        """(numerator, denominator): base units out per base unit in, before the fee."""
        return (self.reserve1, self.reserve0) if zero_for_one else (self.reserve0, self.reserve1)

    def exact_in(self, zero_for_one: bool, amount_in: int) -> tuple[int, int] | None:
        """(amount out, 0); None where the pair would revert: no reserves, or a balance past uint112."""
        if zero_for_one:
            reserve_in, reserve_out = self.reserve0, self.reserve1
        else:
            reserve_in, reserve_out = self.reserve1, self.reserve0
        if not reserve_in or not reserve_out or reserve_in + amount_in > MAX_RESERVE:
            return None
        with_fee = amount_in * self.fee_numerator
        return with_fee * reserve_out // (reserve_in * self.fee_denominator + with_fee), 0

    def exact_out(self, zero_for_one: bool, amount_out: int) -> tuple[int, int] | None:
        """(amount in, 0); None where the pair would revert: a reserve too small, a balance past uint112."""
        if zero_for_one:
            reserve_in, reserve_out = self.reserve0, self.reserve1
        else:
            reserve_in, reserve_out = self.reserve1, self.reserve0
        if not reserve_in or amount_out >= reserve_out:
            return None
        denominator = (reserve_out - amount_out) * self.fee_numerator
        amount_in = reserve_in * amount_out * self.fee_denominator // denominator + 1
        if reserve_in + amount_in > MAX_RESERVE:
            return None
        return amount_in, 0


def taxed_amount(amount: int, tax_bps: int) -> int:
    """What arrives of `amount` when the token keeps `tax_bps`, its tax rounded down (the usual way).

    Tokens that round otherwise need their own function in `exact_in_taxed`.
    """
    return amount - amount * tax_bps // 10_000


def exact_in_taxed(
    pool: V2Pool,
    zero_for_one: bool,
    amount_in: int,
    received_by_pair: Callable[[int], int],
    received_by_recipient: Callable[[int], int],
) -> int | None:
    """Output that reaches the recipient when a token taxes transfers; None where the pair would revert.

    The pair prices what it received, not what was sent
    (UniswapV2Router02._swapSupportingFeeOnTransferTokens). Each callable maps an amount sent to the amount
    that arrives, for example `lambda sent: taxed_amount(sent, 100)`.
    """
    received = received_by_pair(amount_in)
    if received <= 0:
        return None
    quoted = pool.exact_in(zero_for_one, received)
    return None if quoted is None else received_by_recipient(quoted[0])
