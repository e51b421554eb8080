"""Quotes of a warm server over HTTP, single paths and orders that divide, beside a bare handler."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from bench.report import Report, counts, milliseconds, percentile
from bench.server import bare_handler, free_port, process, wait_for
from bench.speed import WALLET, _post, _requests

if TYPE_CHECKING:
    from quoteway_devnet.chains import Devnet

_ROOT = Path(__file__).parent.parent
ROUNDS = 2
"""How often each request is made before it is timed."""
CLIENTS = 8
RATE_S = 4.0
RATE_TURNS = 3
LAG_PER_S = 50
LAG_S = 10.0
COINS = 200
"""An order of so many coins divides over the devnet's pools."""
_OF_EACH_QUOTE = ("eth_getBlockByNumber", "eth_simulateV1")
"""The head after the request arrived, and the run of the transactions."""

Body = dict[str, Any]


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_devnet.chains import Devnet

    async with (
        Devnet.start() as devnet,
        _served(devnet) as probe,
        bare_handler() as bare,
        aiohttp.ClientSession() as session,
    ):
        url = (await _told(session, probe))["url"]
        paths, splits = await _bodies(session, url, devnet)
        report.baseline("orders quoted as a path, orders that divide", f"{len(paths)}, {len(splits)}")
        random.Random(options.seed).shuffle(paths)  # noqa: S311 - not for secrets
        for name, bodies in (("path", paths), ("split", splits)):
            await _latencies(report, session, (url, probe, bare), name, bodies, options.quotes)
            await _rates(report, session, (url, bare), name, bodies)
        await _lag(report, session, (url, probe), paths + splits)


@contextlib.asynccontextmanager
async def _served(devnet: Devnet) -> AsyncIterator[str]:
    """Runs a gateway over the devnet in a process of its own, and yields the URL of its probe."""
    port = free_port()
    command = ["-m", "bench.probed_server", str(port), json.dumps(devnet.ports), devnet.urls["devnet"]]
    async with process(sys.executable, *command, environ={"PYTHONPATH": str(_ROOT)}) as child:
        probe = f"http://127.0.0.1:{port}/"
        await wait_for(probe, child)
        yield probe


async def _told(session: aiohttp.ClientSession, probe: str) -> Mapping[str, Any]:
    async with session.get(probe) as answer:
        told: Mapping[str, Any] = await answer.json()
        return told


async def _bodies(session: aiohttp.ClientSession, url: str, devnet: Devnet) -> tuple[list[Body], list[Body]]:
    """Returns the requests that are quoted as a single path, and orders that the solver divides."""
    chain = devnet.chains["devnet"]
    large = [
        {
            "network": "devnet",
            "fromToken": sold if sold == "native" else chain.token(sold).address,
            "toToken": chain.token(bought).address,
            "amount": str(COINS * 10**18),
            "address": WALLET,
        }
        for sold, bought in itertools.product(("native", "WETH", "wstETH"), ("USDC", "USDT", "DAI", "WBTC"))
    ]
    paths, splits = [], []
    for body in (*await _requests(session, url), *large):
        async with session.post(f"{url}/v2/swaps/quote", json=body) as answer:
            legs = len((await answer.json()).get("route", {}).get("legs", ())) if answer.status == 200 else 0
        if legs:
            (paths if legs == 1 else splits if body in large else []).append(body)
    if not paths or not splits:
        raise RuntimeError("the devnet has no order of each kind")
    return paths, splits


async def _latencies(
    report: Report,
    session: aiohttp.ClientSession,
    urls: tuple[str, str, str],
    name: str,
    bodies: Sequence[Body],
    quotes: int,
) -> None:
    """Makes quotes one at a time, each after a request to the bare handler."""
    url, probe, bare = urls
    for body in itertools.islice(itertools.cycle(bodies), ROUNDS * len(bodies)):
        await _post(session, f"{url}/v2/swaps/quote", body)
    await _told(session, probe)
    took, bares = [], []
    for body in itertools.islice(itertools.cycle(bodies), quotes):
        bares.append((await _post(session, bare, body))[0])
        took.append((await _post(session, f"{url}/v2/swaps/quote", body))[0])
    told = await _told(session, probe)
    report.say(f"{quotes} quotes, {name}")
    report.baseline(f"{name}: bare handler, p50", f"{statistics.median(bares) * 1e3:.2f} ms")
    p50, p99 = milliseconds(took)
    report.at_most(f"{name}: warm quote over HTTP, p50", p50, 15, "ms")
    report.at_most(f"{name}: warm quote over HTTP, p99", p99, 50, "ms")
    report.baseline(f"{name}: processor time of the server a quote", f"{told['cpu_s'] / quotes * 1e3:.1f} ms")
    sent = told["methods"]
    others = [(method, count) for method, count in sent.items() if method not in _OF_EACH_QUOTE]
    each = ", ".join(f"{method} {sent.get(method, 0)}" for method in _OF_EACH_QUOTE)
    report.baseline(f"{name}: heads and runs of these {quotes} quotes, with polls", each)
    report.at_most(
        f"{name}: other RPC requests meanwhile", sum(n for _, n in others), 0, "requests", digits=0
    )
    if others:
        report.say(f"other requests: {counts(others)}")


async def _rates(
    report: Report, session: aiohttp.ClientSession, urls: tuple[str, str], name: str, bodies: Sequence[Body]
) -> None:
    """Counts the quotes of concurrent clients, in turns with those of the bare handler."""
    url, bare = urls
    rates, bares = [], []
    for _ in range(RATE_TURNS):
        bares.append(await _rate(session, bare, bodies))
        rates.append(await _rate(session, f"{url}/v2/swaps/quote", bodies))
    text = f"{statistics.median(rates):.0f}/s, bare handler {statistics.median(bares):.0f}/s"
    report.baseline(f"{name}: quotes of {CLIENTS} clients", text)


async def _rate(session: aiohttp.ClientSession, url: str, bodies: Sequence[Body]) -> float:
    started, answered, next_body = time.perf_counter(), 0, itertools.cycle(bodies)

    async def client() -> None:
        nonlocal answered
        while time.perf_counter() - started < RATE_S:
            await _post(session, url, next(next_body))
            answered += 1

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return answered / (time.perf_counter() - started)


async def _lag(
    report: Report, session: aiohttp.ClientSession, urls: tuple[str, str], bodies: Sequence[Body]
) -> None:
    """Sends quotes at a fixed rate, whether earlier ones have ended or not."""
    url, probe = urls
    loop, next_body = asyncio.get_running_loop(), itertools.cycle(bodies)
    await _told(session, probe)
    started, quotes = loop.time(), list[asyncio.Task[tuple[float, Any]]]()
    for number in range(int(LAG_PER_S * LAG_S)):
        await asyncio.sleep(max(started + number / LAG_PER_S - loop.time(), 0))
        quotes.append(asyncio.create_task(_post(session, f"{url}/v2/swaps/quote", next(next_body))))
    took = [seconds for seconds, _ in await asyncio.gather(*quotes)]
    rate = len(took) / (loop.time() - started)
    lags = (await _told(session, probe))["lags_s"]
    report.baseline(f"quotes answered of {LAG_PER_S}/s", f"{rate:.1f}/s, p50 {milliseconds(took)[0]:.1f} ms")
    report.at_most(f"event loop lag at {LAG_PER_S} quotes/s, p99", percentile(lags, 0.99) * 1e3, 20, "ms")
