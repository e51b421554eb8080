"""When a second upstream is asked before the first has answered, and how often."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, Protocol


class Latencies(Protocol):
    """What ``HedgeDelays`` has to know."""

    def quantile(self, method: str, q: float) -> float | None:
        """Returns the seconds within which the share ``q`` of a method's answers came, None if unknown."""


RENEWED_S: Final = 0.1
"""How long a computed delay is used. Quantiles of each call would cost more than all else of the race."""
_METHODS: Final = 64


@dataclass(slots=True)
class HedgeDelays:
    """How many seconds a first upstream is waited for before a second one is asked, by method.

    The 95th percentile, which 5 % of calls exceed as the budget allows. Where some 5 % are very slow, the
    95th percentile is one of them: so never more than one and a half times the 90th. At least ``floor_s``,
    and ``unknown_s`` while there are too few answers.
    """

    latencies: Latencies
    floor_s: float
    unknown_s: float
    _known: dict[str, tuple[float, float]] = field(default_factory=dict)

    def of(self, method: str, now: float) -> float:
        """Returns the delay of a method in seconds."""
        delay_s, until = self._known.get(method, (0.0, -math.inf))
        if now < until:
            return delay_s
        delay_s = self._compute(method)
        if len(self._known) >= _METHODS:
            self._known.clear()
        self._known[method] = (delay_s, now + RENEWED_S)
        return delay_s

    def _compute(self, method: str) -> float:
        p90, p95 = self.latencies.quantile(method, 0.90), self.latencies.quantile(method, 0.95)
        if p90 is None or p95 is None:
            return max(self.unknown_s, self.floor_s)
        return max(min(p95, 1.5 * p90), self.floor_s)


@dataclass(slots=True)
class HedgeBudget:
    """A bucket of tokens: each call earns ``share`` of one, each hedge costs one.

    It begins with ``burst`` tokens, and never has more. Thus hedges add no more than ``share`` to the calls,
    and when every node is slow they do not double the load.
    """

    share: float
    burst: float
    tokens: float = 0.0
    hedges: int = 0

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def earn(self) -> None:
        """Is called for each call."""
        self.tokens = min(self.tokens + self.share, self.burst)

    def spend(self) -> bool:
        """Takes a token, and returns whether there was one."""
        if self.tokens < 1.0 or self.share <= 0:
            return False
        self.tokens -= 1.0
        self.hedges += 1
        return True
