"""The trades of pools since some block, kept in memory and extended from block to block.

Trades of blocks that a reorganisation hardly reaches are kept; those after them are read again for each new
block, in one request. In a known block nothing is read.
"""

from __future__ import annotations

import asyncio
import contextlib
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cachetools import LRUCache
from quoteway import Block, Chain
from quoteway.evm.single_flight import SingleFlight
from quoteway_router.logs import Logs

from quoteway_uniswap.known_pools import KnownPool
from quoteway_uniswap.pool_activity import PAYING, PoolEvent, Replay, Trade, begin_replay, topics_of
from quoteway_uniswap.state import PoolStates

SETTLED_BLOCKS = 64
"""Trades of blocks so far below the head are kept. Deeper reorganisations are seen by the block's hash."""
EXTEND_BLOCKS = 64
"""How many more blocks must have settled before the kept trades are extended."""
_BLOCKS_KEPT = 200_000
"""Blocks with trades, of all pools of a chain: some 70 MB. A pool with more of its own is read anew."""
_AT_A_TIME = 64
"""Events that are worked on before other requests have their turn: a few milliseconds of work."""

_Item = TypeVar("_Item")

_PARTS = ("volume", "lp", "protocol", "donated")


class TradeSums:
    """Cumulative sums of trades by block, in base units of each side. Not changed once it is handed out."""

    def __init__(self) -> None:
        self._blocks: list[int] = []
        self._sums: list[tuple[int, ...]] = []
        """Up to and with the block: each of ``_PARTS`` of both sides, and inexact trades."""

    def add(self, trade: Trade) -> None:
        """Adds a trade of the last block or of a later one."""
        sums = list(self._sums[-1]) if self._sums else [0] * (2 * len(_PARTS) + 1)
        for at, amount in enumerate((trade.amount_in, trade.lp_fee, trade.protocol_fee, trade.donated)):
            sums[2 * at + trade.side] += amount
        sums[-1] += not trade.exact
        if self._blocks and self._blocks[-1] == trade.block:
            self._sums[-1] = tuple(sums)
        else:
            self._blocks.append(trade.block)
            self._sums.append(tuple(sums))

    def __len__(self) -> int:
        """Returns the number of blocks."""
        return len(self._blocks)

    def between(self, first: int, before: int | None) -> tuple[int, ...]:
        """Returns the sums of blocks [first, before)."""
        start = bisect_left(self._blocks, first)
        end = len(self._blocks) if before is None else bisect_left(self._blocks, before)
        if end <= start:
            return (0,) * (2 * len(_PARTS) + 1)
        taken = self._sums[start - 1] if start else (0,) * len(self._sums[0])
        return tuple(upper - lower for upper, lower in zip(self._sums[end - 1], taken, strict=True))

    def since(self, first: int) -> TradeSums:
        """Returns a copy without the blocks before ``first``. Its sums still count them, which ``between``
        takes off."""
        copied, start = TradeSums(), max(0, bisect_left(self._blocks, first) - 1)
        copied._blocks, copied._sums = self._blocks[start:], self._sums[start:]
        return copied


@dataclass(frozen=True, slots=True)
class Activity:
    """The trades of blocks ``first`` to ``last``. ``first`` is later than requested when the logs of all
    blocks would take too many requests.
    """

    first: int
    last: Block
    sums: tuple[TradeSums, ...]

    def total(self, part: str, first: int = 0, before: int | None = None) -> tuple[int, int]:
        """Returns base units by side in blocks [first, before): ``volume``, ``lp``, ``protocol``,
        ``donated``, or ``fees``, the sum of the last three."""
        found = [each.between(max(first, self.first), before) for each in self.sums]
        parts = _PARTS[1:] if part == "fees" else (part,)
        places = [2 * _PARTS.index(each) for each in parts]
        one, other = (sum(sums[at + side] for sums in found for at in places) for side in (0, 1))
        return one, other

    @property
    def inexact(self) -> int:
        """Returns the number of trades whose fee is the rate of their input."""
        return sum(each.between(self.first, None)[-1] for each in self.sums)


@dataclass(frozen=True, slots=True)
class _Settled:
    """What is known of a pool up to and with ``block``; ``replay`` is its state after it.

    ``replay`` is None before the first event of a pool that pays; ``events`` are those since ``first`` then.
    """

    first: int
    block: Block
    sums: TradeSums
    replay: Replay | None
    events: tuple[PoolEvent, ...]


