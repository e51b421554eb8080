"""Attack: one address opens as many connections as it can, idle or with requests that never end.

It takes its part of the places and no more: clients of other addresses, and its own next ones, are served.
"""

import asyncio
import contextlib

import pytest
from aiohttp import web
from quoteway.web.http.protocol import EnvelopeServer

MOST, PER_ADDRESS = 40, 8
ATTACKER, HONEST = "127.0.0.2", "127.0.0.3"
PARTS = {
    "nothing": b"",
    "a part of the headers": b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    "a part of the body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n1",
}


@pytest.fixture
async def port():
    async def answer(request):
        await request.read()
        return web.Response(text="ok")

    loop = asyncio.get_running_loop()
    server = EnvelopeServer(
        answer, loop=loop, send_timeout_s=30, max_connections=MOST, max_per_address=PER_ADDRESS
    )
    listening = await loop.create_server(server, "127.0.0.1", 0)
    yield listening.sockets[0].getsockname()[1]
    listening.close()
    await server.shutdown(0.1)


async def connect(port, source):
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))


async def ask(port, source):
    async with asyncio.timeout(30):
        reader, writer = await connect(port, source)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
    return answer


@pytest.mark.parametrize("part", PARTS)
async def test_one_address_does_not_take_the_places_of_others(port, part):
    async with contextlib.AsyncExitStack() as held:
        for _ in range(3 * MOST):
            _, writer = await connect(port, ATTACKER)
            held.callback(writer.close)
            with contextlib.suppress(ConnectionError):
                writer.write(PARTS[part])
                await writer.drain()
        for _ in range(20):
            assert (await ask(port, HONEST)).startswith(b"HTTP/1.1 200 ")
        if part != "a part of the body":
            assert (await ask(port, ATTACKER)).startswith(b"HTTP/1.1 200 "), "it closes its own oldest"


async def test_who_is_being_served_is_not_cut_off(port):
    reader, writer = await connect(port, ATTACKER)
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n1")
    await asyncio.sleep(0)
    others = [await connect(port, ATTACKER) for _ in range(3 * PER_ADDRESS)]
    assert (await ask(port, ATTACKER)).startswith(b"HTTP/1.1 200 ")
    writer.write(b"2")
    async with asyncio.timeout(30):
        answer = b""
        while b" 200 " not in answer:
            answer += await reader.read(1_000)
    writer.close()
    for _, other in others:
        other.close()
