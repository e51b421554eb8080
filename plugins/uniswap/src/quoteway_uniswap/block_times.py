"""Finds blocks by their time."""

from __future__ import annotations

from cachetools import LRUCache
from quoteway import Block, Chain

_BLOCKS_KEPT = 4_096


class BlockTimes:
    """The blocks of one chain by time. A search takes a few reads."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._blocks: LRUCache[int, Block] = LRUCache(_BLOCKS_KEPT)

    async def first_since(self, moment: int, head: Block) -> Block | None:
        """Returns the first block at or after ``moment`` (Unix seconds); None when ``head`` is older.

        Raises UpstreamError when blocks cannot be read.
        """
        if head.timestamp < moment:
            return None
        low, high = await self._block(0), head
        if low.timestamp >= moment:
            return low
        guesses = 0
        # low is before the moment, high is not. Guesses interpolate between the two. Every third guess halves
        # the span, for chains with uneven block times.
        while high.number - low.number > 1:
            guesses += 1
            span, elapsed = high.number - low.number, high.timestamp - low.timestamp
            ahead = span * (moment - low.timestamp) // elapsed if guesses % 3 else span // 2
            middle = await self._block(low.number + min(max(ahead, 1), span - 1))
            if middle.timestamp >= moment:
                high = middle
            else:
                low = middle
        return high

    async def _block(self, number: int) -> Block:
        block: Block | None = self._blocks.get(number)
        if block is None:
            block = self._blocks[number] = await self._chain.block(number)
        return block
