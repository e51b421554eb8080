"""A loopback proxy that forwards JSON-RPC after a delay, to simulate a slow node."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web


@contextlib.asynccontextmanager
async def slow_node(url: str, delay_s: float) -> AsyncIterator[str]:
    """Yields the URL of a proxy that forwards each request to the node at ``url`` after ``delay_s`` seconds.

    Requests are delayed concurrently, as with real network latency.
    """
    async with aiohttp.ClientSession() as session:

        async def forward(request: web.Request) -> web.Response:
            body = await request.read()
            await asyncio.sleep(delay_s)
            headers = {"Content-Type": "application/json"}
            try:
                async with session.post(url, data=body, headers=headers) as answer:
                    return web.Response(body=await answer.read(), status=answer.status, headers=headers)
            except aiohttp.ClientError:
                return web.Response(status=502)

        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/", forward)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
        finally:
            await runner.cleanup()
