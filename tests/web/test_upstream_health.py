"""``/v2/providers`` and ``/metrics`` tell how the nodes of a network are, by name and never by address."""

import asyncio
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from quoteway import UpstreamHealth
from quoteway.config.network import NetworkConfig
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin, MemoryRpc

SERIES = re.compile(r"^(quoteway_rpc_\w+)\{(.*)\} (\S+)$", re.MULTILINE)


async def series_of(api):
    """The values of the metrics of upstreams, by name and labels in the order of their names."""
    text = (await api.get("/metrics")).raw.decode()
    return {
        (metric, *re.findall(r'"([^"]*)"', labels)): float(value)
        for metric, labels, value in SERIES.findall(text)
    }


async def rows_of(api):
    (row,) = [row for row in (await api.get("/v2/providers")).body["data"] if row["capabilities"] == ["rpc"]]
    return row["upstreams"]


async def test_each_node_has_a_row_and_metrics(serve_app, make_config):
    quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    sys.path.insert(0, str(Path(__file__).parents[2] / "plugins" / "rpc" / "tests"))
    from fake_node import FakeNode, error

    async with FakeNode(error(-32603, "canary")) as bad, FakeNode() as good:
        endpoints = (
            Endpoint(f"http://canary@127.0.0.1:{bad.port}", name="cheap"),
            Endpoint(f"http://127.0.0.1:{good.port}/canary"),
            Endpoint("http://127.0.0.1:9", name="paid", tier=1, cordoned="moves on Monday"),
        )
        config = replace(make_config(), networks={"ethereum": NetworkConfig(rpc=endpoints)})
        api = await serve_app({"rpc": quoteway_rpc}, config=config)
        for name in ("eth_gasPrice", "eth_gasPrice", "eth_maxPriorityFeePerGas"):
            answer = await api.post("/v2/rpc/1", {"jsonrpc": "2.0", "id": 1, "method": name, "params": []})
            assert answer.body["result"] == "0x2a"
        cheap, second, paid = await rows_of(api)
        assert (cheap["label"], cheap["network"], cheap["chainId"]) == ("cheap", "ethereum", 1)
        assert cheap["state"] in ("suspect", "open")
        assert cheap["reason"] == "node_fault"
        assert 0 < cheap["errorRate"] <= 1
        assert (second["label"], second["state"], second["reason"]) == ("upstream 2", "closed", None)
        assert 0 < second["p50Ms"] <= second["p95Ms"]
        assert (paid["tier"], paid["state"], paid["reason"]) == (1, "cordoned", "moves on Monday")
        series = await series_of(api)
        of = ("ethereum", "rpc", "upstream 2")
        assert series["quoteway_rpc_calls_total", "eth_gasPrice", "ethereum", "answered", "rpc", of[2]] == 2
        assert series["quoteway_rpc_upstream_state", *of] == 0
        seconds = "quoteway_rpc_upstream_method_seconds", "eth_gasPrice", "ethereum", "rpc"
        assert 0 < series[*seconds, "0.5", of[2]] <= series[*seconds, "0.95", of[2]]
        assert series["quoteway_rpc_upstream_state", "ethereum", "rpc", "paid"] == 4
        assert series["quoteway_rpc_upstream_error_ratio", *of] == 0
        for text in ((await api.get("/v2/providers")).raw, (await api.get("/metrics")).raw):
            for secret in ("canary", str(bad.port), str(good.port), "127.0.0.1"):
                assert secret not in text.decode()


GOOD = UpstreamHealth(7, "a", 0, "closed", calls=[("eth_call", "answered", 3)])
ODD = [
    replace(GOOD, label="two\nlines"),
    replace(GOOD, label=""),
    replace(GOOD, label=None),
    replace(GOOD, chain_id=8),
    replace(GOOD, state="fine"),
    replace(GOOD, reason="x" * 201),
    replace(GOOD, p50_s=float("nan")),
    replace(GOOD, head=-1),
    replace(GOOD, tier=None),
    replace(GOOD, calls=None),
    replace(GOOD, latencies=None),
    None,
    "a",
]


async def served(serve_app, upstreams):
    class Upstreams(MemoryRpc):
        async def upstreams(self):
            return await upstreams()

    return await serve_app({"rpc": FakePlugin([Upstreams({7})], networks=[Network("seven", 7, "Seven")])})


async def test_rows_that_cannot_be_shown_are_left_out(serve_app):
    calls = [(f"m{number}\ud800", "answered", 1) for number in range(50)]
    calls += [
        ("eth_call", "hunter 2", 9),
        ("eth_call", "answered", -5),
        ("eth_call",),
        None,
        ("eth_call", "a", "b"),
    ]
    answer = [GOOD, *ODD, replace(GOOD, label="b", calls=calls)]

    async def upstreams():
        return answer

    api = await served(serve_app, upstreams)
    assert [row["label"] for row in await rows_of(api)] == ["a", "b"]
    counted = {key[1:]: value for key, value in (await series_of(api)).items() if key[0].endswith("_total")}
    assert counted == {
        ("eth_call", "seven", "answered", "memory-rpc", "a"): 3,
        ("other", "seven", "answered", "memory-rpc", "b"): 50,
        ("eth_call", "seven", "answered", "memory-rpc", "b"): 0,
    }
    answer[:] = [replace(GOOD, calls=[("eth_call", "answered", 5)])]
    await series_of(api)
    answer[:] = [replace(GOOD, calls=[("eth_call", "answered", 1)])]
    key = ("quoteway_rpc_calls_total", "eth_call", "seven", "answered", "memory-rpc", "a")
    assert (await series_of(api))[key] == 6, "a plugin that starts again counts from zero"


async def test_an_upstream_that_fails_to_say_costs_its_rows(serve_app, caplog):
    async def hangs():
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if done.is_set():
                    raise

    async def raises():
        raise RuntimeError("hunter2")

    async def no_list():
        return 5

    done = asyncio.Event()
    for upstreams in (hangs, raises, no_list):
        api = await served(serve_app, upstreams)
        assert await rows_of(api) == []
        assert await series_of(api) == {}
    done.set()
    assert "hunter2" not in caplog.text
