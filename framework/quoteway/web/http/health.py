"""Health, readiness and metrics for orchestrators, and where to begin. They need no API key and have no rate
limit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from quoteway.engine.gateway import Gateway
from quoteway.errors import ProviderUnavailable
from quoteway.host.states import NotEnabled
from quoteway.host.upstream_health import upstream_health
from quoteway.models import Capability
from quoteway.web.http.envelope import json_response
from quoteway.web.http.metrics import CONTENT_TYPE, Metrics
from quoteway.web.http.operation import NO_STORE

log = logging.getLogger("quoteway.web")

STATE_EVERY_S = 5.0
"""How often a worker writes its state into the metrics that all workers share."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Why the gateway is not ready; none when it is ready.

    ``silent`` are networks whose nodes do not answer, ``ended`` plugins whose process has ended.
    """

    reasons: Sequence[str]
    silent: Sequence[str] = ()
    ended: Sequence[str] = ()


async def readiness(gateway: Gateway) -> Readiness:
    """Returns whether the gateway is ready: ``/readyz`` and the metrics both tell it."""
    reasons = gateway.readiness()
    if reasons:
        return Readiness(reasons)
    networks = list(gateway.runtime.networks)
    silent = [network.slug for network in await gateway.reachability.silent(networks)]
    # One network that answers is enough: the failure of one must not take the others out of service.
    if networks and len(silent) == len(networks):
        reasons = [f"no RPC upstream of {slug} answers" for slug in silent]
    plugins = gateway.registry.plugins
    ended = [plugin.name for plugin in plugins if plugin.reason is NotEnabled.PROCESS_ENDED]
    return Readiness(reasons, silent, ended)


_LINKS = {
    "description": "/v2/openapi.json",
    "networks": "/v2/networks",
    "providers": "/v2/providers",
    "tokens": "/v2/tokens",
    "pools": "/v2/pools",
    "vaults": "/v2/vaults",
    "health": "/healthz",
    "readiness": "/readyz",
}


def root_route() -> web.RouteDef:
    """``/``: links to what can be asked without parameters. It tells nothing of the deployment."""
    body = orjson.dumps({"name": "quoteway", "links": _LINKS})

    async def show(request: web.Request) -> web.StreamResponse:
        return json_response(body, 200, NO_STORE)

    return web.get("/", show)


def health_routes(gateway: Gateway) -> list[web.RouteDef]:
    """``/healthz`` (200 while the process serves) and ``/readyz`` (200 while the providers are up and some
    network's nodes answer).
    """

    async def healthz(request: web.Request) -> web.StreamResponse:
        return json_response(b'{"status":"ok"}', 200, NO_STORE)

    async def readyz(request: web.Request) -> web.StreamResponse:
        found = await readiness(gateway)
        if found.reasons:
            text, after = f"Not ready: {'; '.join(found.reasons)}.", {"Retry-After": "1"}
            raise ProviderUnavailable(text, headers=after, not_ready=found.reasons, retryable=True)
        told = {"notAnswering": found.silent, "notRunning": found.ended}
        body = {"status": "ready", **{name: names for name, names in told.items() if names}}
        return json_response(orjson.dumps(body), 200, NO_STORE)

    return [web.get("/healthz", healthz), web.get("/readyz", readyz)]


def metrics_handler(gateway: Gateway, metrics: Metrics) -> Handler:
    """``/metrics`` in the Prometheus text format."""

    async def show(request: web.Request) -> web.StreamResponse:
        await show_state(gateway, metrics)
        headers = {"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"}
        return web.Response(body=metrics.render(), headers=headers)

    return show


async def show_state(gateway: Gateway, metrics: Metrics) -> None:
    """Writes the state of this worker into the metrics."""
    ready = not (await readiness(gateway)).reasons
    metrics.show(gateway.registry, gateway.runtime.counts, ready=ready)
    upstreams = await upstream_health(gateway.registry.enabled(Capability.RPC))
    metrics.show_upstreams(upstreams, gateway.runtime.networks)


async def keep_state(gateway: Gateway, metrics: Metrics) -> None:
    """Writes it again and again: another worker may be the one that is asked for the metrics of all."""
    while True:
        try:
            await show_state(gateway, metrics)
        except Exception:  # isolation border: properties of providers are read
            log.exception("the state of this worker could not be written to the metrics")
        await asyncio.sleep(STATE_EVERY_S)
