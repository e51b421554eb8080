"""WebSocket at the path of the JSON-RPC proxy: who connects, calls, limits, closing."""

import asyncio
import datetime
import hashlib
import json

import pytest
from quoteway.config.keys import NamedKey
from quoteway.config.model import AuthConfig, LimitsConfig
from quoteway.errors import RpcError, UpstreamError
from quoteway.secrets import Secret
from socket_room import DEADLINE_S, HANDSHAKE, KEY, PATH

# --- calls --------------------------------------------------------------------------------------------------


async def test_calls_are_answered_as_over_http(serve_sockets):
    room = await serve_sockets()
    client = await room.connect()
    assert await client.result("eth_chainId") == "0x7a69"
    assert await client.result("eth_getBalance", room.weth, "latest") == await room.rpc(
        "eth_getBalance", room.weth, "latest"
    )
    for method in ("eth_sendRawTransaction", "eth_mining", "anvil_mine", "nothing such"):
        answer = await client.ask(method, "0x")
        assert answer["error"]["code"] == -32601
        assert set(answer["error"]["data"]) == {"reason", "requestId"}
    assert await client.code("eth_getBalance") == -32602
    assert await client.code("eth_getBlockByNumber", "latest", False, jsonrpc="1.0", id=None) == -32600
    for call_id in (0, -5, "x" * 100):
        assert (await client.ask("eth_chainId", id=call_id))["id"] == call_id


async def test_the_node_s_errors_are_passed_on_and_others_name_no_upstream(serve_sockets):
    room = await serve_sockets()
    client = await room.connect()
    room.node.broken = RpcError(3, f"reverted at {room.devnet.urls['devnet']}", "0x08c379a0")
    error = (await client.ask("eth_gasPrice"))["error"]
    assert error == {"code": 3, "message": "reverted at [url]", "data": "0x08c379a0"}
    room.node.broken = UpstreamError("No node answered.")
    error = (await client.ask("eth_blockNumber"))["error"]
    assert error["code"] == -32603
    room.node.broken = None
    assert await client.result("eth_gasPrice")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("", -32700),
        ("{", -32700),
        ("[" * 100_000, -32700),
        ("1", -32600),
        ("null", -32600),
        ("[]", -32600),
        ('{"jsonrpc":"2.0","id":1}', -32600),
        ('{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}', -32600),
    ],
    ids=["empty", "broken", "deep", "number", "null", "no-calls", "no-method", "id"],
)
async def test_what_is_no_call_is_an_error_and_the_connection_stays(serve_sockets, message, code):
    room = await serve_sockets()
    client = await room.connect()
    await client.ws.send_str(message)
    await client.until(lambda: None in client.answers)
    assert client.answers.pop(None)["error"]["code"] == code
    assert await client.result("eth_chainId") == "0x7a69"


async def test_batches_with_subscriptions_and_notifications(serve_sockets):
    room = await serve_sockets()
    client = await room.connect()
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]},
        {"jsonrpc": "2.0", "method": "eth_chainId"},
        {"jsonrpc": "2.0", "id": "two", "method": "eth_chainId", "params": None},
        5,
        {"jsonrpc": "2.0", "id": 3, "method": "eth_subscribe", "params": ["syncing"]},
    ]
    await client.ws.send_str(json.dumps(calls))
    await client.until(lambda: client.batches)
    first, second, third, fourth = client.batches[0]
    assert (second["id"], second["result"]) == ("two", "0x7a69")
    assert (third["id"], third["error"]["code"]) == (None, -32600)
    assert (fourth["id"], fourth["error"]["code"]) == (3, -32602)
    await room.rpc("evm_mine")
    await client.until(lambda: client.told.get(first["result"]))


