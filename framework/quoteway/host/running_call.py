"""One call of a provider under way: what is known of it, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from quoteway.deadlines import ends_at_s as call_ends_at_s
from quoteway.errors import GatewayError
from quoteway.host.call_records import CallRecord
from quoteway.host.outcomes import NO_ROUTE_REASONS, Outcome, is_sound
from quoteway.host.spans import span
from quoteway.providers import Provider

log = logging.getLogger("quoteway.host.provider_calls")

P = TypeVar("P", bound=Provider)
T = TypeVar("T")


@dataclass(slots=True)
class RunningCall(Generic[P, T]):
    """A call under way. ``queued``: it had to wait for earlier calls of the same method."""

    provider: P
    record: CallRecord
    verb: str
    started_s: float
    ends_at_s: float
    queued: bool = False
    settled: bool = False
    cut_off: bool = False
    task: asyncio.Task[Outcome[P, T]] = field(init=False)


def result_of(call: RunningCall[P, T]) -> Outcome[P, T]:
    """Returns the outcome of a call whose task is done."""
    return Outcome(call.provider, "failed") if call.task.cancelled() else call.task.result()


async def run(
    call: RunningCall[P, T], ask: Callable[[P], Awaitable[T | None]], clock: Callable[[], float]
) -> Outcome[P, T]:
    """Calls the provider, and returns every exception as an outcome. Adds the call to what is recorded."""
    provider = call.provider
    with span("call", f"{provider.capability.value} {provider.id}.{call.verb}") as timed:
        outcome = await _one(call, ask, clock)
        if timed is not None:
            timed.outcome = outcome.cause or outcome.kind
        return outcome


async def _one(
    call: RunningCall[P, T], ask: Callable[[P], Awaitable[T | None]], clock: Callable[[], float]
) -> Outcome[P, T]:
    """Calls the provider. Returns every exception as an outcome."""
    provider = call.provider

    def ended(kind: Literal["quoted", "no_route", "failed"], **rest: Any) -> Outcome[P, T]:
        return Outcome(provider, kind, duration_s=clock() - call.started_s, **rest)

    call_ends_at_s.set(call.ends_at_s)
    call.queued = call.record.slots.locked()
    async with call.record.slots:
        try:
            value = await ask(provider)
        except GatewayError as error:
            if not is_sound(error):
                log.exception(
                    "provider %r raised an error with a reason or text of its own kind", provider.id
                )
                return ended("failed")
            return ended("no_route" if error.reason in NO_ROUTE_REASONS else "failed", error=error)
        except asyncio.CancelledError:
            raise
        except BaseException:  # out of a task, SystemExit and KeyboardInterrupt stop the event loop
            log.exception("provider %r raised", provider.id)
            return ended("failed")
        return ended("no_route" if value is None else "quoted", value=value)
