"""A loopback proxy in front of a node that answers with a given fault, always or for a share of the calls."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import aiohttp

Behaviour: TypeAlias = Callable[["FaultyNode", Mapping[str, Any], asyncio.StreamWriter], Awaitable[None]]
"""``await behaviour(node, request, writer)`` answers one JSON-RPC request. It may call ``node.forward``."""


class FaultyNode:
    """Answers JSON-RPC over HTTP/1.1 with keep-alive. ``calls`` counts the requests by method.

    ``behaviour`` may be changed at any time; None forwards to the node at ``upstream``. ``share`` is the
    share of the requests that have the fault. The chain id is answered truly, so that the fault is met by
    the calls themselves. ``address`` is the URL for clients.
    """

    def __init__(self, upstream: str, behaviour: Behaviour | None = None, *, share: float = 1.0) -> None:
        self.upstream = upstream
        self.behaviour = behaviour
        self.share = share
        self.calls: Counter[str] = Counter()
        self.address = ""
        self._chance = random.Random(1)
        self._writers: set[asyncio.StreamWriter] = set()
        self._session: aiohttp.ClientSession | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[FaultyNode]:
        """Serves on a free port of 127.0.0.1 during the block."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as self._session:
            try:
                yield self
            finally:
                server.close()
                for writer in self._writers:
                    writer.transport.abort()

    async def forward(self, request: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        """Sends the answer of the real node."""
        assert self._session is not None
        async with self._session.post(self.upstream, json=request) as answer:
            send(writer, await answer.read())

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        answering: asyncio.Task[None] | None = None
        try:
            while True:
                request = await _request(reader)
                answering = asyncio.create_task(self._answer(request, writer))
                # A client that leaves ends the fault, as it does at a real server.
                watch = asyncio.create_task(reader.read(1))
                await asyncio.wait((answering, watch), return_when=asyncio.FIRST_COMPLETED)
                if not answering.done():
                    return
                watch.cancel()
                await asyncio.wait((watch,))
                await answering
        except (asyncio.IncompleteReadError, ConnectionError, aiohttp.ClientError, TimeoutError):
            pass
        finally:
            if answering is not None:
                answering.cancel()
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, request: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        method = request["method"]
        self.calls[method] += 1
        is_faulty = self.behaviour is not None and method != "eth_chainId"
        if self.behaviour is not None and is_faulty and self._chance.random() < self.share:
            await self.behaviour(self, request, writer)
        else:
            await self.forward(request, writer)
        await writer.drain()


async def _request(reader: asyncio.StreamReader) -> Mapping[str, Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = next(int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:"))
    request: Mapping[str, Any] = json.loads(await reader.readexactly(length))
    return request


def send(writer: asyncio.StreamWriter, body: bytes | str, status: str = "200 OK", headers: str = "") -> None:
    """Writes one HTTP response. ``headers`` are whole lines, each with its line end."""
    body = body if isinstance(body, bytes) else body.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}{headers}\r\n".encode() + body)
