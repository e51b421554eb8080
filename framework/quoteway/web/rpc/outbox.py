"""What waits to be sent on a WebSocket: bounded, so that a client that does not read costs little."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from aiohttp import WSMsgType, web

MAX_MESSAGES: Final = 20_000
_MESSAGES_PER_TURN = 64


class Outbox:
    """The messages that wait to be sent on one connection, in their order.

    Answers wait for room, which stops the reading of further calls. What is pushed cannot wait: over
    ``max_bytes`` or ``MAX_MESSAGES`` ``on_full`` is called, once, and nothing more is taken.
    """

    def __init__(
        self,
        ws: web.WebSocketResponse[Any],
        max_bytes: int,
        write_timeout_s: float,
        on_full: Callable[[], None],
    ) -> None:
        self._ws = ws
        self._max_bytes = max_bytes
        self._write_timeout_s = write_timeout_s
        self._on_full = on_full
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._is_full = False
        self._filled, self._room, self._empty = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._empty.set()

    def push(self, message: bytes) -> None:
        """Adds a message that nobody asked for now."""
        if self._is_full:
            return
        if self._has_room(len(message)):
            self._add(message)
        else:
            self._is_full = True
            self._on_full()

    async def send(self, message: bytes) -> None:
        """Adds an answer as soon as there is room. One that is larger than all room goes alone."""
        while not self._has_room(len(message)):
            self._room.clear()
            await self._room.wait()
        self._add(message)

    async def empty(self) -> None:
        """Returns when all messages are written."""
        await self._empty.wait()

    async def write(self) -> None:
        """Writes the messages as long as the connection lasts.

        Raises ``TimeoutError`` when the client does not take one in time, ``ConnectionError`` when it has
        gone.
        """
        while True:
            await self._filled.wait()
            for _ in range(_MESSAGES_PER_TURN):
                if not self._queue:
                    self._filled.clear()
                    self._empty.set()
                    break
                async with asyncio.timeout(self._write_timeout_s):
                    await self._ws.send_frame(self._queue[0], WSMsgType.TEXT)
                self._bytes -= len(self._queue.popleft())
                self._room.set()
            else:
                await asyncio.sleep(0)

    def _has_room(self, size: int) -> bool:
        if not self._queue:
            return True
        return self._bytes + size <= self._max_bytes and len(self._queue) < MAX_MESSAGES

    def _add(self, message: bytes) -> None:
        self._queue.append(message)
        self._bytes += len(message)
        self._empty.clear()
        self._filled.set()
