"""What crosses to an isolated plugin arrives exactly, and nothing else crosses."""

import asyncio
import logging
import pickle
import socket
import sys
import time

import msgspec
import pytest
from quoteway import models
from quoteway.errors import FieldError, InvalidRequest, NotFound, Reason, RpcError, UpstreamError
from quoteway.host.isolation import link as link_module
from quoteway.host.isolation.codec import MAX_DEPTH, Uncodable, decode, encode, is_deep
from quoteway.host.isolation.link import Link, frame, read_frame
from quoteway.models import Block, Capability, Incomplete, Leg, Quote, Token
from quoteway.networks import Endpoint, Network
from quoteway.secrets import Secret

TOKEN = Token(1, "0x1111111111111111111111111111111111111111", 18, "T", price_usd=1.5)
LEG = Leg(TOKEN, (1 << 256) - 1, "0x2222222222222222222222222222222222222222", amount_min=-(1 << 255))


@pytest.mark.parametrize(
    "value",
    [
        *(
            sign * ((1 << bits) + add)
            for bits in (0, 31, 63, 64, 255, 256)
            for add in (-1, 0, 1)
            for sign in (1, -1)
        ),
        (b"", b"\x00\xff", "", "ü", None, True, False, 1.5, -0.0),
        ((), [], {}, ([], ()), {"a": {"b": (1, [2])}}, {1: 2, (3, 4): 5}),
        frozenset({1, 2}),
        Capability.SWAP,
        Reason.NO_ROUTE,
        Secret("value"),
        Network(
            "one", 1, "One", endpoints=(Endpoint("https://node", {"a": "b"}),), deployments={"u": ({"x": 1},)}
        ),
        Quote((LEG,), (LEG,), Block(1, "0x", 2, 3), {"plan": [1, {"deep": 1 << 100}]}, net_output=1 << 300),
    ],
    ids=repr,
)
def test_a_value_arrives_as_it_was(value):
    arrived = decode(encode(value))
    assert arrived == value
    assert repr(arrived) == repr(value)  # True is not 1, a tuple no list


def test_rows_that_are_not_all_arrive_with_the_reason():
    arrived = decode(encode(Incomplete([LEG], "logs_unavailable")))
    assert type(arrived) is Incomplete
    assert (list(arrived), arrived.reason) == ([LEG], "logs_unavailable")


def test_every_model_may_cross():
    codable = {kind.__name__ for kind in vars(models).values() if hasattr(kind, "__dataclass_fields__")}
    from quoteway.host.isolation.codec import _CODES

    assert codable <= {kind.__name__ for kind in _CODES}


@pytest.mark.parametrize(
    "error",
    [
        InvalidRequest("no", fields=(FieldError("a", Reason.MISSING, "is missing"),), limit=1 << 200),
        NotFound("gone", reason=Reason.QUOTE_EXPIRED, retryable=False, headers={"Retry-After": "1"}),
        RpcError(3, "execution reverted", "0x08c379a0"),
    ],
    ids=repr,
)
def test_an_error_arrives_with_its_members(error):
    arrived = decode(encode(error))
    assert type(arrived) is type(error)
    assert vars(arrived) == vars(error)


def test_a_plugins_own_error_arrives_as_the_error_it_extends():
    class OwnError(UpstreamError):
        pass

    arrived = decode(encode(OwnError("failed")))
    assert type(arrived) is UpstreamError
    assert arrived.message == "failed"


@pytest.mark.parametrize("value", [object(), len, Token, 1 << 5000, {"a": [object()]}, 1j])
def test_what_is_no_model_does_not_cross(value):
    with pytest.raises(Uncodable):
        encode(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        pickle.dumps(TOKEN),
        msgspec.msgpack.encode({"a": 1}),
        msgspec.msgpack.encode([9999, 1]),
        msgspec.msgpack.encode([-1, 1]),
        msgspec.msgpack.encode(["os.system", "id"]),
        msgspec.msgpack.encode([8]),
        msgspec.msgpack.encode([7, 99, "no"]),
        msgspec.msgpack.encode([7, -1, "RpcError needs a code"]),
        msgspec.msgpack.encode([6, 0, "no capability"]),
        msgspec.msgpack.encode([4, bytes(200)]),
        msgspec.msgpack.encode([2, 1]),
        msgspec.msgpack.encode([2, [1], 1]),
        b"\x91" * 100_000 + b"\xc0",
        msgspec.msgpack.encode(msgspec.msgpack.Ext(1, b"")),
    ],
    ids=lambda data: repr(data[:8]),
)
def test_bytes_that_are_no_message_are_refused(data):
    with pytest.raises(Uncodable):
        decode(data)


def nested(levels):
    """A message with values of every kind beside the arrays."""
    value = [b"x" * 300, "y" * 40, "z" * 70_000, 1 << 40, -5, 1.5, None, True, list(range(20))]
    for level in range(levels - 3):
        value = [level, value, "x" * level]
    return msgspec.msgpack.encode([value])


