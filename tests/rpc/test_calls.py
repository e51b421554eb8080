"""JSON-RPC 2.0 over HTTP as clients speak it: ids, parameters, refusals, notifications, batches."""

import asyncio
import json
from dataclasses import replace

import pytest
from quoteway.config.model import LimitsConfig
from quoteway.web.rpc import calls

PATH = "/v2/rpc/1"


def call(method="eth_gasPrice", **members):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": [], **members}


IDS = {
    "zero": 0,
    "negative": -5,
    "large": 2**53,
    "whole float": 7.0,
    "text": "a-b",
    "empty text": "",
    "long text": "x" * 128,
    "null": None,
}
NO_IDS = {
    "fraction": 1.5,
    "too large": 2**53 + 2,
    "huge": 10**30,
    "true": True,
    "object": {},
    "array": [1],
    "too long": "x" * 129,
}


@pytest.mark.parametrize("name", IDS)
async def test_an_id_comes_back(node_api, scripted, name, contract):
    api = await node_api(scripted())
    answer = await api.post(PATH, call(id=IDS[name]))
    assert answer.body == {"jsonrpc": "2.0", "id": IDS[name], "result": "0x1"}
    contract.check("callRpc", answer)


@pytest.mark.parametrize("name", NO_IDS)
async def test_what_is_no_id_is_no_json_rpc(node_api, scripted, refused, name):
    node = scripted()
    api = await node_api(node)
    refused(await api.post(PATH, call(id=NO_IDS[name])), 400, "invalid_request", "invalid_format")
    (answer,) = (await api.post(PATH, [call(id=NO_IDS[name])])).body
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert not node.methods


@pytest.mark.parametrize("params", [None, []], ids=["null", "empty"])
async def test_no_parameters(node_api, scripted, params):
    api = await node_api(scripted())
    assert (await api.post(PATH, call(params=params))).body["result"] == "0x1"
    without = call()
    del without["params"]
    assert (await api.post(PATH, without)).body["result"] == "0x1"


@pytest.mark.parametrize("params", [{"block": "latest"}, "latest", 5, [0] * 17], ids=str)
async def test_parameters_that_are_refused(node_api, scripted, params, contract):
    api = await node_api(scripted())
    answer = await api.post(PATH, call("eth_getBlockByNumber", id="x", params=params))
    error = contract.check("callRpc", answer)["error"]
    assert (answer.status, answer.body["id"], error["code"]) == (200, "x", -32602)
    assert error["data"]["requestId"] == answer.headers["X-Request-ID"]
    assert error["data"]["reason"] in ("invalid_format", "out_of_range")


@pytest.mark.parametrize(
    "method", ["eth_sendRawTransaction", "eth_accounts", "eth_newPendingTransactionFilter", "eth_subscribe"]
)
async def test_a_method_that_is_refused(node_api, scripted, contract, method):
    node = scripted()
    api = await node_api(node)
    answer = await api.post(PATH, call(method, id=9))
    request_id = answer.headers["X-Request-ID"]
    assert answer.status == 200
    assert contract.check("callRpc", answer) == {
        "jsonrpc": "2.0",
        "id": 9,
        "error": {
            "code": -32601,
            "message": f"the method {method} does not exist/is not available",
            "data": {"reason": "method_not_allowed", "requestId": request_id},
        },
    }
    assert not node.methods


async def test_members_that_nodes_ignore_too(node_api, scripted):
    api = await node_api(scripted())
    assert (await api.post(PATH, call(networkId="1", skipCache=True))).body["result"] == "0x1"


@pytest.mark.parametrize("other", ["METHOD", "Params", "method\0", " id", "json_rpc"])
async def test_a_known_member_in_another_spelling(node_api, scripted, refused, other):
    api = await node_api(scripted())
    refused(await api.post(PATH, call(**{other: "eth_sendRawTransaction"})), 400, "invalid_request")


NO_CALLS = {
    "number": 5,
    "text": "eth_call",
    "null": None,
    "no version": {"id": 1, "method": "eth_gasPrice"},
    "version 1": call(jsonrpc="1.0"),
    "no method": {"jsonrpc": "2.0", "id": 1},
    "number as method": call(5),
}


@pytest.mark.parametrize("name", NO_CALLS)
async def test_what_is_no_json_rpc(node_api, scripted, refused, name):
    api = await node_api(scripted())
    raw, headers = json.dumps(NO_CALLS[name]), {"Content-Type": "application/json"}
    answer = await api.request("POST", PATH, data=raw, headers=headers)
    refused(answer, 400, "invalid_request", "invalid_format")
    answer = await api.post(PATH, [NO_CALLS[name], call(id=2)])
    assert answer.status == 200
    assert (answer.body[0]["id"], answer.body[0]["error"]["code"]) == (None, -32600)
    assert answer.body[1] == {"jsonrpc": "2.0", "id": 2, "result": "0x1"}


async def test_a_notification_has_no_answer_and_asks_no_node(node_api, scripted):
    node = scripted()
    api = await node_api(node)
    alone = {"jsonrpc": "2.0", "method": "eth_gasPrice"}
    for body in (alone, [alone, alone]):
        answer = await api.post(PATH, body)
        assert (answer.status, answer.raw) == (204, b"")
    assert not node.methods
    answer = await api.post(PATH, [alone, call(id=3), alone])
    assert [each["id"] for each in answer.body] == [3]


