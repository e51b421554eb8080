"""The interface of a pool that routing uses, independent of the pool's formula."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from quoteway_amm.curve import Curve

NATIVE = "0x0000000000000000000000000000000000000000"
"""The native coin: currency zero of Uniswap v4."""

PIPS = 1_000_000
"""Denominator of fees in pips (hundredths of a basis point)."""

Kind: TypeAlias = str
"""The name of a family of pools. A `GasModel` has its gas, and the executor of its swaps how it is encoded:
any family that these know can be routed."""


class Pool(Protocol):
    """A two-token pool at one block. Amounts are base units; `zero_for_one` means token0 goes in.

    Routing uses these members alone, so that a class of any family can be routed. A pool must not change,
    must be picklable (solvers are other processes), and must give exactly what its contract gives. Its output
    must not fall when the input grows, and its price must not be better than the mid price.
    """

    @property
    def kind(self) -> Kind: ...

    @property
    def id(self) -> str:
        """Contract address (v2, v3) or 32-byte pool id (v4)."""

    @property
    def token0(self) -> str: ...

    @property
    def token1(self) -> str: ...

    @property
    def has_liquidity(self) -> bool: ...

    def swap_fee_pips(self, zero_for_one: bool) -> int:
        """Returns the fee withheld from the input, LP and protocol fee together."""

    def mid_price(self, zero_for_one: bool) -> tuple[int, int]:
        """Returns (numerator, denominator): base units out per base unit in, before fees."""

    def exact_in(self, zero_for_one: bool, amount_in: int) -> tuple[int, int] | None:
        """Returns (amount out, initialised ticks crossed); None when the pool cannot take it all.

        Without ticks, the second number is 0. Raises BandExceeded when the swap leaves the known ticks.
        """

    def exact_out(self, zero_for_one: bool, amount_out: int) -> tuple[int, int] | None:
        """Returns (amount in, initialised ticks crossed); None when the pool cannot give it all.

        Raises BandExceeded when the swap leaves the known ticks.
        """

    def curve(self, zero_for_one: bool) -> Curve:
        """Returns the curve of one direction: no input gives more than it and its excess say."""
