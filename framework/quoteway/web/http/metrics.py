"""Prometheus metrics of one gateway: a registry of its own, labels bound once, cardinality bounded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Requests by route template, method and status; provider outcomes; whether the gateway is ready."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()
        self._requests = Counter(
            "quoteway_http_requests", "Requests answered", ["route", "method", "status"], registry=own
        )
        self._seconds = Histogram(
            "quoteway_http_request_seconds", "Time to the answer", ["route"], registry=own, buckets=_BUCKETS_S
        )
        self._outcomes = Counter(
            "quoteway_provider_outcomes",
            "Outcomes of calls to providers",
            ["capability", "provider", "method", "outcome"],
            registry=own,
        )
        self._ready = Gauge(
            "quoteway_ready", "1 once every provider is up", registry=own, multiprocess_mode="livemin"
        )
        self._bound: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def answered(self, route: str, method: str, status: int, duration_s: float) -> None:
        """Counts one answer. ``route`` is a template or ``unmatched``, never a path."""
        bound = self._bound.get((route, method, status))
        if bound is None:
            known = method if method in _METHODS else "OTHER"
            bound = (self._requests.labels(route, known, str(status)), self._seconds.labels(route))
            if known == method:  # an unknown method must not grow this cache
                self._bound[(route, method, status)] = bound
        bound[0].inc()
        bound[1].observe(duration_s)

    def called(self, event: Mapping[str, Any]) -> None:
        """Counts one provider call from its ``quoteway_observe`` event."""
        self._outcomes.labels(event["capability"], event["provider"], event["method"], event["outcome"]).inc()

    def render(self, *, ready: bool) -> bytes:
        """The exposition text, of all workers when they share ``PROMETHEUS_MULTIPROC_DIR``."""
        self._ready.set(1 if ready else 0)
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            from prometheus_client.multiprocess import MultiProcessCollector

            every = CollectorRegistry()
            MultiProcessCollector(every)  # type: ignore[no-untyped-call]  # not annotated upstream
            return generate_latest(every)
        return generate_latest(self.registry)
