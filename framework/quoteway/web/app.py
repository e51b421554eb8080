"""The web application of one gateway: routes, middleware, lifespan."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Awaitable, Callable

import orjson
from aiohttp import web

from quoteway.engine.gateway import Gateway
from quoteway.engine.joining import ROUTES
from quoteway.host.installed_plugins import core_version
from quoteway.telemetry.traces import Tracer, no_look
from quoteway.web.http.cache import CACHE, CatalogCache, keep
from quoteway.web.http.captures import add_captures
from quoteway.web.http.health import health_routes, keep_state, keys_route, metrics_handler, root_handler
from quoteway.web.http.light import LightPath
from quoteway.web.http.metrics import SHARED, Metrics
from quoteway.web.http.middleware import MIDDLEWARE, Middleware
from quoteway.web.http.operation import Call, Operation, get, require_ready
from quoteway.web.http.plugin_routes import PluginRoutes
from quoteway.web.http.protocol import replace_match
from quoteway.web.http.siblings import Siblings
from quoteway.web.http.site import site_routes
from quoteway.web.resources import (
    activity,
    approvals,
    balances,
    gains,
    index_status,
    indications,
    listings,
    performance,
    pools,
    positions,
    price_history,
    prices,
    quote_batches,
    rpc,
    stream,
    swaps,
    tokens,
    transactions,
    vaults,
    wallet_value,
    webhooks,
)
from quoteway.web.resources.operator import add_operator
from quoteway.web.rpc.calls import RPC, RpcCalls
from quoteway.web.rpc.sockets import PATH as SOCKET_PATH
from quoteway.web.rpc.sockets import Sockets
from quoteway.web.wire.view import View

SHARE_OF_TIMEOUT = 0.9
"""The deadline of a plugin's route, as a share of ``[server] request_timeout_s``."""


class OpenApiDocument(View):
    """An OpenAPI 3.1 document."""


def operations() -> tuple[Operation, ...]:
    """Every route of the API, in the order they are matched and documented."""
    quotes = (swaps, quote_batches, indications, pools, vaults)
    deployment = (listings, performance, index_status)
    catalogs = (tokens, prices, price_history)
    wallets = (balances, positions, approvals, activity, wallet_value, gains)
    resources = (*deployment, *catalogs, *quotes, transactions, *wallets, stream, webhooks, rpc)
    return tuple(operation for resource in resources for operation in resource.OPERATIONS)


def make_app(gateway: Gateway, *, run_gateway: bool = True) -> web.Application:
    """The application. With ``run_gateway`` it starts and stops the gateway; without, the caller does."""
    metrics = Metrics()
    cache = CatalogCache(public=not gateway.config.auth.keys)
    revision = lambda: gateway.registry.revision  # noqa: E731
    tracer = Tracer.of(gateway.config, core_version())
    middleware = Middleware(gateway.config, metrics, cache, revision, gateway.recorder, tracer)
    app = web.Application(middlewares=[middleware.serve])
    app[CACHE] = cache
    app.on_cleanup.append(lambda _: cache.close())
    app[MIDDLEWARE] = middleware
    app.on_cleanup.append(lambda _: middleware.close())
    if tracer is not None:
        app.on_cleanup.append(lambda _: tracer.close())
    gateway.registry.plugins.listeners.append(metrics.called)
    gateway.watchdog.listeners.append(metrics.stalled)
    gateway.watchdog.lag_listeners.append(metrics.process.late)
    gateway.lists.kinds = (pools.POOLS, vaults.VAULTS, ROUTES)
    app[RPC] = calls = RpcCalls(gateway)
    app.on_cleanup.append(lambda _: calls.close())
    app[stream.STREAMS] = streams = stream.Streams(
        gateway, metrics.streams, no_look if tracer is None else tracer.look
    )
    if gateway.config.webhooks.enabled:
        app[webhooks.SERVICE] = service = webhooks.WebhookService(gateway, streams, metrics.webhooks)
        app.on_startup.append(service.start)
        app.on_shutdown.append(service.stop)
    app.on_shutdown.append(streams.stop)
    for operation in (*operations(), get_open_api):
        handler = operation.bind(gateway)
        middleware.operations[handler] = operation
        # With HEAD beside GET.
        routes = app.add_routes([web.route(operation.method, operation.path, handler)])
        if operation.light is not None:
            _serve_directly(app, middleware, operation, routes[0])
    body_limit = gateway.config.server.rpc_body_limit_bytes
    answer = functools.partial(rpc.answer_single, gateway, calls)
    middleware.light = LightPath(middleware, rpc.call_rpc, answer, body_limit=body_limit)
    sockets = Sockets(gateway, metrics.sockets, calls, tracer)
    middleware.sockets[sockets.serve] = "rpc"
    app.router.add_route("GET", SOCKET_PATH, sockets.serve)
    app.on_shutdown.append(sockets.stop)
    app.router.add_route("*", "/x/{plugin}/{rest:.*}", plugin_routes(gateway))
    health = health_routes(gateway, middleware.limiter)
    app.add_routes([*site_routes(gateway, root_handler()), keys_route(gateway), *health])
    siblings = Siblings(gateway.config)
    add_operator(app, gateway, siblings)
    if gateway.recorder is not None:
        add_captures(app, gateway, gateway.recorder, siblings)
    app.cleanup_ctx.append(siblings.serve)
    if gateway.config.server.metrics_port is None:
        app.router.add_get("/metrics", metrics_handler(gateway, metrics))
    else:
        app.cleanup_ctx.append(functools.partial(_own_metrics_port, gateway, metrics))
    if SHARED in os.environ:
        app.cleanup_ctx.append(functools.partial(_keep_state, gateway, metrics))
    if run_gateway:
        app.cleanup_ctx.append(functools.partial(_run_gateway, gateway))
    return app


