"""The attempts of one call: rounds over the upstreams, a hedge when one is slow, the first usable answer."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quoteway import Reason, RpcError, UpstreamError

from quoteway_rpc.error_rows import Outcome
from quoteway_rpc.outcomes import BLAMES, NOT_FOUND, Unusable, agreed, conclusion

if TYPE_CHECKING:
    from quoteway_rpc.asking import Ask
    from quoteway_rpc.bulkhead import Lane, Waiter
    from quoteway_rpc.race import NetworkRace, RaceLimits

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0
"""The pause after a round in which nobody answered. It doubles each time."""
ROUNDS_IN_DOUBT = 3
"""So many rounds are asked for the confirmation of an answer in doubt: without one it is an answer too."""
CONFIRMED_S = 0.5
"""The least time that an upstream has to confirm that there is nothing. It has four times a hedge's delay."""
MOST_AT_ONCE = 3
"""Upstreams that one call asks at once."""
TOO_LATE_S = 0.005
"""With less time than this no request is begun."""

ONCE = frozenset({"no_chain_id", "http_404", "too_large", "too_many_members", "too_deep"})
ONCE_OUTCOMES = frozenset({Outcome.AUTHORISATION, Outcome.INTEGRITY})
"""Faults of an upstream that the same call would meet again. So would it what does not blame the upstream."""
SLOW_TIMES = 4
"""An answer that took so many times the delay of a hedge counts as one that was overtaken."""
LACKING = frozenset({Outcome.DATA_MISSING, Outcome.METHOD_MISSING, Outcome.TOO_LARGE})
"""What another upstream may have."""
HANGS = "hangs"
"""The word for the log of an upstream whose last requests were all overtaken."""


@dataclass(eq=False, slots=True)
class _Leg:
    """One request under way. ``overtaken``: a later one was faster. ``is_hedge``: it began beside another."""

    lane: Lane
    began: float
    is_hedge: bool
    overtaken: bool = False
    task: asyncio.Task[Any] = field(init=False)


