"""A cache whose entries live for a time and are made once for all who wait for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from cachetools import TTLCache

from quoteway.background import Background

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def compact(data: bytes) -> bytes:
    """Returns a copy that takes no more memory than its length, to be kept.

    What orjson writes takes up to 8 KiB more: it is written into a larger buffer, which stays.
    """
    return bytes(memoryview(data))


class Cache(Generic[K, V]):
    """At most ``most`` values, each for ``ttl_s`` seconds. The oldest one gives way to a new one.

    A value that is being made when all its callers were cancelled is finished and kept. Errors are not kept.
    """

    def __init__(
        self,
        background: Background,
        ttl_s: float,
        most: int = 1_024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises ``ValueError`` for a time or number that is not above zero."""
        if ttl_s <= 0 or most <= 0:
            raise ValueError(f"a cache needs ttl_s and most above zero, not {ttl_s!r} and {most!r}")
        self._background = background
        self._values: TTLCache[K, V] = TTLCache(most, ttl_s, timer=clock)
        self._making: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        """Returns the value of ``key``. Without one, ``make`` is called once for all concurrent callers.

        Raises what ``make`` raises, to each of them.
        """
        try:
            return self._values[key]
        except KeyError:
            pass
        task = self._making.get(key)
        if task is None:
            task = self._making[key] = self._background.run(self._made(key, make))
            task.add_done_callback(lambda done: self._end(key, done))
        return await asyncio.shield(task)

    def forget(self, key: K) -> None:
        """Drops the value of ``key``, if there is one."""
        self._values.pop(key, None)

    async def _made(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        value = self._values[key] = await make()
        return value

    def _end(self, key: K, task: asyncio.Task[V]) -> None:
        del self._making[key]
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio logs none when nobody waits any more
