"""The blocks of one chain as they come and go, for any number of listeners, without a gap or a duplicate."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import orjson
from cachetools import LRUCache

from quoteway.caching import compact
from quoteway.errors import GatewayError, Reason, UpstreamError
from quoteway.evm.answers import header_of
from quoteway.evm.chain import RpcChain
from quoteway.evm.single_flight import SingleFlight

log = logging.getLogger("quoteway.evm")

MAX_GAP_BLOCKS: Final = 1_024
"""Blocks that are delivered late, after the nodes were away. Beyond, listeners are told of a loss."""
KEPT_BLOCKS: Final = 128
"""How many delivered blocks are kept to be taken back by a reorganisation."""
KNOWN_AT_START: Final = 8
"""How many blocks below the first head are read, so that a reorganisation soon after it is no loss."""
READ_AHEAD: Final = 16
_RETRY_S = (0.1, 0.2, 0.5, 1.0, 2.0)
_TOLD_AFTER = 3
"""Failures before a warning: nodes that lag behind the one that told the head are usual."""
_BODY = frozenset(("transactions", "uncles", "withdrawals", "size", "totalDifficulty"))
"""The members of a block that are no part of its header."""


@dataclass(frozen=True, slots=True)
class FeedBlock:
    """A block's header. ``header`` is its JSON as the node gave it, without the members of the body."""

    number: int
    hash: str
    parent: str | None
    logs_bloom: int | None
    header: bytes

    @classmethod
    def of(cls, answer: Any) -> FeedBlock:
        """Reads the answer to ``eth_getBlockByHash``. Raises ``UpstreamError`` for what is no block."""
        if not isinstance(answer, Mapping):
            raise UpstreamError("The nodes do not have a block that they named.", reason=Reason.RPC_ERROR)
        read = header_of(answer)
        header = compact(orjson.dumps({name: member for name, member in answer.items() if name not in _BODY}))
        return cls(read.block.number, read.block.hash, read.parent, read.logs_bloom, header)


class BlockListener(Protocol):
    """What follows a feed. The methods return at once and raise nothing."""

    def added(self, block: FeedBlock) -> None:
        """The chain has a block more: the child of the last one."""

    def removed(self, block: FeedBlock) -> None:
        """A reorganisation removed the last block."""

    def lost(self) -> None:
        """More blocks were missed than can be delivered. The listener is out of the feed."""


class _Missed(Exception):  # noqa: N818 - no failure of a node
    """The newest block is too far from the blocks that were delivered."""


