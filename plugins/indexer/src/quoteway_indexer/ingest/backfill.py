"""Reads what is missing in blocks that no reorganisation takes back: newest first, some ranges at once."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from quoteway import GatewayError

from quoteway_indexer.ingest.logs import UnreadableLogsError
from quoteway_indexer.ingest.ranges import Gap, RangeSize, newest_gap
from quoteway_indexer.ingest.reading import IncompleteError, LogReader, TooLargeError
from quoteway_indexer.ingest.retrying import Patience
from quoteway_indexer.ingest.sources import Source
from quoteway_indexer.ingest.state import ChainState
from quoteway_indexer.store import Span

PARALLEL: Final = 3
RETRIED: Final = (GatewayError, UnreadableLogsError, IncompleteError, TimeoutError)


class Backfill:
    """Fills the gaps of one chain."""

    def __init__(self, reader: LogReader, state: ChainState, log: logging.Logger, patience: Patience) -> None:
        self._reader = reader
        self._state = state
        self._log = log
        self._patience = patience
        self._sizes: defaultdict[tuple[str, ...], RangeSize] = defaultdict(RangeSize)

    async def fill(self, sources: Sequence[Source], until: int) -> None:
        """Reads and commits all that is missing of sources up to a block.

        Failures of nodes are waited out. What the store refuses is raised (``StoreError``).
        """
        under_way: dict[asyncio.Task[None], Gap] = {}
        try:
            while True:
                while len(under_way) < PARALLEL:
                    gap = self._next(sources, list(under_way.values()), until)
                    if gap is None:
                        break
                    under_way[asyncio.create_task(self._read(gap), name="index: history")] = gap
                if not under_way:
                    return
                done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del under_way[task]
                    task.result()
        finally:
            for task in under_way:
                task.cancel()
            if under_way:
                await asyncio.wait(under_way)

    def _next(self, sources: Sequence[Source], taken: Sequence[Gap], until: int) -> Gap | None:
        claimed = [Span(each.id, each.version, gap.first, gap.last) for gap in taken for each in gap.sources]
        gap = newest_gap(sources, [*self._state.spans, *claimed], until)
        if gap is None:
            return None
        size = self._size(gap)
        if not size.is_learned and any(each.sources == gap.sources for each in taken):
            return None
        return gap.newest(size.blocks)

    def _size(self, gap: Gap) -> RangeSize:
        return self._sizes[tuple(each.id for each in gap.sources)]

    async def _read(self, gap: Gap) -> None:
        """Reads a range once. What it lacks afterwards is a gap that is taken again."""
        loop, size, blocks = asyncio.get_running_loop(), self._size(gap), gap.last - gap.first + 1
        began = loop.time()
        try:
            read = await self._reader.history(gap)
        except TooLargeError as error:
            size.refused(blocks, error.blocks)
            if blocks == 1:
                await self._patience.failed(error)
            return
        except RETRIED as error:
            size.refused(blocks)
            await self._patience.failed(error)
            return
        self._patience.succeeded()
        size.gave(blocks, read.logs, loop.time() - began)
        await self._state.commit(gap.first, gap.last, gap.sources, read)
