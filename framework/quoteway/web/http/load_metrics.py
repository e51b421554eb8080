"""Prometheus metrics of what requests meet: others under way, limits, kept answers, shared stores, errors."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from quoteway.errors import GatewayError, Reason
from quoteway.host.outcomes import CAUSED_BY_REQUESTS
from quoteway.host.shared_tier import SharedTier
from quoteway.plugin_store import Rows
from quoteway.telemetry.traces import Tracer
from quoteway.web.http.cache import CatalogCache
from quoteway.web.http.limits import Limiter
from quoteway.web.http.totals import Totals


class LoadMetrics:
    """Requests count in plain integers, which are shown when the metrics are asked for.

    ``under_way`` is the number of requests that are being answered. ``limiter``, ``cache`` and ``tracer`` are
    those of the application.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.under_way = 0
        self.limiter: Limiter | None = None
        self.cache: CatalogCache | None = None
        self.tracer: Tracer | None = None
        self._under_way = Gauge(
            "quoteway_http_requests_in_progress",
            "Requests that are being answered, this one too; without WebSockets",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._errors = Counter(
            "quoteway_http_errors",
            "Error answers by whose fault they are: caller (the request, the token, the pool) or service",
            ["route", "code", "reason", "fault"],
            registry=registry,
        )
        self._decisions = Totals(
            Counter(
                "quoteway_limit_decisions",
                "Counted requests: granted or refused (429)",
                ["group", "decision"],
                registry=registry,
            )
        )
        self._kept = Totals(
            Counter(
                "quoteway_cache_answers",
                "Answers to lists: kept ones that were sent again, and new ones that were kept",
                ["result"],
                registry=registry,
            )
        )
        self._bytes = Gauge(
            "quoteway_cache_bytes",
            "Memory that kept answers take",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._failures = Totals(
            Counter(
                "quoteway_store_failures",
                "Failed calls of the stores of [limits], [store] and [shared]",
                ["store"],
                registry=registry,
            )
        )
        self._resting = Gauge(
            "quoteway_store_resting",
            "Processes that do without the store of [limits] or [shared] now: it failed or was slow",
            ["store"],
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._spans = Totals(
            Counter(
                "quoteway_trace_spans",
                "Spans of [traces]: made, exported (the collector took them), failed (it did not take them). "
                "Others wait or are lost",
                ["result"],
                registry=registry,
            )
        )

    def failed(self, error: GatewayError, route: str) -> None:
        """Counts an error answer. ``route`` is a template or ``unmatched``."""
        # The route of a plugin may raise an error with anything in it.
        reason = error.reason if isinstance(error.reason, Reason) else None
        by_caller = error.status < 500 or reason in CAUSED_BY_REQUESTS
        fault = "caller" if by_caller else "service"
        self._errors.labels(route, error.code, "" if reason is None else reason.value, fault).inc()

    def show(self, rows: Rows, tier: SharedTier) -> None:
        """Sets what others count. ``rows`` is the store of plugins, ``tier`` what replicas share."""
        self._under_way.set(self.under_way)
        self._failures.show(("plugins",), rows.failures)
        if tier.server is not None:
            self._failures.show(("shared",), tier.server.failures)
            self._resting.labels("shared").set(tier.server.rests)
        if self.tracer is not None:
            for result in ("made", "exported", "failed"):
                self._spans.show((result,), getattr(self.tracer, result))
        if self.limiter is not None:
            if self.limiter.rest is not None:
                self._failures.show(("limits",), self.limiter.rest.failures)
                self._resting.labels("limits").set(self.limiter.rest.rests)
            for labels, total in self.limiter.decisions.items():
                self._decisions.show(labels, total)
        if self.cache is not None:
            self._kept.show(("sent_again",), self.cache.sent_again)
            self._kept.show(("made",), self.cache.made)
            self._bytes.set(self.cache.entries.currsize)
