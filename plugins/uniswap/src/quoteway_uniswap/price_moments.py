"""What pools said at earlier moments: remembered, read from past state, or told by the pools themselves.

The moments are every sixth minute of the half hour before a block, and one an hour before it. What counts is
time, so that chains with blocks of a quarter of a second and of twelve behave alike. Nodes keep the state of
some 128 blocks only. What was seen at an earlier head is remembered; other moments are read from the
state that stood then, and where a node has none any more, from what the pools record (``pool_memory``).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from cachetools import LRUCache, TTLCache
from quoteway import Address, Block, Chain, GatewayError, Reason, UpstreamError
from quoteway.errors import RpcError
from quoteway.evm.single_flight import SingleFlight

from quoteway_uniswap.aged_prices import WINDOW_S, Moment
from quoteway_uniswap.price_looks import Look

STEP_S = 360
_WITHIN_WINDOW = WINDOW_S // STEP_S
_HOUR_AGO = 3_600 // STEP_S
_SLOTS_KEPT = 2 * _HOUR_AGO
_TOKENS_KEPT = 4_096
_NEAR_S = 60
"""A block this much older than a moment stands for it: finding the last one takes more requests."""
_GUESSES = 48
_EVERY_BLOCKS, _BLOCKS_BACK = 24, 96
"""Which block is read where the state of every moment is gone: one of 96 to 119 blocks ago."""
RETRY_S = 120
"""After how long state that a node did not give is asked for again."""

Looks: TypeAlias = dict[Address, Look]
Read = Callable[[Block, Sequence[Address]], Awaitable[Looks]]
"""Returns the looks at tokens at a block. Raises UpstreamError where the node has no state of it."""
Recall = Callable[[Block, Mapping[int, Sequence[Address]]], Awaitable[Mapping[int, Looks]]]
"""Returns looks at moments (Unix seconds) before a block, of tokens for each, as the pools' records tell."""


@dataclass(slots=True)
class _Slot:
    """What is known of one moment. ``block`` stood then; None: not looked for yet."""

    block: Block | None = None
    looks: LRUCache[Address, Look] = field(default_factory=lambda: LRUCache(_TOKENS_KEPT))


