"""The connections to one endpoint, kept alive between calls."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import Any

import aiohappyeyeballs
from yarl import URL

from quoteway_rpc.connection import Answer, Connection, HttpError
from quoteway_rpc.receiving import Budget

IDLE_S = 15.0
"""How long an unused connection is kept."""
FRESH_S = 1.0
"""A connection that answered within this time was not closed for being idle: what ends it is a failure."""
HAPPY_EYEBALLS_S = 0.25
"""How long the first address of a host has before the next is tried beside it (RFC 8305, section 5)."""


class Connections:
    """The connections to one endpoint.

    ``max_bytes`` is the longest answer, packed and unpacked. At most ``limit`` connections are open at once;
    further calls wait for one, in order.
    """

    def __init__(
        self,
        url: URL,
        headers: Mapping[str, str],
        *,
        max_bytes: int,
        budget: Budget | None = None,
        limit: int = 256,
    ) -> None:
        self.max_bytes = max_bytes
        self.budget = budget or Budget(max_bytes)
        self._head = _request_head(url, headers)
        assert url.host is not None
        self._host, self._port, self._tls = url.host, url.port or 80, url.scheme == "https"
        self._idle: list[Connection] = []
        self._free = limit
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, body: bytes, trace: str | None = None) -> Answer:
        """Returns the answer. Raises ``OSError``, of which ``HttpError`` is one.

        ``trace`` is sent as ``traceparent``. A connection that the endpoint closed while it was unused is
        replaced once by a new one, if nothing of the answer has arrived (RFC 9112, section 9.3.1).
        """
        request = b"%bContent-Length: %d\r\n%b\r\n%b" % (
            self._head,
            len(body),
            b"" if trace is None else f"traceparent: {trace}\r\n".encode(),
            body,
        )
        loop = asyncio.get_running_loop()
        if self._free:
            self._free -= 1
        else:
            await self._wait_for_a_place(loop)
        try:
            connection = self._kept(loop)
            if connection is not None:
                idle_s = loop.time() - connection.idle_since
                try:
                    return await self._exchange(connection, request)
                except HttpError as fault:
                    if fault.kind != "closed" or connection.heard or idle_s < FRESH_S:
                        raise
            return await self._exchange(await self._connect(loop), request)
        finally:
            self._free += 1
            self._serve_next()

    async def _wait_for_a_place(self, loop: asyncio.AbstractEventLoop) -> None:
        place = loop.create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it was given one at the same moment
                self._free += 1
                self._serve_next()
            raise

    def _serve_next(self) -> None:
        while self._free and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                self._free -= 1
                place.set_result(None)

    def close(self) -> None:
        """Closes the unused connections."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._idle:
            self._idle.pop().abort()

    def _kept(self, loop: asyncio.AbstractEventLoop) -> Connection | None:
        """Returns an open connection, the one used last: the others may expire."""
        if loop is not self._loop:  # of tests, which have a loop each
            self._idle.clear()
            self._loop, self._timer = loop, None
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return None

    async def _exchange(self, connection: Connection, request: bytes) -> Answer:
        try:
            answer = await connection.exchange(request)
        except BaseException:  # of a cancelled call too: its answer would be taken for that of the next
            connection.abort()
            raise
        if connection.is_open:
            connection.idle_since = connection.loop.time()
            self._idle.append(connection)
            if self._timer is None:
                self._timer = connection.loop.call_later(IDLE_S, self._expire)
        else:
            connection.abort()
        return answer

    def _expire(self) -> None:
        self._timer, now = None, asyncio.get_running_loop().time()
        while self._idle and now - self._idle[0].idle_since >= IDLE_S:  # in the order of their last use
            self._idle.pop(0).abort()
        if self._idle:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(self._idle[0].idle_since + IDLE_S, self._expire)

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> Connection:
        addresses = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        sock = await aiohappyeyeballs.start_connection(
            addresses, loop=loop, happy_eyeballs_delay=HAPPY_EYEBALLS_S, interleave=1
        )
        tls: dict[str, Any] = {}
        if self._tls:
            tls = {"ssl": await asyncio.to_thread(_tls_context), "server_hostname": self._host}
        try:
            _, connection = await loop.create_connection(
                lambda: Connection(self.max_bytes, self.budget, loop), sock=sock, **tls
            )
        except BaseException:
            sock.close()
            raise
        return connection


@cache
def _tls_context() -> ssl.SSLContext:
    """Made once: reading the certificates of the system takes some 20 ms."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _request_head(url: URL, headers: Mapping[str, str]) -> bytes:
    """Returns the request up to ``Content-Length``. Raises ``ValueError`` for a header that is none."""
    sent = {"Host": _host_header(url), "Accept-Encoding": "gzip, deflate", **headers}
    lines = [f"POST {url.raw_path_qs} HTTP/1.1"]
    for name, value in sent.items():
        if not name.isascii() or not name or any(c <= " " or c in ":\x7f" for c in name):
            raise ValueError("a header has a name that HTTP does not allow")
        if any((c < " " and c != "\t") or c == "\x7f" for c in value):
            raise ValueError(f"the header {name} has a value with control characters")
        if name.lower() not in ("content-length", "transfer-encoding", "connection"):
            lines.append(f"{name}: {value}")
    return ("\r\n".join(lines) + "\r\n").encode()


def _host_header(url: URL) -> str:
    return url.host_port_subcomponent or ""
