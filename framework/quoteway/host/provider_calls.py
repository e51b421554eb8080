"""The one door for calls of providers: deadline, bounded concurrency, breaker, counts and times.

It uses ``asyncio.wait`` and cancels late tasks *without awaiting* them. With ``gather`` or a ``TaskGroup``, a
provider that ignores cancellation delays the result past the deadline, and its late answer may be used
(measured).
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

from quoteway.errors import GatewayError, Reason, RpcError, UpstreamError
from quoteway.host.call_records import CallRecord, MethodCalls, method_calls
from quoteway.host.outcomes import CAUSED_BY_REQUESTS, Outcome, is_sound
from quoteway.host.running_call import RunningCall, result_of, run
from quoteway.host.spans import span
from quoteway.models import Capability
from quoteway.providers import Provider

log = logging.getLogger("quoteway.host.provider_calls")

P = TypeVar("P", bound=Provider)
T = TypeVar("T")

FORWARD = "forward"
"""The method of RPC upstreams."""
_FAULTS = (None, Reason.PROVIDER_ERROR, Reason.PROVIDER_TIMEOUT)
"""The reasons of errors that are the provider's own. All others a caller, a chain or a node can cause."""
_INCONCLUSIVE = (
    *(Reason.RPC_ERROR, Reason.NODES_DISAGREE, Reason.BEHIND),
    *(Reason.UNSAFE_ANSWER, Reason.CAPABILITY_DISABLED),
)
"""The reasons of errors that say neither that the provider works nor that it is at fault."""


