"""Health, readiness and metrics for orchestrators. They need no API key and have no rate limit."""

from __future__ import annotations

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from quoteway.engine.gateway import Gateway
from quoteway.errors import ProviderUnavailable
from quoteway.web.http.envelope import json_response
from quoteway.web.http.metrics import CONTENT_TYPE, Metrics
from quoteway.web.http.operation import NO_STORE


def health_routes(gateway: Gateway) -> list[web.RouteDef]:
    """``/healthz`` (200 while the process serves) and ``/readyz`` (200 while the providers are up and some
    network's nodes answer).
    """

    async def healthz(request: web.Request) -> web.StreamResponse:
        return json_response(b'{"status":"ok"}', 200, NO_STORE)

    async def readyz(request: web.Request) -> web.StreamResponse:
        reasons, silent = gateway.readiness(), []
        if not reasons:
            networks = list(gateway.runtime.networks)
            silent = [network.slug for network in await gateway.reachability.silent(networks)]
            # One network that answers is enough: the failure of one must not take the others out of service.
            if networks and len(silent) == len(networks):
                reasons = [f"no RPC upstream of {slug} answers" for slug in silent]
        if reasons:
            text, after = f"Not ready: {'; '.join(reasons)}.", {"Retry-After": "1"}
            raise ProviderUnavailable(text, headers=after, not_ready=reasons, retryable=True)
        body = {"status": "ready", **({"notAnswering": silent} if silent else {})}
        return json_response(orjson.dumps(body), 200, NO_STORE)

    return [web.get("/healthz", healthz), web.get("/readyz", readyz)]


def metrics_handler(gateway: Gateway, metrics: Metrics) -> Handler:
    """``/metrics`` in the Prometheus text format."""

    async def show(request: web.Request) -> web.StreamResponse:
        body = metrics.render(ready=gateway.ready)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"})

    return show
