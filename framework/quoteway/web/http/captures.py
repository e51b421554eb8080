"""``/operator/captures/<request id>``: the bundle of a recorded request, for operators only.

``POST /operator/reads`` sends one read to the RPC upstreams, for the reads that a bundle still lacks. Each
worker records its own requests and asks the others for what it does not have.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote

import orjson
from aiohttp import web

from quoteway.engine.bundles import bundle_of
from quoteway.engine.gateway import Gateway
from quoteway.errors import GatewayError, InvalidRequest, NotFound
from quoteway.evm.methods import METHODS
from quoteway.host.installed_plugins import core_version
from quoteway.host.recording import Recorder, described
from quoteway.host.redaction import Redaction
from quoteway.web.http.body import read_object
from quoteway.web.http.envelope import json_response
from quoteway.web.http.operation import NO_STORE
from quoteway.web.http.operators import PATH, check_operator
from quoteway.web.http.siblings import Siblings

CAPTURES = "captures"
MAX_READ_BYTES = 1_048_576


def add_captures(app: web.Application, gateway: Gateway, recorder: Recorder, siblings: Siblings) -> None:
    """Adds the routes, and what other workers ask for."""

    async def own(request_id: str) -> bytes | None:
        return _own(gateway, recorder, request_id)

    app.router.add_get(f"{PATH}{CAPTURES}/{{request_id:.+}}", partial(_show, gateway, recorder, siblings))
    app.router.add_post(f"{PATH}reads", partial(_read, gateway))
    siblings.answer(CAPTURES, own)


async def _show(
    gateway: Gateway, recorder: Recorder, siblings: Siblings, request: web.Request
) -> web.Response:
    await check_operator(gateway.config, request)
    request_id = request.match_info["request_id"]
    found = _own(gateway, recorder, request_id)
    for number in siblings.numbers if found is None else ():
        found = await siblings.ask(number, CAPTURES, quote(request_id, safe=""))
        if found is not None:
            break
    if found is None:
        text = f"No recording has this request id. The newest {gateway.config.server.capture} are kept."
        raise NotFound(text)
    return json_response(found, 200, NO_STORE)


async def _read(gateway: Gateway, request: web.Request) -> web.Response:
    """Answers ``{chainId, method, params}`` with the ``result`` or ``error`` that a recording would have."""
    config = gateway.config
    await check_operator(config, request)
    timeout_s = config.server.request_timeout_s
    asked = await read_object(request, limit_bytes=MAX_READ_BYTES, timeout_s=timeout_s)
    chain_id, method, params = asked.get("chainId"), asked.get("method"), asked.get("params")
    network = gateway.runtime.networks.by_chain_id(chain_id) if isinstance(chain_id, int) else None
    if (
        network is None
        or not isinstance(method, str)
        or method not in METHODS
        or not isinstance(params, list)
    ):
        raise InvalidRequest("Send chainId of a network that is served, a read method, and params, an array.")
    outcome: dict[str, Any]
    try:
        outcome = {"result": await gateway.runtime.chain(network.chain_id).request(str(method), params)}
    except GatewayError as error:
        outcome = {"error": described(error)}
    redaction = Redaction(config, gateway.runtime.networks)
    return json_response(redaction.text(orjson.dumps(outcome).decode()).encode(), 200, NO_STORE)


def _own(gateway: Gateway, recorder: Recorder, request_id: str) -> bytes | None:
    recording = recorder.find(request_id)
    return None if recording is None else bundle_of(gateway, recording, core_version())