class ProviderCalls:
    """Calls the providers of one gateway. ``timeout_s`` is the default timeout of a call.

    A task that ignores its cancellation keeps running. A provider with ``MAX_RUNNING_ON`` such tasks is not
    called until one of them ends. ``clock`` gives seconds.
    """

    MAX_RUNNING_ON: ClassVar[int] = 64

    def __init__(
        self,
        timeout_s: float,
        observe: Callable[[Mapping[str, Any]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeout_s = timeout_s
        self._observe = observe
        self._clock = clock
        self._records: dict[tuple[Capability, str], dict[tuple[str, Hashable], CallRecord]] = {}
        """By provider, then by method and scope."""

    async def ask_all(
        self,
        providers: Sequence[P],
        call: Callable[[P], Awaitable[T | None]],
        *,
        verb: str,
        timeout_s: float | None = None,
        scope: Hashable = None,
        worth: Callable[[T], int] | None = None,
        spared: bool = False,
    ) -> list[Outcome[P, T]]:
        """Calls all providers at once and returns their outcomes, in the same order, within ``timeout_s``.

        ``scope`` names the networks that the call is about: a provider that fails on one is still asked on
        the others. A provider whose breaker is open is not called, unless no other could answer instead;
        ``spared`` says that one could though it is not among ``providers``.

        With ``worth``, the calls are a competition for the highest worth. Once a provider that often wins has
        quoted, each other one is waited for until its own p95 if it often wins too, until the deadline if it
        is a newcomer, a little if it usually is about as fast, and else not. A provider that is left behind
        runs on, and what it would have won counts, so that a slow one with the best quotes is waited for
        again.
        """
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        started_s, loop = self._clock(), asyncio.get_running_loop()
        ends_at_s, is_over = loop.time() + timeout_s, False
        records = [self._record(provider, verb, scope) for provider in providers]
        admitted = [record.admit(started_s) for record in records]
        if not spared and not any(admitted):
            admitted = [True] * len(records)
        calls: list[RunningCall[P, T] | None] = [
            self._begin(RunningCall(provider, record, verb, started_s, ends_at_s), call) if admit else None
            for provider, record, admit in zip(providers, records, admitted, strict=True)
        ]
        begun = [each for each in calls if each is not None]
        if begun:
            try:
                is_over = await self._wait(begun, timeout_s, competing=worth is not None and len(begun) > 1)
            except asyncio.CancelledError:
                for begun_call in begun:
                    self._let_go(begun_call)
                    begun_call.record.unanswered()
                raise
        outcomes = [
            self._unasked(provider, record, verb, admit)
            if each is None
            else self._outcome(each, is_over=is_over)
            for provider, record, admit, each in zip(providers, records, admitted, calls, strict=True)
        ]
        proven = len(begun) == 1 or any(outcome.answered for outcome in outcomes)
        for each, outcome in zip(calls, outcomes, strict=True):
            if each is not None and (each.task.done() or each.cut_off):
                self._settle(each, outcome, proven=proven)
            elif each is not None:
                self._leave_behind(each, ends_at_s, worth, _best(calls, outcomes, worth))
        return outcomes

    async def counted(
        self, provider: P, call: Awaitable[T], *, verb: str, scope: Hashable, timeout_s: float
    ) -> T:
        """Returns or raises what a call does, and counts it. Does nothing else: no breaker, no deadline.

        For the calls of RPC upstreams, which fail over by themselves. A node's own error is an answer. A call
        that its caller gives up counts when ``timeout_s`` is over, as late.
        """
        record, started_s = self._record(provider, verb, scope), self._clock()
        kind: Literal["quoted", "failed", "timeout"] = "failed"
        error: GatewayError | None = None
        try:
            with span("upstream", provider.id) as timed:
                value = await call
                if timed is not None:
                    timed.outcome = "answered"
            kind = "quoted"
            return value
        except RpcError:
            kind = "quoted"
            raise
        except GatewayError as raised:
            error = raised if is_sound(raised) else None
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            kind = "timeout" if task is None or task.cancelling() else "failed"  # it cancelled itself
            raise
        finally:
            took_s = self._clock() - started_s
            if kind != "timeout" or took_s >= timeout_s:
                self._count(record, verb, Outcome(provider, kind, error=error, duration_s=took_s))

    def count_kept(self, provider: Provider, *, verb: str, scope: Hashable, took_s: float) -> None:
        """Counts an answer that the provider held in memory, as ``counted`` does."""
        self._count(self._record(provider, verb, scope), verb, Outcome(provider, "quoted", duration_s=took_s))

    def decided(
        self, outcomes: Sequence[Outcome[Any, Any]], winner: Provider, *, verb: str, scope: Hashable
    ) -> None:
        """Counts a decided competition for the providers that answered in time.

        Who was asked alone has won nothing: a caller who names one provider chooses for nobody else.
        """
        if len(outcomes) < 2:
            return
        for outcome in outcomes:
            if outcome.answered:
                record = self._record(outcome.provider, verb, scope)
                record.wins.append(outcome.provider is winner)

    def methods(self, provider: Provider) -> list[MethodCalls]:
        """Returns how the provider's methods did, by name."""
        now_s, by_method = self._clock(), dict[str, list[CallRecord]]()
        for (verb, _), record in self._records.get((provider.capability, provider.id), {}).items():
            by_method.setdefault(verb, []).append(record)
        capability = provider.capability
        return [method_calls(capability, *each, now_s) for each in sorted(by_method.items())]

    def is_paused(self, provider: Provider, chain_id: int) -> bool:
        """Returns whether a breaker of the provider opened on a network and no call was answered since."""
        return any(
            record.on_probation
            and (scope is None or chain_id in (scope if type(scope) is tuple else (scope,)))
            for (_, scope), record in self._records.get((provider.capability, provider.id), {}).items()
        )

    def _record(self, provider: Provider, verb: str, scope: Hashable) -> CallRecord:
        of_provider = self._records.setdefault((provider.capability, provider.id), {})
        record = of_provider.get((verb, scope))
        if record is None:
            record = of_provider[verb, scope] = CallRecord()
        return record

    def _begin(
        self, call: RunningCall[P, T], ask: Callable[[P], Awaitable[T | None]]
    ) -> RunningCall[P, T] | None:
        if len(call.record.running_on) >= self.MAX_RUNNING_ON:
            call.record.unanswered()
            return None
        name = f"provider:{call.provider.id}.{call.verb}"
        call.task = asyncio.create_task(run(call, ask, self._clock), name=name)
        return call

    async def _wait(self, calls: Sequence[RunningCall[P, T]], timeout_s: float, *, competing: bool) -> bool:
        """Waits until all calls have ended, or waiting longer is not worth it.

        Returns whether the time is over. It is the loop's time, which timers keep to.
        """
        loop, running = asyncio.get_running_loop(), {call.task for call in calls}
        if not competing:
            return bool((await asyncio.wait(running, timeout=timeout_s))[1])
        started_s, until_s = loop.time(), timeout_s
        while running:
            until_s = min(timeout_s, _worth_waiting_for(calls))
            done, running = await asyncio.wait(
                running,
                timeout=max(started_s + until_s - loop.time(), 0.0),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not done:
                break
        return until_s >= timeout_s

    def _unasked(self, provider: P, record: CallRecord, verb: str, admitted: bool) -> Outcome[P, T]:
        if admitted:
            log.error("provider %r not called for %s: too many cancelled calls never end", provider.id, verb)
        outcome: Outcome[P, T] = Outcome(provider, "timeout" if admitted else "open")
        self._count(record, verb, outcome)
        return outcome

    def _outcome(self, call: RunningCall[P, T], *, is_over: bool) -> Outcome[P, T]:
        """Returns the outcome of a call as it is now. When the time is over, a running one is cancelled."""
        if call.task.done():
            return result_of(call)
        if is_over:
            self._cut_off(call)
        return Outcome(call.provider, "timeout", duration_s=self._clock() - call.started_s)

    def _cut_off(self, call: RunningCall[P, T]) -> None:
        waited_s = self._clock() - call.started_s
        log.warning("provider %r did not answer %s within %.1f s", call.provider.id, call.verb, waited_s)
        call.cut_off = True
        self._let_go(call)

    @staticmethod
    def _let_go(call: RunningCall[P, T]) -> None:
        """Cancels a call without waiting for its end. Until then it counts as running on."""
        call.record.running_on.add(call.task)
        call.task.add_done_callback(call.record.running_on.discard)
        call.task.cancel()

    def _leave_behind(
        self, call: RunningCall[P, T], ends_at_s: float, worth: Callable[[T], int] | None, best: float
    ) -> None:
        """Lets a call of an ended competition run on, to learn when it answers and what."""

        def ended(task: asyncio.Task[Outcome[P, T]]) -> None:
            timer.cancel()
            if call.settled:
                return
            outcome = result_of(call)
            self._settle(call, outcome, proven=True)
            if outcome.answered:
                won = outcome.value is not None and worth is not None and worth(outcome.value) > best
                call.record.wins.append(won)

        def late() -> None:
            self._settle(call, Outcome(call.provider, "timeout"), proven=True)
            self._cut_off(call)

        timer = asyncio.get_running_loop().call_at(ends_at_s, late)
        call.task.add_done_callback(ended)

    def _settle(self, call: RunningCall[P, T], outcome: Outcome[P, T], *, proven: bool) -> None:
        """Counts a call. ``proven``: the request and the nodes allow an answer, so a fault is its own."""
        record, error = call.record, outcome.error
        call.settled = True
        if outcome.answered:
            record.answered()
        elif outcome.kind == "failed" and error is not None and error.reason in _INCONCLUSIVE:
            record.unanswered()
        elif error is not None and not (isinstance(error, UpstreamError) and error.reason in _FAULTS):
            record.answered()
        elif call.queued or not proven:
            record.unanswered()
        elif record.at_fault(str(outcome.reason), self._clock()):
            log.error(
                "provider %r is not asked for %s for a while: %d faults in a row, the last is %s",
                *(call.provider.id, call.verb, record.faults, outcome.reason),
            )
        self._count(record, call.verb, outcome)

    def count_unreadable(self, provider: Provider, member: str) -> None:
        """Counts a failure of a member or synchronous method that the core has read."""
        self.report(provider, member, "failed", 0.0, Reason.PROVIDER_ERROR)

    def _count(self, record: CallRecord, verb: str, outcome: Outcome[Any, Any]) -> None:
        """Counts an ended call, in its record and with the observers: both say the same."""
        if outcome.answered:
            record.times_s.append(outcome.duration_s)
        self._tell(record, outcome.provider, verb, outcome.kind, outcome.cause, outcome.duration_s)
        if outcome.is_error:
            record.last_error, record.failed_at_s = outcome.cause, self._clock()

    def report(
        self, provider: Provider, verb: str, outcome: str, duration_s: float, error: Reason | None = None
    ) -> None:
        """Counts what the core found of a provider's answer. ``error`` is the reason when it was refused."""
        record, cause = self._record(provider, verb, None), None if error is None else error.value
        self._tell(record, provider, verb, outcome, cause, duration_s)
        if error is not None and error not in CAUSED_BY_REQUESTS:
            record.last_error, record.failed_at_s = cause, self._clock()

    def _tell(
        self,
        record: CallRecord,
        provider: Provider,
        verb: str,
        outcome: str,
        cause: str | None,
        duration_s: float,
    ) -> None:
        record.outcomes[cause or outcome] += 1
        self._observe(
            {
                "provider": provider.id,
                "capability": provider.capability.value,
                "method": verb,
                "outcome": outcome,
                "reason": cause,
                "duration_s": duration_s,
            }
        )


def _worth_waiting_for(calls: Sequence[RunningCall[Any, Any]]) -> float:
    """Returns how many seconds a competition lasts: without an end until a frequent winner has quoted."""
    took_s = [_quoted_after_s(call) for call in calls if call.record.wins_often]
    first_s = min((each for each in took_s if each is not None), default=None)
    if first_s is None:
        return math.inf
    return max((c.record.patience_s(first_s) for c in calls if not c.task.done()), default=math.inf)


def _quoted_after_s(call: RunningCall[Any, Any]) -> float | None:
    """Returns how long a quote took that is in hand; None without one."""
    if not call.task.done() or call.task.cancelled():
        return None
    outcome = call.task.result()
    return outcome.duration_s if outcome.kind == "quoted" else None


def _best(
    calls: Sequence[RunningCall[P, T] | None],
    outcomes: Sequence[Outcome[P, T]],
    worth: Callable[[T], int] | None,
) -> float:
    """Returns the highest worth of the quotes in hand of frequent winners; others may promise anything."""
    if worth is None:
        return math.inf
    pairs = zip(calls, outcomes, strict=True)
    found = (
        worth(o.value) for c, o in pairs if c is not None and o.value is not None and c.record.wins_often
    )
    return max(found, default=math.inf)
