"""Traces of what lasts: each call on a WebSocket and each look of a stream is a trace of its own."""

import asyncio
import json
import time

from drifting_market import FRIEND
from otlp_collector import attributes, check_tree
from quoteway.engine.quote_tokens import TransactionCommitment
from quoteway.errors import Reason, UpstreamError
from quoteway.web.rpc.calls import RpcCalls
from test_exported_traces import GIVEN, WALLET, collector, serve, traced  # noqa: F401

CALL = "WS /v2/rpc/{chainId}"
LOOK = "STREAM transactions /v2/stream"


def trees(found, name):
    """The traces whose root has a name."""
    every = found.traces().values()
    return [spans for spans in every if any(each.name == name for each in spans)]


async def talk(api, *messages, answers, **headers):
    """Sends messages over one WebSocket, and waits for so many answers."""
    url = f"{api.url}/v2/rpc/31337"
    async with api.session.ws_connect(url, headers=headers) as ws:
        for message in messages:
            await ws.send_str(json.dumps(message))
        async with asyncio.timeout(60):
            return [json.loads((await ws.receive()).data) for _ in range(answers)]


def asked(number, method="eth_getBalance", params=(WALLET, "latest")):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}


async def test_each_call_on_a_websocket_is_a_trace(traced, collector):  # noqa: F811
    api = await traced()
    other = [asked(3), asked(4, params=(FRIEND, "latest"))]
    answers = await talk(
        api, asked(1), asked(2, params=(FRIEND, "latest")), other, answers=3, traceparent=GIVEN
    )
    assert all("result" in each for each in answers if isinstance(each, dict)), answers
    await asyncio.to_thread(collector.until, lambda found: len(trees(found, CALL)) >= 4)
    found = trees(collector, CALL)
    assert len(found) == 4
    for spans in found:
        (root,) = (each for each in spans if each.name == CALL)
        assert not root.parent_span_id, "a stranger chooses no ids"
        check_tree(root, spans)
        assert attributes(root) == {"http.route": "/v2/rpc/{chainId}"}
        assert root.end_time_unix_nano - root.start_time_unix_nano < 60 * 10**9
    assert any(each.name.startswith("upstream ") for spans in found for each in spans)
    sent = b"".join(body for _, _, body in collector.requests)
    for text in (WALLET, FRIEND, "eth_getBalance\x1a"):
        assert text.encode() not in sent


async def test_a_trusted_callers_trace_goes_on_over_a_websocket(traced, collector):  # noqa: F811
    api = await traced(trust_caller=True, sample_ratio=0.0)
    await talk(api, asked(1), answers=1, traceparent=GIVEN)
    await talk(api, asked(1), answers=1, traceparent=GIVEN[:-1] + "0")
    await asyncio.to_thread(collector.until, lambda found: trees(found, CALL))
    ((trace_id, spans),) = collector.traces().items()
    (root,) = (each for each in spans if each.name == CALL)
    assert (trace_id, root.parent_span_id.hex()) == (GIVEN.split("-")[1], GIVEN.split("-")[2])


async def test_a_call_that_failed_says_why(traced, collector, monkeypatch):  # noqa: F811
    api = await traced()

    async def broken(*args, **kwargs):
        raise UpstreamError("no", reason=Reason.RPC_ERROR)

    monkeypatch.setattr(RpcCalls, "answer", broken)
    (answer,) = await talk(api, asked(1, params=(FRIEND, "0x0")), answers=1)
    assert "error" in answer
    await asyncio.to_thread(collector.until, lambda found: trees(found, CALL))
    (spans,) = trees(collector, CALL)
    (root,) = (each for each in spans if each.name == CALL)
    told = attributes(root)
    assert (told["quoteway.outcome"], told["quoteway.reason"]) == ("failed", "rpc_error")


async def test_each_look_of_a_stream_is_a_trace(traced, collector):  # noqa: F811
    api = await traced()
    members = (31337, WALLET, FRIEND, 0, "0x" + "00" * 32, "0x" + "11" * 32, 0, int(time.time()) + 86_400)
    tx_id = api.gateway.quote_tokens.seal_transaction(TransactionCommitment(*members))
    hash_ = "0x" + "ab" * 32
    async with api.session.get(f"{api.url}/v2/stream?transactions={tx_id}:{hash_}") as stream:
        assert stream.status == 200
        await asyncio.to_thread(collector.until, lambda found: len(trees(found, LOOK)) >= 2)
    for spans in trees(collector, LOOK):
        (root,) = (each for each in spans if each.name == LOOK)
        assert not root.parent_span_id
        check_tree(root, spans)
        assert any(each.name.startswith("upstream ") for each in spans)
    assert not any(each.name == "GET /v2/stream" for each in collector.spans)
    sent = b"".join(body for _, _, body in collector.requests)
    assert tx_id.encode() not in sent
    assert hash_.encode() not in sent
