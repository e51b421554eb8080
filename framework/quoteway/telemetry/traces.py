"""Exports the spans of requests to OpenTelemetry: OTLP over HTTP, as ``[traces]`` says.

OpenTelemetry's packages are imported only when there is a collector. A span becomes one of OpenTelemetry when
its request is over; the SDK's queue and thread send it, so no request waits for the collector.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from quoteway.config.model import Config
from quoteway.errors import ConfigError, Reason
from quoteway.spans import Span, Trace, end_spans, keep_spans
from quoteway.telemetry.tracing import parsed, span_id, traceparent

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.trace import SpanContext, Status

log = logging.getLogger("quoteway.telemetry.traces")

MOST_AT_ONCE = 512
"""How many spans are sent in one request to the collector."""
SEND_EVERY_S = 1.0
"""How long a span waits for others."""
CLOSE_S = 2.0
"""How long the end of the service waits until the last spans are sent."""
LOG_EVERY_S = 60.0
"""A collector that does not take spans is logged once in this time."""
_CLIENTS = frozenset({"upstream", "exchange"})
"""Kinds of spans in which others are asked."""


@dataclass(slots=True)
class Message:
    """How a message on a connection that lasts, or a look of a stream, ended: an ``outcome``, and the
    ``reason`` of an error. What is no ``Reason`` is not sent.
    """

    outcome: str | None = None
    reason: object = None


Look: TypeAlias = Callable[[str], AbstractContextManager[Any]]
"""Makes its block a trace of its own, of a look at a topic of streams."""


def no_look(topic: str) -> AbstractContextManager[None]:
    """See ``Look``: where no traces are sent."""
    return contextlib.nullcontext()


class Tracer:
    """Makes the traces of one worker's requests and sends them to the collector.

    ``made``, ``exported`` and ``failed`` count spans: those handed over, those that the collector took, and
    those that it did not. What is made and neither has been lost or waits.
    """

    def __init__(self, config: Config, version: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        traces = config.traces
        assert traces.url is not None
        self._trusts, self._ratio = traces.trust_caller, traces.sample_ratio
        self._scope = InstrumentationScope("quoteway", version)
        self._resource = Resource.create(
            {
                "service.name": traces.service,
                "service.version": version,
                "service.instance.id": str(uuid4()),
                "quoteway.worker": config.worker,
            }
        )
        headers = {name: secret.reveal() for name, secret in traces.headers.items()}
        self._sent = _counted(OTLPSpanExporter(traces.url, headers=headers, timeout=traces.timeout_s))
        # Its words hold the collector's URL, and it repeats them for every batch. ``_counted`` says it once.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._processor = BatchSpanProcessor(
            self._sent,
            max_queue_size=traces.queue,
            schedule_delay_millis=SEND_EVERY_S * 1_000,
            max_export_batch_size=min(MOST_AT_ONCE, traces.queue),
        )
        self.made = 0

    @classmethod
    def of(cls, config: Config, version: str) -> Tracer | None:
        """Returns the tracer of a configuration; None without ``traces.url``.

        Raises ``ConfigError`` when OpenTelemetry is not installed.
        """
        if config.traces.url is None:
            return None
        try:
            return cls(config, version)
        except ImportError:
            raise ConfigError(
                "traces.url needs OpenTelemetry: install quoteway[otel], or remove traces.url"
            ) from None

    @property
    def exported(self) -> int:
        """Returns how many spans the collector has taken."""
        return int(self._sent.exported)

    @property
    def failed(self) -> int:
        """Returns how many spans were sent to the collector and not taken."""
        return int(self._sent.failed)

    def begin(self, given: str | None) -> tuple[str, Trace | None]:
        """Returns the trace context of a request, and its trace; None when its spans are not sent.

        ``given`` is the ``traceparent`` that the caller sent.
        """
        caller = parsed(given) if self._trusts else None
        root = random.getrandbits(63) | 1
        if caller is None:
            sampled = random.random() < self._ratio  # noqa: S311
            trace_id, parent = os.urandom(16).hex(), None
        else:
            trace_id, parent, flags = caller
            sampled = bool(int(flags, 16) & 1)
        context = f"00-{trace_id}-{root:016x}-{'01' if sampled else '00'}"
        return context, Trace(context, parent) if sampled else None

    def end(
        self,
        trace: Trace,
        method: str,
        route: str,
        status: int | None,
        *,
        provider: str | None = None,
        reason: object = None,
    ) -> None:
        """Sends the spans of a request that is over.

        ``route`` is a template, ``status`` None when the caller left. ``reason`` is that of an error; what is
        no ``Reason`` is left out.
        """
        from opentelemetry.trace import Status, StatusCode

        self._send(
            trace,
            f"{method} {route}",
            _request_attributes(method, route, status, provider, reason),
            Status(StatusCode.ERROR if (status or 0) >= 500 else StatusCode.UNSET),
        )

    @contextlib.contextmanager
    def message(self, name: str, route: str, given: str | None = None) -> Iterator[Message]:
        """Makes the block a trace of its own: an answer on a connection that lasts, or a look of a stream.

        ``given`` is the ``traceparent`` with which the connection was opened.
        """
        from opentelemetry.trace import Status

        context, trace = self.begin(given)
        message, before = Message(), traceparent.set(context)
        mark = None if trace is None else keep_spans(trace)
        try:
            yield message
        except BaseException as error:
            message.outcome = "given_up" if isinstance(error, asyncio.CancelledError) else "failed"
            message.reason = getattr(error, "reason", None)
            raise
        finally:
            traceparent.reset(before)
            if trace is not None and mark is not None:
                end_spans(trace, mark)
                found = {"http.route": route, "quoteway.outcome": message.outcome}
                found["quoteway.reason"] = (
                    message.reason.value if isinstance(message.reason, Reason) else None
                )
                told = {name: value for name, value in found.items() if value is not None}
                self._send(trace, f"{name} {route}", told, Status())

    def look(self, topic: str) -> AbstractContextManager[Message]:
        """Makes the block a trace of its own, of a look at a topic of streams."""
        return self.message(f"STREAM {topic}", "/v2/stream")

    def _send(self, trace: Trace, name: str, attributes: Mapping[str, str | int], status: Status) -> None:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanKind

        assert trace.context is not None
        now_s, now_ns = time.monotonic(), time.time_ns()

        def at_ns(moment_s: float) -> int:
            return now_ns - int((now_s - moment_s) * 1e9)

        of = _Contexts(trace.context)
        found = [
            ReadableSpan(
                name,
                of.at(None),
                None if trace.parent is None else of.remote(trace.parent),
                attributes=attributes,
                kind=SpanKind.SERVER,
                status=status,
                start_time=at_ns(trace.began_s),
                end_time=now_ns,
                resource=self._resource,
                instrumentation_scope=self._scope,
            )
        ]
        for place, span in enumerate(trace.spans):
            found.append(
                ReadableSpan(
                    f"{span.kind} {span.name}",
                    of.at(place),
                    of.at(span.parent),
                    attributes=_attributes(span),
                    kind=SpanKind.CLIENT if span.kind in _CLIENTS else SpanKind.INTERNAL,
                    start_time=at_ns(span.began_s),
                    # What goes on after the request ends with it here.
                    end_time=at_ns(now_s if span.ended_s is None else span.ended_s),
                    resource=self._resource,
                    instrumentation_scope=self._scope,
                )
            )
        self.made += len(found)
        for each in found:
            self._processor.on_end(each)

    async def close(self) -> None:
        """Sends what waits, within ``CLOSE_S``."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            self._processor.shutdown()  # type: ignore[no-untyped-call]  # not annotated upstream
            if not loop.is_closed():
                loop.call_soon_threadsafe(over.set)

        # Not one of the loop's own threads: the end of the loop would wait for it.
        threading.Thread(target=shut_down, name="traces:close", daemon=True).start()
        try:
            await asyncio.wait_for(over.wait(), CLOSE_S)
        except TimeoutError:
            log.warning("the last spans were not taken by the collector within %g s", CLOSE_S)


