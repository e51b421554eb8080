"""What the gateway remembers of the calls of one provider's method: outcomes, times, wins and the breaker."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from quoteway.models import Capability

FAULTS_TO_OPEN = 3
"""So many faults in a row open the breaker."""
FIRST_PAUSE_S, MOST_PAUSE_S = 1.0, 60.0
"""How long an open breaker refuses calls at first. Each probe that fails doubles it, up to the second."""
MOST_AT_ONCE = 256
"""How many calls of one method run at once. Further ones wait within their own deadline."""
WINDOW = 64
"""How many of the newest answers count for the times."""
ENOUGH = 8
"""A provider that took part in fewer competitions is a newcomer, which is waited for until the deadline."""
COMPETITIONS = 32
"""How many of the newest competitions count."""
WINS_OFTEN = 1 / 8
"""A provider that won this share of them is worth waiting for."""
LEAST_WAIT_S = 0.1
"""How long a competition lasts at least for one that often wins or is fast, however fast it usually is."""
FAST_S, AS_FAST = 0.05, 1.5
"""A provider is fast when its usual answer takes at most so many times the winner's of now, or, if it has
won anything, at most so many seconds."""

BreakerState = Literal["closed", "open", "half_open"]


@dataclass(slots=True)
class CallRecord:
    """The calls of one method of one provider, where they are about networks on the same networks.

    ``outcomes`` counts them by outcome or reason. ``times_s`` has how long the newest answers took, and
    ``wins`` whether the newest competitions were won. ``running_on`` are calls that ignore cancellation.
    ``last_error`` is the reason of the newest failure, ``last_fault`` that of the newest which counts against
    the provider. Times of failures and of the breaker are seconds of the caller's clock.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    times_s: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    wins: deque[bool] = field(default_factory=lambda: deque(maxlen=COMPETITIONS))
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE), repr=False)
    running_on: set[asyncio.Task[Any]] = field(default_factory=set, repr=False)
    last_error: str | None = None
    failed_at_s: float = -math.inf
    faults: int = 0
    last_fault: str | None = None
    _open_until_s: float | None = None
    _pause_s: float = FIRST_PAUSE_S
    _probing: bool = False

    # --- breaker ------------------------------------------------------------------------------------------

    def state(self, now_s: float) -> BreakerState:
        """Returns whether calls are made (closed), refused (open), or tried one at a time (half-open)."""
        if self._open_until_s is None:
            return "closed"
        return "open" if now_s < self._open_until_s else "half_open"

    def admit(self, now_s: float) -> bool:
        """Returns whether a call may be made now. A half-open breaker admits one, its probe."""
        state = self.state(now_s)
        if state == "half_open" and not self._probing:
            self._probing = True
            return True
        return state == "closed"

    @property
    def on_probation(self) -> bool:
        """Returns whether the breaker has opened and no call has been answered since."""
        return self._open_until_s is not None

    def answered(self) -> None:
        """Closes the breaker: the provider answered, be it with a refusal that its caller is the cause of."""
        self.faults, self._open_until_s, self._pause_s, self._probing = 0, None, FIRST_PAUSE_S, False

    def unanswered(self) -> None:
        """Ends a call that says nothing about the provider, as one that its caller gave up."""
        self._probing = False

    def at_fault(self, reason: str, now_s: float) -> bool:
        """Counts a fault of the provider. Returns whether the breaker has opened by it."""
        self.faults += 1
        self.last_fault, self._probing = reason, False
        if self.faults < FAULTS_TO_OPEN or self.state(now_s) == "open":
            return False
        if self._open_until_s is not None:
            self._pause_s = min(2 * self._pause_s, MOST_PAUSE_S)
        self._open_until_s = now_s + self._pause_s
        return True

    # --- times --------------------------------------------------------------------------------------------

    def percentile_s(self, share: float) -> float | None:
        """Returns the time within which this share of the newest answers came; None without an answer."""
        return _percentile(self.times_s, share)

    @property
    def wins_often(self) -> bool:
        return len(self.wins) >= ENOUGH and self.wins.count(True) >= WINS_OFTEN * len(self.wins)

    def patience_s(self, winner_s: float) -> float:
        """Returns how long a competition lasts for this provider when a frequent winner quoted after so long.

        One that seldom wins is waited for when it is fast, and one that has won nothing when it usually
        answers about as fast as the winner. No other is: a wait too short for its usual answer only delays
        everybody. What it would have won counts, so that one that begins to win is waited for again.
        """
        if self.on_probation:
            return 0.0
        if len(self.wins) < ENOUGH:
            return math.inf
        if self.wins_often:
            return max(LEAST_WAIT_S, self.percentile_s(0.95) or 0.0)
        usual_s = self.percentile_s(0.5) or 0.0
        is_fast = usual_s <= max(FAST_S if any(self.wins) else 0.0, AS_FAST * winner_s)
        return max(LEAST_WAIT_S, 4 * winner_s) if is_fast else 0.0


@dataclass(frozen=True, slots=True)
class MethodCalls:
    """How the calls of one method of a provider did, on all networks.

    ``state`` is that of the breaker that is furthest from closed, and ``last_fault`` why it opened.
    ``outcomes`` counts calls by outcome or reason. The times are those of the newest answers. ``last_error``
    is the reason of the newest failure, which was ``failed_s_ago``.
    """

    capability: Capability
    method: str
    state: BreakerState
    last_fault: str | None
    outcomes: Mapping[str, int]
    p50_s: float | None
    p95_s: float | None
    last_error: str | None
    failed_s_ago: float


def method_calls(
    capability: Capability, method: str, records: Sequence[CallRecord], now_s: float
) -> MethodCalls:
    """Returns the calls of a method from its records, one for each of its networks."""
    worst = max(records, key=lambda record: ("closed", "half_open", "open").index(record.state(now_s)))
    newest = max(records, key=lambda record: record.failed_at_s)
    times_s = [took_s for record in records for took_s in record.times_s]
    state = worst.state(now_s)
    return MethodCalls(
        capability,
        method,
        state,
        last_fault=None if state == "closed" else worst.last_fault,
        outcomes=sum((record.outcomes for record in records), Counter()),
        p50_s=_percentile(times_s, 0.5),
        p95_s=_percentile(times_s, 0.95),
        last_error=newest.last_error,
        failed_s_ago=now_s - newest.failed_at_s,
    )


def _percentile(values: Iterable[float], share: float) -> float | None:
    """Returns the least value that this share of the values does not exceed; None without a value."""
    ordered = sorted(values)
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else None
