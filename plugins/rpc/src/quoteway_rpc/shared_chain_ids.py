"""Comparisons of an upstream's chain id, which one replica makes for all (``[shared]``).

A process compares the chain id itself before the first answer that it uses, after every failure and every
contradiction, and every ``OWN_S``. In between it takes the word of another replica that compared it at the
same URL, for as long as it would take its own: ``VERIFIED_S`` from the moment at which the node was asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from quoteway import SharedAnswers

OWN_S: Final = 300.0
"""How long the word of others is enough. Behind one URL, each process may be sent to another node."""
_AHEAD_S: Final = 2.0
"""How far clocks of replicas may differ. A comparison that is farther in the future is not believed."""


class SharedChainIds:
    """When the chain id of each upstream was last compared by any replica, and was right."""

    def __init__(self, answers: SharedAnswers, clock: Callable[[], float] = time.time) -> None:
        self._answers = answers
        self._clock = clock

    async def age_s(self, upstream: bytes, most_s: float) -> float | None:
        """Returns how long ago the last comparison began; None when this replica is to compare.

        Then ``put`` or ``release`` has to follow. What is ``most_s`` old or older is not returned.
        """
        body = await self._answers.get(_key(upstream))
        if body is None:
            return None
        try:
            age_s = self._clock() - int(body) / 1_000
        except (ValueError, OverflowError):
            return None
        return max(age_s, 0.0) if -_AHEAD_S <= age_s < most_s else None

    @property
    def now_ms(self) -> int:
        """Returns the time as ``put`` takes it."""
        return int(self._clock() * 1_000)

    def put(self, upstream: bytes, asked_at_ms: int, lasts_s: float) -> None:
        """Tells other replicas of a comparison that found the right chain id."""
        self._answers.put(_key(upstream), b"%d" % asked_at_ms, lasts_s)

    def release(self, upstream: bytes) -> None:
        """Lets other replicas compare: this one found no right chain id."""
        self._answers.release(_key(upstream))


def _key(upstream: bytes) -> bytes:
    return b"chain-id/" + upstream.hex().encode()
