"""What operators see of a running server: ``/operator/state``, ``/operator/requests``, ``/operator/config``.

They are no operations of the API: the OpenAPI document does not have them, and API keys of callers do not
open them. No answer has a secret or the URL of a node: nodes are named by their labels, the configuration is
shown as ``quoteway config`` shows it, and what plugins say is searched for secrets before it is sent.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, Final

import orjson
from aiohttp import web

from quoteway.config.loading import redacted
from quoteway.config.run_folder import read_reload
from quoteway.engine.gateway import Gateway
from quoteway.errors import FieldError, GatewayError, ProviderUnavailable, Reason
from quoteway.host.installed_plugins import core_version
from quoteway.host.redaction import Redaction
from quoteway.host.upstream_health import upstream_health
from quoteway.models import Capability
from quoteway.web.http.cache import CACHE
from quoteway.web.http.envelope import json_response
from quoteway.web.http.health import readiness, state_wire
from quoteway.web.http.middleware import MIDDLEWARE
from quoteway.web.http.operation import NO_STORE
from quoteway.web.http.operators import PATH, check_operator
from quoteway.web.http.schema import invalid
from quoteway.web.http.siblings import Siblings
from quoteway.web.resources.index_status import index_statuses
from quoteway.web.resources.listings import provider_rows
from quoteway.web.wire.index_status import IndexStatus
from quoteway.web.wire.providers import UpstreamRow
from quoteway.web.wire.view import Wire

Answer = Callable[[], Coroutine[Any, Any, bytes]]

MOST_WORKER_DIGITS: Final = 3


def add_operator(app: web.Application, gateway: Gateway, siblings: Siblings) -> None:
    """Adds the routes, and what other workers ask for."""
    started_at = time.time()
    answers: Mapping[str, Callable[[], Awaitable[Wire]]] = {
        "state": partial(_state, gateway, started_at),
        "requests": partial(_requests, gateway, app),
        "config": partial(_config, gateway),
    }

    def shared(name: str) -> Answer:
        """Requests that come while one is answered get the same answer."""

        async def make() -> bytes:
            body = orjson.dumps(await answers[name](), default=str).decode()
            return Redaction(gateway.config, gateway.runtime.networks).text(body).encode()

        async def answer() -> bytes:
            body: bytes = await app[CACHE].flights.run(("operator", name), make)
            return body

        return answer

    for name in answers:
        answer = shared(name)
        app.router.add_get(PATH + name, partial(_show, gateway, siblings, name, answer))
        siblings.answer(name, partial(_own, answer))


async def _own(answer: Answer, rest: str) -> bytes:
    return await answer()


async def _show(
    gateway: Gateway, siblings: Siblings, name: str, answer: Answer, request: web.Request
) -> web.Response:
    """Answers with what this worker has, or the one that ``worker`` of the query names."""
    await check_operator(gateway.config, request)
    own, asked = gateway.config.worker, request.query.get("worker")
    number = own if asked is None else _number(asked)
    if number == own:
        return json_response(await answer(), 200, NO_STORE)
    if number not in siblings.numbers:
        workers = sorted({own, *siblings.numbers})
        text = f"must be the number of a worker, {workers[0]} to {workers[-1]}"
        raise invalid(FieldError("worker", Reason.OUT_OF_RANGE, text))
    found = await siblings.ask(number, name)
    if found is None:
        raise ProviderUnavailable(f"Worker {number} does not answer: it starts or has ended.", retryable=True)
    return json_response(found, 200, NO_STORE)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_WORKER_DIGITS):
        raise invalid(FieldError("worker", Reason.INVALID_FORMAT, "must be the number of a worker"))
    return int(text)


def _place(gateway: Gateway) -> Wire:
    return {"worker": gateway.config.worker, "workers": gateway.config.server.workers}


async def _state(gateway: Gateway, started_at: float) -> Wire:
    found = await readiness(gateway, with_states=True)
    networks = {
        state.network.slug: {**state_wire(state), "chainId": state.network.chain_id, "headAt": state.head_at}
        for state in found.states
    }
    policy, reload = gateway.building.custody.policy, read_reload()
    return {
        **_place(gateway),
        "version": core_version(),
        "at": int(time.time()),
        "startedAt": int(started_at),
        "ready": not found.reasons,
        "notReady": found.reasons,
        "policy": None if policy is None else policy.digest,
        "reload": None if reload is None else asdict(reload),
        "networks": networks,
        "providers": await provider_rows(gateway),
        "upstreams": await _upstreams(gateway),
        "index": await _index(gateway),
    }


async def _upstreams(gateway: Gateway) -> list[Wire]:
    """Returns the nodes by their labels, each with its calls since the start by outcome."""
    rows = []
    for provider, row in await upstream_health(gateway.registry.enabled(Capability.RPC)):
        outcomes: Counter[str] = Counter()
        for _, outcome, count in row.calls:
            outcomes[outcome] += count
        shown = UpstreamRow.render(row, gateway.runtime.networks)
        rows.append({"provider": provider.id, **shown, "limitRps": row.limit_rps, "outcomes": outcomes})
    return rows


async def _index(gateway: Gateway) -> Wire | None:
    """Returns how far the index of each network is; None in a deployment without one."""
    if not gateway.registry.enabled(Capability.METRICS):
        return None
    try:
        rows = await index_statuses(gateway)
    except GatewayError as error:
        absent = error.reason is Reason.CAPABILITY_DISABLED
        return None if absent else {"data": [], "problem": error.message}
    return {**IndexStatus.of(gateway.runtime.networks, data=rows), "problem": None}


async def _requests(gateway: Gateway, app: web.Application) -> Wire:
    traces = app[MIDDLEWARE].traces
    return {**_place(gateway), "kept": traces.most, "data": [trace.wire() for trace in traces]}


async def _config(gateway: Gateway) -> Wire:
    return {"config": redacted(gateway.config)}
