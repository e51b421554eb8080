"""``/metrics``: what operators need to know beside the calls of providers and nodes."""

import asyncio
import os
import re
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from quoteway.config.model import LimitsConfig, StoreConfig
from quoteway.errors import Reason, UpstreamError
from quoteway.host import head_ages, reachability
from quoteway.host.installed_plugins import core_version
from quoteway.models import Token
from quoteway.networks import Network
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc

TOKEN = Token(7, "0x1111111111111111111111111111111111111111", 6, "USD", "A dollar")
OTHER = Token(7, "0x2222222222222222222222222222222222222222", 18, "EUR", "A euro")
QUOTE = {
    "fromChain": "seven",
    "toChain": "seven",
    "fromToken": TOKEN.address,
    "toToken": OTHER.address,
    "amount": "1000000",
    "address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
}
SEVEN = Network("seven", 7, "Seven")


class Node(MemoryRpc):
    is_down = False

    async def forward(self, network, method, params, *, timeout_s):
        if self.is_down:
            raise UpstreamError("https://user:hunter2@node.example does not answer", reason=Reason.RPC_ERROR)
        return await super().forward(network, method, params, timeout_s=timeout_s)


class Swap(FixedRateSwap):
    """Has what a test says: no route, an error, or to wait for."""

    does = staticmethod(lambda: None)
    waits = None

    async def quote(self, request):
        if self.waits is not None:
            await self.waits.wait()
        self.does()
        return await super().quote(request) if self.does.__name__ == "<lambda>" else None


@pytest.fixture
def parts(monkeypatch):
    monkeypatch.setattr(reachability, "EVERY_S", 0.05)
    monkeypatch.setattr(head_ages, "EVERY_S", 0.05)
    node, made = Node({7}, tokens=[TOKEN, OTHER]), []

    def swap(context):
        made.append(Swap(context))
        return made[0]

    return (
        node,
        made,
        FakePlugin([node, swap, ListedTokens([TOKEN, OTHER])], networks=[SEVEN], calls=[FAKE_CALLS]),
    )


@pytest.fixture
async def seven(serve_app, parts):
    node, made, plugin = parts
    api = await serve_app({"toy": plugin})
    api.node, api.swap = node, made[0]
    return api


async def values(api, name):
    """The values of a metric, by its labels as they are written."""
    text = (await api.get("/metrics")).raw.decode()
    assert "hunter2" not in text
    assert "node.example" not in text
    return {
        labels: float(value)
        for metric, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE)
        if metric == name
    }


async def until(api, name, labels, value):
    async with asyncio.timeout(20):
        while (await values(api, name)).get(labels) != value:
            await asyncio.sleep(0.02)


async def test_what_has_no_route_is_no_fault_of_the_service(seven):
    def no_route():
        return None

    def broken():
        raise UpstreamError("https://user:hunter2@node.example", reason=Reason.PROVIDER_ERROR)

    seven.swap.does = no_route
    assert (await seven.post("/v2/swaps/quote", QUOTE)).body["error"]["details"]["reason"] == "no_route"
    assert (await seven.post("/v2/swaps/quote", {})).status == 422
    assert (await seven.get("/v2/nothing")).status == 404
    seven.swap.does = broken
    assert (await seven.post("/v2/swaps/quote", QUOTE)).status == 502
    found = await values(seven, "quoteway_http_errors_total")
    of_quotes = 'route="/v2/swaps/quote"'
    assert found == {
        f'code="upstream_error",fault="caller",reason="no_route",{of_quotes}': 1,
        f'code="validation_error",fault="caller",reason="missing",{of_quotes}': 1,
        'code="not_found",fault="caller",reason="",route="unmatched"': 1,
        f'code="upstream_error",fault="service",reason="provider_error",{of_quotes}': 1,
    }


async def test_requests_under_way_are_counted_until_they_end(seven):
    name = "quoteway_http_requests_in_progress"
    assert await values(seven, name) == {"": 1}, "the request for the metrics"
    seven.swap.waits = asyncio.Event()
    waiting = [asyncio.create_task(seven.post("/v2/swaps/quote", QUOTE)) for _ in range(2)]
    await until(seven, name, "", 3)
    waiting[0].cancel()  # the client goes away, and the work goes on
    assert await values(seven, name) == {"": 3}
    seven.swap.waits.set()
    assert (await waiting[1]).status == 200
    await until(seven, name, "", 1)


async def test_a_network_that_dies_shows_why_and_recovers(seven):
    await until(seven, "quoteway_capability_state", 'capability="tokens",network="seven"', 0)  # it is read
    await until(seven, "quoteway_capability_state", 'capability="rpc",network="seven"', 1)
    assert await values(seven, "quoteway_capability_state") == {
        'capability="swap",network="seven"': 0,
        'capability="tokens",network="seven"': 0,
        'capability="rpc",network="seven"': 1,  # its newest block is of 2023
    }
    assert await values(seven, "quoteway_head_timestamp_seconds") == {'network="seven"': 0x65000000}
    reason = 'capability="{}",network="seven",reason="{}"'
    reasons = await values(seven, "quoteway_capability_not_ready")
    assert [name for name, holds in reasons.items() if holds] == [reason.format("rpc", "head_stale")]
    seven.node.is_down = True
    await until(seven, "quoteway_network_state", 'network="seven"', 2)
    found = await values(seven, "quoteway_capability_not_ready")
    assert found[reason.format("swap", "no_node_answers")] == 1
    assert found[reason.format("rpc", "head_stale")] == 0
    seven.node.is_down = False
    await until(seven, "quoteway_network_state", 'network="seven"', 1)
    assert (await values(seven, "quoteway_capability_not_ready"))[
        reason.format("swap", "no_node_answers")
    ] == 0