class Attempts:
    """Answers one call. Times are seconds of ``clock``."""

    def __init__(
        self,
        ask: Ask,
        network: NetworkRace,
        clock: Callable[[], float],
        limits: RaceLimits,
    ) -> None:
        self._ask = ask
        self._network = network
        self._clock = clock
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._legs: dict[Lane, _Leg] = {}
        self._finished: list[_Leg] = []
        self._wanted = 1
        self._asked: set[Lane] = set()
        self._closed: set[Lane] = set()
        self._rounds = 0
        self._failures: list[Unusable] = []
        self._in_doubt = self._has_null = False
        self._others_end_at = math.inf
        self._others_end: asyncio.TimerHandle | None = None
        self._empty: list[Any] = []
        self._waiter: Waiter | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._hedge: asyncio.TimerHandle | None = None
        self._end: asyncio.TimerHandle | None = None
        self._hedge_due = False
        self._wake: asyncio.Future[None] | None = None

    async def answer(self) -> Any:
        """Returns the first usable answer. Raises ``RpcError`` for a node's own error, else
        ``UpstreamError``."""
        try:
            while True:
                now = self._clock()
                if now >= self._others_end_at:
                    self._leave_others()
                if self._empty and not self._legs:
                    return self._empty[0]
                self._begin(now)
                self._wake = self._loop.create_future()
                await self._wake
                while self._finished:
                    leg = self._finished.pop(0)
                    if self._is_usable(leg):
                        if leg.is_hedge:
                            self._network.count("hedges_won")
                        return leg.task.result()
        finally:
            self._stop()

    # --- what comes ---------------------------------------------------------------------------------------

    def _is_usable(self, leg: _Leg) -> bool:
        """Whether a finished request answers the call. Raises a node's own error."""
        error = leg.task.exception()
        if error is None:
            self._overtake(leg)
            result = leg.task.result()
            if self._legs and (result is None or result == []):
                if not self._empty:  # another one may know what this one does not
                    self._limit_others(self._clock())
                self._empty.append(result)
                return False
            return True
        if not isinstance(error, Unusable):
            self._overtake(leg)
            raise error
        self._failures.append(error)
        if error.error is None and error.kind in (NOT_FOUND, Outcome.DATA_MISSING.value):
            self._in_doubt = True
            if error.kind == NOT_FOUND and not self._has_null:
                self._has_null = True
                self._limit_others(self._clock())
        if self._in_doubt and error.outcome is Outcome.TIMEOUT:
            self._closed.add(leg.lane)
        if error.kind in ONCE or error.outcome in ONCE_OUTCOMES or not error.blames_upstream:
            self._closed.add(leg.lane)
        of_the_call = agreed(self._failures)
        if of_the_call is not None:
            raise of_the_call
        return False

    def _overtake(self, winner: _Leg) -> None:
        for leg in self._legs.values():
            if leg.began < winner.began:
                leg.overtaken = True

    def _done(self, leg: _Leg, task: asyncio.Task[Any]) -> None:
        """Counts a request that ended. Runs after each one, also after a cancelled one."""
        lane, now, network = leg.lane, self._clock(), self._network
        network.bulkhead.give_back(lane, public=self._ask.public)
        cancelled = task.cancelled()
        outcome, kind, retry_after_s = _how(None if cancelled else task.exception(), cancelled=cancelled)
        if outcome in (Outcome.ANSWERED, Outcome.CALLER):
            slow_s = SLOW_TIMES * network.delays.of(self._ask.method, now)
            lane.answered(self._ask.method, leg.began, now, slow=now - leg.began > slow_s)
        elif outcome in LACKING:
            lane.lacked(self._ask.method, now)
        elif leg.overtaken or outcome is Outcome.TIMEOUT:
            lane.was_overtaken(leg.began, now)
            if lane.hangs and (outcome is Outcome.CANCELLED or self._has_null):
                outcome, kind = Outcome.TIMEOUT, HANGS
        if outcome in BLAMES:
            lane.failed(now)
        if retry_after_s is not None:
            lane.not_before = now + retry_after_s
        network.health.finished(
            lane.upstream, self._ask.method, outcome, now - leg.began, retry_after_s, kind=kind
        )
        if not cancelled:
            self._legs.pop(lane, None)
            self._finished.append(leg)
            self._poke()

    # --- whom to ask ----------------------------------------------------------------------------------------

    def _begin(self, now: float) -> None:
        """Asks as many upstreams as are wanted, or sees to it that they are asked later.

        Raises the call's failure when nobody is left to ask or the time is over.
        """
        if self._ask.ends_at - now < TOO_LATE_S:
            raise self._failure(now)
        if self._empty:
            return
        if self._hedge_due:
            self._hedge_due = False
            if self._may_hedge(now):
                self._wanted += 1
            else:
                self._network.health.hurry_probes()
            self._arm_hedge(now)
        self._use_place(now)
        while len(self._legs) < self._wanted and self._waiter is None and self._pause is None:
            lanes = [lane for lane in self._open(now) if lane not in self._asked]
            if not lanes:
                self._rest(now)
                return
            lane = self._network.bulkhead.take(lanes, public=self._ask.public)
            if lane is not None:
                self._start(lane, now, is_last=len(lanes) == 1)
                continue
            self._waiter = self._network.bulkhead.wait(lanes, public=self._ask.public)
            self._waiter.place.add_done_callback(self._poke)
            self._arm_end(now)

    def _open(self, now: float) -> Sequence[Lane]:
        """Returns the lanes that may be asked, the best first."""
        known, health, method = self._network.lanes, self._network.health, self._ask.method
        lanes = [
            lane
            for upstream in health.candidates(method, now)
            if (lane := known[upstream]) not in self._closed
            and lane not in self._legs
            and lane.not_before <= now
            and not (self._has_null and health.is_open(upstream))
        ]
        if len(lanes) > 1:
            # Those that do not have the block that is asked for come last.
            lanes.sort(key=lambda lane: self._network.lacks(self._ask, lane.upstream))
        if len(lanes) < 2 or not lanes[0].is_second_choice(method, now):
            return lanes
        first = lanes[0].upstream
        better = [
            lane
            for lane in lanes[1:]
            if not lane.is_second_choice(method, now) and health.may_hedge(first, lane.upstream, now)
        ]
        return [*better, *(lane for lane in lanes if lane not in better)]

    def _start(self, lane: Lane, now: float, *, is_last: bool) -> None:
        """Begins a request; the place for it is taken. The last one of a round has all the time left,
        unless it has to confirm an answer that is there."""
        ask, leg = self._ask, _Leg(lane, now, bool(self._legs))
        if leg.is_hedge:
            self._network.count("hedges")
        left_s = ask.ends_at - now
        limit_s = left_s if is_last and not self._in_doubt else min(left_s, self._limits.attempt_timeout_s)
        if self._has_null or (self._in_doubt and self._network.health.is_open(lane.upstream)):
            limit_s = min(limit_s, self._confirmed_s(now))
        self._network.health.started(lane.upstream, ask.method)
        leg.task = self._loop.create_task(
            lane.upstream.ask(ask.method, ask.params, timeout_s=limit_s, raw=ask.raw)
        )
        leg.task.add_done_callback(lambda task: self._done(leg, task))
        self._legs[lane] = leg
        self._asked.add(lane)
        if self._hedge is None and len(self._network.lanes) > 1:
            self._arm_hedge(now)

    def _confirmed_s(self, now: float) -> float:
        return max(SLOW_TIMES * self._network.delays.of(self._ask.method, now), CONFIRMED_S)

    def _limit_others(self, now: float) -> None:
        """Gives the requests under way as much time as those that begin after a null have: they may hang."""
        if self._legs:
            limit_s = self._confirmed_s(now)
            self._others_end_at = now + limit_s
            self._others_end = self._loop.call_later(limit_s, self._poke)

    def _leave_others(self) -> None:
        self._others_end_at = math.inf
        for lane, leg in list(self._legs.items()):
            leg.overtaken = True
            leg.task.cancel()
            del self._legs[lane]
            self._closed.add(lane)

    def _use_place(self, now: float) -> None:
        waiter = self._waiter
        if waiter is None or not waiter.place.done():
            return
        self._waiter = None
        lane = waiter.place.result()
        self._start(lane, now, is_last=len(waiter.lanes) == 1)

    def _rest(self, now: float) -> None:
        """Waits before the next round. Raises the call's failure when a next round cannot help."""
        health = self._network.health
        lanes = [lane for lane in self._network.lanes.values() if lane not in self._closed]
        if self._has_null and not self._legs and all(health.is_open(lane.upstream) for lane in lanes):
            raise self._failure(now)  # nobody is left to confirm it
        soonest = min((lane.not_before for lane in lanes), default=math.inf)
        if self._in_doubt and self._rounds + 1 >= ROUNDS_IN_DOUBT and not self._legs:
            raise self._failure(now)
        if not self._legs and (soonest >= self._ask.ends_at or all(lane.is_down(now) for lane in lanes)):
            raise self._failure(now)
        pause_s = min(FIRST_PAUSE_S * 2 ** min(self._rounds, 10), LONGEST_PAUSE_S)
        pause_s = max(pause_s * random.uniform(0.5, 1.0), soonest - now)  # noqa: S311 - no secret
        if not self._legs and pause_s >= self._ask.ends_at - now:
            raise self._failure(now)
        self._pause = self._loop.call_later(pause_s, self._next_round)
        self._arm_end(now)

    def _next_round(self) -> None:
        self._pause = None
        self._rounds += 1
        self._asked.clear()
        self._poke()

    # --- hedges and time ------------------------------------------------------------------------------------

    def _may_hedge(self, now: float) -> bool:
        """Whether one more upstream is asked now. Costs a token, unless one that hangs is replaced, or by one
        that was out when the call began, or an answer has to be confirmed."""
        if not self._legs or len(self._legs) < self._wanted or self._wanted >= MOST_AT_ONCE:
            return False
        first = next(iter(self._legs)).upstream
        others = [
            lane
            for lane in self._open(now)
            if lane not in self._asked
            and lane.has_room(public=self._ask.public)
            and self._network.health.may_hedge(first, lane.upstream, now)
        ]
        if not others:
            return False
        rescued = any(lane.hangs for lane in self._legs) and not all(lane.hangs for lane in others)
        came_back = any(lane.recovered_at > leg.began for lane in others for leg in self._legs.values())
        return rescued or came_back or self._in_doubt or self._network.budget.spend()

    def _arm_hedge(self, now: float) -> None:
        delay_s = self._network.delays.of(self._ask.method, now)
        self._hedge = self._loop.call_later(delay_s, self._late)

    def _late(self) -> None:
        self._hedge_due = True
        self._poke()

    def _arm_end(self, now: float) -> None:
        """Wakes the call at its deadline. Requests under way have it as their own."""
        if self._end is None:
            self._end = self._loop.call_later(self._ask.ends_at - now, self._poke)

    def _poke(self, _: object = None) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def _stop(self) -> None:
        for timer in (self._pause, self._hedge, self._end, self._others_end):
            if timer is not None:
                timer.cancel()
        if self._waiter is not None:
            self._network.bulkhead.leave(self._waiter)
        # Not awaited: a request that ignores its cancellation must not delay the answer.
        for leg in self._legs.values():
            leg.task.cancel()

    def _failure(self, now: float) -> UpstreamError:
        self._failures += [Unusable("timeout") for _ in self._legs]
        waits = [lane.not_before - now for lane in self._network.lanes.values()]
        return failure(self._ask, self._failures, min(waits, default=0.0))


