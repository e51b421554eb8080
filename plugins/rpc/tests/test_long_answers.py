"""Long answers: given to clients as they are, parsed in steps for the core, refused where hard to read."""

import asyncio
import logging

import orjson
import pytest
from fake_node import FakeNode, send
from quoteway import Context, Endpoint, Network, Networks, RawJson, UpstreamError
from quoteway.config.model import Config
from quoteway.host.runtime import Runtime
from quoteway_rpc import bulkhead
from quoteway_rpc.dispatch import Dispatcher
from quoteway_rpc.settings import RpcSettings

NETWORK = Network("ethereum", 1, "Ethereum")
HASH = "0x" + "11" * 32
LOG = {"address": "0x" + "a1" * 20, "topics": ["0x" + "b2" * 32], "data": "0x" + "00" * 200, "é": '"[{\\'}
LOG |= {"blockHash": HASH, "blockNumber": "0x5", "removed": False}
LOGS = [LOG | {"logIndex": hex(index)} for index in range(3_000)]
NESTED = [{"logs": LOGS[at : at + 9], "note": "},{" * 90} for at in range(0, 2_991, 9)]
LARGE_ITEMS = [{"logs": LOGS[at : at + 600]} for at in range(0, 3_000, 600)]
BLOCK = {"hash": HASH, "parentHash": "0x" + "10" * 32, "number": "0x5", "timestamp": "0x1"}
BLOCK |= {"transactions": LOGS}
OF_BLOCK = "eth_getLogs", [{"blockHash": HASH}]
CALL = "eth_call", [{}, "latest"]


def answering(text):
    async def behave(node, request, writer):
        send(writer, b'{"id":%d,"result":%b,"jsonrpc":"2.0"}' % (request["id"], text))

    return behave


def dispatcher(*nodes):
    endpoints = tuple(Endpoint(f"http://127.0.0.1:{node.port}/") for node in nodes)
    network = Network("ethereum", 1, "Ethereum", endpoints=endpoints)
    runtime = Runtime(Config())
    runtime.networks = Networks([network])
    return Dispatcher(Context("rpc", RpcSettings().load({}), logging.getLogger("test"), runtime))


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        (*OF_BLOCK, LOGS),
        (*OF_BLOCK, LOGS[:1_000]),
        (*CALL, NESTED),
        (*CALL, LARGE_ITEMS),
        (*CALL, [["},{"] * 50_000, {}, {}]),
        ("eth_getBlockByHash", [HASH, True], BLOCK),
        ("eth_getBlockByHash", [HASH, True], BLOCK | {"transactions": LOGS[:1_000]}),
        (*CALL, "0x" + "ab" * 100_000),
    ],
    ids=[
        "list",
        "list that is checked",
        "lists in items",
        "large items",
        "commas in texts",
        "object",
        "object that is checked",
        "text",
    ],
)
async def test_a_client_gets_the_text_and_the_core_the_value(method, params, result):
    text = orjson.dumps(result)
    async with FakeNode(answering(text)) as node:
        rpc = dispatcher(node)
        public = await rpc.forward_public(NETWORK, method, params, timeout_s=30)
        assert isinstance(public, RawJson)
        assert bytes(public) == text
        assert public.parsed() == result
        assert await rpc.forward(NETWORK, method, params, timeout_s=30) == result
        rpc.close()


UNREADABLE = {
    "not JSON inside": orjson.dumps(LOGS)[:-2] + b"x]",
    "not UTF-8": b'"' + b"a" * 100_000 + b'\xff"',
    "a tower": b"[" * 70_000 + b"]" * 70_000,
    "too many lists": b"[" + b"[]," * 10_000_000 + b"[]]",
    "a second value": orjson.dumps(LOGS) + b",1",
}


@pytest.mark.parametrize("public", [True, False], ids=["client", "core"])
@pytest.mark.parametrize("case", UNREADABLE)
async def test_another_upstream_is_asked_instead_of_reading_it(case, public, monkeypatch):
    monkeypatch.setattr(bulkhead, "OUTAGE_S", 0.0)
    async with FakeNode(answering(UNREADABLE[case])) as bad, FakeNode() as good:
        rpc = dispatcher(bad, good)
        ask = rpc.forward_public if public else rpc.forward
        assert await ask(NETWORK, *CALL, timeout_s=30) == "0x2a"
        with pytest.raises(UpstreamError, match="usable answer"):
            await getattr(dispatcher(bad), ask.__name__)(NETWORK, *CALL, timeout_s=30)


async def test_a_number_that_no_double_holds_is_passed_on_in_a_long_answer():
    """It is JSON (RFC 8259, section 6), and nothing here has to read it."""
    text = b"[%b1e999]" % (b'"abcde",' * 30_000)
    async with FakeNode(answering(text)) as node:
        rpc = dispatcher(node)
        assert bytes(await rpc.forward_public(NETWORK, *CALL, timeout_s=30)) == text
        rpc.close()


@pytest.mark.parametrize("ask", ["forward", "forward_public"])
async def test_other_tasks_run_while_a_long_list_is_read(ask):
    text = orjson.dumps(LOGS * 10)
    async with FakeNode(answering(text)) as node:
        rpc, turns = dispatcher(node), 0
        call = asyncio.create_task(getattr(rpc, ask)(NETWORK, *OF_BLOCK, timeout_s=60))
        while not call.done():
            turns += 1
            await asyncio.sleep(0)
        result = call.result()
        assert bytes(result) == text if ask == "forward_public" else len(result) == 30_000
        assert turns > 100