async def test_the_decisions_of_limits_are_counted(serve_app, make_config, parts):
    config = replace(make_config(), limits=LimitsConfig(catalog="2/hour"))
    api = await serve_app({"toy": parts[2]}, config=config)
    assert [(await api.get("/v2/networks")).status for _ in range(4)] == [200, 200, 429, 429]
    found = await values(api, "quoteway_limit_decisions_total")
    assert found == {'decision="granted",group="catalog"': 2, 'decision="refused",group="catalog"': 2}
    fault = 'code="rate_limit_exceeded",fault="caller",reason="",route="/v2/networks"'
    assert (await values(api, "quoteway_http_errors_total"))[fault] == 2


async def test_stores_that_fail_are_counted(serve_app, make_config, parts, tmp_path):
    pytest.importorskip("valkey")
    folder = tmp_path / "canary"
    folder.mkdir()
    config = replace(
        make_config(),
        limits=LimitsConfig(store="redis://127.0.0.1:9"),
        store=StoreConfig(url=str(folder)),  # no file
    )
    api = await serve_app({"toy": parts[2]}, config=config)
    assert await values(api, "quoteway_store_failures_total") == {'store="limits"': 0, 'store="plugins"': 0}
    for _ in range(2):
        assert (await api.get("/v2/networks")).status == 200
    with pytest.raises(UpstreamError):
        await api.gateway.runtime.rows.get("toy", "key")
    # No request asks the store of limits again: it is looked at in the background.
    found = await values(api, "quoteway_store_failures_total")
    assert (found['store="limits"'] >= 1, found['store="plugins"']) == (True, 1)
    assert await values(api, "quoteway_store_resting") == {'store="limits"': 1}
    assert await values(api, "quoteway_limit_decisions_total") == {'decision="granted",group="catalog"': 2}
    assert "canary" not in (await api.get("/metrics")).raw.decode()


async def test_kept_answers_are_counted(seven):
    for _ in range(3):
        assert (await seven.get("/v2/networks")).status == 200
    found = await values(seven, "quoteway_cache_answers_total")
    assert found == {'result="made"': 1, 'result="sent_again"': 2}
    assert (await values(seven, "quoteway_cache_bytes"))[""] > 100


async def test_a_blocked_event_loop_shows_in_its_lag(seven):
    async def slower_than_250_ms():
        found = await values(seven, "quoteway_loop_lag_seconds_bucket")
        return found['le="+Inf"'] - found['le="0.25"']

    before = await slower_than_250_ms()
    time.sleep(0.3)  # noqa: ASYNC251 - this is what is measured
    await asyncio.sleep(0.05)
    assert await slower_than_250_ms() > before


async def test_the_process_and_the_build_are_shown(seven):
    (memory,) = (await values(seven, "quoteway_process_resident_memory_bytes")).items()
    assert memory[0] == 'worker="0"'
    assert 20e6 < memory[1] < 4e9
    opened = (await values(seven, "quoteway_process_open_fds"))['worker="0"']
    assert abs(opened - len(os.listdir("/proc/self/fd"))) < 10
    assert (await values(seven, "quoteway_process_max_fds"))['worker="0"'] > opened
    assert (await values(seven, "quoteway_process_cpu_seconds_total"))['worker="0"'] > 0
    assert time.time() - (await values(seven, "quoteway_process_start_time_seconds"))['worker="0"'] > 0
    (build,) = (await values(seven, "quoteway_build_info")).items()
    assert f'version="{core_version()}"' in build[0]
    assert await values(seven, "quoteway_workers") == {"": 1}
    assert await values(seven, "quoteway_workers_ready") == {"": 1}


def test_every_metric_is_on_the_page():
    from quoteway.web.http.metrics import Metrics

    page = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()
    for family in Metrics().registry.collect():
        assert re.search(rf"^\| `{family.name}(_total)?` \|", page, re.MULTILINE), family.name


async def test_requests_are_answered_while_the_metrics_of_all_workers_are_added_up(
    seven, tmp_path, monkeypatch
):
    from prometheus_client.multiprocess import MultiProcessCollector

    collect = MultiProcessCollector.collect
    added_up = threading.Event()

    def slow(self):
        assert added_up.wait(30), "no other request was answered meanwhile"
        return collect(self)

    monkeypatch.setattr(MultiProcessCollector, "collect", slow)
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    scrape = asyncio.create_task(seven.get("/metrics"))
    assert (await seven.get("/healthz")).status == 200
    added_up.set()
    assert (await scrape).status == 200
