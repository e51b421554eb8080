"""Compares pools that were carried by logs with a new read of the same block.

A node may leave logs out, and a fork may change a pool in a way that no log tells: nothing else finds it.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import random
import time
from collections.abc import Callable
from dataclasses import replace

from quoteway import GatewayError
from quoteway_amm import ConcentratedPool, word_of_tick

from quoteway_uniswap import lens
from quoteway_uniswap.candidates import PoolRef
from quoteway_uniswap.pool_reader import PoolReader
from quoteway_uniswap.pool_store import PoolStore, Snapshot

log = logging.getLogger(__name__)

EVERY_S = 15
POOLS_AT_ONCE = 10


class PoolAudit:
    """Reads ``POOLS_AT_ONCE`` random pools again every ``EVERY_S`` seconds while they are in use."""

    def __init__(
        self, reader: PoolReader, store: PoolStore, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reader = reader
        self._store = store
        self._clock = clock
        self._chance = random.SystemRandom()
        self._next_s = clock() + EVERY_S
        self._task: asyncio.Task[object] | None = None

    def begin(self, snapshot: Snapshot) -> None:
        """Starts an audit in the background when one is due."""
        if self._clock() < self._next_s or (self._task is not None and not self._task.done()):
            return
        self._next_s = self._clock() + EVERY_S
        # A context of its own: it outlives the request that happens to start it.
        self._task = asyncio.create_task(
            self._in_background(snapshot), name="audit of pools", context=contextvars.Context()
        )

    async def close(self) -> None:
        """Ends the audit under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=1.0)

    async def run(self, snapshot: Snapshot, most: int = POOLS_AT_ONCE) -> list[PoolRef]:
        """Compares up to ``most`` pools and returns those that differ. These are distrusted for a while.

        Raises UpstreamError or RpcError when the chain could not be read.
        """
        known = dict(snapshot.states)
        refs = self._chance.sample(list(known), min(most, len(known)))
        states = await self._reader.read(snapshot.block, [lens.same_words(ref, known[ref]) for ref in refs])
        wrong = [ref for ref, state in zip(refs, states, strict=True) if not agree(known[ref], state)]
        if wrong:
            names = ", ".join(ref.id for ref in wrong)
            log.warning("pools of block %s were not what their logs tell: %s", snapshot.block.number, names)
            self._store.distrust(wrong)
        return wrong

    async def _in_background(self, snapshot: Snapshot) -> None:
        try:
            await self.run(snapshot)
        except GatewayError as error:
            log.info("pools of block %s could not be audited: %s", snapshot.block.number, error)


def agree(known: lens.State, read: lens.State) -> bool:
    """Returns whether two states of a pool at one block are equal in all ticks that both know."""
    if not isinstance(known, ConcentratedPool) or not isinstance(read, ConcentratedPool):
        return known == read
    low, high = max(known.word_lo, read.word_lo), min(known.word_hi, read.word_hi)
    return _within(known, low, high) == _within(read, low, high)


def _within(pool: ConcentratedPool, low: int, high: int) -> ConcentratedPool:
    ticks = tuple(tick for tick in pool.ticks if low <= word_of_tick(tick[0], pool.tick_spacing) <= high)
    return replace(pool, ticks=ticks, word_lo=low, word_hi=high)
