"""The newest block of a chain: followed in the background, and read anew for every quote and action."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import itertools
import logging
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from quoteway.errors import Reason, UpstreamError
from quoteway.evm.single_flight import SingleFlight
from quoteway.models import Block
from quoteway.networks import Network

log = logging.getLogger("quoteway.evm")

P = ParamSpec("P")
T = TypeVar("T")

_moments = itertools.count(1)
"""Numbers arrivals of requests and starts of reads in their order. A clock may give two of them one time."""
_arrived: contextvars.ContextVar[int] = contextvars.ContextVar("quoteway_request_arrived", default=0)
_least: contextvars.ContextVar[Mapping[int, int]] = contextvars.ContextVar(
    "quoteway_least_blocks", default=MappingProxyType({})
)
"""The oldest block that the current request accepts as the head, by chain id."""

_MAX_WAIT_S = 3.0
_WAIT_STEP_S = 0.05


@contextlib.contextmanager
def request_arrival() -> Iterator[None]:
    """Marks the arrival of a request for the code inside and the tasks that it starts.

    There, ``Chain.head`` gives no block that was read before the arrival: a client sees the block of its own
    transaction as soon as it has the receipt. An arrival that is marked already is kept.
    """
    if _arrived.get():
        yield
        return
    mark = _arrived.set(next(_moments))
    try:
        yield
    finally:
        _arrived.reset(mark)


def on_arrival(call: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Runs an async function inside ``request_arrival``."""

    @functools.wraps(call)
    async def arrived(*args: P.args, **kwargs: P.kwargs) -> T:
        with request_arrival():
            return await call(*args, **kwargs)

    return arrived


@contextlib.contextmanager
def no_older_than(chain_id: int, number: int) -> Iterator[None]:
    """Makes ``Chain.head`` of one chain wait for block ``number``, for the code inside and its tasks."""
    mark = _least.set({**_least.get(), chain_id: number})
    try:
        yield
    finally:
        _least.reset(mark)


async def until(look: Callable[[], Awaitable[T | None]], network: Network, awaited: str) -> T:
    """What ``look`` returns as soon as it is not None.

    For a block or transaction that the caller's own node has. Raises ``UpstreamError`` with reason ``behind``
    when it does not come within a block time, or ``_MAX_WAIT_S``.
    """
    limit_s = min(network.block_time_s, _MAX_WAIT_S)
    try:
        async with asyncio.timeout(limit_s):
            while True:
                found = await look()
                if found is not None:
                    return found
                await asyncio.sleep(_WAIT_STEP_S)
    except TimeoutError:
        raise UpstreamError(
            f"The nodes of {network.name} do not have {awaited} yet. Send the request again.",
            reason=Reason.BEHIND,
            retryable=True,
            headers={"Retry-After": str(math.ceil(limit_s))},
        ) from None


def arrival() -> int:
    """The moment at which the current request arrived; 0 outside of a request."""
    return _arrived.get()


@dataclass(slots=True, eq=False)
class _Reading:
    """One read of the head. ``began`` is 0 until it starts."""

    began: int = 0


@dataclass(eq=False, repr=False)
class HeadTracker:
    """Polls the head in the background from its first use until ``idle_s`` seconds after its last.

    Outside of a request, a known head is served for at most three times the network's ``head_poll_s``, and
    five seconds at least; after that it is read again, and when that fails the error is raised: an old block
    is never passed off as the newest.

    Inside ``request_arrival``, a head counts as known only when its read began after the arrival. The first
    use then reads the head, and the rest of the request gets it from memory. Requests share a read when they
    arrived before it began: it begins in the event loop's next turn, after all that arrived in this one. A
    read that was under way when a request arrived is not shared with it, since the node may have answered
    before the request's own transaction was mined.

    Inside ``no_older_than``, an older head is read again until the node has that block.
    """

    network: Network
    read: Callable[[], Awaitable[Block]]
    _: KW_ONLY
    idle_s: float
    clock: Callable[[], float]
    known: Block | None = field(default=None, init=False)
    """The newest block read so far; None before the first read."""
    _began: int = field(default=0, init=False)
    _read_at: float = field(default=0.0, init=False)
    _used_at: float = field(default=0.0, init=False)
    _reading: _Reading = field(default_factory=_Reading, init=False)
    _flights: SingleFlight = field(default_factory=SingleFlight, init=False)
    _poller: asyncio.Task[None] | None = field(default=None, init=False)
    _failing: bool = field(default=False, init=False)

    async def get(self, *, fresh: bool = False) -> Block:
        """The newest block. ``fresh`` reads it in any case, after this call."""
        self._used_at = self.clock()
        if self._poller is None or self._poller.done():
            # A context of its own: it outlives the request that happens to start it.
            self._poller = asyncio.create_task(
                self._poll(), name=f"head of {self.network.slug}", context=contextvars.Context()
            )
        after = next(_moments) if fresh else arrival()
        stale_s = max(5.0, 3 * self.network.head_poll_s)
        in_time = 0 <= self._used_at - self._read_at <= stale_s
        kept = self.known is not None and in_time and self._began > after
        block = self.known if self.known is not None and kept else await self._read_after(after)
        least = _least.get().get(self.network.chain_id, 0)
        return block if block.number >= least else await self._wait_for(least)

    async def _wait_for(self, least: int) -> Block:
        async def look() -> Block | None:
            block = await self._read_after(next(_moments))
            return block if block.number >= least else None

        return await until(look, self.network, f"block {least}")

    async def close(self) -> None:
        """Stops polling and reading."""
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.wait([self._poller], timeout=1.0)
            self._poller = None
        await self._flights.close()

    async def _read_after(self, moment: int) -> Block:
        """The head by a read that begins after ``moment``: the newest one when it does, else another."""
        if 0 < self._reading.began <= moment:
            self._reading = _Reading()
        reading = self._reading
        block: Block = await self._flights.run(reading, functools.partial(self._read_once, reading))
        return block

    async def _read_once(self, reading: _Reading) -> Block:
        began = reading.began = next(_moments)
        read_at = self.clock()
        try:
            block = await self.read()
        finally:
            if self._reading is reading:  # it is over: nobody may join it any more
                self._reading = _Reading()
        # Answers can overtake each other: the read that began last is the newest knowledge.
        if began > self._began:
            self.known, self._began, self._read_at = block, began, read_at
        return block

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self.network.head_poll_s)
            if self.clock() - self._used_at > self.idle_s:
                return
            try:
                await self._read_after(0)
            except Exception as error:  # isolation border: a failing node must not end the polling
                if not self._failing:
                    log.warning("the head of %s cannot be read: %s", self.network.slug, error)
                self._failing = True
                continue
            if self._failing:
                log.warning("the head of %s can be read again", self.network.slug)
            self._failing = False
