"""Finds blocks by their time."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort

from quoteway import Block, Chain

from quoteway_uniswap.trade_history import SETTLED_BLOCKS

_BLOCKS_KEPT = 16_384
_AT_ONCE = 8


class BlockTimes:
    """The blocks of one chain by time. A search takes a few reads, one of a known time none."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._times: list[tuple[int, int]] = []
        """Time and number of the settled blocks that were read, in order."""
        self._blocks: dict[int, Block] = {}
        self._lane = asyncio.Semaphore(_AT_ONCE)

    async def first_since(self, moment: int, head: Block) -> Block | None:
        """Returns the first block at or after ``moment`` (Unix seconds); None when ``head`` is older.

        Raises UpstreamError when blocks cannot be read.
        """
        if head.timestamp < moment:
            return None
        low, high = await self._around(moment, head)
        guesses = 0
        # low is before the moment, high is not. Guesses interpolate between the two. Every third guess halves
        # the span, for chains with uneven block times.
        while high.number - low.number > 1:
            guesses += 1
            span, elapsed = high.number - low.number, high.timestamp - low.timestamp
            ahead = span * (moment - low.timestamp) // elapsed if guesses % 3 else span // 2
            middle = await self._block(low.number + min(max(ahead, 1), span - 1), head)
            if middle.timestamp >= moment:
                high = middle
            else:
                low = middle
        return high

    async def _around(self, moment: int, head: Block) -> tuple[Block, Block]:
        """Returns known blocks before and after a moment, as near as there are."""
        first = await self._block(0, head)
        if first.timestamp >= moment:
            return first, first
        at = bisect_left(self._times, (moment, -1))
        low = self._blocks[self._times[at - 1][1]] if at else first
        high = self._blocks[self._times[at][1]] if at < len(self._times) else head
        # Of an older head than what was read meanwhile.
        return (low, high) if low.number < high.number <= head.number else (first, head)

    async def _block(self, number: int, head: Block) -> Block:
        block = self._blocks.get(number)
        if block is None:
            async with self._lane:
                block = await self._chain.block(number)
            if number <= head.number - SETTLED_BLOCKS and number not in self._blocks:
                if len(self._blocks) >= _BLOCKS_KEPT:
                    self._blocks.clear()
                    self._times.clear()
                self._blocks[number] = block
                insort(self._times, (block.timestamp, number))
        return block
