"""The client of the upstreams: framing that two readers could understand differently, bombs, reuse."""

import asyncio
import contextlib
import gc
import gzip
import weakref
import zlib

import pytest
from quoteway_rpc import connections as module
from quoteway_rpc.connection import HttpError
from quoteway_rpc.connections import Connections
from quoteway_rpc.receiving import Budget, Held
from yarl import URL

MOST = 1 << 20
OK = b'{"jsonrpc":"2.0","id":1,"result":"0x2a"}'
HEAD = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(OK)


class Server:
    """Answers each request with the next of ``answers``; the last one is repeated."""

    def __init__(self, *answers, close=False):
        self.answers, self.close, self.requests, self.connections = list(answers), close, [], 0

    async def __aenter__(self):
        self._writers = []
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = URL(f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/path?key=1")
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader, writer):
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                self.requests.append((head, await reader.readexactly(size)))
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                for part in answer if isinstance(answer, list) else [answer]:
                    if part is None:
                        writer.close()
                        return
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0)
                if self.close:
                    writer.close()
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def client(server, **options):
    return Connections(server.url, {"X-Key": "secret"}, **{"max_bytes": MOST, **options})


def chunked(*pieces, trailer=b""):
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n" + trailer + b"\r\n"


def plain(body, more=b""):
    return HEAD + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


def raw_deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


