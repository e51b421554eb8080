"""Serves a gateway over a devnet that runs, with a probe beside it, in a process of its own.

``python -m bench.probed_server PROBE_PORT CHAIN_PORTS NODE_URL``, the ports of the chains by slug as JSON.
``GET /`` of the probe gives what happened since it was asked last: how late the event loop was, which
JSON-RPC methods the gateway sent, and its processor time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import uvloop
from aiohttp import web

from bench.rounds import gateway_over

STEP_S = 0.005
"""How often the event loop is asked to run something."""


class Probe:
    """What happened in the gateway of this process since it was asked last."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lags_s: list[float] = []
        self._methods: Counter[str] = Counter()
        self._cpu_s = time.process_time()

    async def watch(self) -> None:
        """Measures how late each timer fires."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + STEP_S
            await asyncio.sleep(STEP_S)
            self._lags_s.append(loop.time() - due)

    def count_requests(self) -> None:
        """Counts the requests that chains send from now on, by method."""
        from quoteway.engine.gateway import Gateway
        from quoteway.networks import Network

        forward = Gateway._forward

        async def counted(
            gateway: Gateway, network: Network, method: str, params: Sequence[Any], timeout_s: float
        ) -> Any:
            self._methods[method] += 1
            return await forward(gateway, network, method, params, timeout_s)

        Gateway._forward = counted  # type: ignore[method-assign]

    async def tell(self, request: web.Request) -> web.Response:
        cpu_s = time.process_time()
        told = {
            "url": self._url,
            "lags_s": self._lags_s,
            "methods": self._methods,
            "cpu_s": cpu_s - self._cpu_s,
        }
        answer = web.json_response(told)
        self._lags_s, self._cpu_s = [], cpu_s
        self._methods.clear()
        return answer


async def main(probe_port: str, chain_ports: str, node_url: str) -> None:
    probe = Probe("")
    probe.count_requests()
    async with gateway_over(json.loads(chain_ports), node_url) as url:
        probe._url = url
        app = web.Application()
        app.router.add_get("/", probe.tell)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", int(probe_port)).start()
        await probe.watch()


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
