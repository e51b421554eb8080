"""The limits of routes, for lists of routes: requested in parallel, cached for a minute, awaited briefly."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from cachetools import TTLCache

from quoteway_across.fees_api import FeesApi, Limits, Route

KEPT_S = 60.0
PATIENCE_S = 0.75
"""How long a list waits for limits. Those that come later are in the next list."""
MAX_ROUTES = 40
"""Routes whose limits one list requests. Two networks have a dozen or two routes between them."""
MAX_REQUESTS = 8
"""Requests at the same time."""


class RouteLimits:
    """The limits of one API's routes. A route without limits is also cached for ``KEPT_S``."""

    def __init__(self, api: FeesApi) -> None:
        self._api = api
        self._kept: TTLCache[Route, asyncio.Task[Limits | None]] = TTLCache(1024, KEPT_S, time.monotonic)
        self._slots = asyncio.Semaphore(MAX_REQUESTS)

    async def of(self, routes: Sequence[Route]) -> dict[Route, Limits]:
        """Returns the limits of the first ``MAX_ROUTES`` routes, as far as known within ``PATIENCE_S``."""
        asked = {self._request(route): route for route in sorted(routes)[:MAX_ROUTES]}
        if not asked:
            return {}
        done, _ = await asyncio.wait(asked, timeout=PATIENCE_S)
        found = {asked[task]: task.result() for task in done if not task.cancelled()}
        return {route: limits for route, limits in found.items() if limits is not None}

    def _request(self, route: Route) -> asyncio.Task[Limits | None]:
        """Returns the running or cached request, shared by all lists: none of them cancels it."""
        task = self._kept.get(route)
        if task is None:
            task = self._kept[route] = asyncio.create_task(self._ask(route))
        return task

    async def _ask(self, route: Route) -> Limits | None:
        async with self._slots:
            return await self._api.limits(route)