@pytest.fixture
def deep_python():
    """The limit that some libraries set: Python's own check comes after the end of the stack then."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("deep_python")
def test_a_deep_message_ends_no_process():
    for data in (b"\x91" * 100_000 + b"\xc0", b"\x81\xc0" * 100_000, b"\xdd\0\0\0\x01" * 50_000):
        with pytest.raises(Uncodable, match="levels"):
            decode(data)


@pytest.mark.parametrize("levels", [3, 10, MAX_DEPTH, MAX_DEPTH + 1])
def test_the_levels_of_a_message_are_counted(levels):
    assert is_deep(nested(levels)) is (levels > MAX_DEPTH)
    assert not is_deep(nested(levels)[:100])
    wide = msgspec.msgpack.encode([[[] for _ in range(1_000)], {"a": [{}]}, msgspec.msgpack.Ext(1, b"12345")])
    assert not is_deep(wide)


@pytest.fixture
async def linked():
    """``await linked(serve, told=...)``: a link, the socket of its other end, and why it is lost."""
    links, ends = [], []

    async def nothing(verb, arguments):
        raise AssertionError("nothing is asked")

    async def make(serve=nothing, told=lambda name, level, text: logging.log(level, name + text)):
        lost = asyncio.get_running_loop().create_future()
        here, there = socket.socketpair()
        links.append(Link(serve, lambda why: lost.done() or lost.set_result(why), told=told))
        ends.append(there)
        await links[-1].attach(here)
        return links[-1], there, lost

    yield make
    for link in links:
        link.close()
    for end in ends:
        end.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x01\xc1",
        (len(encode(("jump", 1)))).to_bytes(4) + encode(("jump", 1)),
        (len(encode(("log", 1, "x", None)))).to_bytes(4) + encode(("log", 1, "x", None)),
    ],
    ids=["too long", "no message", "no such message", "a log record of other types"],
)
async def test_a_process_that_sends_something_else_is_cut_off(sent, linked):
    link, there, lost = await linked()
    answer = asyncio.create_task(link.ask("ping"))
    there.sendall(sent)
    async with asyncio.timeout(30):
        assert "cannot be read" in await lost
    with pytest.raises(UpstreamError):
        await answer


def test_a_message_of_millions_of_empty_arrays_is_refused_before_it_is_read():
    """16 MB of them kept the interpreter's lock for 11 s and took 1.2 GB."""
    size = link_module.MAX_FRAME_BYTES - 5
    with pytest.raises(Uncodable, match="arrays"):
        decode(b"\xdd" + size.to_bytes(4) + b"\x90" * size)
    assert len(decode(encode([()] * 100_000))) == 100_000


async def test_a_flood_of_messages_leaves_the_loop_to_others(linked):
    told = []
    _, there, _ = await linked(told=lambda *record: told.append(record))
    there.sendall(frame(("log", "flood", 10, "x")) * 1_000)
    most, before = 0, 0
    async with asyncio.timeout(30):
        while len(told) < 1_000:
            await asyncio.sleep(0)
            most, before = max(most, len(told) - before), len(told)
    assert most <= link_module.SLICE_MESSAGES


async def test_long_messages_are_taken_one_at_a_time_and_in_order(linked):
    told = []
    _, there, _ = await linked(told=lambda name, level, text: told.append((level, len(text))))
    sizes = [link_module.LONG_FRAME_BYTES * 4, 1, link_module.LONG_FRAME_BYTES * 2, 2]
    sent = b"".join(frame(("log", "", level, "x" * size)) for level, size in enumerate(sizes))
    sending = asyncio.create_task(asyncio.to_thread(there.sendall, sent))
    async with asyncio.timeout(30):
        await sending
        while len(told) < len(sizes):
            await asyncio.sleep(0.01)
    assert told == list(enumerate(sizes))


async def test_answers_to_what_nobody_asked_change_nothing(linked):
    link, there, _ = await linked()
    answer = asyncio.create_task(link.ask("ping"))
    await asyncio.sleep(0)
    there.sendall(frame(("answer", 999, "x")) + frame(("raise", -5, "x")) + frame(("cancel", 7, None)))
    there.sendall(frame(("answer", 1, "pong")) + frame(("answer", 1, "again")))
    async with asyncio.timeout(30):
        assert await answer == "pong"


async def test_a_request_id_is_free_when_its_answer_arrives(linked):
    async def serve(verb, arguments):
        return arguments

    _, there, _ = await linked(serve)

    def ask_in_turn():
        for number in range(200):
            there.sendall(frame(("ask", 0, "head", (number,), 0)))
            assert read_frame(there, time.monotonic() + 30) == ("answer", 0, (number,))

    await asyncio.to_thread(ask_in_turn)


async def test_one_request_id_at_a_time(linked):
    """The limit of requests at a time counts ids."""
    served = []

    async def serve(verb, arguments):
        served.append(verb)
        await asyncio.Event().wait()

    _, there, lost = await linked(serve)
    there.sendall(frame(("ask", 5, "head", (1,), 0)) * 3)
    async with asyncio.timeout(30):
        assert "under way already" in await lost
    assert len(served) <= 1


async def test_a_process_that_does_not_read_its_answers_is_cut_off(linked, monkeypatch):
    monkeypatch.setattr(link_module, "MAX_UNREAD_BYTES", 1_000_000)

    async def serve(verb, arguments):
        return b"x" * 100_000

    _, there, lost = await linked(serve)
    for request in range(1, 100):
        there.sendall(frame(("ask", request, "head", (1,), 0)))
    async with asyncio.timeout(30):
        assert await lost == "it does not read its answers"
