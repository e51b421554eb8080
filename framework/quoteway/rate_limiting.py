"""A token bucket for the requests that a plugin sends to an upstream."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from quoteway.errors import Reason, UpstreamError


@dataclass(eq=False)
class Limiter:
    """At most ``burst`` requests at once, and ``per_s`` a second on average, in this process.

    ``most_wait_s`` is how long a request waits for its turn.
    """

    per_s: float
    burst: int = 1
    most_wait_s: float = 5.0
    clock: Callable[[], float] = time.monotonic
    _full_at: float = field(default=float("-inf"), init=False)

    def __post_init__(self) -> None:
        if not 0 < self.per_s < float("inf") or self.burst < 1:
            given = f"{self.per_s!r} and {self.burst!r}"
            raise ValueError(f"a limiter needs per_s above zero and burst from 1, not {given}")

    async def take(self) -> None:
        """Waits for the turn of one request, in the order of arrival.

        Raises ``UpstreamError`` at once when that takes longer than ``most_wait_s``.
        """
        now, token_s = self.clock(), 1 / self.per_s
        full_at = max(self._full_at, now) + token_s
        wait_s = full_at - now - self.burst * token_s
        if wait_s > self.most_wait_s:
            raise UpstreamError(
                "The provider sends its upstream no more requests at the moment: try again later.",
                reason=Reason.PROVIDER_ERROR,
                retryable=True,
            )
        self._full_at = full_at
        if wait_s > 0:
            await asyncio.sleep(wait_s)
