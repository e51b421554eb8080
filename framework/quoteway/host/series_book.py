"""Keeps time series in memory and reads them in the background, so that a slow node is not an error."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from quoteway.errors import GatewayError, Reason, UpstreamError
from quoteway.guard.findings import Expect, check_form
from quoteway.host.refresh import Clock, Kept, Refresher, RefreshPolicy
from quoteway.host.registry import Registry
from quoteway.metrics_provider import MetricsProvider
from quoteway.models import Capability, Series
from quoteway.providers import PoolProvider, Provider, VaultProvider

READ_TIMEOUT_S = 60.0
"""Timeout of a provider's series. Requests do not wait that long, because reads run in the background."""
POLICY = RefreshPolicy(retry_s=1.0, newer_wait_s=0.5, first_wait_s=2.0, old_s=60.0)
"""Each request starts a new read. A series older than ``old_s`` is waited for as long as one not read yet."""
MOST_SERIES = 512
"""In memory. One of 1,000 points takes a tenth of a megabyte, and callers choose spans."""
AT_ONCE = 16
"""How many series are read at a time: a caller may ask for many, and each may read thousands of logs."""
DEFAULT_SPAN_S = 30 * 86_400
MAX_POINTS = 1_000

HasSeries: TypeAlias = MetricsProvider | PoolProvider | VaultProvider


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """What is asked for; ``start`` None: ``DEFAULT_SPAN_S`` before ``end``, and ``end`` None: now."""

    resource_id: str
    metric: str
    interval: str
    start: int | None
    end: int | None

    def span(self, now: int) -> tuple[int, int]:
        """Returns start and end, in Unix seconds."""
        end = now if self.end is None else self.end
        return max(0, end - DEFAULT_SPAN_S) if self.start is None else self.start, end


@dataclass(frozen=True, slots=True)
class SeriesState:
    """What is known of a series of one provider.

    ``series`` is the last one that was read. ``error`` is why the provider refuses. ``failure`` is why the
    newest read gave nothing, ``PROVIDER_TIMEOUT`` while the first one runs; with it, ``series`` is older. All
    are None when the provider does not have the metric.
    """

    series: Series | None = None
    error: GatewayError | None = None
    failure: Reason | None = None


_Key: TypeAlias = tuple[Capability, str, SeriesKey]


class SeriesBook:
    """The series of one gateway."""

    def __init__(self, registry: Registry, clock: Clock, policy: RefreshPolicy = POLICY) -> None:
        self._registry = registry
        self._clock = clock
        self._reads: Refresher[_Key, SeriesState] = Refresher(self._read, policy, most_keys=MOST_SERIES)
        self._lane = asyncio.Semaphore(AT_ONCE)

    async def get(self, asked: SeriesKey, providers: Sequence[Provider]) -> list[SeriesState]:
        """Returns the series of each provider, from memory or after a bounded wait."""
        keys = [(provider.capability, provider.id, asked) for provider in providers]
        found = await self._reads.get(keys)
        return [_state(found[key]) for key in keys]

    async def close(self) -> None:
        """Cancels running reads."""
        await self._reads.close()

    async def _read(self, keys: Sequence[_Key]) -> dict[_Key, SeriesState]:
        ((capability, provider_id, asked),) = keys
        provider = self._registry.get(capability, provider_id)
        if provider is None:
            raise UpstreamError("The provider is no longer enabled.", reason=Reason.CAPABILITY_DISABLED)

        async def ask(source: Provider) -> SeriesState:
            start, end = asked.span(int(self._clock()))
            try:
                found = await cast(HasSeries, source).series(
                    asked.resource_id, asked.metric, start, end, asked.interval
                )
            except GatewayError as error:
                if error.status >= 500:
                    raise
                return SeriesState(error=error)
            check_form(source, found, Series | None)
            few = found is None or len(found.points) <= MAX_POINTS + 1
            Expect(source)(few, f"its series has more than {MAX_POINTS} points")
            return SeriesState(found)

        async with self._lane:
            (outcome,) = await self._registry.calls.ask_all(
                [provider], ask, verb="series", timeout_s=READ_TIMEOUT_S
            )
        if outcome.value is None:
            raise outcome.failure()
        return {keys[0]: outcome.value}


def _state(kept: Kept[SeriesState]) -> SeriesState:
    failure = Reason.PROVIDER_TIMEOUT if kept.ended_at_s is None else kept.failure
    return SeriesState(failure=failure) if kept.value is None else replace(kept.value, failure=failure)
