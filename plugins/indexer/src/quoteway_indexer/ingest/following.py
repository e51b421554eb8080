"""Follows the head of a chain: reads new blocks, and takes back those that a reorganisation replaced."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from quoteway import Block, Chain, Header, UpstreamError

from quoteway_indexer.ingest.reading import ChainChangedError, LogReader, indexed
from quoteway_indexer.ingest.state import ChainState
from quoteway_indexer.store import IndexedBlock

BLOCKS_AT_ONCE: Final = 256
_LOOK_BACK: Final = 64
_FAR_BEHIND: Final = 2_000
_NO_BLOCK: Final = IndexedBlock(-1, bytes(32), bytes(32), 0)


class StartAgainError(Exception):
    """What is known is so far from the chain that the index of it has to be started again."""


class Following:
    """Keeps the newest blocks of one chain.

    ``before_rewind`` is awaited before the blocks after a number are taken back, ``after_rewind`` is called
    when they are.
    """

    def __init__(
        self,
        chain: Chain,
        reader: LogReader,
        state: ChainState,
        finality_blocks: int,
        before_rewind: Callable[[int], Awaitable[None]],
        after_rewind: Callable[[int], None],
    ) -> None:
        self._chain = chain
        self._reader = reader
        self._state = state
        self._finality_blocks = finality_blocks
        self._before_rewind = before_rewind
        self._after_rewind = after_rewind
        self._followed = -1
        self.head: Block | None = None

    async def finalized(self, head: Block) -> int:
        """Returns the newest block that no reorganisation takes back: the nodes' word, else by depth.

        It is before the head.
        """
        try:
            number = (await self._chain.block("finalized", shared=False)).number
        except UpstreamError:
            number = head.number - self._finality_blocks
        return max(-1, min(number, head.number - 1))

    async def start(self) -> int:
        """Takes back known blocks that the chain does not have. Returns the newest finalised block."""
        head = self.head = await self._chain.head()
        state = self._state
        last = max((span.last for span in state.spans), default=-1)
        known = await state.writer.blocks(state.chain_id, max(0, last - _LOOK_BACK), min(last, head.number))
        if known:
            ancestor = await self._ancestor(known[-1].number)
            if ancestor.number < known[-1].number:
                await self._rewind(ancestor)
        state.finalized = await self.finalized(head)
        return state.finalized

    async def begin(self, base: int) -> None:
        """Goes on from the newest block that is known of all sources, else from the one after ``base``.

        Up to ``base`` the blocks are read by ``Backfill``.
        """
        state = self._state
        ends = {span.source: span.last for span in sorted(state.spans, key=lambda span: span.last)}
        last = min((ends.get(each.id, -1) for each in state.sources.all), default=-1)
        known = await state.writer.blocks(state.chain_id, base + 1, last)
        is_whole = bool(known) and len(known) == known[-1].number - base and known[-1].number == last
        if is_whole:
            state.tip = known[-1]
        elif base >= 0:
            state.tip = indexed(await self._reader.header(base))
        else:
            state.tip = None

    async def follow(self) -> bool:
        """Reads the blocks that are new. Returns whether the index is now that of the head.

        Raises as ``LogReader.recent`` does, ``ChainChangedError``, and ``StartAgainError``.
        """
        head = self.head = await self._chain.head()
        state = self._state
        if state.tip is not None and state.tip.hash == bytes.fromhex(head.hash[2:]):
            return True
        finalized = await self.finalized(head)
        if state.tip is not None and not await self._leave_fork(state.tip, head):
            return False
        first = 0 if state.tip is None else state.tip.number + 1
        if finalized - first > _FAR_BEHIND:
            raise StartAgainError("the head is far ahead of the index")
        while first <= head.number:
            last = min(first + BLOCKS_AT_ONCE - 1, head.number)
            headers = await self._headers(first, last)
            if last == head.number and headers[-1].block.hash != head.hash:
                raise ChainChangedError("the chain was reorganised while it was read")
            sources = state.sources.all
            read = await self._reader.recent(headers, sources)
            await state.commit(first, last, sources, read)
            state.tip, state.finalized = read.blocks[-1], max(state.finalized, finalized)
            state.committed()
            first = last + 1
        self._followed = head.number
        return True

    async def _headers(self, first: int, last: int) -> list[Header]:
        """Returns the headers of a range that follows the newest known block."""
        headers = await self._reader.headers(range(first, last + 1))
        tip = self._state.tip
        parent = None if tip is None else "0x" + tip.hash.hex()
        for header in headers:
            if parent is not None and header.parent is not None and header.parent.lower() != parent:
                raise ChainChangedError("the chain was reorganised while it was read")
            parent = header.block.hash.lower()
        return headers

    async def _leave_fork(self, tip: IndexedBlock, head: Block) -> bool:
        """Takes back blocks that the chain does not have any more.

        Returns False when the nodes are behind what is known, and say nothing against it.
        """
        if head.number > tip.number:
            following = await self._reader.header(tip.number + 1)
            if following.parent is not None and following.parent.lower() == "0x" + tip.hash.hex():
                return True
        ancestor = await self._ancestor(min(tip.number, head.number))
        if ancestor.number == tip.number:
            return True
        # A head that was given here and is lower now was proven to be so.
        if ancestor.number == head.number < tip.number and self._followed < tip.number:
            return False
        await self._rewind(ancestor)
        return True

    async def _ancestor(self, last: int) -> IndexedBlock:
        """Returns the newest known block up to ``last`` that the chain has; number -1: there is none."""
        state, depth = self._state, _LOOK_BACK
        while last >= 0:
            first = max(0, last - depth + 1)
            for block in reversed(await state.writer.blocks(state.chain_id, first, last)):
                if indexed(await self._reader.header(block.number)).hash == block.hash:
                    return block
            last, depth = first - 1, depth * 4
        return _NO_BLOCK

    async def _rewind(self, ancestor: IndexedBlock) -> None:
        is_deep = ancestor.number < self._state.finalized
        await self._before_rewind(ancestor.number)
        await self._state.rewind(ancestor)
        self._after_rewind(ancestor.number)
        self._followed = min(self._followed, ancestor.number)
        if is_deep:
            raise StartAgainError("blocks were taken back that were final")
