"""``/operator/captures/<request id>``: the bundle of a recorded request, for operators only.

``POST /operator/reads`` sends one read to the RPC upstreams, for the reads that a bundle still lacks.

Both need ``[server] capture_key`` as a Bearer token; API keys, which callers have, do not open them. Without
that key they are there in the embedded default alone, which only programs of this machine reach. Each worker
records its own requests and asks the others for what it does not have, by Unix sockets in the folder of the
run.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
from aiohttp import ClientError, ClientSession, ClientTimeout, UnixConnector, web

from quoteway.config.loading import RUN_FOLDER
from quoteway.config.model import Config
from quoteway.engine.bundles import bundle_of
from quoteway.engine.gateway import Gateway
from quoteway.errors import GatewayError, InvalidRequest, NotFound, Unauthorized
from quoteway.evm.methods import METHODS
from quoteway.host.plugins import core_version
from quoteway.host.recording import Recorder, described
from quoteway.host.redaction import Redaction
from quoteway.web.http.body import read_object
from quoteway.web.http.envelope import json_response
from quoteway.web.http.limits import Counted
from quoteway.web.http.middleware import MIDDLEWARE
from quoteway.web.http.operation import NO_STORE
from quoteway.web.http.origins import is_local

PATH = "/operator/captures/"
READS_PATH = "/operator/reads"
MAX_READ_BYTES = 1_048_576
SIBLING_TIMEOUT_S = 30.0


def add_captures(app: web.Application, gateway: Gateway, recorder: Recorder) -> None:
    """Adds the route, and where several workers share a port the socket on which they ask each other."""
    app.router.add_get(PATH + "{request_id:.+}", partial(_show, gateway, recorder))
    app.router.add_post(READS_PATH, partial(_read, gateway))
    if RUN_FOLDER in os.environ:
        app.cleanup_ctx.append(partial(_answer_siblings, gateway, recorder))


async def _show(gateway: Gateway, recorder: Recorder, request: web.Request) -> web.Response:
    await _check_operator(gateway.config, request)
    request_id = request.match_info["request_id"]
    found = _own(gateway, recorder, request_id) or await _of_siblings(gateway.config, request_id)
    if found is None:
        text = f"No recording has this request id. The newest {gateway.config.server.capture} are kept."
        raise NotFound(text)
    return json_response(found, 200, NO_STORE)


async def _read(gateway: Gateway, request: web.Request) -> web.Response:
    """Answers ``{chainId, method, params}`` with the ``result`` or ``error`` that a recording would have."""
    config = gateway.config
    await _check_operator(config, request)
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


async def _check_operator(config: Config, request: web.Request) -> None:
    """Raises ``Unauthorized`` without the operator's key. Counts wrong ones against ``limits.wrong_keys``."""
    key = config.server.capture_key
    if key is None and is_local(config):
        return
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    expected = b"" if key is None else key.reveal().encode()
    is_right = hmac.compare_digest(expected, given.strip().encode("utf-8", "surrogateescape"))
    if key is not None and is_right and scheme.lower() == "bearer":
        return
    middleware = request.app[MIDDLEWARE]
    if middleware.limiter is not None:
        await Counted(middleware.limiter, "wrong_keys", middleware.callers.of(request)).take()
    raise Unauthorized(
        "Send the key of operators, server.capture_key: Authorization: Bearer <key>.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _own(gateway: Gateway, recorder: Recorder, request_id: str) -> bytes | None:
    recording = recorder.find(request_id)
    return None if recording is None else bundle_of(gateway, recording, core_version())


def _socket(folder: str, worker: int) -> Path:
    return Path(folder) / f"captures-{worker}.sock"


async def _of_siblings(config: Config, request_id: str) -> bytes | None:
    """Returns the bundle that another worker has; None when none has it."""
    folder = os.environ.get(RUN_FOLDER)
    others = [n for n in range(config.server.workers) if n != config.worker] if folder is not None else []
    for number in others:
        connector = UnixConnector(str(_socket(folder or "", number)))
        timeout = ClientTimeout(total=SIBLING_TIMEOUT_S)
        async with ClientSession(connector=connector, timeout=timeout) as session:
            try:
                async with session.get(f"http://worker/{quote(request_id, safe='')}") as response:
                    if response.status == 200:
                        return await response.read()
            except (ClientError, OSError, TimeoutError):
                continue  # it is starting or has ended, and its recordings with it
    return None


async def _answer_siblings(gateway: Gateway, recorder: Recorder, app: web.Application) -> AsyncIterator[None]:
    """Answers other workers. Only this user can reach the folder."""

    async def show(request: web.Request) -> web.Response:
        found = _own(gateway, recorder, request.match_info["request_id"])
        return web.Response(status=404) if found is None else json_response(found, 200, NO_STORE)

    inner = web.Application()
    inner.router.add_get("/{request_id:.+}", show)
    runner = web.AppRunner(inner, access_log=None)
    await runner.setup()
    path = _socket(os.environ[RUN_FOLDER], gateway.config.worker)
    path.unlink(missing_ok=True)  # of a worker that was killed
    await web.UnixSite(runner, str(path)).start()
    yield
    await runner.cleanup()
