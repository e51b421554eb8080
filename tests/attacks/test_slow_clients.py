"""Attack: clients that send their headers or body, or take their answer, so slowly that it never ends.

Each part has its deadline; then the connection is closed and what it held is free.
"""

import asyncio
import contextlib
import itertools
import json
import socket

import pytest
from quoteway.web.app import openapi_document

HOST = b"Host: x\r\n"
JSON = b"Content-Type: application/json\r\n"


POST = b"POST /v2/swaps/quote HTTP/1.1\r\n" + JSON + HOST


async def send_slowly(api, parts):
    """Sends the parts one after another until the server answers or closes; returns all that it answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    received = b""

    async def receive():
        nonlocal received
        with contextlib.suppress(ConnectionError):
            while chunk := await reader.read(65_536):
                received += chunk

    receiving = asyncio.create_task(receive())
    with contextlib.suppress(ConnectionError):
        for part in parts:
            if received or receiving.done():
                break
            writer.write(part)
            await writer.drain()
            await asyncio.wait([receiving], timeout=0.02)
    async with asyncio.timeout(60):
        await receiving
    writer.close()
    return received


def endless(begin, part):
    return itertools.chain([begin], itertools.repeat(part))


@pytest.mark.parametrize("begin", [b"GET /", b"GET / HTTP/1.1\r\n" + HOST + b"X-"], ids=["line", "headers"])
async def test_slow_headers_are_cut_with_the_idle_connection(serve_app, make_config, begin):
    """Every byte would keep the connection alive for ever if it counted as activity."""
    api = await serve_app(config=make_config(keepalive_timeout_s=0.5))
    async with asyncio.timeout(60):
        assert await send_slowly(api, endless(begin, b"a")) == b""
        while api.open_connections():
            await asyncio.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begin", "part"),
    [(b"Content-Length: 5000\r\n\r\n{", b" "), (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n")],
    ids=["length", "chunks"],
)
async def test_a_slow_body_is_cut_at_its_deadline(serve_app, make_config, begin, part):
    api = await serve_app(config=make_config(body_timeout_s=0.3))
    received = await send_slowly(api, endless(POST + begin, part))
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"\r\nConnection: close" in head
    assert json.loads(body)["error"]["code"] == "invalid_request"


async def test_a_client_that_does_not_take_its_answer_is_cut_off(serve_app, make_config):
    """Otherwise the client decides how long the server holds the answer and the connection."""
    api = await serve_app(config=make_config(request_timeout_s=0.5))
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, ("127.0.0.1", api.port))
        # More answers than the sockets' buffers take, and none of them read.
        await loop.sock_sendall(client, (b"GET /v2/openapi.json HTTP/1.1\r\n" + HOST + b"\r\n") * 100)
        async with asyncio.timeout(60):
            while not api.open_connections():  # the server may not have accepted it yet
                await asyncio.sleep(0.02)
            while api.open_connections():
                await asyncio.sleep(0.02)
        received = 0
        with contextlib.suppress(ConnectionResetError):
            while chunk := await asyncio.wait_for(loop.sock_recv(client, 1 << 20), 60):
                received += len(chunk)
    assert 0 < received < 100 * len(openapi_document())
