"""One end of the socket between the server and an isolated plugin: requests, answers and cancellations.

A frame is its length (4 bytes, big-endian) and one encoded tuple: ``("ask", id, verb, arguments, about)``,
``("answer", id, value)``, ``("raise", id, error)``, ``("cancel", id)``, ``("log", name, level, text)`` or
``("spans", id, rows)``, the spans of the work on a request, before its answer.
``about`` is the id of the request of the other end that the sender works on: what the plugin reads for a
quote is read in that quote's context, at its block.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, cast

from quoteway.errors import Reason, UpstreamError
from quoteway.host.isolation.codec import Uncodable, decode, encode
from quoteway.spans import adopt

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""Longest message. A list of ten thousand pools has about five megabytes."""
MAX_SERVED = 256
"""Most requests of the other end that are worked on at a time."""
MAX_ABANDONED = 64
"""Most cancelled requests that the other end has not ended yet."""
LONG_FRAME_BYTES = 128 * 1024
"""A longer message is decoded in a thread, so that the event loop is free meanwhile."""
MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""Most bytes of answers that the other end has not read."""
SLICE_MESSAGES, SLICE_S, LEAST_REST_S, REST = 64, 0.002, 0.005, 4
"""After so many messages, or so much time, nothing is read for ``LEAST_REST_S``, and at least ``REST`` times
as long as reading took: an end that floods the socket gets a fifth of the other one's event loop."""
_HEADER_BYTES = 4


def frame(message: tuple[Any, ...]) -> bytes:
    """Returns the bytes of a message. Raises ``Uncodable`` when it cannot be sent or is too long."""
    data = encode(message)
    if len(data) > MAX_FRAME_BYTES:
        raise Uncodable(f"it has {len(data)} bytes, the longest message has {MAX_FRAME_BYTES}")
    return len(data).to_bytes(_HEADER_BYTES) + data


def read_frame(end: socket.socket, until: float) -> Any:
    """Waits for one message on a blocking socket, at most until a time of the monotonic clock.

    Raises ``OSError``, ``TimeoutError`` or ``Uncodable``.
    """
    return decode(_exactly(end, _length(_exactly(end, _HEADER_BYTES, until)), until))


def _exactly(end: socket.socket, size: int, until: float) -> bytes:
    data = bytearray()
    while len(data) < size:
        left_s = until - time.monotonic()
        if left_s <= 0:  # also for an end that sends a byte at a time
            raise TimeoutError
        end.settimeout(left_s)
        part = end.recv(size - len(data))
        if not part:
            raise ConnectionError("the process ended")
        data += part
    return bytes(data)


def _length(header: bytes | bytearray | memoryview) -> int:
    size = int.from_bytes(header)
    if size > MAX_FRAME_BYTES:
        raise Uncodable(f"a message of {size} bytes, the longest has {MAX_FRAME_BYTES}")
    return size


@dataclass(slots=True)
class _Asked:
    answer: asyncio.Future[Any]
    context: contextvars.Context


