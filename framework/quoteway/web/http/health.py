"""Health, readiness and metrics for orchestrators, and where to begin. They need no API key and have no rate
limit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from quoteway.config.server import ServerConfig
from quoteway.engine.action_signatures import KEYS_PATH
from quoteway.engine.gateway import Gateway
from quoteway.errors import ProviderUnavailable
from quoteway.host.network_states import Condition, Level, NetworkState, Why
from quoteway.host.states import NotEnabled
from quoteway.host.upstream_health import upstream_health
from quoteway.models import Capability
from quoteway.networks import Networks
from quoteway.web.http.envelope import error_response, json_response
from quoteway.web.http.light import HEALTH_PATH, HEALTHY
from quoteway.web.http.limits import Limiter
from quoteway.web.http.metrics import CONTENT_TYPE, Metrics
from quoteway.web.http.operation import NO_STORE, REQUEST_ID

log = logging.getLogger("quoteway.web")

STATE_EVERY_S = 5.0
"""How often a worker writes its state into the metrics that all workers share."""
KEYS_KEPT_S = 300
"""How long clients may keep the public keys. A new key is shown for longer than that before it signs."""
STARTING_EVERY_S = 0.2
"""As ``STATE_EVERY_S`` until the plugins have started: ``quoteway_ready`` is 0 until then."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Why the gateway is not ready; none when it is ready.

    ``silent`` are networks whose nodes do not answer, ``ended`` plugins whose process has ended. ``states``
    are those of the networks, where they were asked for or decide.
    """

    reasons: Sequence[str]
    silent: Sequence[str] = ()
    ended: Sequence[str] = ()
    states: Sequence[NetworkState] = ()


async def readiness(gateway: Gateway, *, with_states: bool = False) -> Readiness:
    """Returns whether the gateway is ready: ``/readyz`` and the metrics both tell it."""
    server, halted = gateway.config.server, gateway.halted
    # Of a list, nothing else counts while the service runs.
    reasons = gateway.readiness() if not server.required or halted is not None else []
    if halted is not None or (reasons and not with_states):
        return Readiness(reasons)
    networks = list(gateway.runtime.networks)
    silent = await gateway.reachability.silent(networks)
    states: Sequence[NetworkState] = ()
    if with_states or server.ready_when != "any":
        behind = [each for each in networks if gateway.runtime.chain(each.chain_id).behind is not None]
        states = await gateway.states.get(networks, silent, behind)
    # One network that answers is enough: the failure of one must not take the others out of service.
    if not server.required and networks and len(silent) == len(networks):
        reasons = reasons or [f"no RPC upstream of {network.slug} answers" for network in silent]
    reasons = reasons or list(_unmet(server, gateway.runtime.networks, states))
    plugins = gateway.registry.plugins
    ended = [plugin.name for plugin in plugins if plugin.reason is NotEnabled.PROCESS_ENDED]
    return Readiness(reasons, [network.slug for network in silent], ended, states)


def _unmet(server: ServerConfig, networks: Networks, states: Sequence[NetworkState]) -> Iterator[str]:
    """Yields what ``[server] ready_when`` needs and that is dead."""
    wanted = [(state.network.slug, "") for state in states] if server.ready_when == "all" else server.required
    by_id = {state.network.chain_id: state for state in states}
    for name, capability in wanted:
        network = networks.find(name)
        state = None if network is None else by_id.get(network.chain_id)
        condition = Condition(Level.DEAD, (Why.PROVIDER_NOT_ENABLED,))  # of what nothing serves
        if state is not None and not capability:
            condition = state.condition
        elif state is not None:
            condition = state.capabilities.get(Capability(capability), condition)
        if condition.level is Level.DEAD:
            yield f"{capability or 'network'} {'on ' if capability else ''}{name} is dead: " + ", ".join(
                condition.why
            )


def state_wire(state: NetworkState) -> dict[str, object]:
    """Returns a network's state as ``/readyz?verbose`` shows it."""
    capabilities = {
        capability.value: {"state": condition.level.value, "why": condition.why}
        for capability, condition in state.capabilities.items()
    }
    condition = state.condition
    return {"state": condition.level.value, "why": condition.why, "capabilities": capabilities}


