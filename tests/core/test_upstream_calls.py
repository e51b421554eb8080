"""JSON-RPC calls are counted for each upstream, and fail over as if nobody counted."""

import asyncio
from collections import Counter

import pytest
from quoteway.config.model import QuotesConfig
from quoteway.errors import Reason, RpcError, UpstreamError
from quoteway.hookspecs import hookimpl
from quoteway.models import Capability
from quoteway.networks import Network
from quoteway.testing.fakes import FakePlugin, MemoryRpc


class Observing(FakePlugin):
    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.events = []

    @hookimpl
    def quoteway_observe(self, event):
        self.events.append(event)


class Node(MemoryRpc):
    """Does what ``does`` says for ``eth_call``."""

    def __init__(self, name, does):
        super().__init__({7}, provider_id=name)
        self.does = does

    async def forward(self, network, method, params, *, timeout_s):
        if method != "eth_call":
            return await super().forward(network, method, params, timeout_s=timeout_s)
        self.calls.append((method, params))
        return await self.does()


async def hangs():
    await asyncio.sleep(3600)


async def answers():
    return "0x01"


def raises(error):
    async def does():
        raise error

    return does


@pytest.fixture
def ask(make_gateway):
    """``await ask(*nodes)`` makes one call. Returns its answer or error, and the counts of each node."""

    async def ask(*nodes, **more):
        quotes = QuotesConfig(order=tuple(node.id for node in nodes))
        plugin = Observing(nodes, networks=[Network("seven", 7, "Seven")])
        gateway = await make_gateway({"fake": plugin}, quotes=quotes)
        chain = gateway.runtime.chain(7)
        await chain.request("eth_chainId")
        calls, before = gateway.registry.calls, {node.id: counts(gateway, node) for node in nodes}
        try:
            found = await chain.request("eth_call", [], **more)
        except UpstreamError as error:
            found = error
            async with asyncio.timeout(30):  # a call that was given up ends a moment later
                while before == {node.id: counts(gateway, node) for node in nodes}:
                    await asyncio.sleep(0.01)
        assert not [event for event in plugin.events if event["method"] == "forward"]
        assert {m.state for node in nodes for m in calls.methods(node)} <= {"closed"}
        new = {node.id: counts(gateway, node) - before[node.id] for node in nodes}
        return found, new, {node.id: method(gateway, node) for node in nodes}

    return ask


def method(gateway, node):
    found = gateway.registry.calls.methods(gateway.registry.get(Capability.RPC, node.id))
    return next((each for each in found if each.method == "forward"), None)


def counts(gateway, node):
    found = method(gateway, node)
    return Counter() if found is None else Counter(found.outcomes)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UpstreamError("down", reason=Reason.RPC_ERROR), "rpc_error"),
        (UpstreamError("late", reason=Reason.PROVIDER_TIMEOUT), "provider_timeout"),
        (UpstreamError("odd", reason="canary"), "provider_error"),
        (KeyError("canary"), "provider_error"),
        (asyncio.CancelledError(), "provider_error"),
    ],
    ids=["no answer", "late", "own reason", "raises", "cancels itself"],
)
async def test_a_failure_counts_for_its_upstream_and_the_next_one_answers(ask, error, reason):
    bad, good = Node("bad", raises(error)), Node("good", answers)
    found, new, methods = await ask(bad, good)
    assert found == "0x01"
    assert new == {"bad": {reason: 1}, "good": {"quoted": 1}}
    assert methods["good"].last_error is None
    assert methods["good"].p50_s >= 0
    assert methods["bad"].last_error == reason


async def test_an_error_of_the_node_is_an_answer(ask):
    node, other = Node("node", raises(RpcError(3, "execution reverted"))), Node("other", answers)
    found, new, methods = await ask(node, other)
    assert isinstance(found, RpcError)
    assert (new, methods["node"].last_error) == ({"node": {"quoted": 1}, "other": {}}, None)
    assert "eth_call" not in [name for name, _ in other.calls]


async def test_an_upstream_that_ignores_its_deadline_is_late(ask):
    found, new, methods = await ask(Node("node", hangs), timeout_s=0.05)
    assert found.reason is Reason.PROVIDER_TIMEOUT
    assert (new["node"], methods["node"].last_error) == ({"provider_timeout": 1}, "provider_timeout")


async def test_a_call_that_its_caller_gives_up_counts_for_nothing(ask):
    node = Node("node", hangs)
    asked = asyncio.create_task(ask(node))
    async with asyncio.timeout(30):
        while "eth_call" not in [name for name, _ in node.calls]:
            await asyncio.sleep(0.01)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
