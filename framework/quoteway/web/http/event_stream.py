"""Server-sent events (HTML standard, 9.2): the response, and what waits to be sent on it.

A client that reads slowly gets the newest event of each topic: of a topic only one waits here, and the bytes
of its connection are bounded. One that does not read is disconnected.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import orjson
from aiohttp import web

from quoteway.config.stream import StreamConfig
from quoteway.web.http.stream_metrics import StreamMetrics
from quoteway.web.wire.view import Wire

if TYPE_CHECKING:
    from quoteway.web.http.protocol import EnvelopeHandler

HEADERS: Final[Mapping[str, str]] = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # nginx passes each event on at once
}
_HEARTBEAT: Final = b":\n\n"
_END_WRITE_S: Final = 1.0
"""How long a client has to take what waits when its stream ends."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``block`` is what is sent of it."""

    name: str
    block: bytes

    @property
    def data(self) -> bytes:
        """Its data, as JSON."""
        return self.block.partition(b"\ndata: ")[2].removesuffix(b"\n\n")

    @classmethod
    def of(cls, name: str, data: Wire, event_id: str | None = None) -> Event:
        """Makes the event of a noun. Without ``event_id`` a client keeps the id that it has."""
        start = "" if event_id is None else f"id: {event_id}\n"
        return cls(name, f"{start}event: {name}\ndata: ".encode() + orjson.dumps(data) + b"\n\n")


class EventQueue:
    """The events that wait for one stream: those that it missed, then the newest of each topic."""

    def __init__(self) -> None:
        self._missed: deque[Event] = deque()
        self._newest: dict[Hashable, Event] = {}
        self._last: Event | None = None
        self._filled = asyncio.Event()
        self._writing: asyncio.Timeout | None = None
        self.cause = "client"
        """Why the stream ends."""
        self.is_lost = False
        """Whether the client has gone."""

    def replay(self, events: Iterable[Event]) -> None:
        """Adds events of which none may be left out."""
        self._missed.extend(events)
        if self._missed:
            self._filled.set()

    def put(self, topic: Hashable, event: Event) -> None:
        """Adds an event in place of the one of its topic that waits."""
        self._newest.pop(topic, None)  # its place is the end: ids are sent in ascending order
        self._newest[topic] = event
        self._filled.set()

    def end(self, cause: str, event: Event) -> None:
        """Ends the stream with this event, after what waits. The first end counts."""
        if self._last is None:
            self.cause, self._last = cause, event
            self._filled.set()
            if self._writing is not None:
                self._writing.reschedule(asyncio.get_running_loop().time() + _END_WRITE_S)

    def lose(self) -> None:
        """Ends the stream without an event: the client has gone."""
        self.is_lost = True
        self._filled.set()

    async def written(self, taken: Awaitable[None], timeout_s: float) -> None:
        """Waits until the client has taken most of what was sent.

        Raises ``TimeoutError`` when it does not in time. At the end of a stream there is less time, so that a
        client that does not read holds up no shutdown.
        """
        try:
            async with asyncio.timeout(timeout_s if self._last is None else _END_WRITE_S) as self._writing:
                await taken
        finally:
            self._writing = None

    async def get(self, timeout_s: float) -> tuple[Event | None, bool]:
        """Returns the next event, None after ``timeout_s`` without one; and whether it is the last one."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._filled.wait()
        except TimeoutError:
            return None, False
        if self.is_lost:
            return None, True
        if self._missed:
            event = self._missed.popleft()
        elif self._newest:
            event = self._newest.pop(next(iter(self._newest)))
        else:
            assert self._last is not None
            return self._last, True
        if not self._missed and not self._newest and self._last is None:
            self._filled.clear()
        return event, False


class EventStream(web.StreamResponse):
    """Sends the events of a queue for as long as the client stays.

    ``open_queue`` gives the queue, and is left when the stream ends, however it does. Until then nothing is
    held for the stream: it begins when the headers of the response have been sent. ``at_end`` makes the event
    of the end of its lifetime, which is ``left_s`` at most.
    """

    def __init__(
        self,
        open_queue: Callable[[], AbstractContextManager[EventQueue]],
        at_end: Callable[[], Event],
        config: StreamConfig,
        metrics: StreamMetrics,
        left_s: float | None = None,
    ) -> None:
        super().__init__(headers=HEADERS)
        self._open_queue = open_queue
        self._at_end = at_end
        self._config = config
        self._metrics = metrics
        self._lifetime_s = config.lifetime_s if left_s is None else min(config.lifetime_s, left_s)
        self.force_close()  # a proxy must not send the next request to a replica that stops

    async def write_eof(self, data: bytes = b"") -> None:
        """Sends the events, and then the end of the response. aiohttp calls it after the headers."""
        if not (self._eof_sent or self._must_be_empty_body):
            with self._open_queue() as queue:
                self._metrics.opened()
                try:
                    await self._send(queue)
                except ConnectionError:
                    queue.lose()
                    raise
                finally:
                    self._metrics.closed(queue.cause)
        await super().write_eof(data)

    async def _send(self, queue: EventQueue) -> None:
        assert self._req is not None
        connection = cast("EnvelopeHandler", self._req.protocol)
        transport = connection.transport
        if transport is None:
            return
        config, loop = self._config, asyncio.get_running_loop()
        transport.set_write_buffer_limits(high=config.queue_bytes)
        connection.on_lost = queue.lose
        ends_at = loop.time() + self._lifetime_s
        retry_ms = int(1_000 * config.retry_s * random.uniform(0.5, 1.5))  # noqa: S311 - spreads them in time
        await self._write(connection, queue, b"retry: %d\n\n" % retry_ms)
        while True:
            event, is_last = await queue.get(min(config.heartbeat_s, max(ends_at - loop.time(), 0)))
            if event is not None:
                await self._write(connection, queue, event.block)
                self._metrics.sent(event.name)
            elif not is_last and loop.time() < ends_at:
                await self._write(connection, queue, _HEARTBEAT)
            if is_last:
                return
            if loop.time() >= ends_at:
                queue.end("lifetime", self._at_end())

    async def _write(self, connection: EnvelopeHandler, queue: EventQueue, block: bytes) -> None:
        """Raises ``ConnectionError`` when the client has gone, or does not read."""

        async def taken() -> None:
            await self.write(block)
            await connection.drained()

        try:
            await queue.written(taken(), self._config.write_timeout_s)
        except TimeoutError:
            queue.cause = "slow"
            if connection.transport is not None:
                connection.transport.abort()
            raise ConnectionResetError("the client does not read") from None
