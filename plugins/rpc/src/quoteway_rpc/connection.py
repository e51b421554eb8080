"""HTTP/1.1 connections to one endpoint: POSTs of JSON over connections that are kept alive.

aiohttp's client took about 110 us of the 130 us that a call through a bare proxy takes. This one does what
JSON-RPC needs and no more: no redirects, cookies or proxies. ``httptools`` (llhttp, the parser of Node.js)
reads the answers, strictly: what two readers could understand differently is refused.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import httptools

from quoteway_rpc.inflating import CODINGS, inflate
from quoteway_rpc.nesting import UnreadableError, check
from quoteway_rpc.receiving import FREE_BYTES, Budget, Held

MAX_HEADER_BYTES = 32 << 10
"""The status line and all headers of an answer."""
MAX_HEADERS = 128
_SCANNED_BYTES = 64 << 10
"""Up to this size the nesting is measured here. Of longer bodies the reader does it, in steps."""


class HttpError(OSError):
    """An answer that cannot be used. ``kind`` is a word for the log; no text has the address."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Answer:
    """The status, the body, and ``Retry-After`` as it was sent. ``held`` counts the memory of a long body,
    whose nesting has not been measured unless ``is_scanned``.
    """

    status: int
    body: bytes | bytearray
    retry_after: str | None = None
    held: Held | None = None
    is_scanned: bool = True


