"""Metrics over time: from an indexer when there is one, else from the resource's own provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, cast

from marshmallow import validates_schema

from quoteway.errors import FieldError, ProviderUnavailable, Reason, UpstreamError
from quoteway.guard.findings import check_form
from quoteway.host.provider_calls import Outcome
from quoteway.models import Capability, Series
from quoteway.providers import Provider
from quoteway.web.http.fields import Choice, QueryInteger
from quoteway.web.http.operation import Call, Operation
from quoteway.web.http.schema import RequestSchema, invalid, refuse
from quoteway.web.resources.ids import ResourceId
from quoteway.web.wire.series import Series as SeriesView
from quoteway.web.wire.view import Wire

MAX_POINTS = 1_000
INTERVALS_S: Mapping[str, int] = {"1h": 3_600, "1d": 86_400, "1w": 604_800}
DEFAULT_SPAN_S = 30 * 86_400

Owner = Callable[[Call, ResourceId], Awaitable[Provider]]


class HasSeries(Protocol):
    """A pool, vault or metrics provider."""

    async def series(
        self, resource_id: str, metric: str, start: int, end: int, interval: str
    ) -> Series | None: ...


class SeriesQuery(RequestSchema):
    from_ = QueryInteger("Unix seconds; 30 days before to when left out", 0, 2**33, data_key="from")
    to = QueryInteger("Unix seconds; now when left out", 0, 2**33)
    interval = Choice("Time between points", tuple(INTERVALS_S), load_default="1d")

    @validates_schema
    def check_span(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        start, end = data.get("from_"), data.get("to")
        if start is not None and end is not None and start >= end:
            raise refuse(Reason.CONFLICT, "must be after from", "to")


def series_operations(
    capability: Capability,
    metrics: Mapping[str, str],
    show: Callable[[str, Call], Awaitable[Wire]],
    path_schema: type[RequestSchema],
) -> Iterator[Operation]:
    """The routes of these metrics, with their titles, of a pool or vault."""
    noun = capability.value
    for metric, title in metrics.items():
        yield Operation(
            "GET",
            f"/v2/{noun}s/{{{noun}Id}}/{metric}",
            f"get{noun.capitalize()}{metric.capitalize()}",
            f"{title} of a {noun} over time",
            partial(show, metric),
            SeriesView,
            path_schema=path_schema,
            query=SeriesQuery,
            failures=(404, 502),
        )


async def series_of(
    call: Call, capability: Capability, resource: ResourceId, metric: str, owner: Owner
) -> Wire:
    """The rendered series. Raises ``ProviderUnavailable`` when no provider has it."""
    start, end, interval = _span(call)
    registry = call.gateway.registry
    if not registry.enabled(capability) and not registry.enabled(Capability.METRICS):
        raise ProviderUnavailable(
            f"No enabled provider serves {capability.value} metrics.", reason=Reason.CAPABILITY_DISABLED
        )

    async def series_from(source: Provider) -> Series | None:
        found = await cast(HasSeries, source).series(resource.id, metric, start, end, interval)
        check_form(source, found, Series | None)
        return found

    async def ask(providers: Sequence[Provider]) -> list[Outcome[Provider, Series]]:
        return await registry.calls.ask_all(providers, series_from, verb="series")

    outcomes = await ask(registry.enabled(Capability.METRICS, resource.chain_id))
    if not any(outcome.value for outcome in outcomes):
        outcomes += await ask([await owner(call, resource)])
    for outcome in outcomes:
        if outcome.value is not None:
            return SeriesView.render(outcome.value, call.networks)
    last = outcomes[-1]
    if last.error is not None:
        raise last.error
    if last.kind != "no_route":
        raise UpstreamError("The provider failed.", reason=last.reason, retryable=True)
    raise ProviderUnavailable(
        f"No enabled provider has {metric} of this {capability.value}.", reason=Reason.CAPABILITY_DISABLED
    )


def _span(call: Call) -> tuple[int, int, str]:
    query = call.query
    now = int(call.gateway.runtime.clock())
    interval = query["interval"]
    end = query.get("to", now)
    start = query.get("from_", max(0, end - DEFAULT_SPAN_S))
    if start >= end:
        raise invalid([FieldError("from", Reason.CONFLICT, "must be before to, which is now by default")])
    if (end - start) // INTERVALS_S[interval] > MAX_POINTS:
        raise invalid(
            [
                FieldError(
                    "interval",
                    Reason.OUT_OF_RANGE,
                    f"gives more than {MAX_POINTS} points: ask for a longer interval",
                )
            ]
        )
    return start, end, interval
