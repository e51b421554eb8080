"""The newest block of a chain: followed in the background, and read anew for every quote and action."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import TypeVar

from cachetools import LRUCache

from quoteway.errors import Reason, UpstreamError
from quoteway.evm.arrivals import arrival, current_request, least_block, next_moment, note_head
from quoteway.evm.header_ring import HeaderRing
from quoteway.evm.single_flight import SingleFlight
from quoteway.models import Block, Header
from quoteway.networks import Network

log = logging.getLogger("quoteway.evm")

T = TypeVar("T")

_MAX_WAIT_S = 3.0
_WAIT_STEP_S = 0.05
_FORGET_AFTER_S = 10.0
_FORGET_AFTER_BLOCKS = 5


def wait_limit_s(network: Network) -> float:
    """How long a request waits for a block or transaction that its caller's own node has: a block time."""
    return min(network.block_time_s, _MAX_WAIT_S)


def behind(network: Network, awaited: str) -> UpstreamError:
    """The error when ``awaited`` did not come in that time. ``Retry-After`` is one block time."""
    return UpstreamError(
        f"The nodes of {network.name} do not have {awaited} yet. Send the request again.",
        reason=Reason.BEHIND,
        retryable=True,
        headers={"Retry-After": str(math.ceil(wait_limit_s(network)))},
    )


async def until(look: Callable[[], Awaitable[T | None]], network: Network, awaited: str) -> T:
    """What ``look`` returns as soon as it is not None. Raises ``behind`` after ``wait_limit_s``."""
    try:
        async with asyncio.timeout(wait_limit_s(network)):
            while True:
                found = await look()
                if found is not None:
                    return found
                await asyncio.sleep(_WAIT_STEP_S)
    except TimeoutError:
        raise behind(network, awaited) from None


def forget_after_s(network: Network) -> float:
    """How long a lower head is refused without a break: then the chain was reset, and it is the head."""
    return max(_FORGET_AFTER_S, _FORGET_AFTER_BLOCKS * network.block_time_s)


@dataclass(slots=True, eq=False)
class _Reading:
    """One read of the head. ``began`` is 0 until it starts."""

    began: int = 0