READABLE = {
    "a length": plain(OK),
    "byte by byte": [bytes([byte]) for byte in plain(OK)],
    "chunks": chunked(OK[:5], OK[5:]),
    "chunks byte by byte": [bytes([byte]) for byte in chunked(OK[:5], OK[5:])],
    "a trailer": chunked(OK, trailer=b"X-Sum: 1\r\n"),
    "gzip": plain(gzip.compress(OK), b"Content-Encoding: gzip\r\n"),
    "gzip in pieces": [bytes([b]) for b in plain(gzip.compress(OK), b"Content-Encoding: gzip\r\n")],
    "deflate": plain(zlib.compress(OK), b"Content-Encoding: deflate\r\n"),
    "raw deflate": plain(raw_deflate(OK), b"Content-Encoding: deflate\r\n"),
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + plain(OK),
    "until the end": [HEAD + b"Connection: close\r\n\r\n" + OK, None],
    "HTTP/1.0": [b"HTTP/1.0 200 OK\r\n\r\n" + OK, None],
    "an extension of a chunk": HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n%x;a=b\r\n" % len(OK)
    + OK
    + b"\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("case", READABLE)
async def test_what_servers_send_is_read(case):
    async with Server(READABLE[case]) as server:
        pool = client(server)
        for _ in range(2):
            answer = await pool.post(b"{}")
            assert (answer.status, answer.body) == (200, OK)
        head, body = server.requests[0]
        assert head.startswith(b"POST /path?key=1 HTTP/1.1\r\nHost: 127.0.0.1:")
        assert b"X-Key: secret\r\n" in head
        assert body == b"{}"
        assert server.connections == (2 if isinstance(READABLE[case], list) and None in READABLE[case] else 1)
        pool.close()


REFUSED = {
    "length and chunks": HEAD + LENGTH + b"Transfer-Encoding: chunked\r\n\r\n" + OK,
    "chunks and length": HEAD + b"Transfer-Encoding: chunked\r\n" + LENGTH + b"\r\n" + OK,
    "two lengths": HEAD + LENGTH + b"Content-Length: 3\r\n\r\n" + OK,
    "the same length twice": HEAD + LENGTH + LENGTH + b"\r\n" + OK,
    "lengths in a list": HEAD + b"Content-Length: 40, 40\r\n\r\n" + OK,
    "a signed length": HEAD + b"Content-Length: +40\r\n\r\n" + OK,
    "a negative length": HEAD + b"Content-Length: -1\r\n\r\n" + OK,
    "a hex length": HEAD + b"Content-Length: 0x28\r\n\r\n" + OK,
    "a length of 2^64": HEAD + b"Content-Length: 18446744073709551616\r\n\r\n" + OK,
    "an unknown transfer coding": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "two transfer codings": HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bare line feeds": plain(OK).replace(b"\r\n", b"\n"),
    "a bare carriage return": HEAD + b"X: 1\rY: 2\r\n" + LENGTH + b"\r\n" + OK,
    "a folded header": HEAD + b"X: 1\r\n 2\r\n" + LENGTH + b"\r\n" + OK,
    "a space before the colon": HEAD + b"Content-Length : 40\r\n\r\n" + OK,
    "a header without colon": HEAD + b"nonsense\r\n" + LENGTH + b"\r\n" + OK,
    "NUL in a header": HEAD + b"X: \0\r\n" + LENGTH + b"\r\n" + OK,
    "a signed chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n+28\r\n" + OK + b"\r\n0\r\n\r\n",
    "a hex prefix of a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x28\r\n" + OK + b"\r\n0\r\n\r\n",
    "a huge chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\n" + OK,
    "a chunk without its end": HEAD + b"Transfer-Encoding: chunked\r\n\r\n28\r\n" + OK + b"xx0\r\n\r\n",
    "not HTTP": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "HTTP/2": b"HTTP/2 200 OK\r\n\r\n",
    "HTTP/0.9": [OK, None],
    "an upgrade": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nx",
    "a truncated body": [HEAD + b"Content-Length: 41\r\n\r\n" + OK, None],
    "truncated chunks": [chunked(OK)[:-5], None],
    "truncated headers": [HEAD, None],
    "an unknown coding": plain(OK, b"Content-Encoding: br\r\n"),
    "coded twice": plain(gzip.compress(gzip.compress(OK)), b"Content-Encoding: gzip, gzip\r\n"),
    "not gzip": plain(OK, b"Content-Encoding: gzip\r\n"),
    "truncated gzip": plain(gzip.compress(OK)[:-4], b"Content-Encoding: gzip\r\n"),
    "more after gzip": plain(gzip.compress(OK) + b"x", b"Content-Encoding: gzip\r\n"),
    "a second answer": plain(OK) + plain(OK),
    "1xx for ever": b"HTTP/1.1 100 Continue\r\n\r\n" * 4_000,
    "a long header": HEAD + b"X: " + b"a" * 100_000 + b"\r\n" + LENGTH + b"\r\n" + OK,
    "a long status line": b"HTTP/1.1 200 " + b"a" * 100_000 + b"\r\n" + LENGTH + b"\r\n" + OK,
    "many headers": HEAD + b"A: 1\r\n" * 1_000 + LENGTH + b"\r\n" + OK,
    "a long trailer": chunked(OK, trailer=b"X: 1\r\n" * 1_000),
    "a long extension": HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n1;"
    + b"a" * 500_000
    + b"\r\n1\r\n0\r\n\r\n",
    "a length over the limit": HEAD + b"Content-Length: %d\r\n\r\n" % (MOST + 1),
    "chunks over the limit": chunked(*[b" " * 65_536] * 17),
    "no length, over the limit": [HEAD + b"\r\n", *[b" " * 65_536] * 17],
    "gzip over the limit": plain(gzip.compress(b" " * 50_000_000), b"Content-Encoding: gzip\r\n"),
    "gzip of too many members": plain(gzip.compress(b"[]," * 300_000), b"Content-Encoding: gzip\r\n"),
    "too deep": plain(b"[" * 300 + b"]" * 300),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_ambiguous_or_a_bomb_is_refused(case):
    async with Server(REFUSED[case], plain(OK)) as server:
        pool = client(server)
        if case == "a second answer":  # it may arrive after the first was complete
            await asyncio.gather(pool.post(b"{}"), return_exceptions=True)
        else:
            with pytest.raises(HttpError) as refusal:
                await pool.post(b"{}")
            assert "127.0.0.1" not in str(refusal.value)
        assert (await pool.post(b"{}")).body == OK
        assert server.connections == 2, "nothing of the refused answer is left for the next call"
        pool.close()


async def test_a_cancelled_call_leaves_its_answer_to_nobody():
    async with Server([plain(b"1" * 40)[:50]], plain(OK)) as server:
        pool = client(server)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await pool.post(b"{}")
        assert (await pool.post(b"{}")).body == OK
        assert server.connections == 2
        pool.close()


async def test_a_connection_that_expired_at_the_server_is_replaced_once(monkeypatch):
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    async with Server(plain(OK), [None], plain(OK)) as server:
        pool = client(server)
        await pool.post(b"{}")
        assert (await pool.post(b"{}")).body == OK
        assert len(server.requests) == 3
        pool.close()


async def test_a_failure_is_not_taken_for_an_expiry():
    async with Server(plain(OK), [None], plain(OK)) as server:
        pool = client(server)
        await pool.post(b"{}")
        with pytest.raises(HttpError, match="closed"):
            await pool.post(b"{}")
        assert len(server.requests) == 2
        pool.close()


async def test_unused_connections_expire(monkeypatch):
    monkeypatch.setattr(module, "IDLE_S", 0.05)
    async with Server(plain(OK)) as server:
        pool = client(server)
        await asyncio.gather(*(pool.post(b"{}") for _ in range(3)))
        assert pool._idle
        async with asyncio.timeout(10):
            while pool._idle:
                await asyncio.sleep(0.01)


TWO_LENGTHS = HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n"


@pytest.mark.parametrize("answer", [plain(OK), TWO_LENGTHS], ids=["answered", "refused"])
async def test_a_connection_that_is_over_leaves_memory_at_once(answer, monkeypatch):
    """Not at the next collection of garbage, which may be half an hour later."""
    made, connection = [], module.Connection

    def known(*given):
        made.append(weakref.ref(one := connection(*given)))
        return one

    monkeypatch.setattr(module, "Connection", known)
    gc.disable()
    try:
        async with Server(answer) as server:
            with contextlib.suppress(HttpError):
                await (connections := client(server)).post(b"{}")
            connections.close()
            async with asyncio.timeout(10):
                while made[0]() is not None:
                    await asyncio.sleep(0.01)
    finally:
        gc.enable()


async def test_no_more_connections_than_the_limit():
    async with Server(plain(OK)) as server:
        pool = client(server, limit=2)
        await asyncio.gather(*(pool.post(b"{}") for _ in range(20)))
        assert server.connections <= 2
        pool.close()


async def test_long_answers_wait_for_memory():
    long = plain(b'"' + b"a" * 600_000 + b'"')
    async with Server(long) as server:
        budget = Budget(MOST)
        pool = client(server, budget=budget)
        used, may_end = asyncio.Event(), asyncio.Event()

        async def use():
            answer = await pool.post(b"{}")
            used.set()
            await may_end.wait()
            return len(answer.body)

        calls = [asyncio.create_task(use()) for _ in range(5)]
        await used.wait()
        assert budget.left < 600_000, "no other is read while one is in use"
        calls.pop().cancel()
        may_end.set()
        assert set(await asyncio.gather(*calls)) == {600_002}
        assert budget.left == MOST
        assert len((await pool.post(b"{}")).body) == 600_002
        pool.close()


def test_who_waits_for_memory_gets_it_in_order():
    budget, granted = Budget(10), []
    first = Held(budget, 8, lambda: None)
    second = Held(budget, 8, lambda: granted.append(2))
    third = Held(budget, 1, lambda: granted.append(3))
    assert [held.granted for held in (first, second, third)] == [True, False, False]
    del second
    del first
    assert granted == [3]
    assert third.granted
    del third
    assert budget.left == 10
    assert Held(budget, 1_000, lambda: None).granted, "one answer at a time is read whatever its size"


@pytest.mark.parametrize("headers", [{"X": "a\r\nb"}, {"X\r\n": "a"}, {"X": "a\0"}, {"": "a"}, {"X:": "1"}])
def test_a_header_that_would_end_the_line_is_refused(headers):
    with pytest.raises(ValueError, match="header"):
        Connections(URL("http://node.example/"), headers, max_bytes=MOST)
