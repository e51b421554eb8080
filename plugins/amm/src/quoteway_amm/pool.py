"""What routing needs to know of a pool, whatever its maths: the exact face.

A split optimiser will want a second face on the same objects, `curve(zero_for_one)`, yielding the pool as
bounded-liquidity segments; nothing here depends on it, and whatever it proposes is re-evaluated through
`exact_in`.
"""

from __future__ import annotations

from typing import Literal, Protocol

NATIVE = "0x0000000000000000000000000000000000000000"
"""The chain's own coin as Uniswap v4 writes it: currency zero."""

PIPS = 1_000_000
"""Denominator of fees in pips (hundredths of a basis point)."""

Kind = Literal["v2", "v3", "v4"]


class Pool(Protocol):
    """A two-token pool at one block. Amounts are base units; `zero_for_one` means token0 goes in."""

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
        """All that is withheld from the input, LP and protocol part together."""

    def mid_price(self, zero_for_one: bool) -> tuple[int, int]:
        """(numerator, denominator): base units out per base unit in, before fees and before the trade."""

    def exact_in(self, zero_for_one: bool, amount_in: int) -> tuple[int, int] | None:
        """(amount out, initialised ticks crossed); None when the pool cannot take all of `amount_in`.

        Raises BandExceeded when the answer lies outside the snapshot's known tick band.
        """

    def exact_out(self, zero_for_one: bool, amount_out: int) -> tuple[int, int] | None:
        """(amount in, initialised ticks crossed); None when the pool cannot give all of `amount_out`.

        Raises BandExceeded when the answer lies outside the snapshot's known tick band.
        """