async def test_a_node_that_is_down(node_api, scripted, refused, broken):
    api = await node_api(scripted(eth_gasPrice=broken["down"]))
    refused(await api.post(PATH, call()), 502, "upstream_error")
    refused(await api.post("/v2/rpc/2", call()), 503, "provider_unavailable", "capability_disabled")
    refused(await api.post("/v2/rpc/2", [call()]), 503, "provider_unavailable", "capability_disabled")


async def test_the_clients_version_is_the_nodes_without_what_it_tells_of_it(node_api, scripted, refused):
    version = "Geth/v1.17\n\x1b[31m https://user:key@node.internal:8545/v3 " + "x" * 500
    node = scripted(web3_clientVersion=version)
    api = await node_api(node)
    answer = (await api.post(PATH, call("web3_clientVersion"))).body["result"]
    assert answer.startswith("Geth/v1.17  [31m [url] xxx")
    assert answer.isprintable()
    assert len(answer) <= 128
    node.answers["web3_clientVersion"] = ["a", "list"]
    refused(await api.post(PATH, call("web3_clientVersion")), 502, "upstream_error", "rpc_error")
    (answer,) = (await api.post(PATH, [call("web3_clientVersion")])).body
    assert answer["error"]["code"] == -32603


# --- batches ----------------------------------------------------------------------------------------------


async def test_a_batch_is_answered_in_its_order(node_api, scripted, broken, contract):
    """Also when the first calls take longest, some are refused and others fail at the node."""
    rank = iter(range(100, 0, -1))

    async def later(address, block):
        for _ in range(next(rank)):
            await asyncio.sleep(0)
        return address

    node = scripted(
        eth_getBalance=later, eth_gasPrice=broken["down"], eth_call=broken["reverted"], eth_blockNumber="0x5"
    )
    api = await node_api(node)
    batch = [call("eth_getBalance", id=n, params=[hex(n), "latest"]) for n in range(96)]
    batch[10:10] = [
        call("eth_gasPrice", id="down"),
        call("eth_call", id="reverted", params=[{"to": "0x" + "11" * 20}]),
        call("eth_sendTransaction", id="refused"),
        call("eth_getBalance", id="wrong"),
    ]
    answer = await api.post(PATH, batch)
    assert answer.status == 200
    contract.check("callRpc", answer)
    assert [each["id"] for each in answer.body] == [each["id"] for each in batch]
    by_id = {each["id"]: each for each in answer.body}
    assert all(by_id[n]["result"] == hex(n) for n in range(96))
    down = by_id["down"]["error"]
    assert (down["code"], set(down["data"])) == (-32603, {"reason", "requestId"})
    assert by_id["reverted"]["error"] == {"code": 3, "message": "execution reverted", "data": "0x08c379a0"}
    assert by_id["refused"]["error"]["code"] == -32601
    assert by_id["wrong"]["error"]["code"] == -32602
    assert 2 <= node.most_at_once <= calls.CONCURRENT


async def test_batches_that_are_too_short_or_too_long(node_api, scripted, refused):
    node = scripted()
    api = await node_api(node)
    answer = await api.post(PATH, [])
    assert (answer.status, answer.body["id"], answer.body["error"]["code"]) == (200, None, -32600)
    refused(await api.post(PATH, [call()] * 101), 413, "invalid_request", "out_of_range")
    assert not node.methods
    assert len((await api.post(PATH, [call()] * 100)).body) == 100


async def test_every_call_of_a_batch_counts(node_api, scripted, make_config, refused):
    node = scripted()
    limits = LimitsConfig(rpc="10/hour")
    api = await node_api(node, replace(make_config(), limits=limits))
    answer = await api.post(PATH, [call(id=n) for n in range(8)])
    assert answer.headers["RateLimit"].startswith('"rpc";r=2;')
    answer = await api.post(PATH, [call("eth_getBalance", id=n, params=[hex(n)]) for n in range(5)])
    codes = [each.get("error", {}).get("code") for each in answer.body]
    assert (answer.status, codes) == (200, [None, None, -32005, -32005, -32005])
    assert answer.body[2]["error"]["data"]["reason"] == "rate_limit_exceeded"
    assert int(answer.headers["Retry-After"]) > 0
    assert node.methods.count("eth_getBalance") == 2
    refused(await api.post(PATH, [call()]), 429, "rate_limit_exceeded")


async def test_a_batch_of_large_answers_is_bounded(node_api, scripted, monkeypatch):
    monkeypatch.setattr(calls, "MAX_BATCH_BYTES", 10_000)
    monkeypatch.setattr(calls, "CONCURRENT", 1)
    node = scripted(eth_getCode=lambda address: "0x" + "00" * 2_000)
    api = await node_api(node)
    answer = await api.post(PATH, [call("eth_getCode", id=n, params=[hex(n)]) for n in range(10)])
    assert ["result" in each for each in answer.body] == [True] * 2 + [False] * 8
    assert {each["error"]["code"] for each in answer.body[2:]} == {-32003}
    assert len(node.methods) == 3, "the others are not asked for"


async def test_a_batch_with_a_call_that_hangs_answers_the_others(node_api, scripted, make_config):
    hanging = asyncio.Event()

    async def hang():
        await hanging.wait()
        return "0x1"

    api = await node_api(scripted(eth_blobBaseFee=hang), make_config(request_timeout_s=1.0))
    answer = await api.post(PATH, [call("eth_blobBaseFee", id=1), call(id=2)])
    assert answer.status == 200
    assert answer.body[1]["result"] == "0x1"
    assert answer.body[0]["error"]["code"] == -32603
    assert answer.body[0]["error"]["data"]["reason"] == "provider_timeout"
