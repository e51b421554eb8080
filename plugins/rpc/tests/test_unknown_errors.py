"""Errors that no table names, and errors of nodes that are not the caller's, over real sockets."""

import pytest
from fake_node import FakeNode, error, healthy
from quoteway import RpcError, UpstreamError
from quoteway_rpc.bulkhead import LACKS_AFTER

UNKNOWN = error(-32000, "the frobnicator is unwell")


async def test_an_unknown_error_is_asked_once_elsewhere(dispatcher):
    async with FakeNode(UNKNOWN) as one, FakeNode(UNKNOWN) as two, FakeNode() as three:
        rpc = dispatcher(one, two, three)
        for _ in range(20):
            with pytest.raises(RpcError) as failure:
                await rpc.ask()
            assert failure.value.rpc_message == "the frobnicator is unwell"
        assert (len(one.calls), len(two.calls), len(three.calls)) == (20, 20, 0)
        assert [row.state for row in await rpc.upstreams()] == ["closed"] * 3
        two.behaviour = healthy
        assert await rpc.ask() == "0x2a"


async def test_an_error_of_every_node_is_told_without_their_words(dispatcher):
    text = "pruned: buy an archive plan at https://pay.example"
    async with FakeNode(error(3, text)) as one, FakeNode(error(-32000, text)) as two:
        with pytest.raises(RpcError) as failure:
            await dispatcher(one, two).ask("eth_getBalance", ["0x" + "11" * 20, "0x1"])
        assert failure.value.rpc_message == "the node does not have the requested block or state"
    text = "too many requests: buy a plan at https://pay.example"
    async with FakeNode(error(-32005, text)) as one, FakeNode(error(-32603, text)) as two:
        with pytest.raises(UpstreamError) as failure:
            await dispatcher(one, two).ask(timeout_s=0.5)
        assert not isinstance(failure.value, RpcError)
        assert "example" not in failure.value.message


async def test_a_refused_range_of_logs_is_asked_elsewhere_and_blames_nobody(dispatcher):
    async def limited(node, request, writer):
        refuses = request["method"] == "eth_getLogs"
        await (error(-32602, "range limited") if refuses else healthy)(node, request, writer)

    async with FakeNode(limited) as small, FakeNode() as large:
        rpc = dispatcher(small, large)
        for _ in range(5):
            assert await rpc.ask("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "0x270f"}]) == []
        assert [row.state for row in await rpc.upstreams()] == ["closed", "closed"]
        first, second = await rpc.upstreams()
        assert (first.error_rate or 0.0, second.error_rate) == (0.0, 0.0)
        refused, answered = ("eth_getLogs", "too_large", LACKS_AFTER), ("eth_getLogs", "answered", 5)
        assert [call for call in first.calls if call[0] == "eth_getLogs"] == [refused], (
            "then it is asked later"
        )
        assert [call for call in second.calls if call[0] == "eth_getLogs"] == [answered]


async def test_a_node_that_fails_costs_few_calls(dispatcher):
    """One of three answers: of 1,000 calls none fails, and at most one in twenty is sent twice."""
    for fault in (error(-32603), error(429, "too many requests"), error(-32000, "no key", status="403 No")):
        async with FakeNode(fault) as one, FakeNode(fault) as two, FakeNode() as three:
            rpc = dispatcher(one, two, three)
            for _ in range(300):
                assert await rpc.ask() == "0x2a"
            assert len(one.calls) + len(two.calls) <= 15
            assert len(three.calls) == 300


async def test_the_health_of_upstreams_has_no_address(dispatcher):
    async with FakeNode(error(-32603)) as one, FakeNode() as two:
        rpc = dispatcher(one, two)
        await rpc.ask()
        first, second = await rpc.upstreams()
        assert (first.label, first.state, first.reason) == ("upstream 1", "suspect", "node_fault")
        assert first.calls == [("eth_gasPrice", "node_fault", 1)]
        assert (second.label, second.state, second.error_rate) == ("upstream 2", "closed", 0.0)
        assert 0 < second.p50_s <= second.p95_s
        shown = repr((first, second))
        assert str(one.port) not in shown
        assert "127.0.0.1" not in shown
        assert "canary" not in shown
