"""Prometheus metrics of the nodes behind RPC upstreams. Their labels are names, never addresses."""

from __future__ import annotations

import math
from typing import Final, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge

from quoteway.models import UpstreamHealth, UpstreamState
from quoteway.web.http.totals import Totals

_STATES: Final = {state: number for number, state in enumerate(get_args(UpstreamState))}
_OF_ONE: Final = ("network", "provider", "upstream")
_MOST_SERIES: Final = 16_384
"""The most series of ``quoteway_rpc_calls_total``. Networks, upstreams, methods and outcomes are bounded."""


class UpstreamMetrics:
    """Calls by method and outcome, and state, latency, error rate and head of each upstream."""

    def __init__(self, registry: CollectorRegistry) -> None:
        calls = Counter(
            "quoteway_rpc_calls",
            "Requests to the nodes of networks",
            [*_OF_ONE, "method", "outcome"],
            registry=registry,
        )
        self._calls = Totals(calls, _MOST_SERIES)
        self._state = Gauge(
            "quoteway_rpc_upstream_state",
            ", ".join(f"{number} {state}" for state, number in _STATES.items()),
            _OF_ONE,
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._seconds = Gauge(
            "quoteway_rpc_upstream_seconds",
            "Time to the answers of the last seconds, by quantile",
            [*_OF_ONE, "quantile"],
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._method_seconds = Gauge(
            "quoteway_rpc_upstream_method_seconds",
            "Time to the answers to a method of the last seconds, by quantile",
            [*_OF_ONE, "method", "quantile"],
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._errors = Gauge(
            "quoteway_rpc_upstream_error_ratio",
            "The part of the calls of the last seconds that failed",
            _OF_ONE,
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._head = Gauge(
            "quoteway_rpc_upstream_head",
            "The newest block that it has shown",
            _OF_ONE,
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._lag = Gauge(
            "quoteway_rpc_upstream_lag_blocks",
            "How many blocks it is behind the newest known one",
            _OF_ONE,
            registry=registry,
            multiprocess_mode="livemax",
        )

    def show(self, network: str, provider: str, row: UpstreamHealth) -> None:
        """Sets what is known of one upstream. What is not known is NaN."""
        labels = (network, provider, row.label)
        self._state.labels(*labels).set(_STATES[row.state])
        self._seconds.labels(*labels, "0.5").set(_number(row.p50_s))
        self._seconds.labels(*labels, "0.95").set(_number(row.p95_s))
        self._errors.labels(*labels).set(_number(row.error_rate))
        self._head.labels(*labels).set(_number(row.head))
        self._lag.labels(*labels).set(_number(row.lag))
        for method, p50_s, p95_s in row.latencies:
            self._method_seconds.labels(*labels, method, "0.5").set(p50_s)
            self._method_seconds.labels(*labels, method, "0.95").set(p95_s)
        for method, outcome, count in row.calls:
            self._calls.show((*labels, method, outcome), count)


def _number(value: float | None) -> float:
    return math.nan if value is None else value