def _how(error: BaseException | None, *, cancelled: bool) -> tuple[Outcome, str, float | None]:
    """Returns the outcome of a request, its word for the log, and when the upstream may be asked again."""
    if cancelled:
        return Outcome.CANCELLED, "", None
    if isinstance(error, Unusable):
        return error.outcome, error.kind, error.retry_after_s
    if isinstance(error, RpcError):
        return Outcome.CALLER, "", None
    return (Outcome.ANSWERED if error is None else Outcome.NODE_FAULT), "", None


def failure(ask: Ask, failures: Sequence[Unusable], retry_after_s: float = 0.0) -> UpstreamError:
    """Returns the error for the client. It names no upstream and quotes none of their texts."""
    error = conclusion(failures, ask.method)
    if error is not None:
        return error
    if retry_after_s <= 0 and all(each.outcome is Outcome.TIMEOUT for each in failures):
        return UpstreamError(
            f"No RPC upstream of {ask.network.name} answered in time.",
            reason=Reason.PROVIDER_TIMEOUT,
            retryable=True,
        )
    headers = {"Retry-After": str(math.ceil(retry_after_s))} if retry_after_s > 0 else {}
    return UpstreamError(
        f"No RPC upstream of {ask.network.name} gave a usable answer.",
        reason=Reason.RPC_ERROR,
        retryable=True,
        headers=headers,
    )
