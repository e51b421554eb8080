"""The light path and aiohttp answer the same request alike, byte for byte, and cut the same requests."""

import asyncio
import itertools
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from light_room import LONG, Node, Room, both, call, post, probe
from quoteway.host.isolation.descriptions import _proxy_class
from quoteway.models import Capability
from quoteway.networks import Network
from quoteway.web.http import light as light_path

ADDRESS = b'"0x' + b"ab" * 20 + b'"'
ID = b"X-Request-ID: mine-1"
TRACE = b"traceparent: 00-" + b"ab" * 16 + b"-" + b"cd" * 8 + b"-01"


@pytest.fixture
async def room(serve_app, monkeypatch, make_config):
    node = Node()
    config = make_config(cors_origins=("https://app.example",), access_log="all")
    room = Room(await serve_app({"node": node}, config=config), node, monkeypatch)
    # Compares the chain id: nothing that is held is given before.
    await room.exchange([post(call("eth_getCode", b'["0x00"]'))], light=True)
    room.taken.clear()
    node.kept_asked.clear()
    return room


TAKEN = {
    "local": call(),
    "network version": call("net_version"),
    "hash": call("web3_sha3", b'["0x00"]'),
    "kept": call("eth_getBalance", b'["0x' + b"ab" * 20 + b'", "latest"]'),
    "kept and long": call("eth_getBlockReceipts", b'["0x1"]'),
    "forwarded": call("eth_getCode", b"[%b,null]" % ADDRESS),
    "long": call("eth_getLogs", b"[{}]"),
    "text id": call(call_id=b'"a\\u00e9\\"b"'),
    "float id": call(call_id=b"7.0"),
    "null id": call(call_id=b"null"),
    "notification": b'{"jsonrpc":"2.0","method":"eth_chainId"}',
    "spaces inside": b'{ "jsonrpc" : "2.0",\r\n"id":1, "method":"eth_chainId"}  ',
    "member twice": b'{"jsonrpc":"2.0","id":1,"id":2,"method":"eth_gasPrice","method":"eth_chainId"}',
    "params null": call(params=b"null"),
    "other members": b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","x":[{}]}',
    "client version": call("web3_clientVersion"),
    "new filter": call("eth_newFilter", b"[{}]"),
    "unknown filter": call("eth_getFilterChanges", b'["0x1"]'),
    "error of the node": call("eth_gasPrice"),
    "no answer of the node": call("eth_syncing"),
    "bug of the plugin": call("eth_blobBaseFee"),
    "refused method": call("eth_sendRawTransaction", b'["0x00"]'),
    "method that is no name": call("a b\\u0000"),
    "refused parameters": call(params=b"[1]"),
    "deep parameters": call("eth_getCode", b"[" * 60 + b"]" * 60),
    "very deep": b'{"jsonrpc":' + b"[" * 5_000,
    "misspelt member": b'{"jsonrpc":"2.0","id":1,"METHOD":"eth_chainId","method":"eth_chainId"}',
    "bad id": call(call_id=b"[1]"),
    "other version": b'{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}',
    "no JSON": b"{not json",
    "bad UTF-8": b'{"jsonrpc":"2.0","id":"\xff","method":"eth_chainId"}',
    "NaN": call(params=b"[NaN]"),
    "two values": call() + call(),
}
FIELDS = {
    "request id": ID,
    "bad request id": b"X-Request-ID: <mine>",
    "empty request id": b"X-Request-ID:",
    "trace": TRACE,
    "bad trace": b"traceparent: 00-zz",
    "origin": b"Origin: https://app.example",
    "other origin": b"Origin: https://other.example",
    "keep-alive": b"Connection: keep-alive",
    "forwarded": b"X-Forwarded-For: 198.51.100.7",
    "cookie": b"Cookie: a=b",
    "not ASCII": b"X: \xc3\xa9\xff",
    "key": b"Authorization: Bearer x",
    "accept": b"Accept-Encoding: gzip, br",
}
LEFT = {
    "batch": post(b"[%b]" % call()),
    "space first": post(b" " + call()),
    "text": post(b'"x"'),
    "empty": post(b""),
    "another media type": post(call()).replace(b"application/json", b"text/plain"),
    "charset": post(call()).replace(b"application/json", b"application/json; charset=latin-1"),
    "no media type": post(call()).replace(b"Content-Type", b"X-Type"),
    "two media types": post(call(), b"Content-Type: text/plain"),
    "close": post(call(), b"Connection: close"),
    "upgrade": post(call(), b"Connection: upgrade", b"Upgrade: websocket"),
    "upgrade to HTTP/2": post(call(), b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c"),
    "lone upgrade": post(call(), b"Upgrade: websocket"),
    "expect": post(call(), b"Expect: 100-continue"),
    "unknown expectation": post(call(), b"Expect: x"),
    "chunked": post(call(), b"Transfer-Encoding: chunked"),
    "coded": post(call(), b"Content-Encoding: gzip"),
    "two lengths": post(call(), b"Content-Length: 1"),
    "signed length": post(call(), size=0).replace(b"Length: 0", b"Length: +%d" % len(call())),
    "length too short": post(call(), size=len(call()) - 1),
    "length too long": post(call(), size=len(call()) + 1),
    "two hosts": post(call(), b"Host: y"),
    "no host": post(call()).replace(b"Host: x\r\n", b""),
    "folded": post(call(), b"X: a\r\n b"),
    "bare line feed": post(call(), b"X: a\nY: b"),
    "bare carriage return": post(call(), b"X: a\rY: b"),
    "NUL": post(call(), b"X: a\0b"),
    "space before a colon": post(call(), b"X : a"),
    "HTTP/1.0": post(call(), b"Connection: keep-alive").replace(b"HTTP/1.1", b"HTTP/1.0"),
    "line feeds first": b"\r\n" + post(call()),
    "two requests": post(call()) * 2,
    "query": post(call(), path=b"/v2/rpc/1?a=1"),
    "leading zero": post(call(), path=b"/v2/rpc/01"),
    "chain id of 17 digits": post(call(), path=b"/v2/rpc/" + b"1" * 17),
    "no number": post(call(), path=b"/v2/rpc/x"),
    "no chain": post(call(), path=b"/v2/rpc/"),
    "more path": post(call(), path=b"/v2/rpc/1/"),
    "coded digit": post(call(), path=b"/v2/rpc/%31"),
    "absolute": post(call(), path=b"http://x/v2/rpc/1"),
    "over-long field": post(call(), b"X: " + b"a" * 9_000),
    "too many fields": post(call(), *(b"X-%d: a" % n for n in range(200))),
    "another operation": post(b"{}", path=b"/v2/swaps/quote"),
    "get": probe(path=b"/readyz"),
}
LEFT_PROBES = {
    "query": probe(path=b"/healthz?a=1"),
    "more path": probe(path=b"/healthz/"),
    "head": probe().replace(b"GET", b"HEAD"),
    "post": probe(b"Content-Length: 0").replace(b"GET", b"POST"),
    "empty body": probe(b"Content-Length: 0"),
    "body": probe(b"Content-Length: 4") + b"\r\n\r\n",
    "chunked": probe(b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
    "close": probe(b"Connection: close"),
    "upgrade": probe(b"Connection: upgrade", b"Upgrade: websocket"),
    "expect": probe(b"Expect: 100-continue"),
    "two probes": probe() * 2,
    "probe and call": probe() + post(call()),
    "HTTP/1.0": probe().replace(b"HTTP/1.1", b"HTTP/1.0"),
    "no host": probe().replace(b"Host: x\r\n", b""),
    "two hosts": probe(b"Host: y"),
    "bare line feed": probe(b"X: a\nY: b"),
    "NUL": probe(b"X: a\0b"),
    "space before a colon": probe(b"X : a"),
    "over-long field": probe(b"X: " + b"a" * 9_000),
}


@pytest.mark.parametrize("case", TAKEN)
async def test_a_call_is_answered_alike(room, case):
    assert await both(room, post(TAKEN[case])) == [TAKEN[case]] * 2


@pytest.mark.parametrize("case", FIELDS)
@pytest.mark.parametrize("method", ["eth_chainId", "eth_getCode", "eth_syncing"])
async def test_a_field_counts_alike(room, case, method):
    body = call(method, b"[%b]" % ADDRESS if method == "eth_getCode" else b"[]")
    assert await both(room, post(body, FIELDS[case])) == [body] * 2


@pytest.mark.parametrize("case", FIELDS)
async def test_a_field_of_a_probe_counts_alike(room, case):
    assert await both(room, probe(FIELDS[case])) == [probe(FIELDS[case])] * 2


@pytest.mark.parametrize("case", LEFT_PROBES)
async def test_a_probe_that_is_not_plain_is_left_to_aiohttp(room, case):
    assert await both(room, LEFT_PROBES[case]) == []


async def test_a_probe_is_answered_before_the_requests_that_came_first(room):
    slow, wire = room.connect(), room.connect()
    await wire.rest(3)
    await slow.feed(probe(path=b"/v2/networks"), turns=0)
    wire.protocol.data_received(probe())
    assert bytes(wire.out).endswith(b'{"status":"ok"}'), "at once"
    assert not slow.out
    await slow.rest()
    assert slow.out


async def test_a_chain_that_is_not_served(room):
    assert len(await both(room, post(call(), path=b"/v2/rpc/7"))) == 2


async def test_an_answer_has_the_id_and_trace_of_its_request(room):
    out, _ = await room.exchange([post(call(), ID, TRACE)], light=True)
    assert b"\r\nX-Request-ID: mine-1\r\n" in out
    assert re.search(rb"\r\ntraceparent: 00-(ab){16}-x-01\r\n", out)


@pytest.mark.parametrize("case", LEFT)
async def test_what_is_not_plain_is_left_to_aiohttp(room, case):
    request = LEFT[case]
    assert await both(room, request) == []


@pytest.mark.parametrize("split", [1, 30, -1, -100])
async def test_a_request_in_two_pieces_is_left_and_the_next_one_taken(room, split):
    request = post(call("eth_getCode", b"[%b]" % ADDRESS))
    chunks = [request[:split], request[split:], request]
    assert await room.exchange(chunks, light=True) == await room.exchange(chunks, light=False)
    in_body = split in (-1, -100)
    assert len(room.taken) == in_body, "after a head in two pieces the connection stays aiohttp's"


async def test_requests_of_both_kinds_on_one_connection(room):
    chunks = [post(call()), LEFT["get"], post(call("eth_gasPrice")), LEFT["batch"], post(call())]
    assert await room.exchange(chunks, light=True) == await room.exchange(chunks, light=False)
    assert len(room.taken) == 3


async def test_the_policy_comes_before_what_is_kept(room):
    for body in (
        call("eth_sendRawTransaction", b'["0x"]'),
        call("eth_getBalance"),
        call("web3_clientVersion"),
    ):
        await room.exchange([post(body)], light=True)
    assert not room.node.kept_asked
    params = b'[{"to":%b,"x":1}, "0x1"]' % ADDRESS
    await room.exchange([post(call("eth_call", params))] * 2, light=True)
    # With the gas of calls that state none, and without members that no node is sent.
    assert room.node.kept_asked[-1] == (
        "ethereum",
        "eth_call",
        b'[{"to":%b,"gas":"0x2faf080"},"0x1"]' % ADDRESS,
    )


async def test_a_kept_call_is_counted_and_not_forwarded(room):
    body = call("eth_getBalance", b"[%b]" % ADDRESS)
    out, _ = await room.exchange([post(body)], light=True)
    assert out.endswith(b'\r\n\r\n{"jsonrpc":"2.0","id":1,"result":"0x5"}')
    assert "eth_getBalance" not in [method for method, _ in room.node.forwarded]

    def counted():
        registry = room.api.gateway.registry
        (row,) = (
            row for row in registry.calls.methods(registry.rpc_upstreams(1)[0]) if row.method == "forward"
        )
        return row.outcomes["quoted"]

    before = counted()
    await room.exchange([post(body)], light=True)
    assert counted() == before + 1


async def test_metrics_and_the_log_count_a_probe(room, caplog):
    caplog.set_level("INFO", "quoteway.web")
    for light in (True, False):
        caplog.clear()
        await room.exchange([probe(ID)], light=light)
        (record,) = [record for record in caplog.records if record.message == "request"]
        assert (record.route, record.method, record.status) == ("/healthz", "GET", 200)
        text = (await room.api.get("/metrics")).raw.decode()
        labels = 'method="GET",route="/healthz",status="200"'
        assert f"quoteway_http_requests_total{{{labels}}} {1 if light else 2}.0\n" in text


async def test_metrics_and_the_log_count_a_request(room, caplog):
    caplog.set_level("INFO", "quoteway.web")
    for light in (True, False):
        caplog.clear()
        await room.exchange([post(call(), ID)], light=light)
        (record,) = [record for record in caplog.records if record.message == "request"]
        assert (record.route, record.method, record.status) == ("/v2/rpc/{chainId}", "POST", 200)
        assert record.request_id == "mine-1"
        text = (await room.api.get("/metrics")).raw.decode()
        labels = 'method="POST",route="/v2/rpc/{chainId}",status="200"'
        assert f"quoteway_http_requests_total{{{labels}}} {2 if light else 3}.0\n" in text


@pytest.mark.parametrize("held", [ValueError("canary"), "text", 5], ids=["raises", "text", "number"])
async def test_what_is_not_held_as_declared_is_asked_for(room, held):
    room.node.held["eth_getBalance"] = held
    body = post(call("eth_getBalance", b"[%b]" % ADDRESS))
    out, _ = await room.exchange([body] * 2, light=True)
    assert out.count(b'"result":{"of":"eth_getBalance"}') == 2
    assert b"canary" not in out


async def test_a_call_that_was_held_is_asked_for_when_it_no_longer_is(room):
    body = post(call("eth_getBalance", b"[%b]" % ADDRESS))
    held, _ = await room.exchange([body] * 2, light=True)
    del room.node.held["eth_getBalance"]
    asked, _ = await room.exchange([body] * 2, light=True)
    assert (held.count(b'"0x5"'), asked.count(b'{"of":"eth_getBalance"}')) == (2, 2)


def test_a_plugin_in_a_process_of_its_own_holds_nothing():
    made = _proxy_class(Capability.RPC)(None, "node")
    assert made.kept(Network("ethereum", 1, "Ethereum"), "eth_call", b"[]") is None


async def test_few_heads_are_remembered(room, monkeypatch):
    monkeypatch.setattr(light_path, "MAX_HEADS", 3)
    heads = room.server._light._heads
    for number in range(10):
        await room.exchange([post(call(), b"X: %d" % number)], light=True)
        assert 1 <= len(heads) <= 3
    before = len(heads)
    await room.exchange(
        [post(call(), ID), post(call(), TRACE), post(call(), b"X: " + b"a" * 3_000)], light=True
    )
    assert len(heads) == before, "what does not come again or is long is not"
    assert len(room.taken) == 13


async def test_starting_and_long_answers(room):
    room.api.gateway.ready = False
    assert len(await both(room, post(call()))) == 2
    room.api.gateway.ready = True
    out, _ = await room.exchange([post(TAKEN["long"])], light=True)
    assert out.endswith(LONG + b"}")


# --- random requests ----------------------------------------------------------------------------------------

REQUESTS = [post(call()), post(TAKEN["kept"]), post(TAKEN["forwarded"], ID), LEFT["get"], LEFT["batch"]]
PIECES = [
    *(b"\r\n", b"\n", b"\r", b" ", b"\t", b"\0", b"\r\n\r\n", b": ", b"0", b"1", b"{", b"}", b",", b"\xff"),
    *(b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Host: y\r\n"),
    *(b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"Connection: Upgrade\r\nUpgrade: x\r\n"),
    *(b"X: a\r\n b\r\n", b"0\r\n\r\n", b"POST /v2/rpc/1 HTTP/1.1\r\n", b"HTTP/1.0", b"content-length:9\r\n"),
    *REQUESTS,
]


@st.composite
def streams(draw):
    """Chunks of bytes that are almost requests."""
    stream = bytearray(b"".join(draw(st.lists(st.sampled_from(REQUESTS), min_size=1, max_size=3))))
    for _ in range(draw(st.integers(0, 3))):
        lines = [m.end() for m in re.finditer(rb"\r\n", stream)]
        at = draw(st.one_of(st.integers(0, len(stream)), st.sampled_from([0, *lines])))
        upto = draw(st.sampled_from([at, at, at, at + 1, at + 2, at + 20]))
        stream[at:upto] = draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=2)))
    ends = [m.start() for m in re.finditer(rb"POST|GET", stream)]
    cuts = draw(st.sets(st.integers(0, len(stream)), max_size=2))
    at = sorted({0, *ends[draw(st.integers(0, 1)) :], *cuts, len(stream)})
    return [bytes(stream[a:b]) for a, b in itertools.pairwise(at)]


@pytest.mark.slow
async def test_random_streams_are_cut_and_answered_alike(room):
    loop = asyncio.get_running_loop()
    seen = 0

    def run(chunks):
        async def compare():
            plain = await room.exchange(chunks, light=False)
            assert await room.exchange(chunks, light=True) == plain

        return asyncio.run_coroutine_threadsafe(compare(), loop).result(60)

    @settings(max_examples=1_500, deadline=None, suppress_health_check=list(HealthCheck))
    @given(streams())
    def fuzz(chunks):
        nonlocal seen
        seen += 1
        run(chunks)

    await asyncio.to_thread(fuzz)
    assert seen >= 1_000
    assert len(room.taken) >= 300, "the light path takes a part of them"
