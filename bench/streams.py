"""1,000 idle streams of one worker and of two: their memory, what they cost others, how fast news spread."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import re
import resource
import statistics
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

from bench.report import Report, milliseconds
from bench.server import free_port, gateway
from bench.speed import _post, _requests

STREAMS = 1_000
AT_ONCE = 50
QUOTES = 100
HEALTH_CHECKS = 300
BLOCKS = 5
WAIT_S = 120.0


async def measure(report: Report, options: argparse.Namespace) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for workers in (1, 2):
        ports = {"devnet": free_port(), "devnet-l2": free_port()}
        environ = {
            "QUOTEWAY_SERVER__WORKERS": str(workers),
            "QUOTEWAY_STREAM__STREAMS": str(2 * STREAMS),
            "QUOTEWAY_STREAM__STREAMS_PER_CALLER": str(2 * STREAMS),
        }
        async with gateway(ports, environ=environ) as url, aiohttp.ClientSession() as session:
            await _measure(report, session, url, f"http://127.0.0.1:{ports['devnet']}", workers)


async def _measure(report: Report, session: aiohttp.ClientSession, url: str, node: str, workers: int) -> None:
    named = f"{STREAMS} idle streams, {workers} worker{'s' * (workers > 1)}"
    bodies = await _requests(session, url)
    await _timed(session, url, bodies)  # warm
    quotes, checks = await _timed(session, url, bodies)
    before = await worker_memory(session, url)
    async with _opened(url) as readers:
        opened = await worker_memory(session, url)
        quotes_now, checks_now = await _timed(session, url, bodies)
        spreads = [await _spread(session, node, readers) for _ in range(BLOCKS)]
    report.at_most(f"{named}: memory of each", (opened - before) / STREAMS / 1024, 40, "KiB")
    report.baseline(f"{named}: quote p50 without and with", _pair(quotes, quotes_now))
    report.baseline(f"{named}: /healthz p50 without and with", _pair(checks, checks_now))
    report.at_most(f"{named}: /healthz p99", milliseconds(checks_now)[1], 100, "ms")
    report.at_most(f"{named}: a block told to all, p50", 1e3 * statistics.median(spreads), 1_500, "ms")


def _pair(one: list[float], other: list[float]) -> str:
    return f"{milliseconds(one)[0]:.1f} and {milliseconds(other)[0]:.1f} ms"


async def _timed(
    session: aiohttp.ClientSession, url: str, bodies: list[dict[str, Any]]
) -> tuple[list[float], list[float]]:
    """Returns the seconds of quotes and of health checks."""
    cycle = itertools.islice(itertools.cycle(bodies), QUOTES)
    quotes = [(await _post(session, f"{url}/v2/swaps/quote", body))[0] for body in cycle]
    checks = []
    for _ in range(HEALTH_CHECKS):
        began = time.perf_counter()
        async with session.get(f"{url}/healthz") as answer:
            await answer.read()
        checks.append(time.perf_counter() - began)
    return quotes, checks


async def worker_memory(session: aiohttp.ClientSession, url: str) -> float:
    """Returns the resident memory of all workers in bytes, which some of them tell a moment later."""
    await asyncio.sleep(3.0)
    async with session.get(f"{url}/metrics") as answer:
        text = await answer.text()
    found = re.findall(r"^quoteway_process_resident_memory_bytes\S* (\S+)$", text, re.MULTILINE)
    return sum(map(float, found))


@contextlib.asynccontextmanager
async def _opened(url: str) -> AsyncIterator[list[asyncio.StreamReader]]:
    """Opens the streams, each of which has had its first event."""
    host, _, port = url.removeprefix("http://").partition(":")
    request = f"GET /v2/stream?heads=devnet HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
    readers, writers = [], []
    turn = asyncio.Semaphore(AT_ONCE)

    async def open_one() -> None:
        async with turn:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(request)
            await reader.readuntil(b"event: head\n")
            await reader.readuntil(b"\n\n")
            readers.append(reader)
            writers.append(writer)

    try:
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(*(open_one() for _ in range(STREAMS)))
        yield readers
    finally:
        for writer in writers:
            writer.transport.abort()


async def _spread(session: aiohttp.ClientSession, node: str, readers: list[asyncio.StreamReader]) -> float:
    """Returns the seconds from a new block until the last stream has told it."""
    told = [asyncio.create_task(reader.readuntil(b"event: head\n")) for reader in readers]
    began = time.perf_counter()
    body = {"jsonrpc": "2.0", "id": 1, "method": "evm_mine", "params": []}
    async with session.post(node, json=body) as answer:
        await answer.read()
    async with asyncio.timeout(WAIT_S):
        await asyncio.gather(*told)
    took = time.perf_counter() - began
    await asyncio.gather(*(reader.readuntil(b"\n\n") for reader in readers))
    return took
