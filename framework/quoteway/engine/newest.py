"""The newest value of something that changes, for any number of followers, from one reading for all."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Final, Generic, TypeVar

log = logging.getLogger("quoteway.engine.newest")

T = TypeVar("T")

_RESTART_S: Final = 5.0


class Newest(Generic[T]):
    """Runs ``source`` while anybody follows it, and gives each follower the newest value.

    A follower that is slower than the source misses values, and never gets one twice. ``source`` keeps its
    own errors as values; what it raises is logged, and it is started again.
    """

    def __init__(self, name: str, source: Callable[[], AsyncIterator[T]]) -> None:
        self._name = name
        self._source = source
        self._followers = 0
        self._values: list[T] = []
        self._count = 0
        self._moved = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def follow(self) -> AsyncGenerator[T, None]:
        """Yields the newest value as soon as there is one, and each time that there is a newer one."""
        self._followers += 1
        if self._task is None:
            # A context of its own: it outlives the request that happens to start it.
            self._task = asyncio.create_task(self._run(), name=self._name, context=contextvars.Context())
        seen = 0
        try:
            while True:
                while self._count == seen:
                    await self._moved.wait()
                seen = self._count
                yield self._values[0]
        finally:
            self._followers -= 1
            if not self._followers:
                self._task.cancel()
                self._task = None
                self._values, self._count = [], 0

    async def _run(self) -> None:
        while True:
            try:
                async for value in self._source():
                    self._values = [value]
                    self._count += 1
                    self._moved.set()
                    self._moved = asyncio.Event()
            except Exception:  # isolation border: a bug must not end what others follow for good
                log.exception("%s failed", self._name)
            await asyncio.sleep(_RESTART_S)
