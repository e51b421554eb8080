"""Keeps answers in memory and reads them anew in the background (stale while revalidate)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachetools import LRUCache

from quoteway.errors import GatewayError, Reason

log = logging.getLogger("quoteway.host.refresh")

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """What is known of one key.

    ``value`` is the last good answer and ``read_at_s`` when it was read (seconds of the refresher's clock);
    both None before the first one. ``failure`` is why the newest read that ended gave no answer; None when it
    gave one, and before the first read has ended.
    """

    value: T | None = None
    read_at_s: float | None = None
    failure: Reason | None = None

    @property
    def has_value(self) -> bool:
        return self.read_at_s is not None


@dataclass(frozen=True, slots=True)
class _Read:
    task: asyncio.Task[None]
    started_s: float


class Refresher(Generic[K, T]):
    """Reads each key with ``read`` and keeps its last good answer.

    One read per key runs at a time, and everybody who asks meanwhile shares it (single flight). A read
    belongs to the refresher: it goes on when nobody waits for it any more, until ``close`` cancels it.
    ``read`` sets its own deadline and raises ``GatewayError`` when it has no answer. At most ``most_keys``
    answers are kept; those not asked for longest go first.
    """

    def __init__(
        self,
        read: Callable[[K], Awaitable[T]],
        *,
        most_keys: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._clock = clock
        self._kept: LRUCache[K, Kept[T]] = LRUCache(most_keys)
        self._reads: dict[K, _Read] = {}
        self._closed = False

    def known(self, key: K) -> Kept[T]:
        """What is in memory."""
        return self._kept.get(key) or Kept()

    def begin(self, key: K) -> None:
        """Starts a read of the key unless one runs or ``close`` was called."""
        if key not in self._reads and not self._closed:
            task = asyncio.create_task(self._refresh(key), name=f"refresh:{key}")
            self._reads[key] = _Read(task, self._clock())

    async def get(
        self, keys: Iterable[K], *, newer_wait_s: float, first_wait_s: float, old_s: float
    ) -> dict[K, Kept[T]]:
        """Starts to read every key, waits a bounded time once for all of them, and gives what is in memory.

        A read is waited for until it has run for ``newer_wait_s`` seconds, and where nothing younger than
        ``old_s`` is in memory for ``first_wait_s``: who comes later than that does not wait again.
        """
        wanted = list(dict.fromkeys(keys))
        for key in wanted:
            self.begin(key)
        await self._wait(wanted, newer_wait_s)
        await self._wait([key for key in wanted if self._is_needed(key, old_s)], first_wait_s)
        return {key: self.known(key) for key in wanted}

    async def _wait(self, keys: Iterable[K], most_s: float) -> None:
        """Waits for the reads of these keys that run, until the youngest has run for ``most_s`` seconds."""
        reads = [read for key in keys if (read := self._reads.get(key)) is not None]
        if reads:
            left_s = max(read.started_s for read in reads) + most_s - self._clock()
            if left_s > 0:
                await asyncio.wait([read.task for read in reads], timeout=left_s)

    async def close(self) -> None:
        """Cancels every read; none begins after it."""
        self._closed = True
        tasks = [read.task for read in self._reads.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            # wait, not gather: a read that swallows its cancellation must not hold the shutdown.
            await asyncio.wait(tasks, timeout=1.0)

    def _is_needed(self, key: K, old_s: float) -> bool:
        """Whether nothing recent is there to serve."""
        read_at_s = self.known(key).read_at_s
        return read_at_s is None or self._clock() - read_at_s > old_s

    async def _refresh(self, key: K) -> None:
        failure: Reason | None = None
        try:
            value = await self._read(key)
        except GatewayError as error:
            failure = error.reason or Reason.PROVIDER_ERROR
        except Exception:
            log.exception("reading %s failed", key)
            failure = Reason.PROVIDER_ERROR
        finally:
            del self._reads[key]
        if failure is None:
            self._kept[key] = Kept(value, self._clock())
        else:
            before = self.known(key)
            self._kept[key] = Kept(before.value, before.read_at_s, failure)
