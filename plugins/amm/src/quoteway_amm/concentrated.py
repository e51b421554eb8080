"""Pools with concentrated liquidity as routing uses them: exact amounts from running totals."""

from __future__ import annotations

from dataclasses import dataclass, field

from quoteway_amm.concentrated_state import ConcentratedState
from quoteway_amm.ladder import Ladder


@dataclass(frozen=True, slots=True)
class ConcentratedPool(ConcentratedState):
    """A v3 or hookless v4 pool at one block. Gives the same amounts as `swap_loop`, many times faster."""

    _ladders: list[Ladder | None] = field(
        default_factory=lambda: [None, None], init=False, repr=False, compare=False
    )

    def exact_in(self, zero_for_one: bool, amount_in: int) -> tuple[int, int] | None:
        """Returns (amount out, initialised ticks crossed); None when the pool cannot take it all."""
        return self.ladder(zero_for_one).exact_in(amount_in)

    def exact_out(self, zero_for_one: bool, amount_out: int) -> tuple[int, int] | None:
        """Returns (amount in, initialised ticks crossed); None when the pool cannot give it all."""
        return self.ladder(zero_for_one).exact_out(amount_out)

    def ladder(self, zero_for_one: bool) -> Ladder:
        """Returns the running totals of one direction, made once per pool object."""
        ladder = self._ladders[zero_for_one]
        if ladder is None:
            ladder = self._ladders[zero_for_one] = Ladder(self, zero_for_one)
        return ladder
