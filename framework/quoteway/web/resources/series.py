"""Metrics over time: from an indexer when there is one, else from the resource's own provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

from marshmallow import validates_schema

from quoteway.errors import FieldError, Reason, disabled
from quoteway.host.outcomes import Outcome
from quoteway.models import Capability, Series
from quoteway.providers import MetricsProvider, PoolProvider, Provider, VaultProvider
from quoteway.web.http.fields import Choice, QueryInteger
from quoteway.web.http.operation import Call, Operation, get
from quoteway.web.http.schema import RequestSchema, invalid, refuse
from quoteway.web.resources.ids import ResourceId, owner_of
from quoteway.web.wire.rows import Series as SeriesView
from quoteway.web.wire.view import Wire

MAX_POINTS = 1_000
INTERVALS_S: Mapping[str, int] = {"1h": 3_600, "1d": 86_400, "1w": 604_800}
DEFAULT_SPAN_S = 30 * 86_400

HasSeries: TypeAlias = MetricsProvider | PoolProvider | VaultProvider


class SeriesQuery(RequestSchema):
    from_ = QueryInteger("Unix seconds; 30 days before to when left out", 0, 2**33)
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
    show: Callable[[Capability, str, Call], Awaitable[Wire]],
    path_schema: type[RequestSchema],
) -> Iterator[Operation]:
    """The routes of these metrics, with their titles, of a pool or vault; ``show`` is ``series_of``."""
    noun = capability.value
    for metric, title in metrics.items():
        path, summary = f"/v2/{noun}s/{{{noun}Id}}/{metric}", f"{title} of a {noun} over time"
        declared = get(
            path, summary, SeriesView, path_schema=path_schema, query=SeriesQuery, failures=(404, 502)
        )
        yield declared(partial(show, capability, metric), f"get{noun.capitalize()}{metric.capitalize()}")


async def series_of(capability: Capability, metric: str, call: Call) -> Wire:
    """The rendered series. Raises ``ProviderUnavailable`` when no provider has it."""
    start, end, interval = _span(call)
    resource: ResourceId = call.path["resource"]
    registry, noun = call.gateway.registry, capability.value
    if not registry.enabled(capability) and not registry.enabled(Capability.METRICS):
        raise disabled(f"No enabled provider serves {noun} metrics.")

    async def ask(sources: Sequence[Provider]) -> list[Outcome[Provider, Series | None]]:
        return await call.ask(
            sources,
            Series | None,
            lambda source: cast(HasSeries, source).series(resource.id, metric, start, end, interval),
            verb="series",
        )

    outcomes = await ask(registry.enabled(Capability.METRICS, resource.chain_id))
    if not any(outcome.value for outcome in outcomes):
        _, owner = await owner_of(call, capability)
        outcomes += await ask([owner])
    for outcome in outcomes:
        if outcome.value is not None:
            return SeriesView.render(outcome.value, call.networks)
    last = outcomes[-1]
    if last.error is None and last.kind == "no_route":
        raise disabled(f"No enabled provider has {metric} of this {noun}.")
    raise last.failure()


def _span(call: Call) -> tuple[int, int, str]:
    query, now = call.query, int(call.gateway.runtime.clock())
    interval, end = query["interval"], query.get("to", now)
    start = query.get("from_", max(0, end - DEFAULT_SPAN_S))
    if start >= end:
        raise invalid(FieldError("from", Reason.CONFLICT, "must be before to, which is now by default"))
    if (end - start) // INTERVALS_S[interval] > MAX_POINTS:
        text = f"gives more than {MAX_POINTS} points: ask for a longer interval"
        raise invalid(FieldError("interval", Reason.OUT_OF_RANGE, text))
    return start, end, interval
