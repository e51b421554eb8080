"""The newest block of a chain, known without asking while the chain is in use."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable

from quoteway.models import Block

log = logging.getLogger("quoteway.evm")


class HeadTracker:
    """Polls the head in the background from its first use until ``idle_s`` seconds after its last.

    ``read`` asks the node; its argument tells whether a read already under way will do. A known head is
    served for at most ``stale_s`` seconds; after that it is read again, and when that fails the error is
    raised: an old block is never passed off as the newest.
    """

    def __init__(
        self,
        slug: str,
        read: Callable[[bool], Awaitable[Block]],
        *,
        poll_s: float,
        idle_s: float,
        stale_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._slug = slug
        self._read = read
        self._poll_s = poll_s
        self._idle_s = idle_s
        self._stale_s = stale_s
        self._clock = clock
        self._block: Block | None = None
        self._read_at = 0.0
        self._used_at = 0.0
        self._poller: asyncio.Task[None] | None = None
        self._failing = False

    @property
    def known(self) -> Block | None:
        """The newest block read so far; None before the first read."""
        return self._block

    async def get(self, *, fresh: bool = False) -> Block:
        """The newest block. ``fresh`` asks the node in any case, and for no older state than at this call."""
        self._used_at = self._clock()
        if self._poller is None or self._poller.done():
            # A context of its own: it outlives the request that happens to start it.
            self._poller = asyncio.create_task(
                self._poll(), name=f"head of {self._slug}", context=contextvars.Context()
            )
        if self._block is None or fresh or not 0 <= self._used_at - self._read_at <= self._stale_s:
            return await self._refresh(shared=not fresh)
        return self._block

    async def close(self) -> None:
        """Stops polling."""
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.wait([self._poller], timeout=1.0)
            self._poller = None

    async def _refresh(self, *, shared: bool = True) -> Block:
        asked_at = self._clock()
        block = await self._read(shared)
        # Answers can overtake each other: the one asked for last is the newest knowledge.
        if self._block is None or asked_at >= self._read_at:
            self._block, self._read_at = block, asked_at
        return block

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._poll_s)
            if self._clock() - self._used_at > self._idle_s:
                return
            try:
                await self._refresh()
            except Exception as error:  # isolation border: a failing node must not end the polling
                if not self._failing:
                    log.warning("the head of %s cannot be read: %s", self._slug, error)
                self._failing = True
                continue
            if self._failing:
                log.warning("the head of %s can be read again", self._slug)
            self._failing = False