async def test_every_call_counts_against_the_rate_limit(serve_sockets):
    room = await serve_sockets(limits=LimitsConfig(rpc="4/hour"))
    client = await room.connect()  # the first request
    answers = [await client.ask("eth_chainId") for _ in range(5)]
    assert ["result" in answer for answer in answers] == [True] * 3 + [False] * 2
    assert answers[-1]["error"]["code"] == -32005
    assert (await room.api.post(PATH, {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId"})).status == 429


# --- who may connect ----------------------------------------------------------------------------------------


async def test_pages_of_other_origins_are_refused(serve_sockets):
    room = await serve_sockets(server={"cors_origins": ("https://wallet.example",)})
    for origin in (
        "https://evil.example",
        "null",
        "http://wallet.example",
        "https://wallet.example.evil.example",
        "",
    ):
        assert await room.refused(origin=origin) == 403, origin
    assert await room.metric('quoteway_sockets_refused_total{cause="origin"}') == 5
    for origin in ("https://wallet.example", room.api.url, None):
        client = await room.connect(origin=origin)
        assert await client.result("eth_chainId") == "0x7a69"


async def test_every_origin_may_be_allowed(serve_sockets):
    room = await serve_sockets(server={"cors_origins": ("*",)})
    assert await (await room.connect(origin="https://any.example")).result("eth_chainId")


async def test_an_api_key_is_required_where_one_is_for_calls(serve_sockets):
    room = await serve_sockets(auth=AuthConfig(keys=(Secret(KEY),)))
    assert await room.refused() == 401
    assert await room.refused(headers={"Authorization": "Bearer wrong"}) == 401
    client = await room.connect(headers={"Authorization": f"Bearer {KEY}"})
    assert await client.result("eth_chainId") == "0x7a69"


async def test_a_connection_is_closed_when_its_key_expires(serve_sockets):
    ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=3)
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    room = await serve_sockets(auth=AuthConfig(keys=(NamedKey("bot", sha256=digest, expires=ends),)))
    headers = {"Authorization": f"Bearer {KEY}"}
    client = await room.connect(headers=headers)
    assert await client.result("eth_chainId") == "0x7a69"
    assert await client.closed() == 1008
    assert datetime.datetime.now(datetime.UTC) >= ends
    assert await room.refused(headers=headers) == 401


async def test_paths_without_a_chain_are_refused_before_the_upgrade(serve_sockets):
    room = await serve_sockets()
    assert await room.refused("/v2/rpc/1") == 503
    assert await room.refused("/v2/rpc/mainnet") == 422
    assert await room.refused("/v2/networks") == 200


async def test_a_get_without_upgrade_is_no_method_of_the_path(serve_sockets):
    room = await serve_sockets()
    answer = await room.api.get(PATH)
    assert (answer.status, answer.body["error"]["code"]) == (405, "invalid_request")
    assert "POST" in answer.headers["Allow"]
    answer = await room.api.get(PATH, headers={"Upgrade": "websocket"})
    assert answer.status == 400


async def test_connections_are_limited_in_all_and_for_each_caller(serve_sockets):
    room = await serve_sockets(
        {"connections": 3, "connections_per_caller": 2}, server={"trusted_proxies": ("127.0.0.1/32",)}
    )
    one, other, third = ({"X-Forwarded-For": f"203.0.113.{n}"} for n in (1, 2, 3))
    first = await room.connect(headers=one)
    await room.connect(headers=one)
    assert await room.refused(headers=one) == 429
    await room.connect(headers=other)
    assert await room.refused(headers=third) == 503
    await first.ws.close()

    async def has_room():
        return await room.metric("quoteway_sockets") == 2

    await room.until(has_room)
    await room.connect(headers=third)


# --- closing ------------------------------------------------------------------------------------------------


async def test_calls_in_binary_frames_are_answered_in_text(serve_sockets):
    """web3.py sends them so."""
    room = await serve_sockets()
    client = await room.connect()
    await client.ws.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}')
    await client.until(lambda: 1 in client.answers)
    await client.ws.send_bytes(b"\xff")
    await client.until(lambda: None in client.answers)
    assert client.answers[None]["error"]["code"] == -32700


async def test_a_too_long_message_closes_the_connection(serve_sockets):
    room = await serve_sockets(server={"rpc_body_limit_bytes": 1_024})
    client = await room.connect()
    await client.ws.send_str(" " * 1_100)
    assert await client.closed() == 1009


FRAMES = {
    "reserved": b"\xf1\x80aaaa",
    "opcode": b"\x83\x80aaaa",
    "long-ping": b"\x89\xfe\x01\x00aaaa" + b"b" * 256,
    "continuation": b"\x80\x82aaaa{}",
}


@pytest.mark.parametrize("name", FRAMES)
async def test_malformed_frames_close_the_connection(serve_sockets, name):
    room = await serve_sockets()
    reader, writer = await asyncio.open_connection("127.0.0.1", room.api.port)
    writer.write(HANDSHAKE)
    async with asyncio.timeout(DEADLINE_S):
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 101 " in head
        assert b"aiohttp" not in head
        assert b"X-Request-ID" in head
        writer.write(FRAMES[name])
        assert (await reader.read()).startswith(b"\x88")
    writer.close()

    async def gone():
        return await room.metric("quoteway_sockets") == 0

    await room.until(gone)


async def test_a_client_that_does_not_read_is_disconnected_and_costs_others_nothing(serve_sockets):
    room = await serve_sockets({"queue_bytes": 65_536, "write_timeout_s": 60})
    good = await room.connect()
    heads = await good.result("eth_subscribe", "newHeads")
    reader, writer = await asyncio.open_connection("127.0.0.1", room.api.port, limit=1_024)
    writer.write(HANDSHAKE)
    await reader.readuntil(b"\r\n\r\n")
    for n in range(100):
        writer.write(
            frame(json.dumps({"jsonrpc": "2.0", "id": n, "method": "eth_subscribe", "params": ["newHeads"]}))
        )
    await writer.drain()

    async def subscribed():
        return await room.metric('quoteway_socket_subscriptions{kind="newHeads"}') == 101

    await room.until(subscribed)
    mined = 0
    async with asyncio.timeout(DEADLINE_S):
        while await room.metric('quoteway_sockets_closed_total{cause="slow"}') == 0:
            await room.rpc("anvil_mine", "0x10")
            mined += 16
    await good.until(lambda: len(good.told.get(heads, ())) == mined)
    assert await room.metric("quoteway_sockets") == 1
    assert await room.metric('quoteway_socket_subscriptions{kind="newHeads"}') == 1
    writer.close()


async def test_a_client_that_reads_gets_many_missed_blocks_at_once(serve_sockets):
    room = await serve_sockets({"queue_bytes": 65_536})
    client = await room.connect()
    heads = await client.result("eth_subscribe", "newHeads")
    room.node.broken = UpstreamError("No node answered.")
    await room.rpc("anvil_mine", "0xc8")
    room.node.broken = None
    await client.until(lambda: len(client.told.get(heads, ())) == 200)
    numbers = [int(head["number"], 16) for head in client.told[heads]]
    assert numbers == list(range(numbers[0], numbers[0] + 200))


def frame(text):
    """A masked text frame (RFC 6455, section 5.2); the mask is zero."""
    raw = text.encode()
    assert len(raw) < 126
    return bytes([0x81, 0x80 | len(raw)]) + bytes(4) + raw


async def test_a_client_that_answers_no_ping_is_disconnected(serve_sockets):
    room = await serve_sockets({"ping_s": 0.2})
    await room.connect()
    silent = await room.api.session.ws_connect(room.api.url + PATH, autoping=False)

    async def dropped():
        return await room.metric('quoteway_sockets_closed_total{cause="silent"}') == 1

    await room.until(dropped)
    assert await room.metric("quoteway_sockets") == 1
    await silent.close()


async def test_too_many_missed_blocks_close_the_connection(serve_sockets, monkeypatch):
    monkeypatch.setattr("quoteway.evm.block_feed.MAX_GAP_BLOCKS", 20)
    room = await serve_sockets()
    client = await room.connect()
    await client.result("eth_subscribe", "logs")
    room.node.broken = UpstreamError("No node answered.")
    await room.rpc("anvil_mine", "0x20")
    room.node.broken = None
    assert await client.closed() == 4001


async def test_the_service_says_goodbye(serve_sockets):
    room = await serve_sockets()
    client = await room.connect()
    heads = await client.result("eth_subscribe", "newHeads")
    idle = await room.connect()
    await room.rpc("evm_mine")
    await client.until(lambda: client.told.get(heads))
    await room.api.runner.shutdown()
    assert await client.closed() == await idle.closed() == 1001
    assert await room.refused() == 503
