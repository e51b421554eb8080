"""JSON-RPC requests of a quote: a head and a simulation when warm, at most three sequential rounds when cold.

A proxy delays every request to the node, so the time of a cold quote divided by that delay is its number of
sequential rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web

from bench.report import Report
from bench.server import free_port
from bench.speed import WALLET

if TYPE_CHECKING:
    from quoteway.config.model import ServerConfig

DELAY_S = 0.25
COLD_RUNS = 5
WARM_QUOTES = 100


class SlowNode:
    """A proxy in front of a node that delays every request by ``delay_s`` and counts it."""

    def __init__(self, url: str, delay_s: float = DELAY_S) -> None:
        self.requests = 0
        self.polls = 0
        self._url = url
        self._delay_s = delay_s

    async def forward(self, request: web.Request) -> web.Response:
        self.requests += 1
        body = await request.read()
        self.polls += b"eth_getBlockByNumber" in body
        await asyncio.sleep(self._delay_s)
        async with (
            aiohttp.ClientSession() as session,
            session.post(self._url, data=body, headers={"Content-Type": "application/json"}) as answer,
        ):
            return web.Response(body=await answer.read(), content_type="application/json")

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_post("/", self.forward)
        runner = web.AppRunner(app)
        await runner.setup()
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            await runner.cleanup()


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_devnet.chains import Devnet

    async with Devnet.start() as devnet:
        pair = [devnet.chains["devnet"].token(symbol).address for symbol in ("LINK", "USDC")]
        body = {
            "network": "devnet",
            "fromToken": pair[0],
            "toToken": pair[1],
            "amount": "10" + "0" * 18,
            "address": WALLET,
        }
        rounds, requests, heads, others = [], [], 0, 0
        for run in range(COLD_RUNS):
            report.say(f"cold quote {run + 1} of {COLD_RUNS}")
            node = SlowNode(devnet.urls["devnet"])
            async with (
                node.running() as url,
                gateway_over(devnet.ports, url) as base,
                aiohttp.ClientSession() as session,
            ):
                await asyncio.sleep(2 * DELAY_S)  # requests of the start-up must have ended
                before, started = node.requests, time.perf_counter()
                await _quote(session, base, body)
                rounds.append((time.perf_counter() - started) / DELAY_S)
                requests.append(node.requests - before)
                if run == COLD_RUNS - 1:
                    before, polls, took = node.requests, node.polls, []
                    for _ in range(WARM_QUOTES):
                        started = time.perf_counter()
                        await _quote(session, base, body)
                        took.append(time.perf_counter() - started)
                    heads = node.polls - polls
                    others = node.requests - before - heads
                    slow = sum(1 for seconds in took if seconds >= 3 * DELAY_S)
    report.at_most(
        "sequential RPC rounds of a first quote", int(statistics.median(rounds)), 3, "rounds", digits=0
    )
    report.baseline("RPC requests of a first quote", f"{statistics.median(requests):.0f}")
    report.at_most(
        f"of {WARM_QUOTES} warm quotes, those that waited for more than a head and a simulation",
        slow,
        0,
        "quotes",
        digits=0,
    )
    report.baseline("reads of the head meanwhile (one a quote, and polls)", str(heads))
    report.baseline("other RPC requests meanwhile", str(others))


@contextlib.asynccontextmanager
async def gateway_over(
    ports: dict[str, int], rpc_url: str, server: ServerConfig | None = None
) -> AsyncIterator[str]:
    """Serves a gateway in this process that reads the devnet's first chain at ``rpc_url``; yields its URL."""
    from quoteway.config.model import Config, LimitsConfig, ServerConfig
    from quoteway.config.network import NetworkConfig
    from quoteway.engine.gateway import Gateway
    from quoteway.networks import Endpoint
    from quoteway.server.serve import make_runner
    from quoteway.web.app import make_app

    config = Config(
        server=server or ServerConfig(),
        limits=LimitsConfig(enabled=False),
        networks={"devnet": NetworkConfig(rpc=(Endpoint(rpc_url),))},
        plugin_sections={
            "devnet": {
                "enabled": True,
                "start": False,
                "port": ports["devnet"],
                "l2_port": ports["devnet-l2"],
            }
        },
    )
    gateway = Gateway(config)
    runner = make_runner(make_app(gateway), config)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await gateway.started()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


async def _quote(session: aiohttp.ClientSession, base: str, body: dict[str, str]) -> None:
    async with session.post(f"{base}/v2/swaps/quote", json=body) as answer:
        if answer.status != 200:
            raise RuntimeError(f"quote answered {answer.status}: {await answer.text()}")
        await answer.read()