_LINKS = {
    "description": "/v2/openapi.json",
    "networks": "/v2/networks",
    "providers": "/v2/providers",
    "tokens": "/v2/tokens",
    "pools": "/v2/pools",
    "vaults": "/v2/vaults",
    "signingKeys": KEYS_PATH,
    "health": HEALTH_PATH,
    "readiness": "/readyz",
}


def root_handler() -> Handler:
    """``/``: links to what can be asked without parameters. It tells nothing of the deployment."""
    body = orjson.dumps({"name": "quoteway", "links": _LINKS})

    async def show(request: web.Request) -> web.StreamResponse:
        return json_response(body, 200, NO_STORE)

    return show


def keys_route(gateway: Gateway) -> web.RouteDef:
    """The public keys of signed actions, a JWK Set; empty where the deployment signs none."""
    signer = gateway.action_signer
    body = orjson.dumps({"keys": []} if signer is None else signer.key_set)
    headers = {"Content-Type": "application/jwk-set+json", "Cache-Control": f"public, max-age={KEYS_KEPT_S}"}

    async def show(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, headers=headers)

    return web.get(KEYS_PATH, show)


def health_routes(gateway: Gateway, limiter: Limiter | None = None) -> list[web.RouteDef]:
    """``/healthz`` (200 while the process serves) and ``/readyz`` (200 while the providers are up and some
    network's nodes answer, or what ``[server] ready_when`` says). With ``?verbose`` it shows all states.

    The process serves without the stores of ``limiter`` and ``[shared]``: those that rest are only named.
    """

    async def healthz(request: web.Request) -> web.StreamResponse:
        return json_response(HEALTHY, 200, NO_STORE)

    async def readyz(request: web.Request) -> web.StreamResponse:
        verbose = "verbose" in request.query
        found = await readiness(gateway, with_states=verbose)
        states = {each.network.slug: state_wire(each) for each in found.states}
        networks = {"networks": states} if verbose else {}
        if found.reasons:
            text, after = f"Not ready: {'; '.join(found.reasons)}.", {"Retry-After": "1"}
            error = ProviderUnavailable(text, headers=after, not_ready=found.reasons, retryable=True)
            return error_response(error, request[REQUEST_ID], networks)
        told = {
            "notAnswering": found.silent,
            "notRunning": found.ended,
            "storesNotAnswering": _resting(gateway, limiter),
        }
        body = {"status": "ready", **{name: names for name, names in told.items() if names}, **networks}
        return json_response(orjson.dumps(body), 200, NO_STORE)

    return [web.get(HEALTH_PATH, healthz), web.get("/readyz", readyz)]


def _resting(gateway: Gateway, limiter: Limiter | None) -> Sequence[str]:
    """Returns the sections of the configuration whose stores this process does without now."""
    server = gateway.runtime.tier.server
    rests = {
        "limits": None if limiter is None else limiter.rest,
        "shared": None if server is None else server.rest,
    }
    return [name for name, rest in rests.items() if rest is not None and rest.rests]


def metrics_handler(gateway: Gateway, metrics: Metrics) -> Handler:
    """``/metrics`` in the Prometheus text format."""

    async def show(request: web.Request) -> web.StreamResponse:
        await show_state(gateway, metrics)
        headers = {"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"}
        return web.Response(body=await metrics.rendered(), headers=headers)

    return show


async def show_state(gateway: Gateway, metrics: Metrics) -> None:
    """Writes the state of this worker into the metrics."""
    found, config = await readiness(gateway, with_states=True), gateway.config
    ready = not found.reasons
    metrics.show(gateway.registry, gateway.runtime.counts, ready=ready)
    metrics.networks.show(found.states)
    metrics.process.show(config.worker, config.server.workers, ready=ready)
    metrics.load.show(gateway.runtime.rows, gateway.runtime.tier)
    metrics.shared.show(gateway.runtime.tier, gateway.runtime.networks)
    upstreams = await upstream_health(gateway.registry.enabled(Capability.RPC))
    metrics.show_upstreams(upstreams, gateway.runtime.networks)


async def keep_state(gateway: Gateway, metrics: Metrics) -> None:
    """Writes it again and again: another worker may be the one that is asked for the metrics of all."""
    while True:
        try:
            await show_state(gateway, metrics)
        except Exception:  # isolation border: properties of providers are read
            log.exception("the state of this worker could not be written to the metrics")
        await asyncio.sleep(STATE_EVERY_S if gateway.ready else min(STARTING_EVERY_S, STATE_EVERY_S))