def _serve_directly(
    app: web.Application, middleware: Middleware, operation: Operation, route: web.AbstractRoute
) -> None:
    """Spares the calls of an operation whose path ends in a number the search for their route."""
    prefix, _, variable = operation.path.removesuffix("}").rpartition("{")

    def match(request: web.Request, number: str) -> None:
        found = web.UrlMappingMatchInfo({variable: number}, route)
        found.add_app(app)
        found.freeze()
        replace_match(request, found)

    middleware.serve_directly(prefix, route.handler, match)


def plugin_routes(gateway: Gateway) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The handler of the routes of plugins, mounted below ``/x/<plugin>/`` only: none can shadow ``/v2``.

    It has routers of its own, since aiohttp takes no routes after plugins are loaded.
    """

    timeout_s = gateway.config.server.request_timeout_s * SHARE_OF_TIMEOUT

    @functools.cache
    def served() -> dict[str, PluginRoutes]:
        answers = gateway.registry.plugins.ask("quoteway_routes")
        return {entry.name: PluginRoutes(entry.name, routes, timeout_s) for entry, routes in answers}

    async def dispatch(request: web.Request) -> web.StreamResponse:
        require_ready(gateway)
        own = served().get(request.match_info["plugin"])
        if own is None:
            raise web.HTTPNotFound
        found = await own.router.resolve(request)
        found.add_app(request.app)
        replace_match(request, found)
        return await own.answer(found.handler, request)

    return dispatch


@functools.cache
def openapi_document() -> bytes:
    """The OpenAPI document of the core's routes, as JSON. Making it takes 45 ms, so it is made once."""
    from quoteway.web.http.openapi import document

    return orjson.dumps(document(operations(), version=core_version()), option=orjson.OPT_INDENT_2)


@get("/v2/openapi.json", "This document", OpenApiDocument, needs_ready=False)
async def get_open_api(call: Call) -> web.Response:
    """The document; not described by itself."""
    return keep(call, call.gateway.registry.revision, openapi_document())


async def _run_gateway(gateway: Gateway, app: web.Application) -> AsyncIterator[None]:
    gateway.watchdog.start()
    await gateway.start()
    yield
    await gateway.stop()
    gateway.watchdog.stop()


async def _keep_state(gateway: Gateway, metrics: Metrics, app: web.Application) -> AsyncIterator[None]:
    task = asyncio.create_task(keep_state(gateway, metrics), name="metrics:state")
    yield
    task.cancel()


async def _own_metrics_port(gateway: Gateway, metrics: Metrics, app: web.Application) -> AsyncIterator[None]:
    """Serves ``/metrics`` on its own port, so that clients of the API need not reach it."""
    server = gateway.config.server
    inner = web.Application()
    inner.router.add_get("/metrics", metrics_handler(gateway, metrics))
    runner = web.AppRunner(inner, access_log=None)
    await runner.setup()
    host = server.metrics_host or server.host
    await web.TCPSite(runner, host, server.metrics_port, reuse_port=server.workers > 1).start()
    yield
    await runner.cleanup()
