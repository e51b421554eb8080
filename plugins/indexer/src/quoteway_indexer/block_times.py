"""The last block before a time, found with few reads of headers."""

from __future__ import annotations

from cachetools import LRUCache
from quoteway import Block, Chain

_BLOCKS_KEPT = 4_096


class BlockTimes:
    """Blocks of one chain by time."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._blocks: LRUCache[int, Block] = LRUCache(_BLOCKS_KEPT)

    async def last_before(self, moment: int, newest: Block) -> Block | None:
        """Returns the last block, up to ``newest``, whose time is before ``moment``; None before the first.

        Raises ``UpstreamError`` when a block cannot be read.
        """
        if newest.timestamp < moment:
            return newest
        low, high, distance = None, newest, 1
        spacing = max(self._chain.network.block_time_s, 0.001)
        distance = max(1, int((newest.timestamp - moment) / spacing))
        while low is None:
            block = await self._block(max(0, high.number - distance))
            if block.timestamp < moment:
                low = block
            elif block.number == 0:
                return None
            else:
                high, distance = block, 2 * distance
        by_time = True
        while high.number - low.number > 1:
            # By time where blocks come evenly; every second step halves, which bounds the other cases.
            share = (moment - low.timestamp) / max(high.timestamp - low.timestamp, 1) if by_time else 0.5
            number = low.number + int(share * (high.number - low.number))
            block = await self._block(min(max(number, low.number + 1), high.number - 1))
            low, high = (block, high) if block.timestamp < moment else (low, block)
            by_time = not by_time
        return low

    async def _block(self, number: int) -> Block:
        known = self._blocks.get(number)
        if known is None:
            known = self._blocks[number] = await self._chain.block(number)
        return known
