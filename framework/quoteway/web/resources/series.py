"""Metrics over time: from an indexer when there is one, else from the resource's own provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias, cast

import orjson
from aiohttp import web
from marshmallow import validates_schema

from quoteway.errors import FieldError, Reason, UpstreamError, disabled
from quoteway.host.series_book import MAX_POINTS, POLICY, SeriesKey
from quoteway.models import Capability, Series
from quoteway.web.http.cache import made_once
from quoteway.web.http.fields import Choice, QueryInteger
from quoteway.web.http.operation import Call, Operation, get
from quoteway.web.http.schema import RequestSchema, invalid, refuse
from quoteway.web.resources.ids import ResourceId, owner_of
from quoteway.web.wire.series import Series as SeriesView
from quoteway.web.wire.view import Wire

INTERVALS_S: Mapping[str, int] = {"1h": 3_600, "1d": 86_400, "1w": 604_800}

_DESCRIPTION = """From an index where there is one, else from the node's state and logs: `method` says which.
A value that is not known is null. A series is read in the background: before the first read has ended every
value is null with the reason `provider_timeout`; ask again in some seconds."""

OLD_IN_CROWD_S = POLICY.old_s
"""How old a rendered series may be that is sent while many are rendered; ``updatedAt`` shows it. The shortest
interval is an hour."""

Show: TypeAlias = Callable[[Capability, str, Call], Awaitable[Wire]]
"""Renders a series."""


class SeriesQuery(RequestSchema):
    from_ = QueryInteger("Start of the series, in Unix seconds. Left out: 30 days before `to`", 0, 2**33)
    to = QueryInteger("End of the series, in Unix seconds. Left out: now", 0, 2**33)
    interval = Choice("Time between points: an hour, a day or a week", tuple(INTERVALS_S), load_default="1d")

    @validates_schema
    def check_span(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        start, end = data.get("from_"), data.get("to")
        if start is not None and end is not None and start >= end:
            raise refuse(Reason.CONFLICT, "must be after from", "to")


def series_operations(
    capability: Capability,
    metrics: Mapping[str, str],
    show: Show,
    path_schema: type[RequestSchema],
) -> Iterator[Operation]:
    """The routes of these metrics, with their titles, of a pool or vault; ``show`` is ``series_of``."""
    noun = capability.value
    for metric, title in metrics.items():
        path, summary = f"/v2/{noun}s/{{{noun}Id}}/{metric}", f"{title} of a {noun} over time"
        declared = get(
            path,
            summary,
            SeriesView,
            description=_DESCRIPTION,
            cached=True,
            path_schema=path_schema,
            query=SeriesQuery,
            failures=(404, 502),
        )
        handler = partial(_answer, show, capability, metric)
        yield declared(handler, f"get{noun.capitalize()}{metric.capitalize()}")


async def _answer(show: Show, capability: Capability, metric: str, call: Call) -> web.Response:
    async def make() -> tuple[bytes, bool]:
        wire = await show(capability, metric, call)
        return orjson.dumps(wire), wire["reason"] is None

    return await made_once(call, make, OLD_IN_CROWD_S)


async def series_of(capability: Capability, metric: str, call: Call) -> Wire:
    """The rendered series. Raises ``ProviderUnavailable`` when no provider has it.

    A series that takes longer to read than a request waits for it is sent as it was read last, or without
    values, and read on in the background.
    """
    asked = _key(call, metric)
    registry, noun = call.gateway.registry, capability.value
    if not registry.enabled(capability) and not registry.enabled(Capability.METRICS):
        raise disabled(f"No enabled provider serves {noun} metrics.")
    resource: ResourceId = call.path["resource"]
    states = await call.gateway.series.get(asked, registry.enabled(Capability.METRICS, resource.chain_id))
    if not any(state.series for state in states) and (registry.enabled(capability) or not states):
        _, owner = await owner_of(call, capability)
        states += await call.gateway.series.get(asked, [owner])
    shown = next((state for state in states if state.series is not None), states[-1])
    if shown.series is not None:
        return SeriesView.render(_covered(shown.series, shown.failure), call.networks)
    if shown.error is not None:
        raise shown.error
    if shown.failure is None:
        raise disabled(f"No enabled provider has {metric} of this {noun}.")
    if shown.failure is not Reason.PROVIDER_TIMEOUT:
        raise UpstreamError("The series could not be read.", reason=shown.failure, retryable=True)
    return SeriesView.render(_unread(asked, int(call.gateway.runtime.clock())), call.networks)


def _key(call: Call, metric: str) -> SeriesKey:
    resource: ResourceId = call.path["resource"]
    return asked_series(call, resource.id, metric)


def asked_series(call: Call, resource_id: str, metric: str) -> SeriesKey:
    """What a ``SeriesQuery`` asks for. Raises ``InvalidRequest`` for no time or for too many points."""
    query, now = call.query, int(call.gateway.runtime.clock())
    asked = SeriesKey(resource_id, metric, query["interval"], query.get("from_"), query.get("to"))
    start, end = asked.span(now)
    if start >= end:
        raise invalid(FieldError("from", Reason.CONFLICT, "must be before to, which is now by default"))
    if (end - start) // INTERVALS_S[asked.interval] > MAX_POINTS:
        text = f"gives more than {MAX_POINTS} points: ask for a longer interval"
        raise invalid(FieldError("interval", Reason.OUT_OF_RANGE, text))
    return asked


def _covered(series: Series, failure: Reason | None) -> Series:
    """With the span in which values are known, and why the newest read gave none."""
    known = [moment for moment, value in series.points if value is not None]
    coverage = series.coverage
    if coverage is None and known:
        coverage = known[0], min(known[-1] + INTERVALS_S[series.interval], max(series.end, known[-1]))
    return replace(series, coverage=coverage, reason=failure)


def _unread(asked: SeriesKey, now: int) -> Series:
    """What is sent while a series is read for the first time."""
    start, end = asked.span(now)
    step_s = INTERVALS_S[asked.interval]
    return Series(
        id=asked.resource_id,
        metric=asked.metric,
        unit="unknown",
        interval=cast(Literal["1h", "1d", "1w"], asked.interval),
        start=start,
        end=end,
        points=tuple((moment, None) for moment in range(-(-start // step_s) * step_s, end, step_s)),
        source="none",
        method="No value is known yet: the series is being read, ask again in some seconds.",
        updated_at=now,
        gaps=((start, end),),
        reason=Reason.PROVIDER_TIMEOUT,
    )
