"""Errors of the pool maths."""

from __future__ import annotations

from typing import Any


class BandExceeded(Exception):  # noqa: N818 - not a fault: a request for more state
    """A swap walked out of the ticks that the snapshot knows. Load more words on that side and ask again.

    `pool` is the snapshot, `zero_for_one` the direction (True: towards lower ticks), `tick` the first tick
    that is not known. `amount_in` and `amount_out` are what the known band could exchange before its edge, at
    whose price `sqrt_price_x96` the swap stands.
    """

    def __init__(
        self, pool: Any, zero_for_one: bool, tick: int, amount_in: int, amount_out: int, sqrt_price_x96: int
    ) -> None:
        side = "below" if zero_for_one else "above"
        super().__init__(
            f"{pool.kind} pool {pool.id}: the swap goes {side} the known words "
            f"[{pool.word_lo}, {pool.word_hi}], load the word of tick {tick} and beyond"
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
    """A route search met pools whose known ticks do not reach far enough and that might still win.

    `exceeded` names each pool and direction once: load more of them, build the graph again, search again.
    `settled` is the answer among the candidates that were fully known: a Path or a NoPath.
    """

    def __init__(self, exceeded: tuple[BandExceeded, ...], settled: Any) -> None:
        names = ", ".join(f"{error.pool.id} ({error.direction})" for error in exceeded)
        super().__init__(f"the known ticks of {len(exceeded)} pool(s) do not reach far enough: {names}")
        self.exceeded = exceeded
        self.settled = settled
