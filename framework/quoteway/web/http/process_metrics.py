"""Prometheus metrics of the worker processes: memory, files, processor time, event loop and build."""

from __future__ import annotations

import platform
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from quoteway.host.installed_plugins import core_version
from quoteway.web.http.totals import Totals

_GAUGES: Final = {
    "process_resident_memory_bytes": "Resident memory of a worker process",
    "process_open_fds": "Open files and connections of a worker process",
    "process_max_fds": "The most files and connections that a worker process may have open",
    "process_start_time_seconds": "When a worker process was started, in Unix seconds",
}
_CPU: Final = "process_cpu_seconds"
_LAGS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ProcessMetrics:
    """By the index of the worker, which a restarted one keeps. Without ``/proc`` there are no values."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gauges = {
            name: Gauge(
                f"quoteway_{name}",
                text,
                ["worker"],
                registry=registry,
                multiprocess_mode="livemax",
            )
            for name, text in _GAUGES.items()
        }
        cpu = Counter(f"quoteway_{_CPU}", "Processor time of a worker process", ["worker"], registry=registry)
        self._cpu = Totals(cpu)
        self._lag = Histogram(
            "quoteway_loop_lag_seconds",
            "How late the event loop runs a timer, of 40 timers in a second",
            registry=registry,
            buckets=_LAGS_S,
        )
        self._workers = Gauge(
            "quoteway_workers", "Configured worker processes", registry=registry, multiprocess_mode="livemax"
        )
        self._ready = Gauge(
            "quoteway_workers_ready",
            "Worker processes whose /readyz answers 200",
            registry=registry,
            multiprocess_mode="livesum",
        )
        build = Gauge(
            "quoteway_build_info",
            "1; the labels are the versions of Quoteway and Python",
            ["version", "python"],
            registry=registry,
            multiprocess_mode="livemax",
        )
        build.labels(core_version(), platform.python_version()).set(1)
        self._process = ProcessCollector(registry=None)

    def late(self, lag_s: float) -> None:
        """Counts one timer of the event loop."""
        self._lag.observe(lag_s)

    def show(self, worker: int, workers: int, *, ready: bool) -> None:
        """Sets what this worker process uses, and whether it is ready."""
        self._workers.set(workers)
        self._ready.set(ready)
        for family in self._process.collect():
            for sample in family.samples:
                gauge = self._gauges.get(family.name)
                if gauge is not None:
                    gauge.labels(str(worker)).set(sample.value)
                elif family.name == _CPU and sample.name == f"{_CPU}_total":
                    self._cpu.show((str(worker),), sample.value)
