"""Identical calls at once: the first caller asks, the others get its answer if that is no older than they.

The first caller asks in its own task, which costs half of what a task for each call does. When it is
cancelled, one of those who wait for it makes the call anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from quoteway import Reason, RpcError, UpstreamError

from quoteway_rpc.asking import Ask
from quoteway_rpc.cache_answers import Head
from quoteway_rpc.cache_entries import Count
from quoteway_rpc.cache_keys import Plan

GATHER_S: Final = 0.005
"""How long a call waits for others like it, while one that it must not join is under way."""
_EXECUTION_REVERTED: Final = 3
_SLACK_S: Final = 0.05


@dataclass(slots=True, eq=False)
class Flight:
    """A call for all who wait for its answer. ``sent_at`` is None until it is sent.

    The first caller makes it, in its own task ``caller``; the outcome is told to those who joined it, in
    ``landing``. ``settled``: the answer cannot change. ``finalized``, ``generation``, ``refreshing`` and
    ``identifying`` are facts of the chain before it was sent, ``head`` the newest block then. ``owed``: the
    key of an answer that other replicas may wait for.
    """

    ask: Ask
    plan: Plan | None
    settled: bool
    caller: asyncio.Task[Any] | None
    landing: asyncio.Future[Any] | None = None
    is_closed: bool = False
    sent_at: float | None = None
    head: Head | None = None
    finalized: int | None = None
    generation: int = 0
    refreshing: asyncio.Task[None] | None = None
    identifying: asyncio.Task[None] | None = None
    owed: bytes | None = None


Key: TypeAlias = tuple[bool, bytes]
"""Whether it is the call of a client, and what it asks for."""


class _Left(Exception):  # noqa: N818 - no failure of a node
    """The caller that made a call was cancelled, so that another one has to make it."""


class Flights:
    """The calls under way. ``fly`` makes one; ``is_as_new`` says whether one that was sent before a call has
    an answer that is as new as one to that call would be."""

    def __init__(
        self,
        fly: Callable[[Flight], Awaitable[Any]],
        is_as_new: Callable[[Flight, Ask], bool],
        clock: Callable[[], float],
        count: Count,
    ) -> None:
        self._fly = fly
        self._is_as_new = is_as_new
        self._clock = clock
        self._count = count
        self._under_way: dict[Key, Flight] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    async def answer(self, key: Key, ask: Ask, plan: Plan | None, *, settled: bool) -> Any:
        """Returns the answer of an identical call or of a new one.

        What is not final is not taken from a call that began before this one: a block or a transaction that
        it did not find may exist by now, and its failure may be over. Then the call is made once more.
        """
        unsent = False
        while True:
            flight = self._under_way.get(key)
            if flight is None or not self._joins(flight, ask, unsent=unsent):
                busy = flight is not None and ask.public
                made = Flight(ask, plan, settled, asyncio.current_task())
                return await self._make(key, made, GATHER_S if busy else 0.0)
            late = flight.sent_at is not None
            self._count("cache_joined", ask.network, 1)
            try:
                result = await self._landed(flight, ask)
            except _Left:
                continue
            except RpcError as error:
                if not late or error.rpc_code == _EXECUTION_REVERTED:
                    raise
            except UpstreamError:
                if not late and ask.ends_at - flight.ask.ends_at < 2 * _SLACK_S:
                    raise
                if ask.ends_at - self._clock() < _SLACK_S:
                    raise
            else:
                if result is not None or not late:
                    return result
            unsent = True

    async def close(self) -> None:
        """Ends all calls: their callers get ``UpstreamError``."""
        callers = []
        for flight in self._under_way.values():
            flight.is_closed = True
            if flight.caller is not None:
                flight.caller.cancel()
                callers.append(flight.caller)
        if callers:
            await asyncio.wait(callers, timeout=1.0)

    def _joins(self, flight: Flight, ask: Ask, *, unsent: bool) -> bool:
        """Whether a call may have the answer of one under way; with ``unsent``, of one not sent yet alone."""
        return flight.sent_at is None or (not unsent and self._is_as_new(flight, ask))

    async def _make(self, key: Key, flight: Flight, wait_s: float) -> Any:
        """Makes a call, and tells its outcome to those who joined it."""
        self._under_way[key] = flight
        failure: BaseException | None = None
        result = None
        try:
            # Identical calls that arrive in the same turn of the loop join this one.
            await asyncio.sleep(wait_s)
            flight.sent_at = self._clock()
            result = await self._fly(flight)
            return result
        except asyncio.CancelledError:
            if not flight.is_closed or flight.caller is None or flight.caller.uncancel():
                failure = _Left()
                raise
            network = flight.ask.network.name
            failure = UpstreamError(
                f"The nodes of {network} are not asked any more: the gateway ends.",
                reason=Reason.RPC_ERROR,
                retryable=True,
            )
            raise failure from None
        except BaseException as error:
            failure = error
            raise
        finally:
            if self._under_way.get(key) is flight:
                del self._under_way[key]
            if flight.landing is not None and not flight.landing.done():
                _tell(flight.landing, result, failure)

    async def _landed(self, flight: Flight, ask: Ask) -> Any:
        """Waits for the call of another caller until the own deadline. Raises ``_Left`` when that ended."""
        if flight.landing is None:
            flight.landing = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(max(ask.ends_at - self._clock(), 0.0)):
                return await asyncio.shield(flight.landing)
        except TimeoutError:
            raise UpstreamError(
                f"No RPC upstream of {ask.network.name} answered in time.",
                reason=Reason.PROVIDER_TIMEOUT,
                retryable=True,
            ) from None


def _tell(landing: asyncio.Future[Any], result: Any, failure: BaseException | None) -> None:
    if failure is None:
        landing.set_result(result)
        return
    landing.set_exception(failure)
    landing.exception()  # who waited may be gone: asyncio would log that nobody read it