class BlockFeed:
    """Follows the head of a chain while anybody listens, with one set of reads for all listeners.

    Each block that is delivered is the child of the one before: the parents of a new head are read by hash
    down to a block that was delivered. A reorganisation takes blocks back, newest first, before the new ones
    come. While the nodes fail nothing is delivered; when they are back, whatever node answers then, all that
    was missed comes in order. A listener hears of the blocks after the head at the time that it joined.
    """

    def __init__(self, chain: RpcChain) -> None:
        self._chain = chain
        self._listeners: dict[BlockListener, None] = {}
        self._blocks: dict[int, FeedBlock] = {}
        self._tip: FeedBlock | None = None
        self._read: LRUCache[str, FeedBlock] = LRUCache(MAX_GAP_BLOCKS + KEPT_BLOCKS)
        self._flights = SingleFlight()
        self._following: asyncio.Task[None] | None = None

    async def join(self, listener: BlockListener) -> None:
        """Adds a listener. Raises ``UpstreamError`` when the feed begins and no node tells the head."""
        self._listeners[listener] = None
        try:
            if self._tip is None:
                await self._flights.run("begin", self._begin)
        except BaseException:
            self.leave(listener)
            raise

    def leave(self, listener: BlockListener) -> None:
        """Removes a listener. The feed ends with the last one."""
        self._listeners.pop(listener, None)
        if not self._listeners:
            if self._following is not None:
                self._following.cancel()
                self._following = None
            self._tip = None
            self._blocks.clear()
            self._read.clear()

    async def _begin(self) -> None:
        head = await self._chain.head(fresh=True)
        block = await self._block(head.hash)
        if self._listeners and self._tip is None:
            self._start_at(block)
            # A context of its own: it outlives the request that happens to start it.
            self._following = asyncio.create_task(
                self._follow(), name=f"blocks of {self._chain.network.slug}", context=contextvars.Context()
            )

    def _start_at(self, block: FeedBlock) -> None:
        self._tip = block
        self._blocks = {block.number: block}

    async def _follow(self) -> None:
        await self._know_below()
        failures = 0
        while self._tip is not None:
            try:
                head = await self._chain.head_other_than(self._tip.hash)
                await self._advance(head.hash)
                failures = 0
            except _Missed:
                log.warning("more blocks of %s were missed than are kept", self._chain.network.slug)
                self._lose()
                return
            except Exception as error:  # isolation border: one unreadable answer must not end the feed
                if failures == _TOLD_AFTER:
                    log.warning("a block of %s cannot be read: %s", self._chain.network.slug, error)
                await asyncio.sleep(_RETRY_S[min(failures, len(_RETRY_S) - 1)])
                failures += 1

    async def _know_below(self) -> None:
        """Reads the blocks below the first head. What no node gives, or what does not lead to it, is left."""
        first = self._tip
        if first is None:
            return
        await self._read_ahead(first.number - 1, max(first.number - 1 - KNOWN_AT_START, -1))
        block: FeedBlock | None = first
        while block is not None and self._tip is first:
            self._blocks[block.number] = block
            block = self._read.get(block.parent or "")

    def _lose(self) -> None:
        listeners = list(self._listeners)
        for listener in listeners:
            self.leave(listener)
        for listener in listeners:
            listener.lost()

    async def _advance(self, head_hash: str) -> None:
        """Delivers what leads from the last delivered block to this head."""
        branch, common = await self._branch(head_hash)
        for number in sorted((number for number in self._blocks if number > common), reverse=True):
            if not self._listeners:  # the last one left meanwhile, and the feed ended
                return
            gone = self._blocks.pop(number)
            self._tip = self._blocks[number - 1]
            for listener in tuple(self._listeners):
                listener.removed(gone)
        for block in reversed(branch):
            if not self._listeners:
                return
            self._tip = self._blocks[block.number] = block
            self._blocks.pop(block.number - KEPT_BLOCKS, None)
            for listener in tuple(self._listeners):
                listener.added(block)
            await asyncio.sleep(0)  # listeners write out one block before the next one comes
        self._read.clear()

    async def _branch(self, head_hash: str) -> tuple[list[FeedBlock], int]:
        """Returns the blocks from a head, newest first, down to a delivered one; and the number of that."""
        branch: list[FeedBlock] = []
        delivered = {block.hash: block.number for block in self._blocks.values()}
        lowest, highest = min(self._blocks), max(self._blocks)
        wanted: str | None = head_hash
        while wanted not in delivered:
            if wanted is None:
                raise UpstreamError("A node's header has no parent.", reason=Reason.RPC_ERROR)
            block = await self._block(wanted)
            if branch and block.number != branch[-1].number - 1:
                raise UpstreamError("A node's headers contradict each other.", reason=Reason.RPC_ERROR)
            if block.number <= lowest or block.number > highest + MAX_GAP_BLOCKS:
                raise _Missed
            branch.append(block)
            wanted = block.parent
            if wanted not in delivered and wanted not in self._read and block.number - 1 > highest + 1:
                await self._read_ahead(block.number - 1, highest)
        return branch, delivered[wanted]

    async def _block(self, block_hash: str) -> FeedBlock:
        found: FeedBlock | None = self._read.get(block_hash)
        if found is None:
            found = FeedBlock.of(await self._chain.request("eth_getBlockByHash", [block_hash, False]))
            if found.hash != block_hash:
                raise UpstreamError("A node gave another block than asked for.", reason=Reason.RPC_ERROR)
            self._read[block_hash] = found
        return found

    async def _read_ahead(self, number: int, above: int) -> None:
        """Reads blocks down from a number at once. Those whose hash a child names as its parent are used."""
        numbers = range(number, max(above, number - READ_AHEAD), -1)
        asked = (self._chain.request("eth_getBlockByNumber", [hex(each), False]) for each in numbers)
        for answer in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(answer, Mapping):
                try:
                    block = FeedBlock.of(answer)
                except GatewayError:
                    continue
                self._read[block.hash] = block
