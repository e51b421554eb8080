"""Live answers with both Python clients: over reconnections, refusals and lying servers."""

import asyncio
import contextlib
import json
import socket
import threading

import pytest
from quoteway_client import AsyncQuoteway, ConnectionFailed, NotFound, Quoteway, Retrying, UnexpectedAnswer
from quoteway_client.streaming import EventReader, StreamEvent

HEAD = {"network": "one", "chainId": 1, "block": {"number": 7, "hash": "0x12", "timestamp": 0}}
OPEN = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n"
    b"retry: 10\n\n"
)
QUICK = Retrying(timeout_s=10, deadline_s=30, first_pause_s=0.01, longest_pause_s=0.05)


def event(name, data, id_=None):
    start = "" if id_ is None else f"id: {id_}\n"
    return f"{start}event: {name}\ndata: {json.dumps(data)}\n\n".encode()


COMPLETE = event("end", {"reason": "complete", "reconnect": False}, "complete")


class StreamServer:
    """Answers one connection after the other with the given bytes, the last for all later ones."""

    def __init__(self, *answers):
        self.answers, self.requests = answers, []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                with connection:
                    request = b""
                    while b"\r\n\r\n" not in request:
                        request += connection.recv(65_536)
                    self.requests.append(request.decode())
                    connection.sendall(self.answers[min(len(self.requests), len(self.answers)) - 1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()


def blocking(url, **topics):
    with Quoteway(url, "a-key", retrying=QUICK) as client:
        return list(client.stream(**topics))


def awaited(url, **topics):
    async def read():
        async with AsyncQuoteway(url, "a-key", retrying=QUICK) as client:
            return [each async for each in client.stream(**topics)]

    return asyncio.run(read())


@pytest.mark.parametrize("read", [blocking, awaited])
def test_a_stream_goes_on_after_its_last_event_until_it_is_complete(read):
    lifetime = event("end", {"reason": "lifetime", "reconnect": True})
    first = OPEN + event("head", HEAD, "p-1") + lifetime
    cut = OPEN + event("head", HEAD, "p-2") + b"event: head\ndata: {"
    last = OPEN + b":\n\n" + event("head", HEAD, "p-3") + COMPLETE
    with StreamServer(first, cut, last) as server:
        found = read(server.url, heads=["one", "two"])
        assert found == [StreamEvent("head", HEAD, f"p-{number}") for number in (1, 2, 3)]
    one, two, three = server.requests
    assert one.startswith("GET /v2/stream?heads=one%2Ctwo ")
    assert "bearer a-key" in one.lower()
    assert "last-event-id" not in one.lower()
    assert "last-event-id: p-1" in two.lower()
    assert "last-event-id: p-2" in three.lower()


@pytest.mark.parametrize("read", [blocking, awaited])
def test_an_answer_without_content_is_the_end(read):
    with StreamServer(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
        assert read(server.url, quotes=["q"]) == []


@pytest.mark.parametrize("read", [blocking, awaited])
def test_refusals_that_pass_are_waited_out_and_others_raised(read):
    def refusal(status, code):
        body = json.dumps({"error": {"code": code, "message": "No.", "requestId": "r"}}).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + body

    busy = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with StreamServer(busy, OPEN + event("head", HEAD, "p-1") + COMPLETE) as server:
        assert len(read(server.url, heads=["one"])) == 1
    with StreamServer(refusal(404, "not_found")) as server, pytest.raises(NotFound):
        read(server.url, quotes=["q"])
    assert len(server.requests) == 1
    plain = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    with StreamServer(plain) as server, pytest.raises(UnexpectedAnswer):
        read(server.url, heads=["one"])
    with StreamServer(OPEN + b"data: [1]\n\n") as server, pytest.raises(UnexpectedAnswer):
        read(server.url, heads=["one"])


@pytest.mark.parametrize("client", [Quoteway, AsyncQuoteway])
def test_a_stream_needs_a_topic(client):
    with pytest.raises(ValueError, match="heads, quotes"):
        client("http://127.0.0.1:1").stream()


def test_a_gateway_that_is_not_there_is_told_in_time():
    short = Retrying(timeout_s=1, deadline_s=0.5, first_pause_s=0.01)
    with Quoteway("http://127.0.0.1:1", retrying=short) as client, pytest.raises(ConnectionFailed):
        list(client.stream(heads=["one"]))


def test_events_are_read_wherever_the_bytes_are_cut():
    text = b"retry: 1500\r\n\r\n:c\n\n" + event("head", {"a": "\u00e9\n"}, "i-1") + b"data: {\ndata: }\n\n"
    for at in range(len(text) + 1):
        reader = EventReader()
        found = [*reader.feed(text[:at]), *reader.feed(text[at:])]
        assert found == [StreamEvent("head", {"a": "\u00e9\n"}, "i-1"), StreamEvent("message", {}, None)]
        assert reader.retry_s == 1.5


def test_an_event_that_does_not_end_is_bounded():
    reader = EventReader()
    parts = (each for _ in range(100) for each in reader.feed(b"data: " + b"x" * 65_536))
    with pytest.raises(UnexpectedAnswer, match="too long"):
        list(parts)


@pytest.mark.slow
async def test_a_stream_of_the_real_gateway_tells_blocks_and_a_transfer(chain):
    tokens = {"from_token": chain.token("USDC"), "to_token": chain.token("USDC", "devnet-l2")}
    ends = {"from_chain": "devnet", "to_chain": "devnet-l2"}
    body = {"amount": 10**8, "address": chain.account.address}
    quote = await chain.client.bridges.quote(**tokens, **ends, **body)
    action = await chain.client.bridges.act(quote)
    sent = await chain.client.send(action, chain.account, quote=quote, rpc_url=chain.node_url)
    async with asyncio.timeout(240):
        found = [each async for each in chain.client.stream(transfers=[sent])]
    assert found[-1].data["status"] == "filled"
    with Quoteway(chain.url) as client:
        told = await asyncio.to_thread(lambda: list(client.stream(transfers=[sent])))
    assert told[-1].data == found[-1].data
