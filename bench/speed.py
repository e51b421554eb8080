"""Latency of quotes and actions and rates of catalogs on a warm server, compared with a bare handler."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import re
import shutil
import statistics
import time
from collections.abc import Sequence
from typing import Any

import aiohttp

from bench.report import Report, milliseconds
from bench.server import bare_handler, gateway

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
WARM_UP = 20
WRK_SECONDS = 2
WRK_TURNS = 5
PAGE_TIMEOUT_S = 30
CATALOGS = (
    "/v2/providers",
    "/v2/networks",
    "/v2/tokens?network=devnet",
    "/v2/pools?network=devnet",
    "/v2/vaults?network=devnet",
)


async def measure(report: Report, options: argparse.Namespace) -> None:
    async with gateway() as url, bare_handler() as bare, aiohttp.ClientSession() as session:
        bodies = await _requests(session, url)
        quotes, bares, tokens = [], [], []
        for index, body in enumerate(itertools.islice(itertools.cycle(bodies), WARM_UP + options.quotes)):
            took, answer = await _post(session, f"{url}/v2/swaps/quote", body)
            if index >= WARM_UP:
                quotes.append(took)
                bares.append((await _post(session, bare, body))[0])
                tokens.append(answer["quoteId"])
        actions = []
        for index, token in enumerate(tokens[: WARM_UP + max(100, options.quotes // 3)]):
            took, _ = await _post(session, f"{url}/v2/swaps/{token}/action", None)
            if index >= WARM_UP:
                actions.append(took)
        report.baseline("bare handler: POST p50", f"{statistics.median(bares) * 1e3:.2f} ms")
        p50, p99 = milliseconds(quotes)
        report.at_most("quote, warm: p50", p50, 15, "ms")
        report.at_most("quote, warm: p99", p99, 50, "ms")
        report.at_most("action with simulation: p50", milliseconds(actions)[0], 40, "ms")
        await _rates(report, session, url)


async def _requests(session: aiohttp.ClientSession, url: str) -> list[dict[str, Any]]:
    """Returns quote requests of all ordered pairs of listed tokens that have a route."""
    async with session.get(f"{url}/v2/tokens?network=devnet&limit=200") as answer:
        listed = (await answer.json())["data"]
    addresses = ["native", *(c["address"] for t in listed for c in t["contracts"] if c["chainId"] == 31337)]
    bodies = []
    for sold, bought in itertools.permutations(dict.fromkeys(addresses), 2):
        body = {
            "network": "devnet",
            "fromToken": sold,
            "toToken": bought,
            "amount": "1000000",
            "address": WALLET,
        }
        async with session.post(f"{url}/v2/swaps/quote", json=body) as answer:
            if answer.status == 200:
                bodies.append(body)
    if not bodies:
        raise RuntimeError("no pair of tokens can be quoted")
    return bodies


async def _post(session: aiohttp.ClientSession, url: str, body: Any) -> tuple[float, Any]:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    started = time.perf_counter()
    async with session.post(url, data=data, headers=headers if data else None) as answer:
        raw = await answer.read()
        took = time.perf_counter() - started
        if answer.status not in (200, 201):
            raise RuntimeError(f"{url[:60]} answered {answer.status}: {raw[:300]!r}")
    return took, json.loads(raw)


async def _rates(report: Report, session: aiohttp.ClientSession, url: str) -> None:
    """Measures each catalog in turns with a bare handler that answers as many bytes."""
    if shutil.which("wrk") is None:
        report.say("wrk is not installed: rates are left out (install Debian's package wrk to measure them)")
        return
    sizes = {path: await _page_size(session, url + path) for path in CATALOGS}
    rates: dict[str, list[float]] = {path: [] for path in CATALOGS}
    bares: dict[str, list[float]] = {path: [] for path in CATALOGS}
    async with bare_handler(*sizes.values()) as bare:
        for turn in range(WRK_TURNS):
            report.say(f"rates, turn {turn + 1} of {WRK_TURNS}")
            for path, size in sizes.items():
                bares[path].append(await _wrk(f"{bare}{size}"))
                rates[path].append(await _wrk(url + path))
    for path, size in sizes.items():
        rate, base = statistics.median(rates[path]), statistics.median(bares[path])
        report.baseline(f"GET {path}: {size:,} bytes", f"{rate:.0f}/s, bare handler {base:.0f}/s")
        ratio = statistics.median(_ratios(rates[path], bares[path]))
        report.at_least(f"GET {path}: rate over the bare handler's", ratio, 0.6)


async def _page_size(session: aiohttp.ClientSession, url: str) -> int:
    """Returns the size of a page with rows: a catalog is empty until its source has answered."""
    deadline = time.monotonic() + PAGE_TIMEOUT_S
    while time.monotonic() < deadline:
        async with session.get(url) as answer:
            raw = await answer.read()
        if json.loads(raw)["data"]:
            return len(raw)
        await asyncio.sleep(1)
    raise RuntimeError(f"{url} lists nothing")


def _ratios(values: Sequence[float], baselines: Sequence[float]) -> list[float]:
    return [value / baseline for value, baseline in zip(values, baselines, strict=True)]


async def _wrk(url: str) -> float:
    """Returns the requests per second of 16 connections. Raises ``RuntimeError`` for an error answer."""
    child = await asyncio.create_subprocess_exec(
        "wrk", "-t1", "-c16", f"-d{WRK_SECONDS}s", url, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await child.communicate()
    text = out.decode()
    if "Non-2xx" in text:
        raise RuntimeError(f"wrk got errors from {url}: {text}")
    found = re.search(r"Requests/sec:\s+([\d.]+)", text)
    if found is None:
        raise RuntimeError(f"wrk's output has no rate: {text}")
    return float(found.group(1))
