"""Bounded pools: how many requests each upstream of a network has at once, and who waits for a place."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from quoteway_rpc.upstream import Upstream

OUTAGE_FAILURES = 5
OUTAGE_S = 5.0
"""An upstream that failed so often in a row, for so long, is taken to be down for longer than one call."""
HUNG_AFTER = 3
"""Overtaken requests in a row while it answered no other one."""
LACKS_AFTER = 2
LACKS_S = 5.0
LONGEST_LACK_S = 60.0
"""So often in a row an upstream lacks what a method asks for, and is then asked later for so long. The time
doubles while it still lacks it.
"""
MOST_OVERTAKEN = 0.04
"""The share of overtaken calls above which an upstream is asked later."""
_WEIGHT = 1 / 64
_HALF_LIFE_S = 30.0
_METHODS = 64


@dataclass(eq=False, slots=True)
class Lane:
    """The place of one upstream: requests under way, and what its last answers were.

    ``most`` requests run at once, of which calls of clients have ``most_public``: the rest is kept for the
    core. ``not_before`` is when it may be asked again by its own word (``Retry-After``), in seconds of the
    clock of the race.
    """

    upstream: Upstream
    most: int
    most_public: int
    running: int = 0
    running_public: int = 0
    not_before: float = -math.inf
    failures: int = 0
    failing_since: float = math.inf
    overtaken: int = 0
    answered_at: float = -math.inf
    recovered_at: float = -math.inf
    _share: float = 0.0
    _share_at: float = 0.0
    _lacks: dict[str, tuple[int, float]] = field(default_factory=dict)

    def has_room(self, *, public: bool) -> bool:
        """Whether one more request may begin."""
        return self.running < self.most and not (public and self.running_public >= self.most_public)

    def take(self, *, public: bool) -> None:
        """Takes a place; ``Bulkhead.give_back`` returns it."""
        self.running += 1
        self.running_public += public

    def answered(self, method: str, began: float, now: float, *, slow: bool) -> None:
        """Records an answer. ``slow``: another upstream would have been faster."""
        self.failures, self.failing_since = 0, math.inf
        self._lacks.pop(method, None)
        if slow:
            self.was_overtaken(began, now)
            return
        self.overtaken, self.answered_at = 0, now
        self._share, self._share_at = self._overtaken_share(now) * (1 - _WEIGHT), now

    def was_overtaken(self, began: float, now: float) -> None:
        """Records a request that took longer than a later one to another upstream, or until its timeout.

        If other requests were answered meanwhile it is slow, but does not hang: of many requests at once the
        slow ones end together, when those that were quick have long been answered. What began before a probe
        was answered says nothing of the time after.
        """
        if began < self.recovered_at:
            return
        if began > self.answered_at:
            self.overtaken += 1
        share = self._overtaken_share(now)
        self._share, self._share_at = share + (1 - share) * _WEIGHT, now

    def recovered(self, now: float) -> None:
        """Records that a probe was answered: it does not hang, whatever becomes of older requests."""
        self.overtaken, self.answered_at, self.recovered_at = 0, now, now
        self.failures, self.failing_since = 0, math.inf

    def lacked(self, method: str, now: float) -> None:
        """Records that it does not have what a call of this method asked for."""
        times, until = self._lacks.get(method, (0, 0.0))
        if times >= LACKS_AFTER and now < until:
            return  # of the requests that were on their way, one counts
        if len(self._lacks) >= _METHODS:
            self._lacks.clear()
        doubled = 2 ** min(max(times + 1 - LACKS_AFTER, 0), 10)
        self._lacks[method] = (times + 1, now + min(LACKS_S * doubled, LONGEST_LACK_S))

    def is_second_choice(self, method: str, now: float) -> bool:
        """Whether an equal upstream should be asked first: this one is often slow, or lacks such data."""
        if self._overtaken_share(now) > MOST_OVERTAKEN:
            return True
        times, until = self._lacks.get(method, (0, 0.0))
        return times >= LACKS_AFTER and now < until

    def failed(self, now: float) -> None:
        """Records a failure at ``now``."""
        self.failures += 1
        self.failing_since = min(self.failing_since, now)

    def is_down(self, now: float) -> bool:
        """Whether it has failed for longer than a call may repeat its attempts for."""
        return self.failures >= OUTAGE_FAILURES and now - self.failing_since >= OUTAGE_S

    def _overtaken_share(self, now: float) -> float:
        """A moving average that halves with time, so that it is tried again."""
        return self._share * math.exp2((self._share_at - now) / _HALF_LIFE_S) if self._share else 0.0

    @property
    def hangs(self) -> bool:
        """Whether its last requests were all overtaken or timed out, and it answered none meanwhile."""
        return self.overtaken >= HUNG_AFTER


@dataclass(eq=False, slots=True)
class Waiter:
    """A call that waits for a place at one of ``lanes``. The place that it gets is taken for it already."""

    lanes: Sequence[Lane]
    public: bool
    place: asyncio.Future[Lane]


@dataclass(eq=False, slots=True)
class Bulkhead:
    """The lanes of one network and the calls that wait for a place, those of the core first."""

    lanes: Sequence[Lane]
    _core: dict[Waiter, None] = field(default_factory=dict)
    _public: dict[Waiter, None] = field(default_factory=dict)

    @classmethod
    def of(cls, upstreams: Iterable[Upstream], most: int) -> Bulkhead:
        """Returns lanes with ``most`` requests each, a quarter of which is kept for the core."""
        return cls([Lane(upstream, most, max(most - max(most // 4, 1), 1)) for upstream in upstreams])

    def take(self, lanes: Sequence[Lane], *, public: bool) -> Lane | None:
        """Takes a place at the first lane that has one, or returns None."""
        for lane in lanes:
            if lane.has_room(public=public):
                lane.take(public=public)
                return lane
        return None

    def wait(self, lanes: Sequence[Lane], *, public: bool) -> Waiter:
        """Queues for the first place at any of ``lanes``. The caller ends it with ``leave``."""
        waiter = Waiter(lanes, public, asyncio.get_running_loop().create_future())
        (self._public if public else self._core)[waiter] = None
        return waiter

    def leave(self, waiter: Waiter) -> None:
        """Ends a wait. A place that it got and did not use goes to the next one."""
        if waiter.place.done() and not waiter.place.cancelled():
            self.give_back(waiter.place.result(), public=waiter.public)
            return
        waiter.place.cancel()
        (self._public if waiter.public else self._core).pop(waiter, None)

    def give_back(self, lane: Lane, *, public: bool) -> None:
        """Returns a place, and hands it to the call that has waited longest, of the core before clients."""
        lane.running -= 1
        lane.running_public -= public
        for queue in (self._core, self._public):
            if queue is self._public and not lane.has_room(public=True):
                return
            for waiter in queue:
                if lane in waiter.lanes:
                    del queue[waiter]
                    lane.take(public=waiter.public)
                    waiter.place.set_result(lane)
                    return
