"""Errors of the pool maths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class UnknownFamily(ValueError):  # noqa: N818 - says what is unknown
    """A pool is of a family that the executor of the route does not know, so that it cannot be used."""

    def __init__(self, kind: str, known: Iterable[str]) -> None:
        super().__init__(
            f"pools of family {kind!r} cannot be used here: known are {', '.join(sorted(known))}"
        )
        self.kind = kind


class BandExceeded(Exception):  # noqa: N818 - a request for more state
    """A swap reached the edge of the known tick words. Load more words on that side and try again.

    `zero_for_one` is the direction (True: towards lower ticks), `tick` the first unknown tick. `amount_in`
    and `amount_out` are the amounts exchanged up to the edge, `sqrt_price_x96` is the price there.
    """

    def __init__(
        self, pool: Any, zero_for_one: bool, tick: int, amount_in: int, amount_out: int, sqrt_price_x96: int
    ) -> None:
        side = "below" if zero_for_one else "above"
        super().__init__(
            f"{pool.kind} pool {pool.id}: the swap goes {side} the known tick words "
            f"[{pool.word_lo}, {pool.word_hi}]: load the word of tick {tick} and beyond"
        )
        self.pool = pool
        self.zero_for_one = zero_for_one
        self.tick = tick
        self.amount_in = amount_in
        self.amount_out = amount_out
        self.sqrt_price_x96 = sqrt_price_x96

    @property
    def direction(self) -> str:
        """ "zero_for_one" or "one_for_zero"."""
        return "zero_for_one" if self.zero_for_one else "one_for_zero"


class BandsExceeded(Exception):  # noqa: N818 - as above
    """A route search needs more ticks of pools that may still be on the best path.

    `exceeded` names each pool and direction once: load more words, build the graph again, search again.
    `settled` is the result among the paths that were fully known: a Path or a NoPath.
    """

    def __init__(self, exceeded: tuple[BandExceeded, ...], settled: Any) -> None:
        names = ", ".join(f"{error.pool.id} ({error.direction})" for error in exceeded)
        super().__init__(f"the known ticks of {len(exceeded)} pool(s) do not reach far enough: {names}")
        self.exceeded = exceeded
        self.settled = settled
