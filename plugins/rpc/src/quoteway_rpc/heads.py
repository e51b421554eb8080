"""Follows the newest block of a network while it is in use.

Every answer that tells a head is used. While the network is in use, an upstream that has told none for half a
block time is asked, unless its WebSocket pushes heads; at rest nothing is sent. With one upstream there is
nothing to compare with, and only its WebSocket is followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import aiohttp
from quoteway import Block, Header, Network, UpstreamError

from quoteway_rpc.cache_answers import number_of
from quoteway_rpc.head_feed import HeadFeed
from quoteway_rpc.known_heads import KnownHeads
from quoteway_rpc.shared_looks import SharedLooks
from quoteway_rpc.upstream import Unusable, Upstream

IDLE_S = 60.0
"""After this time without a call of the network nothing is asked and no WebSocket is open."""
READY_S = 0.3
"""How long a call that tells a head waits at most for the heads of other upstreams."""
_SLOWEST_POLL_S = 60.0
_FASTEST_POLL_S = 0.25
_POLL_TIMEOUT_S = 2.0
_MOST_QUEUED = 256


class NetworkHeads(KnownHeads):
    """The heads of one network, kept up to date."""

    def __init__(
        self,
        network: Network,
        upstreams: Sequence[Upstream],
        http: Callable[[], aiohttp.ClientSession],
        clock: Callable[[], float],
        log: logging.LoggerAdapter[logging.Logger] | logging.Logger,
        on_head: Callable[[Upstream, int], None] = lambda upstream, number: None,
        is_cordoned: Callable[[Upstream], bool] = lambda upstream: False,
        looks: SharedLooks | None = None,
    ) -> None:
        super().__init__(network, upstreams, clock, log, on_head)
        self.is_cordoned = is_cordoned
        self.http = http
        self._used_at = -math.inf
        self._watching: asyncio.Task[None] | None = None
        self._looks: dict[Upstream, asyncio.Task[None]] = {}
        self._shared_looks = looks
        self._given: dict[Upstream, bytes] = {}
        self._queues: set[asyncio.Queue[Header | None]] = set()
        self.closed = False

    # --- asking while in use --------------------------------------------------------------------------------

    def used(self) -> None:
        """Is called with every call of the network: follows the heads from now until ``IDLE_S`` after it."""
        self._used_at = self._clock()
        feeds = any(upstream.ws is not None for upstream in self.views)
        if self.closed or (len(self.views) == 1 and not feeds):
            return
        if self._watching is None or self._watching.done():
            # A context of its own: it outlives the call that happens to start it.
            self._watching = asyncio.create_task(
                self._watch(), name=f"heads of {self.network.slug}", context=contextvars.Context()
            )

    async def ready(self, limit_s: float) -> None:
        """Asks the upstreams for their heads when too few are known to choose one, and waits for enough."""
        if self._enough() or self.closed:
            return
        ends_at = asyncio.get_running_loop().time() + min(limit_s, READY_S)
        looks = self._look_at_late(self._clock() - self._oldest_s)
        while looks and not self._enough():
            left_s = ends_at - asyncio.get_running_loop().time()
            done, looks = await asyncio.wait(looks, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                for upstream in self._looks:
                    self.views[upstream].slow = True
                return

    async def ask_again(self) -> None:
        """Asks the upstreams that told no head just now. Ends when each has told it or failed to answer."""
        self._look_at_late(self._clock() - _FASTEST_POLL_S)
        waiting = [look for upstream, look in self._looks.items() if not self.views[upstream].unreachable]
        if waiting:
            await asyncio.wait(waiting)

    def _enough(self) -> bool:
        oldest = self._clock() - self._oldest_s
        counted = [view for view in self.views.values() if not (view.unreachable or view.slow)]
        fresh = sum(view.pushes or view.seen_at >= oldest for view in counted)
        return len(self.views) == 1 or fresh >= min(len(counted), max(2, self._quorum))

    async def _watch(self) -> None:
        feeds = [
            asyncio.create_task(HeadFeed(upstream, self).run(), name=f"pushed heads of {upstream.label}")
            for upstream in self.views
            if upstream.ws is not None
        ]
        try:
            while self._clock() - self._used_at <= IDLE_S:
                await asyncio.sleep(self._interval_s)
                if len(self.views) > 1:
                    self._look_at_late(self._clock() - self._interval_s)
        finally:
            for feed in feeds:
                feed.cancel()
            if feeds:
                await asyncio.wait(feeds, timeout=1.0)

    @property
    def _interval_s(self) -> float:
        return max(self.network.block_time_s / 2, _FASTEST_POLL_S)

    @property
    def _oldest_s(self) -> float:
        return max(self.network.block_time_s, 2 * self._interval_s)

    def _look_at_late(self, oldest: float) -> set[asyncio.Task[None]]:
        """Asks the upstreams that told no head since ``oldest``; returns the tasks that do.

        One that is cordoned is not asked and does not count.
        """
        now = self._clock()
        for upstream, view in self.views.items():
            if self.is_cordoned(upstream):
                view.unreachable = True
                continue
            due = not view.pushes and view.seen_at < oldest and now - view.polled_at >= view.pause_s
            if due and upstream not in self._looks:
                name = f"head of {upstream.label}"
                task = asyncio.create_task(self.look(upstream), name=name, context=contextvars.Context())
                self._looks[upstream] = task
                task.add_done_callback(functools.partial(self._looked, upstream))
        return set(self._looks.values())

    def _looked(self, upstream: Upstream, task: asyncio.Task[None]) -> None:
        del self._looks[upstream]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("the head of %s cannot be read: %s", upstream.label, type(error).__name__)

    async def look(self, upstream: Upstream) -> None:
        """Asks one upstream for its newest block, which comes to ``learn`` as every other answer does."""
        view = self.views[upstream]
        view.polled_at = self._clock()
        try:
            await self._newest_of(upstream)
        except (Unusable, UpstreamError):
            view.unreachable = True
            view.pause_s = min(max(2 * view.pause_s, self._interval_s), _SLOWEST_POLL_S)
        else:
            view.pause_s = 0.0
            view.slow = self._clock() - view.polled_at > READY_S

    async def _newest_of(self, upstream: Upstream) -> None:
        method, latest = "eth_getBlockByNumber", ["latest", False]
        shared, interval_s = self._shared_looks, self._interval_s
        if shared is None:
            await upstream.ask(method, latest, timeout_s=_POLL_TIMEOUT_S)
            return
        key = shared.key(upstream.identity, interval_s)
        block = await shared.find(key)
        if block is not None and self._is_as_new(upstream, block):
            with contextlib.suppress(Unusable):  # what is no block is not used
                self.learn(upstream, method, latest, block)
                return
        self._given[upstream] = key
        try:
            block = await upstream.ask(method, latest, timeout_s=_POLL_TIMEOUT_S)
        except BaseException:
            shared.release(key)
            raise
        shared.put(key, block, interval_s)

    def tell_others(self, upstream: Upstream, method: str, params: Sequence[Any], block: Any) -> None:
        """Tells other replicas the newest block that an upstream told here, once in each half block time."""
        shared = self._shared_looks
        if shared is None or method != "eth_getBlockByNumber" or params[0] != "latest":
            return
        key = shared.key(upstream.identity, self._interval_s)
        if self._given.get(upstream) != key:
            self._given[upstream] = key
            shared.put(key, block, self._interval_s)

    def _is_as_new(self, upstream: Upstream, block: Mapping[str, Any]) -> bool:
        """Whether a block is no older than what the upstream told here: an older one, it is to say itself."""
        known = self.views[upstream].number
        number = number_of(block)
        return number is not None and (known is None or number >= known)

    async def close(self) -> None:
        """Ends the WebSockets and the asking."""
        self.closed = True
        tasks = [*self._looks.values(), *(() if self._watching is None else (self._watching,))]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=2.0)
        self._end_iterators()

    # --- pushed heads ---------------------------------------------------------------------------------------

    def pushing(self, upstream: Upstream, *, live: bool) -> None:
        """Records whether the WebSocket of an upstream pushes heads now."""
        view = self.views[upstream]
        view.pushes = live
        view.feed_lost = view.feed_lost and not live
        if not any(view.pushes for view in self.views.values()):
            self._end_iterators()

    def lost_feed(self, upstream: Upstream, kind: str) -> None:
        """Logs why no heads are pushed; once until they are pushed again."""
        view = self.views[upstream]
        if not view.feed_lost:
            self._log.warning("%s of %s pushes no heads: %s", upstream.label, self.network.slug, kind)
        view.feed_lost = True

    def pushed(self) -> AsyncIterator[Header] | None:
        """Returns the heads served from now on, while a WebSocket pushes them; None when none does."""
        if not any(view.pushes for view in self.views.values()):
            return None
        return self._pushed()

    async def _pushed(self) -> AsyncIterator[Header]:
        queue: asyncio.Queue[Header | None] = asyncio.Queue()
        self._queues.add(queue)
        try:
            while (header := await queue.get()) is not None:
                yield header
        finally:
            self._queues.discard(queue)

    def serving(self, header: Header) -> None:
        """Gives a new head to those who follow them."""
        for queue in self._queues:
            if queue.qsize() < _MOST_QUEUED:  # a reader that does not read misses heads
                queue.put_nowait(header)

    def _end_iterators(self) -> None:
        for queue in self._queues:
            queue.put_nowait(None)


class HeadSource:
    """What is known of the heads of all networks, for the other stages. Nothing here sends a request."""

    def __init__(self, heads: Mapping[int, NetworkHeads]) -> None:
        self._heads = heads

    def newest(self, chain_id: int) -> Block | None:
        """Returns the head served while new heads are pushed, so that it is late by latency only.

        It is the same object until another block is served. None while no heads are pushed.
        """
        heads = self._heads.get(chain_id)
        if heads is None or heads.newest is None or not any(view.pushes for view in heads.views.values()):
            return None
        return heads.served

    def hash_at(self, chain_id: int, number: int) -> str | None:
        """Returns the hash of a recent block of the chain served, None when it is not known."""
        heads = self._heads.get(chain_id)
        return None if heads is None else heads.hash_at(number)

    def finalized(self, chain_id: int) -> int | None:
        """Returns the newest final block that the upstreams told of, None when they told none."""
        heads = self._heads.get(chain_id)
        return None if heads is None else heads.finalized

    def lag(self, chain_id: int, upstream: Upstream) -> int | None:
        """Returns by how many blocks an upstream is behind the head served, None when that is not known."""
        heads = self._heads.get(chain_id)
        return None if heads is None else heads.lag(upstream)
