"""The metrics that plugins declare, and their text in /metrics."""

import pytest
from quoteway.context import Context
from quoteway.host.runtime import Runtime
from quoteway.plugin_metrics import MOST_METRICS, MOST_SERIES, PluginMetrics
from quoteway.testing.fakes import FakePlugin, MemoryRpc


@pytest.fixture
def metrics():
    return Context("My-Plugin", {}, None, Runtime(None)).metrics


def value(metrics, name, **labels):
    return metrics.registry.get_sample_value(f"quoteway_plugin_my_plugin__{name}", labels)


def test_counters_gauges_and_histograms_are_named_by_the_plugin(metrics):
    calls = metrics.counter("calls", "Calls of the upstream", ["outcome"])
    calls.add(outcome="answered")
    calls.add(2, outcome="answered")
    metrics.gauge("rows", "Rows of the list").set(7)
    metrics.histogram("seconds", "Time to the answer", [0.1, 1.0]).observe(0.5)
    assert value(metrics, "calls_total", outcome="answered") == 3
    assert value(metrics, "rows") == 7
    assert value(metrics, "seconds_bucket", le="1.0") == 1
    assert value(metrics, "seconds_bucket", le="0.1") == 0


def test_series_and_metrics_are_bounded(metrics):
    calls = metrics.counter("calls", "Calls", ["wallet"])
    for number in range(MOST_SERIES + 50):
        calls.add(wallet=str(number))
    assert value(metrics, "calls_total", wallet=str(MOST_SERIES - 1)) == 1
    assert value(metrics, "calls_total", wallet=str(MOST_SERIES)) is None
    calls.add(wallet="0")
    assert value(metrics, "calls_total", wallet="0") == 2
    for number in range(MOST_METRICS - 1):
        metrics.gauge(f"g{number}", "A gauge")
    with pytest.raises(ValueError, match="at most"):
        metrics.gauge("more", "One more")


@pytest.mark.parametrize("name", ["", "Calls", "a__b", "_a", "a\n", "a" * 41, "a-b", "é"])
def test_names_that_are_none_are_refused(metrics, name):
    with pytest.raises(ValueError, match="is no name"):
        metrics.counter(name, "Calls")


def test_labels_are_those_declared_and_short(metrics):
    calls = metrics.counter("calls", "Calls", ["outcome"])
    for wrong in ({}, {"other": "a"}, {"outcome": "a", "other": "b"}, {"outcome": "a" * 65}, {"outcome": 7}):
        with pytest.raises(ValueError, match="label"):
            calls.add(**wrong)
    with pytest.raises(ValueError, match="declared already"):
        metrics.gauge("calls", "Calls")


async def test_they_are_in_the_exposition_of_the_server(make_gateway):
    from quoteway.web.http.metrics import Metrics

    gateway = await make_gateway({"one": FakePlugin([MemoryRpc({7})]), "two": FakePlugin()})
    for plugin in gateway.registry.plugins:
        assert isinstance(plugin.context.metrics, PluginMetrics)
        plugin.context.metrics.gauge("rows", "Rows").set(len(plugin.name))
    shown = Metrics()
    shown.show(gateway.registry, gateway.runtime.counts, ready=True)
    text = shown.render().decode()
    assert "quoteway_plugin_one__rows 3.0" in text
    assert "quoteway_plugin_two__rows 3.0" in text
    assert "quoteway_ready 1.0" in text
