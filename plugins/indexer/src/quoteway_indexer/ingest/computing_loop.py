"""Runs the computations of one chain after its facts were written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from quoteway import UpstreamError

from quoteway_indexer.computing import Computation, Frontier
from quoteway_indexer.store import StoreError

_RETRY_S: Final = 5.0


class ComputingLoop:
    """Brings computations up to the newest facts, one after another, whenever there are new ones."""

    def __init__(
        self,
        computations: Sequence[Computation],
        frontier: Callable[[], Frontier | None],
        log: logging.Logger,
    ) -> None:
        self._computations = computations
        self._frontier = frontier
        self._log = log
        self._news = asyncio.Event()
        self._round: asyncio.Task[bool] | None = None
        self._done: Frontier | None = None
        self._is_held = False

    def wake(self) -> None:
        """Says that facts were written."""
        self._news.set()

    async def run(self) -> None:
        """Computes until it is cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            if not await self.advance():
                await asyncio.sleep(_RETRY_S)
                self._news.set()

    async def advance(self) -> bool:
        """Computes what is new. Returns whether nothing failed."""
        self._round = asyncio.create_task(self._advance(), name="index: computing")
        try:
            await asyncio.wait([self._round])
        except asyncio.CancelledError:
            self._round.cancel()
            await asyncio.wait([self._round])
            raise
        return self._round.cancelled() or self._round.result()

    async def stop(self) -> None:
        """Ends the computing under way, and lets none begin until ``rewind``."""
        self._is_held = True
        if self._round is not None and not self._round.done():
            self._round.cancel()
            await asyncio.wait([self._round])

    def rewind(self, block: int) -> None:
        """Makes the computations forget blocks after this one, and compute again, after ``stop`` too."""
        for computation in self._computations:
            computation.rewind(block)
        self._done, self._is_held = None, False
        self.wake()

    async def _advance(self) -> bool:
        frontier, is_well = self._frontier(), True
        if frontier is None or frontier == self._done or self._is_held:
            return True
        for computation in self._computations:
            try:
                await computation.advance(frontier)
            except (StoreError, UpstreamError) as error:  # of the database, or of a node
                self._log.error("%s is tried again soon: %s", type(computation).__name__, error)
                is_well = False
            except Exception:  # isolation border: one computation must not end the index
                self._log.exception("%s failed", type(computation).__name__)
                is_well = False
        if is_well:
            self._done = frontier
        return is_well