@dataclass(eq=False, repr=False)
class HeadTracker:
    """Follows the head in the background from its first use until ``idle_s`` seconds after its last.

    It takes the heads that nodes push (``pushed``), and polls while none are offered. A pushed head does not
    replace the read of a request: one that is not pushed yet may have the request's own transaction.
    ``on_head`` is told each new head.

    Outside of a request, a known head is served for at most three times the network's ``head_poll_s``, five
    seconds at least, and two block times while heads are pushed. After that it is read again, and when that
    fails the error is raised: an old block is never passed off as the newest.

    Inside ``request_arrival``, a head counts as known only when its read began after the arrival. The first
    use then reads the head, and the rest of the request gets it from memory. Requests share a read when they
    arrived before it began: it begins in the event loop's next turn, after all that arrived in this one. A
    read that was under way when a request arrived is not shared with it, since the node may have answered
    before the request's own transaction was mined.

    Inside ``no_older_than``, an older head is read again until the node has that block. The same holds for a
    head below the newest known one: another node behind the same address may lag. Only a reorganisation that
    ``HeaderRing`` proves leads back. When no read has shown the newest known head for ``forget_after_s``, the
    chain was reset (a local node that was restarted or reverted): the lower head is taken.
    """

    network: Network
    read: Callable[[], Awaitable[Header]]
    parent_of: Callable[[str], Awaitable[Header | None]]
    pushed: Callable[[], AsyncIterator[Header] | None] = lambda: None
    _: KW_ONLY
    idle_s: float
    clock: Callable[[], float]
    on_head: Callable[[Header], None] = lambda header: None
    _ring: HeaderRing = field(init=False)
    _behind_since: float | None = field(default=None, init=False)
    _heads: LRUCache[str, tuple[Block, int]] = field(default_factory=lambda: LRUCache(128), init=False)
    """Heads by hash, with the start of the newest read that gave each."""
    _began: int = field(default=0, init=False)
    _read_at: float = field(default=0.0, init=False)
    _used_at: float = field(default=0.0, init=False)
    _reading: _Reading = field(default_factory=_Reading, init=False)
    _flights: SingleFlight = field(default_factory=SingleFlight, init=False)
    _poller: asyncio.Task[None] | None = field(default=None, init=False)
    _failing: bool = field(default=False, init=False)
    _following: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._ring = HeaderRing(self.parent_of, self.on_head)

    @property
    def known(self) -> Block | None:
        """The newest block read so far; None before the first read."""
        return None if self._ring.tip is None else self._ring.tip.block

    async def get(self, *, fresh: bool = False) -> Block:
        """The newest block. ``fresh`` reads it in any case, after this call.

        Raises ``behind`` when the nodes answer older blocks only than one that is known or asked for.
        """
        block = await self._for_request(fresh=fresh)
        note_head(self.network.chain_id, block)
        return block

    async def _for_request(self, *, fresh: bool) -> Block:
        request = current_request()
        if fresh or request is None:
            return await self._newest(fresh=fresh)
        least = least_block(self.network.chain_id)
        pinned = request.heads.get(self.network.chain_id)
        if pinned is None or pinned.number < least:
            block = await self._newest(fresh=False)
            pinned = request.heads.get(self.network.chain_id)  # of another read of the request meanwhile
            if pinned is None or pinned.number < least:
                pinned = request.heads[self.network.chain_id] = block
        return pinned

    async def other_than(self, block_hash: str) -> Block:
        """The newest block as soon as it is another than this one. The head is polled meanwhile."""
        while True:
            self._keep_polling()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.idle_s / 2):
                    return (await self._ring.other_than(block_hash)).block

    def _keep_polling(self) -> None:
        self._used_at = self.clock()
        if self._poller is None or self._poller.done():
            # A context of its own: it outlives the request that happens to start it.
            self._poller = asyncio.create_task(
                self._poll(), name=f"head of {self.network.slug}", context=contextvars.Context()
            )

    async def _newest(self, *, fresh: bool) -> Block:
        self._keep_polling()
        after = next_moment() if fresh else arrival()
        stale_s = max(5.0, 3 * self.network.head_poll_s, self._silence_s if self._following else 0.0)
        in_time = 0 <= self._used_at - self._read_at <= stale_s
        kept = self.known if in_time and self._began > after else None
        block = kept or await self._read_after(after)
        least = least_block(self.network.chain_id)
        return block if block is not None and block.number >= least else await self._wait_for(least)

    @property
    def is_behind(self) -> bool:
        """Whether the newest answer of the nodes was an older block than one known before."""
        return self._behind_since is not None

    @property
    def is_failing(self) -> bool:
        """Whether the last read in the background failed."""
        return self._failing

    def was_head(self, block: Block) -> bool:
        """Whether ``block`` was read as the head after the current request arrived."""
        known, began = self._heads.get(block.hash, (None, 0))
        return known == block and began > arrival()

    async def _wait_for(self, least: int) -> Block:
        async def look() -> Block | None:
            block = await self._read_after(next_moment())
            return block if block is not None and block.number >= least else None

        return await until(look, self.network, self._awaited(least))

    def behind(self) -> UpstreamError:
        """The error of a request that needs a newer head than the nodes have."""
        return behind(self.network, self._awaited(0))

    def _awaited(self, least: int) -> str:
        return f"block {max(least, 0 if self.known is None else self.known.number)}"

    async def close(self) -> None:
        """Stops polling and reading."""
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.wait([self._poller], timeout=1.0)
            self._poller = None
        await self._flights.close()

    async def _read_after(self, moment: int) -> Block | None:
        """The head by a read that begins after ``moment``: the newest one when it does, else another.

        None when the node answered an older block than was known when the read began.
        """
        if 0 < self._reading.began <= moment:
            self._reading = _Reading()
        reading = self._reading
        block: Block | None = await self._flights.run(reading, functools.partial(self._read_once, reading))
        return block

    async def _read_once(self, reading: _Reading) -> Block | None:
        began = reading.began = next_moment()
        read_at, least = self.clock(), self.known
        try:
            header = await self.read()
        finally:
            if self._reading is reading:  # it is over: nobody may join it any more
                self._reading = _Reading()
        block = header.block
        # Answers can overtake each other: the read that began last is the newest knowledge.
        if began < self._began:
            if not self._ring.advances(header) and least is not None and block.number < least.number:
                return None
        elif not await self._accepts(header):
            return None
        if began > self._began:
            self._began, self._read_at = began, read_at
        # The newest block is no older than what the newest read showed, also when an earlier read gave it.
        known_at = self._began if block == self.known else began
        self._heads[block.hash] = (block, max(known_at, self._heads.get(block.hash, (block, 0))[1]))
        return block

    async def _accepts(self, header: Header) -> bool:
        """Whether a header is the newest head. Takes a lower one at last, after ``forget_after_s``."""
        follows = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_limit_s(self.network)):
                follows = await self._ring.follows(header)
        if not follows:
            now = self.clock()
            self._behind_since = now if self._behind_since is None else self._behind_since
            if now - self._behind_since < forget_after_s(self.network):
                return False
            told = self.network.slug, self.known and self.known.number, header.block.number
            log.warning("the chain of %s went back from block %s to %s: it was reset", *told)
            self._ring.restart(header)
        self._behind_since = None
        return True

    async def _poll(self) -> None:
        while True:
            await self._follow()
            await asyncio.sleep(self.network.head_poll_s)
            if self._is_idle:
                return
            await self._look()

    @property
    def _is_idle(self) -> bool:
        return self.clock() - self._used_at > self.idle_s

    @property
    def _silence_s(self) -> float:
        """How long no head is pushed before the head is read."""
        return max(2 * self.network.block_time_s, self.network.head_poll_s)

    async def _look(self) -> None:
        try:
            await self._read_after(0)
        except Exception as error:  # isolation border: a failing node must not end the polling
            if not self._failing:
                log.warning("the head of %s cannot be read: %s", self.network.slug, error)
            self._failing = True
            return
        if self._failing:
            log.warning("the head of %s can be read again", self.network.slug)
        self._failing = False

    async def _follow(self) -> None:
        """Takes pushed heads until there are none any more, or the head is not used any more."""
        heads = self.pushed()
        if heads is None:
            return
        # One task for all heads: ending a wait for the next one would end the iterator.
        following = asyncio.create_task(self._take_all(heads), name=f"pushed heads of {self.network.slug}")
        self._following = True
        try:
            while not following.done() and not self._is_idle:
                await asyncio.wait([following], timeout=self._silence_s / 2)
                if self.clock() - self._read_at >= self._silence_s and not following.done():
                    await self._look()
        finally:
            self._following = False
            following.cancel()
            await asyncio.wait([following], timeout=1.0)

    async def _take_all(self, heads: AsyncIterator[Header]) -> None:
        try:
            async for header in heads:
                await self._take(header)
        except Exception as error:  # isolation border: the iterator is a plugin's
            log.warning("the pushed heads of %s ended: %s", self.network.slug, type(error).__name__)
        finally:
            close = getattr(heads, "aclose", None)
            if close is not None:
                await close()

    async def _take(self, header: Header) -> None:
        """Makes a pushed header the head when it is newer than the known one."""
        follows = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_limit_s(self.network)):
                follows = await self._ring.follows(header)
        if follows:
            block = header.block
            self._read_at, self._behind_since = self.clock(), None
            # It is no older than what the newest read showed, of which it is a descendant.
            self._heads[block.hash] = (block, max(self._began, self._heads.get(block.hash, (block, 0))[1]))
