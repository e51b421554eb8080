"""The limits of routes for lists of them: asked for side by side, kept for a minute, not waited for long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from cachetools import TTLCache

from quoteway_across.fees_api import FeesApi, Limits, Route

KEPT_S = 60.0
PATIENCE_S = 0.75
"""A list is made without the limits that have not come by then; the next one may have them."""
MAX_ROUTES = 40
"""For one list. Two networks have a dozen or two routes between them."""
MAX_REQUESTS = 8
"""On their way at the same time."""


class RouteLimits:
    """What one API says of its routes. One of which it says nothing is not asked for again within the minute
    either."""

    def __init__(self, api: FeesApi) -> None:
        self._api = api
        self._kept: TTLCache[Route, asyncio.Task[Limits | None]] = TTLCache(1024, KEPT_S, time.monotonic)
        self._slots = asyncio.Semaphore(MAX_REQUESTS)

    async def of(self, routes: Sequence[Route]) -> dict[Route, Limits]:
        """The limits of those of the first ``MAX_ROUTES`` routes whose limits are known within
        ``PATIENCE_S``."""
        asked = {self._asking(route): route for route in sorted(routes)[:MAX_ROUTES]}
        if not asked:
            return {}
        told, _ = await asyncio.wait(asked, timeout=PATIENCE_S)
        found = {asked[task]: task.result() for task in told if not task.cancelled()}
        return {route: limits for route, limits in found.items() if limits is not None}

    def _asking(self, route: Route) -> asyncio.Task[Limits | None]:
        """One request for all lists that wait for it; none of them takes it from the others by giving up."""
        task = self._kept.get(route)
        if task is None:
            task = self._kept[route] = asyncio.create_task(self._ask(route))
        return task

    async def _ask(self, route: Route) -> Limits | None:
        async with self._slots:
            return await self._api.limits(route)
