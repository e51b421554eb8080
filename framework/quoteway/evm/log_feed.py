"""The logs of one chain as they come and go: one read for each block, compared with every filter here."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import orjson

from quoteway.errors import GatewayError, Reason, UpstreamError
from quoteway.evm.block_feed import KEPT_BLOCKS, MAX_GAP_BLOCKS, BlockFeed, FeedBlock
from quoteway.evm.chain import RpcChain
from quoteway.evm.log_bloom import bloom_of
from quoteway.evm.log_filter import LogFilter

log = logging.getLogger("quoteway.evm")

MAX_INCOMPLETE_ANSWERS: Final = 4
"""How many answers may lack logs that the header's bloom filter shows, until one is taken as it is."""
_RETRY_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_TOLD_AFTER = 3
_FILTERS_PER_TURN = 200
_LOGS_PER_TURN = 50


class LogListener(Protocol):
    """What wants logs. The methods return at once and raise nothing."""

    @property
    def filter(self) -> LogFilter:
        """Returns which logs."""

    def log(self, entry: bytes) -> None:
        """A log in JSON; with ``"removed": true`` when a reorganisation took it back."""

    def lost(self) -> None:
        """Logs were missed. The listener is out of the feed."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A log of a node, with its address and topics in lower case."""

    answer: Mapping[str, Any]
    address: str
    topics: tuple[str, ...]


@dataclass(slots=True, eq=False)
class _Block:
    """A block whose logs may be wanted: who wants them, and what each log was delivered to."""

    block: FeedBlock
    wanted: Mapping[LogFilter, Sequence[LogListener]]
    is_gone: bool = False
    is_done: bool = False
    delivered: list[tuple[_Entry, list[LogListener]]] = field(default_factory=list)