class TradeHistory:
    """The trades of one chain's pools."""

    def __init__(self, chain: Chain, logs: Logs, states: PoolStates) -> None:
        self._chain = chain
        self._logs = logs
        self._states = states
        self._settled: LRUCache[str, _Settled] = LRUCache(_BLOCKS_KEPT, lambda kept: 1 + len(kept.sums))
        self._newest: LRUCache[str, Activity] = LRUCache(
            _BLOCKS_KEPT, lambda known: 1 + sum(map(len, known.sums))
        )
        self._flights = SingleFlight()

    async def since(self, pool: KnownPool, first: int, head: Block) -> Activity:
        """Returns the pool's trades in blocks ``first`` to ``head``.

        Raises UpstreamError when the chain cannot be read.
        """
        known: Activity | None = self._newest.get(pool.id)
        if known is None or known.last.hash != head.hash or known.first > first:
            key = (pool.id, head.hash, first)
            known = await self._flights.run(key, lambda: self._read(pool, first, head))
            with contextlib.suppress(ValueError):  # it is too large to be kept
                self._newest[pool.id] = known
        return Activity(max(known.first, first), known.last, known.sums)

    async def _read(self, pool: KnownPool, first: int, head: Block) -> Activity:
        kept: _Settled | None = self._settled.get(pool.id)
        if kept is not None and (kept.first > first or kept.block.number > head.number):
            kept = None
        start = first if kept is None else kept.block.number + 1
        search = self._logs.search(pool.ref.target, topics_of(pool), start, head.number)
        if kept is None:
            found = await search
            first = found.first
        else:
            found, stands = await asyncio.gather(search, self._stands(kept.block))
            if not stands or found.first > start:
                self._settled.pop(pool.id, None)
                return await self._read(pool, first, head)
        events = [PoolEvent.read(log) async for log in _in_turns(found.logs)]
        return await self._extended(pool, kept, first, head, events)

    async def _extended(
        self, pool: KnownPool, kept: _Settled | None, first: int, head: Block, events: list[PoolEvent]
    ) -> Activity:
        """Returns the trades of ``kept`` and of the events after it, and keeps what has settled."""
        begins, sums = (first, TradeSums()) if kept is None else (kept.first, kept.sums)
        replay = None if kept is None or kept.replay is None else kept.replay.copy()
        if replay is None:
            events = [*(() if kept is None else kept.events), *events]
            if any(event.name in PAYING for event in events):
                replay = await begin_replay(self._chain, self._states, pool, begins, head, events)
        settles, before = head.number - SETTLED_BLOCKS, begins - 1 if kept is None else kept.block.number
        if settles - before >= EXTEND_BLOCKS:
            block = await self._chain.block(settles)
            settled, events = _split(events, settles)
            sums = await _stepped(sums.since(first), replay, settled)
            state, pending = (None, tuple(settled)) if replay is None else (replay.copy(), ())
            begins = max(begins, first)
            with contextlib.suppress(ValueError):  # it is too large to be kept
                self._settled[pool.id] = _Settled(begins, block, sums, state, pending)
        recent = await _stepped(TradeSums(), replay, events)
        return Activity(begins, head, (sums, recent))

    async def _stands(self, block: Block) -> bool:
        return (await self._chain.block(block.number)).hash == block.hash


async def _stepped(sums: TradeSums, replay: Replay | None, events: Sequence[PoolEvent]) -> TradeSums:
    """Returns ``sums`` with the trades of the events, which ``replay`` goes through."""
    if replay is not None:
        async for event in _in_turns(events):
            for trade in replay.step(event):
                sums.add(trade)
    return sums


def _split(events: Sequence[PoolEvent], last: int) -> tuple[list[PoolEvent], list[PoolEvent]]:
    """Returns the events up to and with a block, and those after it."""
    at = next((at for at, event in enumerate(events) if event.block > last), len(events))
    return list(events[:at]), list(events[at:])


async def _in_turns(items: Iterable[_Item]) -> AsyncIterator[_Item]:
    for at, item in enumerate(items):
        if at % _AT_A_TIME == _AT_A_TIME - 1:
            await asyncio.sleep(0)
        yield item
