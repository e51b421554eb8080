"""The routes of one plugin: a deadline, a limit of requests at a time, and errors that cost only these."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from aiohttp import web

from quoteway.errors import GatewayError, ProviderUnavailable, Reason, UpstreamError
from quoteway.guard.raised import flaw_of_error
from quoteway.host.states import PLUGIN_ERRORS

log = logging.getLogger("quoteway.web")

MOST_AT_ONCE = 64
"""Most requests of one plugin at a time. Those that ignore their cancellation count until they end."""


class PluginRoutes:
    """The routes of one plugin, below its own prefix. A route that cannot be added is logged."""

    def __init__(self, plugin: str, routes: Iterable[Any], timeout_s: float) -> None:
        self.router = web.UrlDispatcher()
        self._plugin = plugin
        self._timeout_s = timeout_s
        self._running: set[asyncio.Task[web.StreamResponse]] = set()
        for route in routes:
            try:
                self.router.add_route(route.method, f"/x/{plugin}{route.path}", route.handler)
            except PLUGIN_ERRORS:
                log.exception("a route of plugin %r cannot be mounted", plugin)

    async def answer(
        self, handler: Callable[[web.Request], Awaitable[web.StreamResponse]], request: web.Request
    ) -> web.StreamResponse:
        """Returns the plugin's answer. Raises ``GatewayError`` when it is late, busy or none."""
        if len(self._running) >= MOST_AT_ONCE:
            text = "Too many requests of this plugin are under way."
            raise UpstreamError(text, reason=Reason.PROVIDER_PAUSED, retryable=True)
        task = asyncio.create_task(self._answer(handler, request), name=f"plugin:{self._plugin}.route")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            await asyncio.wait([task], timeout=self._timeout_s)
        finally:
            if not task.done():  # late, or the client is gone: not waited for
                task.cancel()
        if not task.done() or task.cancelled():
            log.warning("a route of plugin %r did not answer within %.1f s", self._plugin, self._timeout_s)
            text = f"The plugin did not answer within {self._timeout_s:g} s."
            raise UpstreamError(text, reason=Reason.PROVIDER_TIMEOUT, retryable=True)
        return task.result()

    async def _answer(
        self, handler: Callable[[web.Request], Awaitable[web.StreamResponse]], request: web.Request
    ) -> web.StreamResponse:
        try:
            response = await handler(request)
            if isinstance(response, web.StreamResponse):
                return response
            log.error("a route of plugin %r returned a %s", self._plugin, type(response).__name__)
        except (web.HTTPException, ConnectionResetError, asyncio.CancelledError):
            raise
        except GatewayError as error:
            if flaw_of_error(error) is None:
                raise
            log.error("a route of plugin %r raised an odd %s", self._plugin, type(error).__name__)
        except BaseException:  # SystemExit and KeyboardInterrupt in a task stop the event loop
            log.exception("a route of plugin %r raised", self._plugin)
        raise ProviderUnavailable("The plugin failed to answer this request.")
