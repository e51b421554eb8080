"""Identical concurrent reads become one request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any


class SingleFlight:
    """Runs at most one task per key at a time; all callers meanwhile get its outcome.

    Cancelling a caller does not affect the others: the task is cancelled only with its last caller.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight] = {}

    async def run(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The outcome of the running task of this key, or of a new one made by ``start``."""
        flight = self._flights.get(key)
        # A task that is done serves those who wait already; a later caller wants a new answer.
        if flight is None or flight.task.done():
            flight = self._flights[key] = _Flight(asyncio.ensure_future(start()))
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters:
                flight.task.cancel()
                # No caller is left to retrieve its exception, which asyncio would log.
                flight.task.add_done_callback(_take_outcome)
            if (flight.task.done() or not flight.waiters) and self._flights.get(key) is flight:
                del self._flights[key]

    async def close(self) -> None:
        """Cancels what is still running; those who wait get ``CancelledError``."""
        tasks = [flight.task for flight in self._flights.values()]
        self._flights.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            # wait, not gather: a task that swallows cancellation must not hold the shutdown.
            await asyncio.wait(tasks, timeout=1.0)


def _take_outcome(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()


@dataclass(slots=True, eq=False)
class _Flight:
    task: asyncio.Future[Any]
    waiters: int = 0
