"""Past states of a chain: the block of a time, and a read at that block."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from cachetools import LRUCache
from quoteway import Block, Chain, RpcError, UpstreamError
from quoteway.evm import erc20
from quoteway.evm.chain import Call

_BLOCKS_KEPT = 16_384
_AT_ONCE = 8


class History:
    """Past blocks and states of one chain."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._blocks: LRUCache[int, Block] = LRUCache(_BLOCKS_KEPT)
        self._lane = asyncio.Semaphore(_AT_ONCE)

    async def blocks_at(self, times: Iterable[int]) -> dict[int, Block | None]:
        """Returns the last block at or before each Unix time; None before the chain's first block."""
        head = await self._chain.head()
        distinct = sorted(set(times), reverse=True)
        found = await asyncio.gather(*(self._block_at(head, at) for at in distinct))
        return dict(zip(distinct, found, strict=True))

    async def words_at(self, call: Call, blocks: Sequence[Block]) -> dict[int, int | None]:
        """Returns a read's one-word answer by block number; None where the state is missing or the call
        fails."""
        distinct = {block.number: block for block in blocks}
        found = await asyncio.gather(*(self._word_at(call, block) for block in distinct.values()))
        return dict(zip(distinct, found, strict=True))

    async def _word_at(self, call: Call, block: Block) -> int | None:
        async with self._lane:
            try:
                (answer,) = await self._chain.call_many([call], block=block)
            except (RpcError, UpstreamError):
                return None
        return erc20.word(answer)

    async def _block_at(self, head: Block, at: int) -> Block | None:
        if at >= head.timestamp:
            return head
        low, high = None, head
        distance = max(1, int((head.timestamp - at) / self._chain.network.block_time_s))
        while low is None:
            number = max(0, head.number - distance)
            block = await self._block(number)
            if block.timestamp <= at:
                low = block
            elif number == 0:
                return None
            else:
                high, distance = block, distance * 2
        by_time = True
        while high.number - low.number > 1:
            # Interpolation is fast where blocks come evenly; alternating with halving bounds the other cases.
            part = (at - low.timestamp) / max(high.timestamp - low.timestamp, 1) if by_time else 0.5
            number = low.number + int(part * (high.number - low.number))
            block = await self._block(min(max(number, low.number + 1), high.number - 1))
            low, high = (block, high) if block.timestamp <= at else (low, block)
            by_time = not by_time
        return low

    async def _block(self, number: int) -> Block:
        known = self._blocks.get(number)
        if known is None:
            async with self._lane:
                known = self._blocks[number] = await self._chain.block(number)
        return known
