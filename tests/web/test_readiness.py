"""``/readyz``: whether the nodes answer, told without asking them often."""

import asyncio
import time

import pytest
from quoteway.config.network import NetworkConfig
from quoteway.errors import UpstreamError
from quoteway.host import reachability
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin, MemoryRpc

SEVEN, EIGHT = Network("seven", 7, "Seven"), Network("eight", 8, "Eight")


class Node(MemoryRpc):
    """A node that can be switched off, or left hanging."""

    state = "up"

    async def forward(self, network, method, params, *, timeout_s):
        if self.state == "down":
            self.calls.append((method, params))
            raise UpstreamError("No node answered.")
        if self.state == "hanging":
            await asyncio.sleep(timeout_s)
        return await super().forward(network, method, params, timeout_s=timeout_s)

    @property
    def probes(self):
        return [method for method, _ in self.calls].count("eth_chainId")


async def until(condition, seconds=20):
    ends_at = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < ends_at, "it did not happen in time"
        await asyncio.sleep(0.02)


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setattr(reachability, "EVERY_S", 0.2)
    return Node({7}, provider_id="node-7"), Node({8}, provider_id="node-8")


@pytest.fixture
async def served(serve_app, two):
    return await serve_app({"toy": FakePlugin(two, networks=[SEVEN, EIGHT])})


@pytest.mark.slow
async def test_it_is_503_while_no_network_answers_and_recovers_by_itself(served, two, refused):
    async def is_ready():
        return (await served.get("/readyz")).status == 200

    async def is_not():
        return not await is_ready()

    assert (await served.get("/readyz")).body == {"status": "ready"}
    for state in ("down", "hanging"):
        for node in two:
            node.state = state
        await until(is_not)
        answer = await served.get("/readyz")
        details = refused(answer, 503, "provider_unavailable")
        assert details["notReady"] == [
            "no RPC upstream of seven answers",
            "no RPC upstream of eight answers",
        ]
        assert answer.headers["Retry-After"] == "1"
        two[0].state = "up"
        await until(is_ready)


async def test_one_network_that_answers_is_enough_and_the_silent_are_named(served, two):
    two[1].state = "down"

    async def named():
        answer = await served.get("/readyz")
        assert answer.status == 200
        return answer.body == {"status": "ready", "notAnswering": ["eight"]}

    await until(named)


async def test_a_node_of_another_chain_is_no_answer(served, two):
    for node in two:
        node.answers["eth_chainId"] = "0x1"

    async def is_not():
        return (await served.get("/readyz")).status == 503

    await until(is_not)


async def test_nodes_are_not_asked_more_often_than_said(serve_app):
    node = Node({7})
    api = await serve_app({"toy": FakePlugin([node], networks=[SEVEN])})
    before, started = node.probes, time.monotonic()
    for _ in range(4):
        await asyncio.gather(*(api.get("/readyz") for _ in range(50)))
    assert node.probes - before <= 1 + (time.monotonic() - started) / reachability.EVERY_S


@pytest.mark.slow
async def test_a_configured_network_that_no_plugin_serves_is_not_ready(serve_app, make_config, refused):
    from dataclasses import replace

    networks = {"seven": NetworkConfig(chain_id=7, rpc=(Endpoint("http://127.0.0.1:9"),))}
    api = await serve_app({}, config=replace(make_config(), networks=networks))
    details = refused(await api.get("/readyz"), 503, "provider_unavailable")
    assert details["notReady"] == ["no enabled plugin serves the RPC endpoints of seven"]
