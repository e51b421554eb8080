"""Two coins of a pool, as Curve's router swaps them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from quoteway_amm.curve import Curve
from quoteway_amm.stable_swap import FEE_DENOMINATOR, StableSwapPool
from quoteway_amm.token_pair import TokenPair


@dataclass(frozen=True, slots=True)
class RoutedPair:
    """A pair of a pool with what the router adds to the output: to that of token0 and of token1.

    After each swap the router goes on with all that it holds of the coin, also what was left there before.
    Of the last coin it keeps one base unit. So a path through the router does not pay what the pools pay:
    ``added`` is what it held, less one for a coin in which the path ends.

    Source: curve-router-ng ``Router.vy``, ``exchange``.
    """

    pair: TokenPair
    added: tuple[int, int]

    @property
    def kind(self) -> str:
        """The pool's kind."""
        return self.pair.kind

    @property
    def id(self) -> str:
        """The pool's address."""
        return self.pair.id

    @property
    def token0(self) -> str:
        """The pair's first token."""
        return self.pair.token0

    @property
    def token1(self) -> str:
        """The pair's second token."""
        return self.pair.token1

    @property
    def has_liquidity(self) -> bool:
        """Whether the pool can be traded with."""
        return self.pair.has_liquidity

    def swap_fee_pips(self, zero_for_one: bool) -> int:
        """Returns the pool's fee in pips, rounded down."""
        return self.pair.swap_fee_pips(zero_for_one)

    def mid_price(self, zero_for_one: bool) -> tuple[int, int]:
        """Returns the pair's price, before fees and without what the router adds."""
        return self.pair.mid_price(zero_for_one)

    def curve(self, zero_for_one: bool) -> Curve:
        """Returns the pair's curve, with what the router adds as an excess."""
        curve = self.pair.curve(zero_for_one)
        return replace(curve, excess=curve.excess + max(self.added[zero_for_one], 0))

    def exact_in(self, zero_for_one: bool, amount_in: int) -> tuple[int, int] | None:
        """Returns (what the router has after the swap, 0); None when it reverts or leaves too little."""
        got = self.pair.exact_in(zero_for_one, amount_in)
        if got is None or got[0] > self._most_out(zero_for_one):
            return None
        # A swap that pays nothing is refused by the router.
        return (got[0] + self.added[zero_for_one], 0) if got[0] else (0, 0)

    def exact_out(self, zero_for_one: bool, amount_out: int) -> tuple[int, int] | None:
        """Returns (amount in, 0); None when there is none."""
        swapped = max(amount_out - self.added[zero_for_one], 1)
        return None if swapped > self._most_out(zero_for_one) else self.pair.exact_out(zero_for_one, swapped)

    def _most_out(self, zero_for_one: bool) -> int:
        """Returns the most that may be swapped out.

        Where the fee grows off the peg, the last of a balance costs more than it is: the output falls.
        """
        pool = cast("StableSwapPool", self.pair.pool)
        balance = pool.balances[self.pair.j if zero_for_one else self.pair.i]
        return balance * 9 // 10 if pool.offpeg_fee_multiplier > FEE_DENOMINATOR else balance