class LogFeed:
    """Delivers the logs of new blocks, and takes them back after a reorganisation.

    A block is asked for its logs (``eth_getLogs`` by its hash) when the bloom filter of its header may have a
    log that somebody wants, once for all listeners. An answer that lacks logs which the bloom filter shows is
    not believed at first. While no node answers, logs wait; they come in the order of the blocks.
    """

    def __init__(self, chain: RpcChain, blocks: BlockFeed) -> None:
        self._chain = chain
        self._blocks = blocks
        self._by_filter: dict[LogFilter, dict[LogListener, None]] = {}
        self._known: dict[str, _Block] = {}
        self._queue: deque[tuple[_Block, bool]] = deque()
        self._working: asyncio.Task[None] | None = None

    async def join(self, listener: LogListener) -> None:
        """Adds a listener, for the blocks after the present head. Raises ``UpstreamError`` as a feed does."""
        self._by_filter.setdefault(listener.filter, {})[listener] = None
        try:
            await self._blocks.join(self)
        except BaseException:
            self.leave(listener)
            raise

    def leave(self, listener: LogListener) -> None:
        """Removes a listener."""
        same = self._by_filter.get(listener.filter, {})
        same.pop(listener, None)
        if not same:
            self._by_filter.pop(listener.filter, None)
        if not self._by_filter:
            self._blocks.leave(self)
            self._stop()

    def _stop(self) -> None:
        if self._working is not None:
            self._working.cancel()
            self._working = None
        self._queue.clear()
        self._known.clear()

    # --- as a listener of the blocks ------------------------------------------------------------------------

    def added(self, block: FeedBlock) -> None:
        """Asks for the logs of a block when somebody may want one."""
        bloom = block.logs_bloom
        wanted = {each: tuple(who) for each, who in self._by_filter.items() if each.may_match(bloom)}
        if wanted:
            self._known[block.hash] = known = _Block(block, wanted)
            self._put(known, False)

    def removed(self, block: FeedBlock) -> None:
        """Takes back the logs of a block."""
        known = self._known.pop(block.hash, None)
        if known is not None:
            known.is_gone = True
            self._put(known, True)

    def lost(self) -> None:
        """Tells every listener."""
        listeners = [listener for same in self._by_filter.values() for listener in same]
        self._by_filter.clear()
        self._blocks.leave(self)
        self._stop()
        for listener in listeners:
            listener.lost()

    def _put(self, known: _Block, is_gone: bool) -> None:
        if len(self._queue) > MAX_GAP_BLOCKS:
            log.warning("the logs of more blocks of %s wait than are kept", self._chain.network.slug)
            self.lost()
            return
        self._queue.append((known, is_gone))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(
                self._work(), name=f"logs of {self._chain.network.slug}", context=contextvars.Context()
            )

    # --- logs -----------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while self._queue:
            known, is_gone = self._queue.popleft()
            try:
                if is_gone:
                    self._take_back(known)
                else:
                    await self._deliver(known)
            except Exception:  # isolation border: one block must not end the feed
                log.exception("the logs of a block of %s failed", self._chain.network.slug)
            known.is_done = True
            while len(self._known) > KEPT_BLOCKS and self._known[oldest := next(iter(self._known))].is_done:
                del self._known[oldest]

    def _take_back(self, known: _Block) -> None:
        for entry, listeners in reversed(known.delivered):
            text = orjson.dumps({**entry.answer, "removed": True})
            for listener in listeners:
                if self._listens(listener):
                    listener.log(text)

    async def _deliver(self, known: _Block) -> None:
        entries = await self._read(known)
        if entries is None:
            return
        takers: dict[int, list[LogListener]] = {}
        for turn, (wanted, listeners) in enumerate(known.wanted.items()):
            if turn % _FILTERS_PER_TURN == _FILTERS_PER_TURN - 1:
                await asyncio.sleep(0)
            here = [listener for listener in listeners if self._listens(listener)]
            for index, entry in enumerate(entries) if here else ():
                if wanted.matches(entry.address, entry.topics):
                    takers.setdefault(index, []).extend(here)
        for turn, index in enumerate(sorted(takers)):
            if turn % _LOGS_PER_TURN == _LOGS_PER_TURN - 1:
                await asyncio.sleep(0)  # listeners write out what they have
            entry, listeners = entries[index], takers[index]
            text = orjson.dumps({**entry.answer, "removed": False})
            known.delivered.append((entry, listeners))
            for listener in listeners:
                if self._listens(listener):
                    listener.log(text)

    def _listens(self, listener: LogListener) -> bool:
        return listener in self._by_filter.get(listener.filter, ())

    async def _read(self, known: _Block) -> list[_Entry] | None:
        """Returns the logs of a block; None when it or the last listener is gone before a node gives them."""
        incomplete = 0
        for attempt in itertools.count():
            if known.is_gone or not self._by_filter:
                return None
            try:
                request = [{"blockHash": known.block.hash}]
                answer = await self._chain.request("eth_getLogs", request, shared=not attempt, public=True)
                entries = _entries(answer, known.block)
                if _is_complete(entries, known.block.logs_bloom):
                    return entries
                incomplete += 1
                if incomplete >= MAX_INCOMPLETE_ANSWERS:
                    slug, number = self._chain.network.slug, known.block.number
                    log.warning("the nodes of %s leave out logs of block %s", slug, number)
                    return entries
            except GatewayError as error:
                if attempt == _TOLD_AFTER:
                    slug, number = self._chain.network.slug, known.block.number
                    log.warning("the logs of block %s of %s cannot be read: %s", number, slug, error)
            await asyncio.sleep(_RETRY_S[min(attempt, len(_RETRY_S) - 1)])
        return None


def _entries(answer: Any, block: FeedBlock) -> list[_Entry]:
    if not isinstance(answer, list):
        raise _unreadable()
    entries = []
    for each in answer:
        try:
            topics = tuple(topic.lower() for topic in each["topics"])
            entry = _Entry(each, each["address"].lower(), topics)
            is_here = each["blockHash"].lower() == block.hash.lower() and each.get("removed") is not True
        except (LookupError, TypeError, AttributeError):
            raise _unreadable() from None
        if not is_here:
            raise _unreadable()
        entries.append(entry)
    return entries


def _is_complete(entries: Sequence[_Entry], bloom: int | None) -> bool:
    """Returns whether the logs set every bit of the header's bloom filter.

    More bits are no contradiction: some chains list logs of the system that the filter leaves out.
    """
    if not bloom:
        return True
    try:
        return not bloom & ~bloom_of(item for each in entries for item in (each.address, *each.topics))
    except ValueError:
        raise _unreadable() from None


def _unreadable() -> UpstreamError:
    return UpstreamError("A node's logs cannot be read.", reason=Reason.RPC_ERROR)
