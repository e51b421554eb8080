"""Routes of plugins, mounted below ``/x/<plugin>/`` only: nothing of ``/v2`` can be shadowed by one."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from quoteway.web.http.operation import require_ready
from quoteway.web.http.protocol import replace_match

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway

log = logging.getLogger("quoteway.web")

PATH = "/x/{plugin}/{rest:.*}"


def plugin_routes(gateway: Gateway) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The handler of ``PATH``, with routers of its own: aiohttp takes no routes after plugins are loaded."""
    routers: dict[str, web.UrlDispatcher] = {}
    asked = False

    async def dispatch(request: web.Request) -> web.StreamResponse:
        nonlocal asked
        require_ready(gateway)
        if not asked:
            asked = True
            for entry, routes in gateway.registry.plugins.ask("quoteway_routes"):
                routers[entry.name] = _router(entry.name, routes)
        router = routers.get(request.match_info["plugin"])
        if router is None:
            raise web.HTTPNotFound
        found = await router.resolve(request)
        found.add_app(request.app)
        replace_match(request, found)
        return await found.handler(request)

    return dispatch


def _router(plugin: str, routes: Iterable[Any]) -> web.UrlDispatcher:
    """A plugin's routes below its own prefix. A route that cannot be added is logged."""
    router = web.UrlDispatcher()
    for route in routes:
        try:
            router.add_route(route.method, f"/x/{plugin}{route.path}", route.handler)
        except Exception:  # isolation border: whatever a plugin hands over
            log.exception("a route of plugin %r cannot be mounted", plugin)
    return router
