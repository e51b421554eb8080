"""The metrics of one plugin: counters, gauges and histograms with a bounded number of series."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

MOST_METRICS = 64
MOST_SERIES = 256
"""How many combinations of label values a metric keeps. Further ones are not measured."""
MOST_LABEL_CHARS = 64
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", re.ASCII)

M = TypeVar("M", Counter, Gauge, Histogram)
K = TypeVar("K", bound="Measured[Any]")


class Measured(Generic[M]):
    """One metric. Labels are given by name: ``requests.add(1, outcome="late")``."""

    def __init__(self, metric: M, labels: Sequence[str]) -> None:
        self.metric: M = metric
        self.labels = tuple(labels)
        self._series: dict[tuple[str, ...], M] = {}

    def _of(self, given: dict[str, str]) -> M | None:
        """Returns the series of label values; None when there are too many already.

        Raises ``ValueError`` for other labels than the metric has, and for values that are no short text.
        """
        if given.keys() != set(self.labels):
            raise ValueError(f"this metric has the labels {self.labels}, not {tuple(given)}")
        values = tuple(given[name] for name in self.labels)
        known = self._series.get(values)
        if known is None:
            if not all(isinstance(each, str) and len(each) <= MOST_LABEL_CHARS for each in values):
                raise ValueError(f"the value of a label is a text of at most {MOST_LABEL_CHARS} characters")
            if len(self._series) >= MOST_SERIES:
                return None
            known = self.metric.labels(*values) if values else self.metric
            self._series[values] = known
        return known


class PluginCounter(Measured[Counter]):
    """Counts what only grows."""

    def add(self, amount: float = 1, **labels: str) -> None:
        """Adds ``amount``, which is not negative."""
        series = self._of(labels)
        if series is not None:
            series.inc(amount)


class PluginGauge(Measured[Gauge]):
    """A value that goes up and down. The sum of those of all worker processes is shown."""

    def set(self, value: float, **labels: str) -> None:
        """Sets the value."""
        series = self._of(labels)
        if series is not None:
            series.set(value)


class PluginHistogram(Measured[Histogram]):
    """Counts values by size."""

    def observe(self, value: float, **labels: str) -> None:
        """Counts one value."""
        series = self._of(labels)
        if series is not None:
            series.observe(value)


class PluginMetrics:
    """Declares the metrics of a plugin. Names are its own: two plugins may use the same."""

    def __init__(self, plugin: str) -> None:
        self._prefix = f"quoteway_plugin_{re.sub('[^a-z0-9]', '_', plugin.lower())}__"
        self.registry = CollectorRegistry()
        self._declared: dict[str, Measured[Any]] = {}

    def counter(self, name: str, text: str, labels: Sequence[str] = ()) -> PluginCounter:
        """Declares a counter. ``name`` ends without ``_total``, which the exposition adds."""
        made = PluginCounter(Counter(*self._called(name, text, labels), registry=None), labels)
        return self._keep(name, made)

    def gauge(self, name: str, text: str, labels: Sequence[str] = ()) -> PluginGauge:
        """Declares a gauge."""
        made = Gauge(*self._called(name, text, labels), multiprocess_mode="livesum", registry=None)
        return self._keep(name, PluginGauge(made, labels))

    def histogram(
        self, name: str, text: str, buckets: Sequence[float], labels: Sequence[str] = ()
    ) -> PluginHistogram:
        """Declares a histogram with the upper bounds of its buckets."""
        made = Histogram(*self._called(name, text, labels), buckets=buckets, registry=None)
        return self._keep(name, PluginHistogram(made, labels))

    def _called(self, name: str, text: str, labels: Sequence[str]) -> tuple[str, str, Sequence[str]]:
        """Returns the arguments of a metric. Raises ``ValueError`` for a name that cannot be used."""
        if name in self._declared:
            raise ValueError(f"metric {name!r} is declared already: keep what declared it")
        if len(self._declared) >= MOST_METRICS:
            raise ValueError(f"a plugin has at most {MOST_METRICS} metrics")
        for each in (name, *labels):
            if not _NAME.fullmatch(each) or len(each) > 40:
                raise ValueError(
                    f"{each!r} is no name of a metric or label: use at most 40 of a-z, 0-9 and "
                    "single underscores"
                )
        return self._prefix + name, text, labels

    def _keep(self, name: str, measured: K) -> K:
        self.registry.register(measured.metric)
        self._declared[name] = measured
        return measured
