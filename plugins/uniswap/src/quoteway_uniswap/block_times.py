"""Which block a moment falls into."""

from __future__ import annotations

from cachetools import LRUCache
from quoteway import Block, Chain

_REMEMBERED = 4_096


class BlockTimes:
    """Blocks of one chain by time, found in a few reads each."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._blocks: LRUCache[int, Block] = LRUCache(_REMEMBERED)

    async def first_since(self, moment: int, head: Block) -> Block | None:
        """The first block whose time is at least ``moment`` (Unix seconds); None when ``head`` is older.

        Raises UpstreamError when blocks cannot be read.
        """
        if head.timestamp < moment:
            return None
        low, high = await self._block(0), head
        if low.timestamp >= moment:
            return low
        guesses = 0
        # low is before the moment, high is not. Guessed by the pace between the two; every third time halved,
        # for chains whose blocks come at no even pace.
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