class Connection(asyncio.Protocol):
    """One connection, which carries one exchange at a time."""

    def __init__(self, max_bytes: int, budget: Budget, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.idle_since = 0.0
        self.heard = False
        self._max_bytes, self._budget = max_bytes, budget
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._ended = self._keep = False
        self._held: Held | None = None
        self._parser: Any = None

    # --- the exchange ---------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether it can carry another exchange."""
        return self._keep and not self._ended and self._transport is not None

    async def exchange(self, request: bytes) -> Answer:
        """Sends a request and returns the answer. Raises ``HttpError``."""
        if self._ended or self._transport is None:
            raise HttpError("closed")
        self.heard = self._keep = self._complete = self._in_body = self._is_chunked = False
        self._pieces: list[bytes] = []
        self._whole: bytearray | None = None
        self._size = self._received = self._headers = 0
        self._length: int | None = None
        self._coding = b""
        self._retry_after: str | None = None
        # A new parser costs less than finding out which state an old one is in.
        self._parser = httptools.HttpResponseParser(self)
        self._waiter = self.loop.create_future()
        self._transport.write(request)
        try:
            try:
                await self._waiter
            finally:
                self._waiter = None
            return await self._answer()
        finally:
            self._parser = None  # the two hold each other: only a collection of garbage would free them

    async def _answer(self) -> Answer:
        status = self._parser.get_status_code()
        pieces, self._pieces = self._pieces, []
        is_scanned = True
        try:
            if self._coding:
                body: bytes | bytearray = await inflate(pieces, self._coding, self._max_bytes)
            else:
                body = self._whole or (pieces[0] if len(pieces) == 1 else b"".join(pieces))
                self._whole = None
                is_scanned = len(body) <= _SCANNED_BYTES
                if is_scanned:
                    check(bytes(body))
        except UnreadableError as error:
            raise HttpError(error.kind) from None
        held, self._held = self._held, None
        return Answer(status, body, self._retry_after, held, is_scanned)

    def abort(self) -> None:
        self._ended, self._held = True, None
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, kind: str) -> None:
        self._ended = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(HttpError(kind))
        if self._transport is not None:
            self._transport.abort()

    # --- asyncio.Protocol -----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self._transport = transport  # type: ignore[assignment]  # uvloop's is no subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        if self._waiter is None or self._waiter.done():
            return
        until_closed = self._in_body and self._length is None and not self._is_chunked
        if exc is None and until_closed:
            self._waiter.set_result(None)
        else:
            self._waiter.set_exception(HttpError("closed" if not self.heard else "truncated"))

    def data_received(self, data: bytes) -> None:
        if self._waiter is None or self._complete:
            self._fail("unasked")  # nobody asked for it: it must not become the answer to the next request
            return
        if self._waiter.done():
            return
        self.heard = True
        self._received += len(data)
        try:
            if not self._in_body and self._received > MAX_HEADER_BYTES:
                first = max(len(data) - (self._received - MAX_HEADER_BYTES), 0)
                self._parser.feed_data(data[:first])
                if not self._in_body:
                    self._fail("long_headers")
                    return
                data = data[first:]
            self._parser.feed_data(data)
        except HttpError as fault:
            self._fail(fault.kind)
            return
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            # The parser wraps what a callback raises.
            cause = error.__context__
            self._fail(cause.kind if isinstance(cause, HttpError) else "bad_http")
            return
        if self._received - self._size > MAX_HEADER_BYTES + 2 * self._size + (64 << 10):
            self._fail("bad_http")  # of chunks almost all is their framing
            return
        if self._complete and not self._waiter.done():
            self._waiter.set_result(None)

    # --- httptools.HttpResponseParser -----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._complete:
            raise HttpError("unasked")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        if self._headers > MAX_HEADERS:
            raise HttpError("long_headers")
        if self._in_body:  # a trailer
            return
        if b"\n" in value or b"\0" in value:
            raise HttpError("bad_http")
        match name.lower():
            case b"content-length":
                if self._length is not None or not value.isdigit():
                    raise HttpError("bad_http")
                self._length = int(value[:20])
            case b"transfer-encoding":
                if self._is_chunked or value.strip().lower() != b"chunked":
                    raise HttpError("bad_http")
                self._is_chunked = True
            case b"content-encoding":
                self._coding = (self._coding + b"," if self._coding else b"") + value.strip().lower()
            case b"retry-after":
                self._retry_after = value[:64].decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            if status == 101 or self._length is not None or self._is_chunked:
                raise HttpError("bad_http")
            return
        self._in_body = True
        if self._length is not None and self._is_chunked:
            raise HttpError("bad_http")  # RFC 9112, section 6.3: an attempt to smuggle
        if self._coding == b"identity":
            self._coding = b""
        if self._coding and self._coding not in CODINGS:
            raise HttpError("unknown_coding")
        if self._length is not None and self._length > self._max_bytes:
            raise HttpError("too_large")
        if self._length is not None and self._length > FREE_BYTES:
            self._take(self._length if not self._coding else self._max_bytes)

    def on_body(self, piece: bytes) -> None:
        at, self._size = self._size, self._size + len(piece)
        if self._size > self._max_bytes:
            raise HttpError("too_large")
        if self._whole is not None:
            self._whole[at : self._size] = piece
        else:
            self._pieces.append(piece)
            if (
                self._length is not None
                and not self._coding
                and self._held is not None
                and self._held.granted
            ):
                self._allocate(self._length)
        if self._size > FREE_BYTES and self._held is None:
            self._take(self._max_bytes)

    def on_message_complete(self) -> None:
        if not self._in_body:  # a 1xx, which the answer follows
            self._length, self._headers = None, 0
            return
        self._complete = True
        self._keep = self._parser.should_keep_alive()

    def _allocate(self, size: int) -> None:
        """Puts the pieces in their places. To join 31 MiB at the end would take 10 ms at once, and the memory
        of two bodies.
        """
        self._whole, at = bytearray(size), 0
        for piece in self._pieces:
            self._whole[at : at + len(piece)] = piece
            at += len(piece)
        self._pieces.clear()

    def _take(self, size: int) -> None:
        """Takes memory of the budget; without, nothing is read on until there is some."""
        self._held = Held(self._budget, size, self._go_on)
        if not self._held.granted and self._transport is not None:
            self._transport.pause_reading()

    def _go_on(self) -> None:
        if self._transport is not None and not self._ended:
            self._transport.resume_reading()
