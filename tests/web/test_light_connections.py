"""A connection on which the light path answers: order, disconnects, slow readers, places, the end."""

import asyncio
import re

import pytest
from light_room import LONG, Node, Room, Wire, call, plain, post
from quoteway.web.http.protocol import EnvelopeServer, _waits_for_request

WAITS = post(call("eth_blockNumber", call_id=b"11"))
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
async def room(serve_app, monkeypatch):
    node = Node()
    room = Room(await serve_app({"node": node}), node, monkeypatch)
    await room.exchange([post(call("eth_getCode", b'["0x00"]'))], light=True)  # compares the chain id
    return room


async def begun(room, *chunks):
    """A connection whose first request waits for the node."""
    wire = room.connect()
    await wire.rest(3)
    await wire.feed(WAITS)
    for chunk in chunks:
        wire.protocol.data_received(chunk)
    assert room.taken[-1] == call("eth_blockNumber", call_id=b"11")
    assert not wire.out
    return wire


def ids(wire):
    return [int(each) for each in re.findall(rb'"id":(\d+)', bytes(wire.out))]


async def test_requests_that_come_early_are_answered_in_their_order(room):
    early = post(call(call_id=b"12")) + post(call("eth_gasPrice", call_id=b"13"))
    wire = await begun(room, early)
    assert wire.paused, "no more is read than is kept"
    room.node.released.set()
    await wire.rest()
    assert not wire.paused
    await wire.feed(post(call(call_id=b"14")))
    assert ids(wire) == [11, 12, 13, 14]


async def test_one_early_request_is_taken_and_the_next_too(room):
    wire = await begun(room, post(call("eth_gasPrice", call_id=b"12")))
    room.node.released.set()
    await wire.rest()
    await wire.feed(post(call(call_id=b"13")))
    assert ids(wire) == [11, 12, 13]
    assert len(room.taken) == 4


async def test_a_request_of_aiohttps_is_answered_before_the_next_is_taken(room):
    wire = room.connect()
    await wire.rest(3)
    wire.protocol.data_received(post(b"[%b]" % call("eth_blockNumber", call_id=b"11")))
    wire.protocol.data_received(post(call(call_id=b"12")))
    await wire.rest()
    assert not wire.out
    room.node.released.set()
    await wire.rest()
    assert ids(wire) == [11, 12]


async def test_a_head_in_two_pieces_is_not_mixed_with_a_whole_request(room):
    """The second chunk is a whole request by itself, and here a part of a header."""
    chunks = [GET[:-2] + b"X: ", post(call())]
    assert await room.exchange(chunks, light=True) == await room.exchange(chunks, light=False)
    assert len(room.taken) == 1, "the one of the fixture"


async def test_a_body_that_is_a_request(room):
    hidden = post(call())
    head = b"POST /v2/swaps/quote HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    chunks = [head + b"Content-Length: %d\r\n\r\n" % len(hidden), hidden, hidden]
    assert await room.exchange(chunks, light=True) == await room.exchange(chunks, light=False)
    assert len(room.taken) == 2, "the third chunk alone is a request"


@pytest.mark.parametrize("empty_lines", [2, 4])
async def test_empty_lines_before_a_request_do_not_shift_its_end(room, empty_lines):
    """Counted from the first empty lines, the request ends with the first chunk. The second is its body."""
    hidden = post(call(), b"X: " + b"a" * 300)
    head = b"POST /v2/swaps/quote HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: %d\r\nX: %%b\r\n\r\n" % len(hidden)
    first = b"\r\n" * empty_lines + head % (b"a" * (len(hidden) + 4 - 2 * empty_lines - len(head % b"")))
    assert 4 + len(hidden) == len(first)
    chunks = [first, hidden, post(call())]
    assert await room.exchange(chunks, light=True) == await room.exchange(chunks, light=False)
    assert call() not in room.taken


