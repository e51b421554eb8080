"""The tasks and caches of one plugin, which start and end with it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

CLOSE_S = 2.0
"""How long the tasks of a plugin have to end after they are cancelled."""

Work = Callable[[], Awaitable[Any]]


@dataclass(eq=False)
class Background:
    """The work that a plugin has beside requests, see ``Context.every``.

    The gateway starts it once the plugin's lifespan is entered, and closes it after the lifespan is left or
    has failed. Nothing begins after that.
    """

    log: logging.Logger
    _works: list[tuple[float, Work]] = field(default_factory=list)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    _is_started: bool = False
    _is_closed: bool = False

    def every(self, seconds: float, work: Work) -> None:
        """Runs ``work`` once the plugin is started, and again ``seconds`` after each end of it.

        Raises ``ValueError`` for a time that is not above zero.
        """
        if not 0 < seconds < float("inf"):
            raise ValueError(f"the seconds between two runs must be a number above zero, not {seconds!r}")
        self._works.append((seconds, work))
        if self._is_started:
            self.run(self._repeat(seconds, work))

    def run(self, work: Awaitable[Any]) -> asyncio.Task[Any]:
        """Runs ``work`` as a task that is cancelled when the plugin ends. It has no request's context.

        Raises ``RuntimeError`` when the plugin has ended.
        """
        if self._is_closed:
            if asyncio.iscoroutine(work):
                work.close()
            raise RuntimeError("the plugin has ended: no background work begins any more")

        async def whole() -> Any:
            return await work

        task = asyncio.get_running_loop().create_task(whole(), context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def start(self) -> None:
        """Begins what ``every`` was told."""
        if not self._is_started and not self._is_closed:
            self._is_started = True
            for seconds, work in self._works:
                self.run(self._repeat(seconds, work))

    async def close(self) -> None:
        """Cancels all tasks. A task that does not end in ``CLOSE_S`` seconds is left."""
        self._is_closed = True
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_S)  # gather would wait for one that swallows it

    async def _repeat(self, seconds: float, work: Work) -> None:
        has_failed = False
        while True:
            try:
                await work()
                has_failed = False
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # SystemExit in a task would end the event loop
                if not has_failed:  # once until it works again
                    self.log.warning("background work failed: %s", type(error).__name__, exc_info=error)
                has_failed = True
            await asyncio.sleep(seconds)