@dataclass(eq=False)
class Link(asyncio.Protocol):
    """One end. ``serve`` answers a request of the other end; ``told`` takes a log record; ``lost`` is called
    once, with the reason, when the other end is gone, sends what cannot be read, does not read its answers or
    ends nothing it is asked. With ``rests``, reading leaves most of the event loop's time to others.
    """

    serve: Callable[[str, tuple[Any, ...]], Awaitable[Any]]
    lost: Callable[[str], None]
    _: KW_ONLY
    told: Callable[[str, int, str], None] = lambda name, level, text: None
    rests: bool = True
    failed: Callable[[BaseException], Exception | str] = lambda error: "it raised"
    _working_on: contextvars.ContextVar[int] = field(
        default_factory=lambda: contextvars.ContextVar("quoteway_isolated_request", default=0), init=False
    )
    """The id of the other end's request that the current task works on; 0 without one."""
    _transport: asyncio.Transport | None = field(default=None, init=False)
    _buffer: bytearray = field(default_factory=bytearray, init=False)
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1), init=False)
    _asked: dict[int, _Asked] = field(default_factory=dict, init=False)
    _abandoned: set[int] = field(default_factory=set, init=False)
    _serving: dict[int, asyncio.Task[None]] = field(default_factory=dict, init=False)
    _over: bool = field(default=False, init=False)
    _paused: bool = field(default=False, init=False)

    async def attach(self, end: socket.socket) -> None:
        """Takes over a socket. Its messages are read from now on."""
        end.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: self, sock=end)

    async def ask(self, verb: str, *arguments: Any) -> Any:
        """Asks the other end and returns its answer. Raises what it raised, ``Uncodable``, or
        ``UpstreamError`` when the other end is gone. Cancelling cancels the work at the other end.
        """
        request = next(self._ids)
        message = frame(("ask", request, verb, arguments, self._working_on.get()))
        if self._over or self._transport is None or self._is_choked():
            raise gone()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[request] = _Asked(answer, contextvars.copy_context())
        self._transport.write(message)
        try:
            return await answer
        except asyncio.CancelledError:
            self._abandon(request)
            raise
        finally:
            self._asked.pop(request, None)

    def tell(self, name: str, level: int, text: str) -> None:
        """Sends a log record; drops it when the other end does not read."""
        if not self._over and self._transport is not None and not self._is_choked():
            self._transport.write(frame(("log", name, level, text)))

    def tell_spans(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Sends the spans of the request that the current task works on; drops them as ``tell`` does."""
        if rows and not self._over and self._transport is not None and not self._is_choked():
            self._transport.write(frame(("spans", self._working_on.get(), rows)))

    def close(self, reason: str = "closed") -> None:
        """Ends the connection, and every request on both ends."""
        if self._over:
            return
        self._over = True
        if self._transport is not None:
            self._transport.abort()
        for asked in self._asked.values():
            if not asked.answer.done():
                asked.answer.set_exception(gone())
        for task in self._serving.values():
            task.cancel()
        self.lost(reason)

    # --- asyncio.Protocol -----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self.close("the process ended")

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._paused:
            self._read()

    def _read(self) -> None:
        """Takes the messages in the buffer: one slice of them, and one at a time of the long ones."""
        loop, began, taken = asyncio.get_running_loop(), time.perf_counter(), 0
        try:
            while not self._over and (message := self._next()) is not None:
                if len(message) > LONG_FRAME_BYTES:
                    self._pause()
                    loop.run_in_executor(None, decode, message).add_done_callback(self._take_decoded)
                    return
                self._take(decode(message))
                taken, took_s = taken + 1, time.perf_counter() - began
                if self.rests and (taken >= SLICE_MESSAGES or took_s > SLICE_S):
                    self._pause()
                    loop.call_later(max(LEAST_REST_S, REST * took_s), self._resume)
                    return
        except Exception as error:  # whatever another process sends
            self.close(f"it sent a message that cannot be read: {error}")

    def _next(self) -> bytes | None:
        """Takes a whole message out of the buffer; None while there is none."""
        if len(self._buffer) < _HEADER_BYTES:
            return None
        end = _HEADER_BYTES + _length(self._buffer[:_HEADER_BYTES])
        if len(self._buffer) < end:
            return None
        message = bytes(self._buffer[_HEADER_BYTES:end])
        del self._buffer[:end]
        return message

    def _take_decoded(self, decoding: asyncio.Future[Any]) -> None:
        try:
            self._take(decoding.result())
        except Exception as error:  # whatever another process sends
            self.close(f"it sent a message that cannot be read: {error}")
        self._resume()

    def _pause(self) -> None:
        assert self._transport is not None
        self._paused = True
        self._transport.pause_reading()

    def _resume(self) -> None:
        self._paused = False
        if not self._over and self._transport is not None:
            self._transport.resume_reading()
            self._read()

    # --- messages -------------------------------------------------------------------------------------------

    def _take(self, message: Any) -> None:
        kind, *rest = message
        if kind == "ask":
            request, verb, arguments, about = rest
            self._begin(request, verb, arguments, about)
        elif kind in ("answer", "raise"):
            request, value = rest
            self._abandoned.discard(request)
            asked = self._asked.get(request)
            if asked is None or asked.answer.done():
                return
            if kind == "answer":
                asked.answer.set_result(value)
            else:
                asked.answer.set_exception(value if isinstance(value, Exception) else Raised(str(value)))
        elif kind == "cancel":
            task = self._serving.get(rest[0])
            if task is not None:
                task.cancel()
        elif kind == "spans":
            request, rows = rest
            about = self._asked.get(request)
            if about is not None:
                about.context.copy().run(adopt, rows)
        elif kind == "log":
            self.told(*rest)
        else:
            raise Uncodable(f"message {kind!r} does not exist")

    def _begin(self, request: int, verb: str, arguments: tuple[Any, ...], about: int) -> None:
        if len(self._serving) >= MAX_SERVED:
            self._send(("raise", request, UpstreamError("Too many requests at a time.", retryable=True)))
            return
        if request in self._serving:
            raise Uncodable(f"request {request!r} is under way already")
        asked = self._asked.get(about)
        context = contextvars.Context() if asked is None else asked.context.copy()
        context.run(self._working_on.set, request)
        task = asyncio.create_task(self._work(request, verb, arguments), context=context)
        self._serving[request] = task
        task.add_done_callback(partial(self._ended, request))

    def _ended(self, request: int, task: asyncio.Task[None]) -> None:
        if self._serving.get(request) is task:
            del self._serving[request]

    async def _work(self, request: int, verb: str, arguments: tuple[Any, ...]) -> None:
        try:
            message = ("answer", request, await self.serve(verb, arguments))
        except asyncio.CancelledError:
            message = ("raise", request, "it was cancelled")
        except BaseException as error:  # SystemExit and KeyboardInterrupt of a plugin too
            message = ("raise", request, self.failed(error))
        self._serving.pop(request, None)  # its id may be used again as soon as the answer arrives
        self._send(message)

    def _send(self, message: tuple[str, int, Any]) -> None:
        if self._over or self._transport is None:
            return
        try:
            data = frame(message)
        except Uncodable as error:
            data = frame(("raise", message[1], f"the answer cannot be sent: {error}"[:4_096]))
        self._transport.write(data)
        if self._transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            self.close("it does not read its answers")

    def _abandon(self, request: int) -> None:
        if self._over:
            return
        self._send(("cancel", request, None))
        self._abandoned.add(request)
        if len(self._abandoned) > MAX_ABANDONED:
            self.close("too many cancelled calls never ended")

    def _is_choked(self) -> bool:
        assert self._transport is not None
        return self._transport.get_write_buffer_size() > MAX_FRAME_BYTES


class Raised(Exception):  # noqa: N818 - what the plugin raised, as text
    """An exception of the other end that is not one of Quoteway: its traceback as text, for the log alone."""


def gone() -> UpstreamError:
    """Returns the error of a request to a process that is not there."""
    return UpstreamError(
        "The provider's process does not run at the moment.", reason=Reason.PROVIDER_ERROR, retryable=True
    )
