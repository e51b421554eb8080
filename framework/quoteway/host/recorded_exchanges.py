"""Answers the HTTP requests of plugins from a recording, over a local socket."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import UnixConnector, web

from quoteway.host.http_session import exchange_key
from quoteway.host.recorded_nodes import Outcomes
from quoteway.host.recording import Key


@contextlib.asynccontextmanager
async def recorded_exchanges(
    own: Outcomes, known: Outcomes, normal: Callable[[Key], Key], missing: list[str]
) -> AsyncIterator[UnixConnector]:
    """Serves recorded answers inside; a session with the connector gets them for whatever host it asks.

    ``normal`` gives the form in which a bundle has what is asked. What was not recorded has its connection
    closed, and is named in ``missing``.
    """
    outcomes: dict[Key, Mapping[str, Any]] = dict(known) | dict(own)

    async def answer(request: web.Request) -> web.StreamResponse:
        body = (await request.read()).decode("utf-8", "replace")
        key = normal(exchange_key(request.method, request.host, request.path_qs, body))
        outcome = outcomes.get(key)
        if outcome is not None and "result" in outcome:
            found = outcome["result"]
            return web.Response(status=found["status"], headers=found["headers"], body=found["body"].encode())
        if outcome is None:
            missing.append(f"{request.method} {key[2][:200]}")
        elif outcome["error"]["kind"] == "no_answer":
            await asyncio.sleep(3_600)  # until the plugin gives up
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=502)

    app = web.Application(client_max_size=1 << 24)
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        with tempfile.TemporaryDirectory(prefix="quoteway-replay-") as folder:
            path = str(Path(folder) / "http.sock")
            await web.UnixSite(runner, path).start()
            yield UnixConnector(path)
    finally:
        await runner.cleanup()