class PriceMoments:
    """The moments of one chain."""

    def __init__(self, chain: Chain, read: Read, recall: Recall, clock: Callable[[], float]) -> None:
        self._chain = chain
        self._read = read
        self._recall = recall
        self._slots: LRUCache[int, _Slot] = LRUCache(_SLOTS_KEPT)
        self._recalled: TTLCache[tuple[int, Address], Look] = TTLCache(8 * _TOKENS_KEPT, RETRY_S, clock)
        self._reach: TTLCache[None, int] = TTLCache(1, RETRY_S, clock)
        """How many blocks back the node had no state."""
        self._recent: LRUCache[int, _Slot] = LRUCache(4)
        """What was read of a block in place of moments without state, by its number."""
        self._flights = SingleFlight()

    def remember(self, block: Block, looks: Mapping[Address, Look]) -> None:
        """Keeps what was seen at a head, for the moment that follows it."""
        slot = self._slot(-(-block.timestamp // STEP_S))
        if slot.block is None or slot.block.timestamp <= block.timestamp:
            slot.block = block
            slot.looks.update(looks)

    async def before(self, block: Block, tokens: Sequence[Address]) -> list[Moment]:
        """Returns the moments before ``block``, newest first, with what is known of these tokens."""
        newest = (block.timestamp - 1) // STEP_S
        numbers = [*range(newest, newest - _WITHIN_WINDOW, -1), newest - _HOUR_AGO]
        await asyncio.gather(*(self._fill(number, block, tokens) for number in numbers))
        missing = {number: gone for number in numbers if (gone := self._missing(number, tokens))}
        if missing:
            key = block.hash, tuple((number, tuple(gone)) for number, gone in missing.items())
            await self._flights.run(key, lambda: self._fill_in(block, missing))
        return [self._moment(number, block, tokens) for number in numbers]

    async def recent(self, head: Block, tokens: Sequence[Address]) -> Moment:
        """Returns the oldest moment that a node surely has state of, without looks where it has not.

        It is for tokens of which no other moment is known: it keeps a single block from making a price.
        """
        number = head.number // _EVERY_BLOCKS * _EVERY_BLOCKS - _BLOCKS_BACK
        if number < 0:
            return Moment(0, 1, {})
        try:
            slot: _Slot | None = self._recent.get(number)
            if slot is None:
                slot = self._recent[number] = _Slot(await self._chain.block(number))
            assert slot.block is not None
            missing = [token for token in tokens if token not in slot.looks]
            if missing:
                slot.looks.update(await self._read(slot.block, missing))
        except GatewayError:
            return Moment(0, 1, {})
        age_s = head.timestamp - slot.block.timestamp
        looks = {token: slot.looks[token] for token in tokens}
        return Moment(age_s, min(max(age_s, 1), STEP_S), looks)

    def _moment(self, number: int, block: Block, tokens: Sequence[Address]) -> Moment:
        age_s = block.timestamp - number * STEP_S
        seconds = min(age_s, STEP_S) if age_s <= WINDOW_S else 0
        known = ((token, self._look(number, token)) for token in tokens)
        return Moment(age_s, seconds, {token: look for token, look in known if look is not None})

    def _slot(self, number: int) -> _Slot:
        slot: _Slot | None = self._slots.get(number)
        if slot is None:
            slot = self._slots[number] = _Slot()
        return slot

    def _look(self, number: int, token: Address) -> Look | None:
        seen: Look | None = self._slot(number).looks.get(token)
        return self._recalled.get((number, token)) if seen is None else seen

    def _missing(self, number: int, tokens: Sequence[Address]) -> list[Address]:
        return [token for token in tokens if self._look(number, token) is None]

    async def _fill(self, number: int, head: Block, tokens: Sequence[Address]) -> None:
        """Reads what is missing of a moment from the state that stood then, where the node has it."""
        missing = self._missing(number, tokens)
        back = (head.timestamp - number * STEP_S) / self._chain.network.block_time_s
        slot = self._slot(number)
        if slot.block is not None:
            back = head.number - slot.block.number
        if not missing or back >= self._reach.get(None, math.inf):
            return
        try:
            block = slot.block
            if block is None:
                block = slot.block = await self._flights.run(
                    number, lambda: self._standing(number * STEP_S, head)
                )
        except GatewayError:
            return  # the headers cannot be read
        try:
            slot.looks.update(await self._read(block, missing))
        except RpcError:
            self._reach[None] = min(head.number - block.number, self._reach.get(None, head.number))
        except GatewayError:
            return  # no node answers: it may have the state

    async def _fill_in(self, block: Block, missing: Mapping[int, Sequence[Address]]) -> None:
        """Asks the pools what they record of moments whose state is gone."""
        try:
            found = await self._recall(block, {number * STEP_S: tokens for number, tokens in missing.items()})
        except GatewayError:
            return
        for number, tokens in missing.items():
            looks = found.get(number * STEP_S, {})
            self._recalled.update({(number, token): looks.get(token, Look(whole=False)) for token in tokens})

    async def _standing(self, moment: int, head: Block) -> Block:
        """Returns the last block until ``moment``, or one shortly before it.

        Raises UpstreamError when it cannot be read or the chain is younger.
        """
        low, high = None, head
        number = head.number - math.ceil((head.timestamp - moment) / self._chain.network.block_time_s)
        for guess in range(_GUESSES):
            number = min(max(number, 0 if low is None else low.number + 1), high.number - 1)
            if number < 0:
                break
            block = await self._chain.block(number)
            low, high = (low, block) if block.timestamp > moment else (block, high)
            if low is None:
                number = head.number - 2 * (head.number - high.number)
                continue
            span, elapsed = high.number - low.number, high.timestamp - low.timestamp
            if moment - low.timestamp <= _NEAR_S or span == 1:
                break
            # Every second guess halves the span, for chains with uneven block times.
            ahead = span // 2 if guess % 2 else span * (moment - low.timestamp) // elapsed
            number = low.number + ahead
        if low is None:
            text = f"{self._chain.network.name} has no block of {moment}."
            raise UpstreamError(text, reason=Reason.RPC_ERROR)
        return low
