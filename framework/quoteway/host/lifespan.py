"""Enters and leaves a plugin's lifespan in its own task. A failure affects that plugin only."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractAsyncContextManager
from typing import Any

from quoteway.errors import ConfigError
from quoteway.host.states import NotEnabled, PluginEntry, State

log = logging.getLogger("quoteway.engine.gateway")


class Lifespan:
    """Enters and leaves ``manager``, the result of a plugin's ``quoteway_lifespan``, in one task."""

    def __init__(self, entry: PluginEntry, manager: AbstractAsyncContextManager[Any]) -> None:
        self._entry = entry
        self._manager = manager
        self._entered = False
        self._up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> asyncio.Future[None]:
        """Starts to enter the lifespan. The returned future is done when it is entered or has failed."""
        self._task = asyncio.create_task(self._run(), name=f"plugin:{self._entry.name}.lifespan")
        return self._up

    async def _run(self) -> None:
        try:
            async with self._manager:
                self._entered = True
                if self._entry.reason is None:
                    self._entry.state = State.STARTED
                self._up.set_result(None)
                await self._leave.wait()
        except ConfigError as error:  # the message tells the operator what to do: no traceback needed
            self._entry.refuse(NotEnabled.STARTUP_FAILED, str(error))
        except (Exception, SystemExit) as error:  # SystemExit in a task stops the event loop
            if self._entered:
                log.exception("plugin %r failed while stopping", self._entry.name)
            else:
                self._entry.refuse(NotEnabled.STARTUP_FAILED, f"{type(error).__name__}: {error}", error=error)
        finally:
            if not self._up.done():
                self._up.set_result(None)

    def judge(self, timeout_s: float) -> None:
        """Refuses the plugin when its lifespan is not entered yet. Called at the deadline of start-up."""
        if self._entered:
            return
        if self._up.done():
            self._entry.refuse(NotEnabled.STARTUP_FAILED, "its lifespan was cancelled while starting")
            return
        self._entry.refuse(NotEnabled.STARTUP_FAILED, f"its lifespan was not entered within {timeout_s:g} s")
        if self._task is not None:
            self._task.cancel()

    def end(self) -> asyncio.Task[None]:
        """Starts to leave the lifespan. The returned task ends when it is left."""
        self._leave.set()
        assert self._task is not None
        if not self._entered:
            self._task.cancel()
        return self._task