def _request_attributes(
    method: str, route: str, status: int | None, provider: str | None, reason: object
) -> Mapping[str, str | int]:
    """Names are those of OpenTelemetry's conventions for HTTP servers."""
    found: dict[str, str | int | None] = {
        "http.request.method": method,
        "http.route": route,
        "http.response.status_code": status,
        "error.type": str(status) if (status or 0) >= 500 else None,
        "quoteway.provider": provider,
        "quoteway.reason": reason.value if isinstance(reason, Reason) else None,
        "quoteway.outcome": "given_up" if status is None else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _attributes(span: Span) -> Mapping[str, str]:
    outcome = "not_over" if span.ended_s is None else span.outcome
    return {"quoteway.kind": span.kind} | ({} if outcome is None else {"quoteway.outcome": outcome})


class _Contexts:
    """The contexts of the spans of one trace, by their place."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._trace_id = int(root[3:35], 16)

    def at(self, place: int | None) -> SpanContext:
        return self._made(span_id(self._root, place), is_remote=False)

    def remote(self, identity: str) -> SpanContext:
        return self._made(identity, is_remote=True)

    def _made(self, identity: str, *, is_remote: bool) -> SpanContext:
        from opentelemetry.trace import SpanContext, TraceFlags

        return SpanContext(self._trace_id, int(identity, 16), is_remote, TraceFlags(TraceFlags.SAMPLED))


def _counted(inner: SpanExporter) -> Any:
    """Returns the exporter, counting what it sends. A function, since its base class is imported late."""
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class Counted(SpanExporter):
        exported = failed = 0
        _logged_s: float | None = None

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            try:
                result = inner.export(spans)
            except Exception:  # isolation border: a collector may answer anything
                result = SpanExportResult.FAILURE
            if result is SpanExportResult.SUCCESS:
                self.exported += len(spans)
                return result
            self.failed += len(spans)
            now_s = time.monotonic()
            if self._logged_s is None or now_s - self._logged_s >= LOG_EVERY_S:
                self._logged_s = now_s
                log.warning("the collector of [traces] does not take spans: %d are lost", self.failed)
            return result

        def shutdown(self) -> None:
            inner.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return inner.force_flush(timeout_millis)

    return Counted()
