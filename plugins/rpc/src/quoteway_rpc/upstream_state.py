"""What is remembered of one upstream: its breaker, its budget, and how its calls went."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from quoteway.evm.methods import METHODS
from quoteway.models import UpstreamState

from quoteway_rpc.error_rows import Outcome
from quoteway_rpc.statistics import Budget, Latencies, Rate, Typical
from quoteway_rpc.upstream import Upstream

OTHER: Final = "other"
"""The name under which methods outside of the allow-list are counted: their number is bounded so."""
IN_A_ROW: Final = 3
MIN_CALLS: Final = 10
MAX_ERROR_RATE: Final = 0.5
"""The breaker opens after ``IN_A_ROW`` failures, or when of at least ``MIN_CALLS`` calls of the window this
part failed."""
FIRST_PAUSE_S: Final = 1.0
"""Time until the first probe of an upstream that failed. It doubles, up to the ``cooldown_s`` setting."""
HEAVY: Final = frozenset(
    {"eth_call", "eth_createAccessList", "eth_estimateGas", "eth_getLogs", "eth_getProof", "eth_simulateV1"}
)
"""A caller can make these last. When one takes too long the upstream is probed, and that decides."""
STEADY_CALLS: Final = 10
"""After so many answers in a row the next pause is the first one again."""
METHOD_MISSING_S: Final = 600.0
"""How long an upstream is asked last for a method that it does not have."""
_LEAST_LATENCIES: Final = 5
_EQUAL_S: Final = 0.05
"""Latencies below this one are equal, so that the configured order decides."""


@dataclass(eq=False, slots=True)
class MethodState:
    """The calls of one method of an upstream."""

    rate: Rate = field(default_factory=Rate)
    latencies: Latencies = field(default_factory=Latencies)
    typical: Typical = field(default_factory=Typical)
    answers: int = 0
    missing_until: float = -math.inf
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    def error_step(self, now: float) -> int:
        """Returns its error rate in tenths, 0 while there are too few calls."""
        calls, failed = self.rate.read(now)
        return 10 * failed // calls if calls >= MIN_CALLS else 0

    def latency_step(self, now: float) -> int:
        """Returns how often its typical latency has to be halved to be below ``_EQUAL_S``."""
        typical = self.typical.read(now) if self.answers >= _LEAST_LATENCIES else None
        return 0 if typical is None or typical <= _EQUAL_S else math.ceil(math.log2(typical / _EQUAL_S))

    def took(self, now: float, latency_s: float) -> None:
        """Adds the latency of an answer."""
        self.answers += 1
        self.latencies.add(now, latency_s)
        self.typical.add(now, latency_s)

    def took_longer(self, now: float, latency_s: float) -> None:
        """Adds what is known of a call that nobody waited for to its end: it would have taken longer."""
        typical = self.typical.read(now)
        if typical is None or latency_s >= typical:
            self.took(now, latency_s)


@dataclass(eq=False, slots=True)
class State:
    """One upstream with its breaker. Times are those of the dispatcher's clock, in seconds.

    ``asked_at`` is when its last probe began, or when it failed without one.
    """

    upstream: Upstream
    index: int
    tier: int = 0
    cordoned: str = ""
    suspect: bool = False
    open: bool = False
    reason: str | None = None
    probe_at: float = math.inf
    pause_s: float = 0.0
    asked_at: float = -math.inf
    recovered_at: float = -math.inf
    limited_until: float = -math.inf
    in_flight: int = 0
    rate: Rate = field(default_factory=Rate)
    latencies: Latencies = field(default_factory=Latencies)
    budget: Budget = field(default_factory=Budget)
    head: int | None = None
    head_at: float = -math.inf
    methods: dict[str, MethodState] = field(default_factory=dict)
    _failed_in_row: int = 0
    _limited_in_row: int = 0
    _good_in_row: int = 0

    @property
    def out(self) -> bool:
        """Whether it has to be probed before it is used like the others."""
        return (self.suspect or self.open) and not self.cordoned

    def of(self, method: str) -> MethodState:
        """Returns the state of a method; of all methods together that are not of the allow-list."""
        name = method if method in METHODS else OTHER
        found = self.methods.get(name)
        if found is None:
            found = self.methods[name] = MethodState()
        return found

    def shown(self, now: float) -> UpstreamState:
        """Returns its state in one word."""
        if self.cordoned:
            return "cordoned"
        if self.open:
            return "open"
        if now < self.limited_until:
            return "limited"
        return "suspect" if self.suspect else "closed"

    def order(self, method: str, now: float, lag_step: int) -> tuple[int, ...]:
        """Returns the key of candidates: the smallest is asked first."""
        calls = self.of(method)
        return (
            self.open,
            now < self.limited_until or self.budget.spent(now),
            now < calls.missing_until,
            self.tier,
            self.suspect,
            lag_step,
            calls.error_step(now),
            calls.latency_step(now),
            self.index,
        )

    def answered(self, now: float) -> None:
        """Notes an answer of the node, be it an error of the caller."""
        self.rate.add(now, failed=False)
        self.budget.answered()
        self._failed_in_row = self._limited_in_row = 0
        self._good_in_row += 1
        if self._good_in_row >= STEADY_CALLS:
            self.pause_s = 0.0
        if self.open:
            self.probe_at = min(self.probe_at, now)
        elif self.suspect:
            self._close()

    def limited(self, now: float, wait_s: float | None, cooldown_s: float) -> None:
        """Notes a refusal for too many requests: it is asked last for ``wait_s``, else longer each time."""
        self._good_in_row = 0
        self.budget.refused(now)
        self.reason = Outcome.CAPACITY.value
        if wait_s is None and now < self.limited_until:
            return  # of the requests that were on their way, one counts
        self._limited_in_row += 1
        own_s = min(FIRST_PAUSE_S * 2 ** min(self._limited_in_row - 1, 10), cooldown_s)
        self.limited_until = max(self.limited_until, now + (own_s if wait_s is None else wait_s))

    def failed(self, now: float, method: str, outcome: Outcome, reason: str, cooldown_s: float) -> None:
        """Notes a failure, which may open the breaker."""
        if outcome is not Outcome.TIMEOUT or method not in HEAVY:
            self.rate.add(now, failed=True)
            self._failed_in_row += 1
        self.upstream.doubt()
        self._good_in_row = 0
        self.reason = reason
        calls, failures = self.rate.read(now)
        rotten = calls >= MIN_CALLS and failures >= MAX_ERROR_RATE * calls
        hopeless = outcome in (Outcome.AUTHORISATION, Outcome.INTEGRITY)
        if not self.out:
            self.asked_at = now
            self._pause(now, cooldown_s)
        self.suspect = True
        self.open = self.open or hopeless or rotten or self._failed_in_row >= IN_A_ROW

    def probe_begins(self, now: float, timeout_s: float) -> None:
        """Notes a probe. The next one is due some time after it has failed, or when it has to hurry."""
        self.asked_at, self.probe_at = now, now + 2 * timeout_s  # it has ended by then

    def probe_failed(self, now: float, reason: str, cooldown_s: float) -> None:
        """Opens the breaker until the next probe, after a longer time than before."""
        self.open = self.suspect = True
        self.reason = reason
        self._pause(now, cooldown_s)

    def hurry(self, now: float, pause_s: float) -> bool:
        """Brings the next probe forward, to ``pause_s`` after the last one began, also if that has not ended,
        or after the failure without one. Returns whether it did."""
        soon = max(now, self.asked_at + pause_s)
        if not self.out or self.probe_at <= soon:
            return False
        self.probe_at = soon
        return True

    def recovered(self, now: float) -> None:
        """Closes the breaker after a probe. Its window begins anew."""
        self._close()
        self.recovered_at = now
        self.rate.clear()

    def totals(self) -> list[tuple[str, str, int]]:
        """Returns the calls by method and outcome."""
        return [
            (name, outcome.value, count)
            for name, calls in sorted(self.methods.items())
            for outcome, count in sorted(calls.outcomes.items())
        ]

    def method_latencies(self, now: float) -> list[tuple[str, float, float]]:
        """Returns the p50 and p95 of the answers of each method, in seconds."""
        read = (
            (name, calls.latencies.quantile(now, 0.5), calls.latencies.quantile(now, 0.95))
            for name, calls in sorted(self.methods.items())
        )
        return [(name, p50, p95) for name, p50, p95 in read if p50 is not None and p95 is not None]

    def error_rate(self, now: float) -> float | None:
        """Returns the part of the calls of the window that failed; None without calls."""
        read = [calls.rate.read(now) for calls in self.methods.values()]
        total = sum(calls for calls, _ in read)
        return sum(failed for _, failed in read) / total if total else None

    def _close(self) -> None:
        self.open = self.suspect = False
        self.reason = None
        self.probe_at = math.inf
        self._failed_in_row = 0

    def _pause(self, now: float, cooldown_s: float) -> None:
        self.pause_s = min(2 * self.pause_s or FIRST_PAUSE_S, max(cooldown_s, 0.0))
        self.probe_at = now + self.pause_s
