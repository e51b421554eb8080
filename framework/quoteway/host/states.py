"""States of plugins and providers, the reasons why one is not enabled, and the lifespans of plugins."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
import traceback
import types
from collections.abc import AsyncIterator, Awaitable, Generator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from quoteway.context import Context
from quoteway.errors import ConfigError
from quoteway.providers import Provider

log = logging.getLogger("quoteway.host.states")

CORE = "quoteway"
"""The plugin name under which the core's providers are listed."""

PLUGIN_ERRORS = (BaseException,)
"""Exceptions of a plugin's synchronous code, which must affect that plugin only. A plugin can raise
``SystemExit``, ``KeyboardInterrupt`` and classes of its own. The server handles SIGINT itself."""

MOST_DETAIL_CHARS = 2_000


def told(error: BaseException) -> str:
    """Returns the class and text of a plugin's exception, which may be long or raise when it is read."""
    try:
        text = str(error)[:MOST_DETAIL_CHARS]
    except PLUGIN_ERRORS:
        text = "its text cannot be read"
    return f"{type(error).__name__}: {text}"


def normalized(distribution: str) -> str:
    """Returns the name of a distribution in the one spelling of its many (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


class State(StrEnum):
    """The state of a plugin or provider in the deployment. Requests do not change it."""

    INSTALLED = "installed"
    LOADED = "loaded"
    CONFIGURED = "configured"
    STARTED = "started"
    ENABLED = "enabled"


class NotEnabled(StrEnum):
    """All reasons why a plugin or provider is not enabled (docs: reference/plugin-states)."""

    NOT_SELECTED = "not_selected"
    INCOMPATIBLE = "incompatible"
    IMPORT_FAILED = "import_failed"
    INCOMPLETE = "incomplete"
    DUPLICATE_ID = "duplicate_id"
    SQUATTER = "squatter"
    LOCK_MISMATCH = "lock_mismatch"
    LEVEL_TOO_LOW = "level_too_low"
    DISABLED = "disabled"
    CONFIG_INVALID = "config_invalid"
    CREDENTIAL_MISSING = "credential_missing"
    STARTUP_FAILED = "startup_failed"
    UNPINNED_DESCRIPTIONS = "unpinned_descriptions"
    PROCESS_ENDED = "process_ended"


@dataclass(slots=True)
class PluginEntry:
    """One installed plugin. ``target`` is the value of its entry point, and ``installed`` its distribution;
    "" and None without one. ``level`` is what ``quoteway check`` found of its installed files; None: unknown.

    ``detail`` and ``trace``, the traceback of its import, may contain secrets of exceptions: never send them
    to clients.
    """

    name: str
    distribution: str
    version: str
    state: State = State.INSTALLED
    reason: NotEnabled | None = None
    detail: str | None = None
    trace: str = field(default="", repr=False)
    loader: Any = field(default=None, repr=False)
    target: str = ""
    installed: Any = field(default=None, repr=False)
    plugin: Any = field(default=None, repr=False)
    context: Context | None = field(default=None, repr=False)
    level: int | None = None

    @property
    def module(self) -> str:
        """Returns the module that its entry point imports; "" without one."""
        return self.target.partition(":")[0]

    async def close(self) -> None:
        """Ends the plugin's background work."""
        if self.context is not None:
            await self.context.background.close()

    def refuse(self, reason: NotEnabled, detail: str, *, error: BaseException | None = None) -> None:
        """Records and logs why the plugin is not enabled. Only the first reason counts."""
        if self.reason is not None:
            return
        self.reason, self.detail = reason, detail
        if reason is NotEnabled.IMPORT_FAILED:
            self.trace = "\n" + "".join(traceback.format_exception(error))
        log.error("plugin %r is not enabled: %s: %s", self.name, reason, detail, exc_info=error)


@dataclass(slots=True)
class ProviderEntry:
    """One provider object of a loaded plugin."""

    provider: Provider
    plugin: PluginEntry
    reason: NotEnabled | None = None
    detail: str | None = None

    @property
    def enabled(self) -> bool:
        return self.reason is None and self.plugin.reason is None and self.plugin.state is State.ENABLED

    @property
    def not_enabled(self) -> NotEnabled | None:
        """Returns the reason of the provider, else that of its plugin."""
        return self.reason or self.plugin.reason


def networks_of(provider: Provider) -> frozenset[int]:
    """Returns the chain ids that a registered provider serves now. They may change at run time."""
    return frozenset(provider.networks)


class Lifespan:
    """Enters and leaves ``manager``, the result of a plugin's ``quoteway_lifespan``, in one task.

    A failure affects that plugin only.
    """

    def __init__(self, entry: PluginEntry, manager: AbstractAsyncContextManager[Any]) -> None:
        self._entry = entry
        self._manager = manager
        self._entered = False
        self._blocked_s = 0.0
        self._up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> asyncio.Future[None]:
        """Starts to enter the lifespan. The returned future is done when it is entered or has failed."""
        self._task = asyncio.create_task(self._run(), name=f"plugin:{self._entry.name}.lifespan")
        return self._up

    async def _run(self) -> None:
        try:
            async with self._timed():
                self._entered = True
                if self._entry.reason is None:
                    self._entry.state = State.STARTED
                self._up.set_result(None)
                await self._leave.wait()
        except ConfigError as error:  # the message tells the operator what to do: no traceback needed
            self._entry.refuse(NotEnabled.STARTUP_FAILED, str(error))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # SystemExit and KeyboardInterrupt in a task stop the event loop
            if self._entered:
                log.exception("plugin %r failed while stopping", self._entry.name)
            else:
                self._entry.refuse(NotEnabled.STARTUP_FAILED, told(error), error=error)
        finally:
            if not self._up.done():
                self._up.set_result(None)

    @contextlib.asynccontextmanager
    async def _timed(self) -> AsyncIterator[None]:
        """Enters and leaves the plugin's manager, and measures how long entering holds the event loop."""
        await self._steps(self._manager.__aenter__())
        try:
            yield
        except BaseException as error:
            if not await self._manager.__aexit__(type(error), error, error.__traceback__):
                raise
        else:
            await self._manager.__aexit__(None, None, None)

    @types.coroutine
    def _steps(self, entering: Awaitable[Any]) -> Generator[Any, Any, None]:
        steps = entering.__await__()
        step, value = steps.send, None
        while True:
            began = time.perf_counter()
            try:
                waits_for = step(value)
            except StopIteration:
                return
            finally:
                self._blocked_s += time.perf_counter() - began
            try:
                step, value = steps.send, (yield waits_for)
            except BaseException as error:
                step, value = steps.throw, error

    def judge(self, timeout_s: float) -> None:
        """Refuses the plugin when its lifespan is not entered yet, or has blocked the event loop too long.

        Called at the deadline of start-up.
        """
        if self._blocked_s > timeout_s:
            text = f"its lifespan blocked the server for {self._blocked_s:.1f} s, more than {timeout_s:g} s"
            self._entry.refuse(NotEnabled.STARTUP_FAILED, text)
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
