"""The index of one chain while the index process runs: history, newest blocks, computations."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from quoteway import Chain, Network
from quoteway.models import IndexState

from quoteway_indexer.computing import Computation
from quoteway_indexer.ingest.backfill import RETRIED, Backfill
from quoteway_indexer.ingest.computing_loop import ComputingLoop
from quoteway_indexer.ingest.following import Following, StartAgainError
from quoteway_indexer.ingest.notes import ChainNote, SourceNote
from quoteway_indexer.ingest.ranges import newest_gap
from quoteway_indexer.ingest.reading import ChainChangedError, LogReader
from quoteway_indexer.ingest.retrying import Patience
from quoteway_indexer.ingest.sources import SourceSet
from quoteway_indexer.ingest.state import ChainState
from quoteway_indexer.writing import Writer

T = TypeVar("T")
_RETRIED: Final = (*RETRIED, ChainChangedError)


class ChainIndex:
    """Indexes one chain until it is cancelled, or once up to its head."""

    def __init__(
        self,
        chain: Chain,
        sources: SourceSet,
        writer: Writer,
        computations: Sequence[Computation],
        log: logging.Logger,
        *,
        finality_blocks: int,
    ) -> None:
        self.network: Network = chain.network
        self.sources = sources
        self._log = log
        self.state = ChainState(chain.network.chain_id, sources, writer)
        self._computing = ComputingLoop(computations, self.state.frontier, log)
        self.state.committed = self._computing.wake
        self._patience = Patience(log, chain.network.slug)
        reader = LogReader(chain)
        self._backfill = Backfill(reader, self.state, log, self._patience)
        self.following = Following(
            chain, reader, self.state, finality_blocks, self._stop_for_rewind, self._computing.rewind
        )
        self._filling: asyncio.Task[None] | None = None
        self._is_filled = False

    async def run(self, *, once: bool = False) -> None:
        """Indexes the chain. Raises ``StoreError`` when the store refuses."""
        while True:
            try:
                await self._run(once)
            except StartAgainError as reason:
                self._log.info("%s starts again: %s", self.network.slug, reason)
            else:
                return
            finally:
                await self._stop_filling()
                await self._computing.stop()

    async def _run(self, once: bool) -> None:
        state, following = self.state, self.following
        self._is_filled = False
        await state.load()
        until = await self._persistently(following.start)
        # The contracts of factories must be known before the logs of any block are told apart.
        while newest_gap(state.sources.finders, state.spans, until) is not None:
            await self._backfill.fill(state.sources.finders, until)
            until = await self._persistently(following.start)
        await self._persistently(lambda: following.begin(until))
        self._computing.rewind(until if state.tip is None else state.tip.number)
        self._filling = asyncio.create_task(
            self._backfill.fill(state.sources.all, until), name="index: history"
        )
        computing = asyncio.create_task(self._computing.run(), name="index: computations")
        try:
            await self._follow(once)
        finally:
            computing.cancel()
            await asyncio.wait([computing])
        if once and not await self._computing.advance():
            self._log.error("%s: a computation failed, see above", self.network.slug)

    async def _follow(self, once: bool) -> None:
        """Follows the head. With ``once``, until it is reached and the history is complete."""
        while True:
            is_at_head = False
            try:
                is_at_head = await self.following.follow()
                self._patience.succeeded()
            except _RETRIED as error:
                await self._patience.failed(error)
            if self._filling is not None and self._filling.done():
                self._filling.result()
                self._is_filled = True
                if once and is_at_head:
                    return
            waiting = [] if self._filling is None or self._filling.done() else [self._filling]
            pause = asyncio.create_task(asyncio.sleep(0 if not is_at_head else self.network.head_poll_s))
            await asyncio.wait([pause, *waiting], return_when=asyncio.FIRST_COMPLETED)
            pause.cancel()

    async def _persistently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Returns what a read of the chain gives, as soon as the nodes give it."""
        while True:
            try:
                value = await call()
            except _RETRIED as error:
                await self._patience.failed(error)
            else:
                self._patience.succeeded()
                return value

    async def _stop_for_rewind(self, block: int) -> None:
        """Ends what writes rows of blocks that are about to be taken back."""
        await self._computing.stop()
        if block < self.state.finalized:
            await self._stop_filling()

    async def _stop_filling(self) -> None:
        if self._filling is not None and not self._filling.done():
            self._filling.cancel()
            await asyncio.wait([self._filling])

    def note(self) -> ChainNote:
        """Returns how far the index is."""
        state, head = self.state, self.following.head
        until = state.finalized if state.tip is None else state.tip.number
        done, total = state.progress(until)
        blocks_per_second, logs_per_second = state.rates.per_second()
        left = total - done
        eta_s = None
        if not left:
            eta_s = 0
        elif blocks_per_second > 0:
            eta_s = int(left / blocks_per_second) + 1
        problem = self._patience.problem
        state_name: IndexState
        if problem:
            state_name = "waiting"
        elif head is None:
            state_name = "starting"
        else:
            state_name = "indexing" if left or state.tip is None else "following"
        spans = sorted((span.source, span.first, span.last) for span in state.spans)
        notes = [
            SourceNote(
                each.id,
                each.declared.version,
                each.declared.first_block,
                [(first, last) for source, first, last in spans if source == each.id],
                each.skipped,
            )
            for each in self.sources.others
        ]
        refused = [SourceNote(name, 0, 0, [], 0, reason) for name, reason in self.sources.refused.items()]
        return ChainNote(
            state=state_name,
            head=None if head is None else head.number,
            head_timestamp=None if head is None else head.timestamp,
            indexed_block=None if state.tip is None else state.tip.number,
            indexed_timestamp=None if state.tip is None else state.tip.timestamp,
            finalized=state.finalized if state.finalized >= 0 else None,
            done_blocks=done,
            total_blocks=total,
            blocks_per_second=blocks_per_second,
            logs_per_second=logs_per_second,
            eta_seconds=eta_s,
            sources=[*notes, *refused],
            problem=problem,
            updated_at=int(time.time()),
        )
