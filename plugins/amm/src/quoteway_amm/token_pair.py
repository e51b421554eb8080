"""Two tokens of a pool with many, as a pool of two."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from quoteway_amm.curve import Curve
from quoteway_amm.curve_cache import CurveCache


class ManyTokenPool(Protocol):
    """A pool of two or more tokens at one block. Amounts are base units; tokens are named by position."""

    @property
    def kind(self) -> str: ...

    @property
    def id(self) -> str:
        """What the protocol names the pool by: an address or a 32-byte pool id."""

    @property
    def tokens(self) -> tuple[str, ...]: ...

    @property
    def has_liquidity(self) -> bool: ...

    def swap_fee_pips(self) -> int:
        """Returns the fee in pips, rounded down."""

    def exact_in(self, i: int, j: int, amount_in: int) -> int | None:
        """Returns the amount of token `j` for one of token `i`; None when the contract would revert."""

    def exact_out(self, i: int, j: int, amount_out: int) -> int | None:
        """Returns the amount of token `i` for one of token `j`; None when the contract would revert."""

    def mid_price(self, i: int, j: int) -> tuple[int, int]:
        """Returns (numerator, denominator): base units of `j` per one of `i`, before fees; (0, 1) if none."""

    def curve(self, i: int, j: int, zero_for_one: bool) -> Curve:
        """Returns the curve of `i` for `j`; `zero_for_one` says that the pair's first token is `i`."""


@dataclass(frozen=True, slots=True)
class TokenPair:
    """Tokens `i` and `j` of a pool, with the amounts of the interface `Pool`.

    Two pairs of one pool share its balances and its id: a flow never uses both.
    """

    pool: ManyTokenPool
    i: int
    j: int
    _curves: CurveCache = field(default_factory=CurveCache, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        count = len(self.pool.tokens)
        if self.i == self.j or not (0 <= self.i < count and 0 <= self.j < count):
            raise ValueError(
                f"{self.pool.kind} pool {self.pool.id} has {count} tokens: "
                f"{self.i} and {self.j} are no pair of it"
            )

    @property
    def kind(self) -> str:
        """The pool's kind."""
        return self.pool.kind

    @property
    def id(self) -> str:
        """The pool's id, which its other pairs have too."""
        return self.pool.id

    @property
    def token0(self) -> str:
        """Token `i` of the pool."""
        return self.pool.tokens[self.i]

    @property
    def token1(self) -> str:
        """Token `j` of the pool."""
        return self.pool.tokens[self.j]

    @property
    def has_liquidity(self) -> bool:
        """Whether the pool can be traded with."""
        return self.pool.has_liquidity and self.mid_price(True)[0] > 0

    def swap_fee_pips(self, zero_for_one: bool) -> int:
        """Returns the pool's fee in pips, rounded down."""
        return self.pool.swap_fee_pips()

    def mid_price(self, zero_for_one: bool) -> tuple[int, int]:
        """Returns (numerator, denominator): base units out per base unit in, before fees; (0, 1) if none."""
        return self._curves.mid_price(zero_for_one, lambda _: self.pool.mid_price(*self._ends(zero_for_one)))

    def curve(self, zero_for_one: bool) -> Curve:
        """Returns the pair's curve; the other tokens' balances stay."""
        return self._curves.get(
            zero_for_one, lambda _: self.pool.curve(*self._ends(zero_for_one), zero_for_one)
        )

    def exact_in(self, zero_for_one: bool, amount_in: int) -> tuple[int, int] | None:
        """Returns (amount out, 0); None when the contract would revert."""
        i, j = self._ends(zero_for_one)
        amount_out = self.pool.exact_in(i, j, amount_in)
        return None if amount_out is None else (amount_out, 0)

    def exact_out(self, zero_for_one: bool, amount_out: int) -> tuple[int, int] | None:
        """Returns (amount in, 0); None when the contract would revert."""
        i, j = self._ends(zero_for_one)
        amount_in = self.pool.exact_out(i, j, amount_out)
        return None if amount_in is None else (amount_in, 0)

    def _ends(self, zero_for_one: bool) -> tuple[int, int]:
        return (self.i, self.j) if zero_for_one else (self.j, self.i)
