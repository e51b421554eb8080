"""Calls many providers at once under one deadline and returns one outcome per provider.

It uses ``asyncio.wait`` and cancels late tasks *without awaiting* them. With ``gather`` or a ``TaskGroup``, a
provider that ignores cancellation delays the result past the deadline, and its late answer may be used
(measured).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

from quoteway.errors import GatewayError, Reason, UpstreamError
from quoteway.models import Capability
from quoteway.providers import Provider

log = logging.getLogger("quoteway.host.provider_calls")

P = TypeVar("P", bound=Provider)
T = TypeVar("T")

NO_ROUTE_REASONS = frozenset(
    {Reason.NO_ROUTE, Reason.INSUFFICIENT_LIQUIDITY, Reason.AMOUNT_TOO_LOW, Reason.AMOUNT_TOO_HIGH}
)
_REASONS = {"timeout": Reason.PROVIDER_TIMEOUT, "no_route": Reason.NO_ROUTE, "failed": Reason.PROVIDER_ERROR}
"""The reasons of outcomes whose error says none."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[P, T]):
    """The outcome of a provider call. ``error`` may be set when ``kind`` is ``failed`` or ``no_route``."""

    provider: P
    kind: Literal["quoted", "no_route", "failed", "timeout"]
    value: T | None = None
    error: GatewayError | None = None
    duration_s: float = 0.0

    @property
    def reason(self) -> Reason | None:
        return (self.error.reason if self.error is not None else None) or _REASONS.get(self.kind)

    @property
    def failed(self) -> bool:
        """Returns whether the provider failed or was late."""
        return self.kind in ("failed", "timeout")

    def failure(self, message: str = "The provider failed.") -> GatewayError:
        """Returns the error of a provider without an answer; ``message`` is for one that raised none."""
        return self.error or UpstreamError(message, reason=self.reason, retryable=True)


class ProviderCalls:
    """Calls the providers of one gateway. ``timeout_s`` is the default timeout of a call.

    A task that ignores its cancellation keeps running. A provider with ``MAX_RUNNING_ON`` such tasks is not
    called until one of them ends.
    """

    MAX_RUNNING_ON: ClassVar[int] = 64

    def __init__(self, timeout_s: float, observe: Callable[[Mapping[str, Any]], None]) -> None:
        self._timeout_s = timeout_s
        self._observe = observe
        self._running_on: defaultdict[tuple[Capability, str], set[asyncio.Task[Any]]] = defaultdict(set)

    async def ask_all(
        self,
        providers: Sequence[P],
        call: Callable[[P], Awaitable[T | None]],
        *,
        verb: str,
        timeout_s: float | None = None,
    ) -> list[Outcome[P, T]]:
        """Calls all providers at once and returns their outcomes, in the same order, within ``timeout_s``."""
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        tasks = [self._begin(provider, call, verb) for provider in providers]
        running = [task for task in tasks if task is not None]
        if running:
            try:
                await asyncio.wait(running, timeout=timeout_s)
            except asyncio.CancelledError:
                for task in running:
                    task.cancel()
                raise
        return [self._outcome(p, task, verb, timeout_s) for p, task in zip(providers, tasks, strict=True)]

    def _begin(
        self, provider: P, call: Callable[[P], Awaitable[T | None]], verb: str
    ) -> asyncio.Task[Outcome[P, T]] | None:
        if len(self._running_on[provider.capability, provider.id]) >= self.MAX_RUNNING_ON:
            return None
        return asyncio.create_task(_one(provider, call), name=f"provider:{provider.id}.{verb}")

    def _outcome(
        self, provider: P, task: asyncio.Task[Outcome[P, T]] | None, verb: str, timeout_s: float
    ) -> Outcome[P, T]:
        outcome: Outcome[P, T]
        if task is None:
            log.error("provider %r not called for %s: too many cancelled calls never end", provider.id, verb)
            outcome = Outcome(provider, "timeout")
        elif not task.done():
            log.warning("provider %r did not answer %s within %.1f s", provider.id, verb, timeout_s)
            running_on = self._running_on[provider.capability, provider.id]
            running_on.add(task)
            task.add_done_callback(running_on.discard)
            task.cancel()
            outcome = Outcome(provider, "timeout", duration_s=timeout_s)
        elif task.cancelled():
            outcome = Outcome(provider, "failed")
        else:
            outcome = task.result()
        self._observe(
            {
                "provider": provider.id,
                "capability": provider.capability.value,
                "method": verb,
                "outcome": outcome.kind,
                "duration_s": outcome.duration_s,
            }
        )
        return outcome


async def _one(provider: P, call: Callable[[P], Awaitable[T | None]]) -> Outcome[P, T]:
    """Calls one provider. Returns every exception as an outcome."""
    started = time.perf_counter()

    def ended(kind: Literal["quoted", "no_route", "failed"], **rest: Any) -> Outcome[P, T]:
        return Outcome(provider, kind, duration_s=time.perf_counter() - started, **rest)

    try:
        value = await call(provider)
    except GatewayError as error:
        return ended("no_route" if error.reason in NO_ROUTE_REASONS else "failed", error=error)
    except (Exception, SystemExit):  # SystemExit in a task stops the event loop
        log.exception("provider %r raised", provider.id)
        return ended("failed")
    return ended("no_route" if value is None else "quoted", value=value)
