"""Keeps answers in memory and refreshes them in the background (stale-while-revalidate)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

from cachetools import LRUCache

from quoteway.errors import GatewayError, Reason

log = logging.getLogger("quoteway.host.refresh")

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Clock: TypeAlias = Callable[[], float]


@dataclass(frozen=True, slots=True)
class RefreshPolicy:
    """When a key is read again and how long a caller waits for it, in seconds.

    - ``fresh_s``: an answer younger than this is not read again.
    - ``retry_s``: minimum time from a failed read to the next one.
    - ``newer_wait_s``: how long a caller waits for a read when there is an answer in memory.
    - ``first_wait_s``: how long it waits when there is no answer, or only one older than ``old_s``.
    """

    fresh_s: float = 0.0
    retry_s: float = 0.0
    newer_wait_s: float = 0.0
    first_wait_s: float = 0.0
    old_s: float = float("inf")


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """The state of one key. Times are seconds of the refresher's clock.

    ``value`` is the last good answer and ``read_at_s`` its time; both are None before the first one.
    ``ended_at_s`` is the end of the newest read; None before the first one. ``failure`` is why that read gave
    no answer; None when it gave one.
    """

    value: T | None = None
    read_at_s: float | None = None
    failure: Reason | None = None
    ended_at_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    task: asyncio.Task[None]
    started_s: float


class Refresher(Generic[K, T]):
    """Reads keys with ``read`` and keeps the last good answer of each.

    One read per key runs at a time, and concurrent callers share it (single flight). A read continues when
    its callers are cancelled; ``close`` cancels it. ``read`` sets its own deadline. It leaves out keys that
    it has no answer for, and raises ``GatewayError`` when it has no answer at all. At most ``most_keys``
    answers are kept; the least recently used are dropped first.
    """

    def __init__(
        self,
        read: Callable[[Sequence[K]], Awaitable[Mapping[K, T]]],
        policy: RefreshPolicy,
        *,
        most_keys: int,
        clock: Clock = time.monotonic,
    ) -> None:
        self._read = read
        self._policy = policy
        self._clock = clock
        self._kept: LRUCache[K, Kept[T]] = LRUCache(most_keys)
        self._reads: dict[K, _Read] = {}
        self._slow: LRUCache[K, None] = LRUCache(most_keys)
        """The keys whose last read took longer than a caller would wait for a newer answer."""
        self._closed = False

    def known(self, key: K) -> Kept[T]:
        """Returns the state of a key in memory."""
        return self._kept.get(key) or Kept()

    def begin(self, *keys: K) -> None:
        """Starts one read of the keys that are neither being read nor fresh. Does nothing after ``close``."""
        due = [key for key in keys if key not in self._reads and not self._is_settled(key)]
        if due and not self._closed:
            read = _Read(asyncio.create_task(self._refresh(due), name=f"refresh:{due}"), self._clock())
            self._reads.update(dict.fromkeys(due, read))

    def running(self, keys: Iterable[K]) -> set[asyncio.Task[None]]:
        """Returns the running reads of these keys."""
        return {read.task for key in keys if (read := self._reads.get(key)) is not None}

    async def get(self, keys: Iterable[K]) -> dict[K, Kept[T]]:
        """Starts a read of each key, waits for all of them together, and returns what is in memory.

        The waits of the policy count from the start of a read. A caller that comes after them does not wait,
        nor for a newer answer of a key whose last read took longer than that.
        """
        wanted = list(dict.fromkeys(keys))
        for key in wanted:
            self.begin(key)
        await self._wait([key for key in wanted if key not in self._slow], self._policy.newer_wait_s)
        await self._wait([key for key in wanted if self._is_needed(key)], self._policy.first_wait_s)
        return {key: self.known(key) for key in wanted}

    async def close(self) -> None:
        """Cancels all reads and prevents new ones."""
        self._closed = True
        tasks = self.running(self._reads)
        for task in tasks:
            task.cancel()
        if tasks:
            # wait, not gather: a read that ignores its cancellation must not delay the shutdown.
            await asyncio.wait(tasks, timeout=1.0)

    def _is_settled(self, key: K) -> bool:
        kept = self.known(key)
        good_s = self._policy.fresh_s if kept.failure is None else self._policy.retry_s
        return kept.ended_at_s is not None and self._clock() - kept.ended_at_s < good_s

    def _is_needed(self, key: K) -> bool:
        read_at_s = self.known(key).read_at_s
        return read_at_s is None or self._clock() - read_at_s > self._policy.old_s

    async def _wait(self, keys: Sequence[K], most_s: float) -> None:
        """Waits for the running reads of these keys that have not yet run for ``most_s`` seconds."""
        now_s = self._clock()
        reads = [read for key in keys if (read := self._reads.get(key)) is not None]
        young = [read for read in reads if read.started_s + most_s > now_s]
        if young:
            left_s = max(read.started_s for read in young) + most_s - now_s
            await asyncio.wait({read.task for read in young}, timeout=left_s)

    async def _refresh(self, keys: Sequence[K]) -> None:
        answers: Mapping[K, T] = {}
        failure = Reason.PROVIDER_ERROR
        try:
            answers = await self._read(keys)
        except GatewayError as error:
            failure = error.reason or failure
        except Exception:
            log.exception("reading %s failed", keys)
        finally:
            began_s = [self._reads.pop(key).started_s for key in keys]
        now = self._clock()
        slow = now - min(began_s) > self._policy.newer_wait_s
        for key in keys:
            self._slow.pop(key, None)
            if slow:
                self._slow[key] = None
        for key in keys:
            if key in answers:
                self._kept[key] = Kept(answers[key], now, None, now)
            else:
                self._kept[key] = replace(self.known(key), failure=failure, ended_at_s=now)
