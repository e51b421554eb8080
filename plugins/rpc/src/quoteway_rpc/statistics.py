"""Statistics of bounded memory: counts and latencies of the last seconds, and a budget of requests."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Final

_SLOTS: Final = 6
SLOT_S: Final = 5.0
WINDOW_S: Final = _SLOTS * SLOT_S
_FIRST_S: Final = 0.0001
_BUCKETS: Final = 80
_PER_OCTAVE: Final = 4
"""Buckets grow by a fourth of an octave from 0.1 ms: a quantile is at most 19 % too high, up to 104 s."""
_BOUNDS_S: Final = [_FIRST_S * math.exp2(bucket / _PER_OCTAVE) for bucket in range(_BUCKETS - 1)]
"""The upper bounds of all buckets but the last one, which has what is longer."""


class Rate:
    """Counts requests, and the failed ones of them, over the last ``WINDOW_S`` seconds."""

    __slots__ = ("_slots",)

    def __init__(self) -> None:
        self._slots = [[-1, 0, 0] for _ in range(_SLOTS)]

    def add(self, now: float, *, failed: bool) -> None:
        """Counts one request that ended at ``now``."""
        number = int(now / SLOT_S)
        slot = self._slots[number % _SLOTS]
        if slot[0] != number:
            slot[:] = [number, 0, 0]
        slot[1] += 1
        slot[2] += failed

    def read(self, now: float) -> tuple[int, int]:
        """Returns how many requests ended, and how many of them failed."""
        oldest = int(now / SLOT_S) - _SLOTS + 1
        recent = [slot for slot in self._slots if slot[0] >= oldest]
        return sum(slot[1] for slot in recent), sum(slot[2] for slot in recent)

    def clear(self) -> None:
        """Forgets all requests."""
        for slot in self._slots:
            slot[:] = [-1, 0, 0]


class Latencies:
    """Quantiles of the latencies of the last one to two windows, in seconds, from logarithmic buckets."""

    __slots__ = ("_began", "_new", "_old")

    def __init__(self) -> None:
        self._new, self._old = [0] * _BUCKETS, [0] * _BUCKETS
        self._began: float | None = None

    def add(self, now: float, latency_s: float) -> None:
        """Adds the latency of one answer."""
        self._turn(now)
        self._new[bisect_left(_BOUNDS_S, latency_s)] += 1

    def quantile(self, now: float, q: float, least: int = 1) -> float | None:
        """Returns the upper bound of the bucket that holds quantile ``q``; None below ``least`` answers."""
        self._turn(now)
        counts = [new + old for new, old in zip(self._new, self._old, strict=True)]
        total = sum(counts)
        if total < max(least, 1):
            return None
        rank, seen = max(math.ceil(q * total), 1), 0
        for bucket, count in enumerate(counts):
            seen += count
            if seen >= rank:
                return _FIRST_S * math.exp2(bucket / _PER_OCTAVE)
        raise AssertionError("the counts do not sum up")

    def _turn(self, now: float) -> None:
        if self._began is None:
            self._began = now
        elif now - self._began >= 2 * WINDOW_S:
            self._new, self._old, self._began = [0] * _BUCKETS, [0] * _BUCKETS, now
        elif now - self._began >= WINDOW_S:
            self._new, self._old, self._began = [0] * _BUCKETS, self._new, now


class Typical:
    """A moving average of latencies. It halves in each minute without one: the slow are tried again."""

    __slots__ = ("_at", "_value")
    _WEIGHT: Final = 0.2
    _HALF_LIFE_S: Final = 60.0

    def __init__(self) -> None:
        self._value: float | None = None
        self._at = 0.0

    def add(self, now: float, latency_s: float) -> None:
        """Adds one latency."""
        known = self.read(now)
        self._value = latency_s if known is None else known + self._WEIGHT * (latency_s - known)
        self._at = now

    def read(self, now: float) -> float | None:
        """Returns the average in seconds; None without an answer yet."""
        if self._value is None:
            return None
        return self._value * math.exp2(-max(now - self._at, 0.0) / self._HALF_LIFE_S)


class Budget:
    """The requests in a second that an upstream takes: additive increase, multiplicative decrease.

    Unlimited until the upstream refuses one for its rate. A refusal halves the rate at which it came, at most
    once in a second; answers raise it by one request in a second for each second of use. Without a refusal at
    four times the rate that was refused last, it is unlimited again.
    """

    __slots__ = ("_before", "_halved_at", "_now", "_refused_at_rate", "_second", "limit")

    def __init__(self) -> None:
        self.limit: float | None = None
        self._refused_at_rate = 0.0
        self._halved_at = -math.inf
        self._second, self._now, self._before = 0, 0, 0

    def started(self, now: float) -> None:
        """Counts a request that is sent at ``now``."""
        self._turn(now)
        self._now += 1

    def rate(self, now: float) -> float:
        """Returns the requests in the last second."""
        self._turn(now)
        return self._now + self._before * (1.0 - (now - math.floor(now)))

    def spent(self, now: float) -> bool:
        """Returns whether a further request would exceed the limit."""
        return self.limit is not None and self.rate(now) >= self.limit

    def refused(self, now: float) -> None:
        """Halves the limit."""
        if now - self._halved_at < 1.0:
            return
        self._halved_at = now
        observed = max(self.rate(now), 1.0)
        self._refused_at_rate = observed
        self.limit = max(min(observed, self.limit or observed) / 2, 1.0)

    def answered(self) -> None:
        """Raises the limit."""
        if self.limit is not None:
            self.limit += 1.0 / self.limit
            if self.limit > 4 * max(self._refused_at_rate, 2.0):
                self.limit = None

    def _turn(self, now: float) -> None:
        second = math.floor(now)
        if second != self._second:
            self._before = self._now if second == self._second + 1 else 0
            self._second, self._now = second, 0
