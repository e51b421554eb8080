"""Prometheus metrics of one gateway: a registry of its own, labels bound once, cardinality bounded."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from quoteway.host.call_records import BreakerState
from quoteway.host.registry import Registry
from quoteway.host.states import NotEnabled
from quoteway.host.watchdog import Stall
from quoteway.models import UpstreamHealth
from quoteway.networks import Networks
from quoteway.providers import RpcUpstream
from quoteway.web.http.load_metrics import LoadMetrics
from quoteway.web.http.network_metrics import NetworkMetrics
from quoteway.web.http.process_metrics import ProcessMetrics
from quoteway.web.http.shared_metrics import SharedMetrics
from quoteway.web.http.socket_metrics import SocketMetrics
from quoteway.web.http.stream_metrics import StreamMetrics
from quoteway.web.http.upstream_metrics import UpstreamMetrics
from quoteway.web.http.webhook_metrics import WebhookMetrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder in which workers share their metrics."""
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
_ANSWERED = frozenset({"quoted", "no_route"})
_BREAKERS: Mapping[BreakerState, int] = {"closed": 0, "half_open": 1, "open": 2}
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Metrics:
    """Requests by route template, method and status; calls of providers and their breakers; what blocked the
    event loop; what is enabled and whether the gateway is ready. ``load``, ``networks``, ``process``,
    ``shared``, ``sockets``, ``streams`` and ``webhooks`` have the others.
    """

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
            "Calls of providers by outcome, and by reason unless it is an answer",
            ["capability", "provider", "method", "outcome", "reason"],
            registry=own,
        )
        self._provider_seconds = Histogram(
            "quoteway_provider_seconds",
            "Time to the answers of providers",
            ["capability", "provider", "method"],
            registry=own,
            buckets=_BUCKETS_S,
        )
        self._breakers = Gauge(
            "quoteway_provider_breaker",
            "The circuit breaker of a method on its worst network: 0 closed, 1 half-open, 2 open",
            ["capability", "provider", "method"],
            registry=own,
            multiprocess_mode="livemax",
        )
        self._stalls = Counter(
            "quoteway_loop_stalls", "Times that a plugin blocked the event loop", ["plugin"], registry=own
        )
        self._stalled_seconds = Counter(
            "quoteway_loop_stall_seconds", "Time that it was blocked", ["plugin"], registry=own
        )
        self._ready = Gauge(
            "quoteway_ready", "1 while /readyz answers 200", registry=own, multiprocess_mode="livemin"
        )
        self._plugins = Gauge(
            "quoteway_plugin_enabled",
            "1 while a plugin is enabled; those that the configuration leaves out are not shown",
            ["plugin"],
            registry=own,
            multiprocess_mode="livemin",
        )
        self._providers = Gauge(
            "quoteway_provider_enabled",
            "1 while a provider is enabled",
            ["capability", "provider", "plugin"],
            registry=own,
            multiprocess_mode="livemin",
        )
        self._dropped = Gauge(
            "quoteway_observer_dropped",
            "Events that the observer of a plugin lost by being slow",
            ["plugin"],
            registry=own,
            multiprocess_mode="livesum",
        )
        self._events = Gauge(
            "quoteway_plugin_events",
            "What plugins count of their own work",
            ["plugin", "event", "network"],
            registry=own,
            multiprocess_mode="livesum",
        )
        self._upstreams = UpstreamMetrics(own)
        self.load = LoadMetrics(own)
        self.networks = NetworkMetrics(own)
        self.process = ProcessMetrics(own)
        self.shared = SharedMetrics(own)
        self._of_plugins: list[CollectorRegistry] = []
        self.sockets = SocketMetrics(own)
        self.streams = StreamMetrics(own)
        self.webhooks = WebhookMetrics(own)
        self._bound_calls: dict[tuple[str, ...], tuple[Counter, Histogram]] = {}
        self._bound: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def answered(self, route: str, method: str, status: int, duration_s: float) -> None:
        """Counts one answer. ``route`` is a template or ``unmatched``, never a path."""
        bound = self._bound.get((route, method, status))
        if bound is None:
            known = method if method in METHODS else "OTHER"
            bound = (self._requests.labels(route, known, str(status)), self._seconds.labels(route))
            if known == method:  # an unknown method must not grow this cache
                self._bound[(route, method, status)] = bound
        bound[0].inc()
        bound[1].observe(duration_s)

    def called(self, event: Mapping[str, Any]) -> None:
        """Counts one provider call from its ``quoteway_observe`` event."""
        key = event["capability"], event["provider"], event["method"], event["outcome"], event["reason"] or ""
        bound = self._bound_calls.get(key)
        if bound is None:
            bound = (self._outcomes.labels(*key), self._provider_seconds.labels(*key[:3]))
            self._bound_calls[key] = bound
        bound[0].inc()
        if event["outcome"] in _ANSWERED:
            bound[1].observe(event["duration_s"])

    def stalled(self, stall: Stall) -> None:
        """Counts a stall of the event loop. Called in the watchdog's thread."""
        self._stalls.labels(stall.blame.plugin).inc()
        self._stalled_seconds.labels(stall.blame.plugin).inc(stall.duration_s)

    def show(self, registry: Registry, counts: Mapping[tuple[str, str, str], int], *, ready: bool) -> None:
        """Sets what is not counted here: readiness, what is enabled, breakers, lost events, and what plugins
        measure and count (``counts``).
        """
        self._ready.set(ready)
        for plugin in registry.plugins:
            if plugin.reason is not NotEnabled.NOT_SELECTED:
                self._plugins.labels(plugin.name).set(plugin.reason is None)
        for entry in registry.providers:
            capability, provider_id = entry.provider.capability.value, entry.provider.id
            self._providers.labels(capability, provider_id, entry.plugin.name).set(entry.enabled)
            for calls in registry.calls.methods(entry.provider):
                self._breakers.labels(capability, provider_id, calls.method).set(_BREAKERS[calls.state])
        for observer in registry.plugins.observers:
            self._dropped.labels(observer.entry.name).set(observer.dropped)
        for labels, count in counts.items():
            self._events.labels(*labels).set(count)
        self._of_plugins = [plugin.context.metrics.registry for plugin in registry.plugins if plugin.context]

    def show_upstreams(self, rows: Sequence[tuple[RpcUpstream, UpstreamHealth]], networks: Networks) -> None:
        """Sets what RPC upstreams say of their nodes."""
        for provider, row in rows:
            network = networks.by_chain_id(row.chain_id)
            if network is not None:
                self._upstreams.show(network.slug, provider.id, row)

    async def rendered(self) -> bytes:
        """The exposition text. That of all workers is added up in a thread: it takes 50 ms and more."""
        return await asyncio.to_thread(self.render) if SHARED in os.environ else self.render()

    def render(self) -> bytes:
        """The exposition text, of all workers when they share ``PROMETHEUS_MULTIPROC_DIR``."""
        if SHARED in os.environ:
            from prometheus_client.multiprocess import MultiProcessCollector

            every = CollectorRegistry()
            MultiProcessCollector(every)  # type: ignore[no-untyped-call]  # not annotated upstream
            return generate_latest(every)
        return b"".join(map(generate_latest, (self.registry, *self._of_plugins)))