@pytest.mark.parametrize("cancels", [False, True])
async def test_a_lost_connection_ends_a_request_where_those_of_aiohttp_end(room, cancels):
    room.server.handler_cancellation = cancels
    wire = await begun(room)
    answering = wire.protocol._answering
    wire.close()
    await wire.rest()
    assert answering.cancelled() == cancels
    room.node.released.set()
    await wire.rest()
    assert answering.done()
    assert not wire.out


async def test_a_connection_under_way_keeps_its_place(room):
    wire = await begun(room)
    assert not _waits_for_request(wire.protocol)
    wire.protocol._next_keepalive_close_time = 0.0
    wire.protocol._process_keepalive()
    assert not wire.closed
    room.node.released.set()
    await wire.rest()
    assert _waits_for_request(wire.protocol)
    assert wire.protocol._next_keepalive_close_time > asyncio.get_running_loop().time()
    wire.protocol._next_keepalive_close_time = 0.0
    wire.protocol._process_keepalive()
    assert wire.closed, "idle for too long"


async def test_each_answer_restarts_the_keepalive_time(room):
    wire = room.connect()
    await wire.rest(3)
    wire.protocol._next_keepalive_close_time = 0.0
    await wire.feed(post(call()))
    wire.protocol._process_keepalive()
    assert not wire.closed
    assert wire.protocol._request_count == 1


async def test_the_oldest_idle_connection_gives_its_place(room):
    async def nothing(request):
        raise AssertionError

    middleware = room.server._light
    loop = asyncio.get_running_loop()
    server = EnvelopeServer(nothing, loop=loop, send_timeout_s=30, max_connections=2, light=middleware)
    busy, idle = Wire(server()), Wire(server())
    await idle.rest(3)
    await busy.feed(WAITS)
    await idle.feed(post(call()))
    newest = Wire(server())
    assert (busy.closed, idle.closed, newest.closed) == (False, True, False)
    room.node.released.set()
    await busy.rest()
    assert ids(busy) == [11]


async def test_a_slow_reader_is_left_to_aiohttp_and_cut_off(room):
    wire = room.connect()
    await wire.rest(3)
    wire.protocol.pause_writing()
    await wire.feed(post(call()))
    assert len(room.taken) == 1, "the one of the fixture"
    assert wire.protocol._send_deadline is not None
    wire.protocol._send_deadline._callback()
    await wire.rest()
    assert wire.closed


async def test_a_long_answer_waits_for_its_reader(room):
    wire = room.connect()
    await wire.rest(3)
    await wire.feed(post(call("eth_getLogs", b"[{}]")), turns=1)
    wire.protocol.pause_writing()
    await wire.rest()
    assert wire.protocol._answering is not None
    wire.protocol.resume_writing()
    await wire.rest()
    assert bytes(wire.out).endswith(LONG + b"}")
    assert wire.protocol._answering is None


async def test_a_request_under_way_is_answered_before_the_end(room):
    wire = await begun(room, post(call(call_id=b"12")))
    room.server.pre_shutdown()
    stopping = asyncio.create_task(room.server.shutdown(30))
    await wire.rest()
    assert not wire.closed
    room.node.released.set()
    await stopping
    assert ids(wire) == [11], "what comes later is not begun"
    assert wire.closed


async def test_an_idle_connection_takes_nothing_while_the_server_stops(room):
    wire = room.connect()
    await wire.feed(post(call()))
    room.server.pre_shutdown()
    await wire.feed(post(call()))
    assert ids(wire) == [1]


async def test_a_request_that_takes_too_long(serve_app, make_config, monkeypatch):
    config = make_config(request_timeout_s=0.05)
    room = Room(await serve_app({"node": Node()}, config=config), Node(), monkeypatch)
    found = []
    for light in (True, False):
        wire = room.connect(light=light)
        await wire.rest(3)
        wire.protocol.data_received(WAITS)
        async with asyncio.timeout(30):
            while not wire.out:
                await asyncio.sleep(0.01)
        found.append(plain(bytes(wire.out)))
    assert found[0] == found[1]
    assert found[0].startswith(b"HTTP/1.1 502 ")
    assert len(room.taken) == 1
