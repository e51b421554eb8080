"""5,000 connections that wait and 2,000 that ask without end: one worker and two, and more than are allowed.

Each connection that waits has had an answer, and is asked again in the end: none may have been lost. The
active ones send their next request a second or three after each answer. ``/healthz`` is timed by a process of
its own: ``python -m bench.connections HOST PORT SECONDS`` prints its times as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

from bench.report import Report, counts, milliseconds, percentile
from bench.server import gateway
from bench.speed import WALLET
from bench.streams import worker_memory

IDLE, ACTIVE = 5_000, 2_000
AT_ONCE: Final = 50
MOST_OPENED: Final = 1_536
THINK_S: Final = (1.0, 3.0)
PROBE_S: Final = 20.0
MOST_IDLE_KIB: Final = 25
MOST_HEALTH_MS: Final = 100
FEW_FILES: Final = 1_024
"""Files that a process may open by default on Linux. More connections are made than there is room for."""
PATIENT: Final = {"QUOTEWAY_SERVER__KEEPALIVE_TIMEOUT_S": "3600"}
"""A busy machine takes longer to open thousands of connections than one is usually kept."""
_ANSWER_S: Final = 60.0
_PATHS: Final = ("/v2/networks", "/v2/tokens?network=devnet&limit=10", "/v2/providers", "/healthz")


@dataclass
class Connection:
    """One kept connection of a client that speaks just enough HTTP."""

    host: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def open(cls, host: str, port: int) -> Connection:
        return cls(f"{host}:{port}", *await asyncio.open_connection(host, port))

    async def get(self, path: str) -> int:
        """Returns the status of an answer. Raises ``ConnectionError`` when the connection has ended."""
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
        try:
            async with asyncio.timeout(_ANSWER_S):
                head = await self.reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line[15:])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                )
                await self.reader.readexactly(length)
        except asyncio.IncompleteReadError:
            raise ConnectionResetError("the server has closed the connection") from None
        return int(head.split(b" ", 2)[1])

    def close(self) -> None:
        self.writer.transport.abort()


@contextlib.asynccontextmanager
async def opened(
    host: str, port: int, count: int, *, at_once: int = AT_ONCE
) -> AsyncIterator[list[Connection]]:
    """Opens connections that each have had an answer."""
    turn, found = asyncio.Semaphore(at_once), list[Connection]()

    async def open_one() -> None:
        async with turn:
            connection = await Connection.open(host, port)
            found.append(connection)
            await connection.get("/healthz")

    try:
        await asyncio.gather(*(open_one() for _ in range(count)))
        yield found
    finally:
        for connection in found:
            connection.close()


async def asked_again(connections: Sequence[Connection]) -> Counter[str]:
    """Asks on each connection once. Returns the outcomes: statuses, and ``closed``."""
    turn, outcomes = asyncio.Semaphore(AT_ONCE), Counter[str]()

    async def ask(connection: Connection) -> None:
        async with turn:
            try:
                outcomes[str(await connection.get("/healthz"))] += 1
            except ConnectionError:
                outcomes["closed"] += 1
            except TimeoutError:
                outcomes["no answer"] += 1

    await asyncio.gather(*map(ask, connections))
    return outcomes


@contextlib.asynccontextmanager
async def active(
    connections: Sequence[Connection], *, think_s: tuple[float, float] = THINK_S
) -> AsyncIterator[Counter[str]]:
    """Lets each connection send one request after the other, with pauses. Gives the outcomes so far."""
    outcomes, stop = Counter[str](), asyncio.Event()
    chance = random.Random(1)  # noqa: S311 - not for secrets

    async def client(connection: Connection) -> None:
        for path in itertools.cycle(_PATHS):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), chance.uniform(*think_s))
            if stop.is_set():
                return
            try:
                outcomes[str(await connection.get(path))] += 1
            except (ConnectionError, TimeoutError) as error:
                outcomes[type(error).__name__] += 1
                return

    clients = [asyncio.create_task(client(each)) for each in connections]
    try:
        yield outcomes
    finally:
        stop.set()
        await asyncio.gather(*clients)


async def health_times(host: str, port: int, seconds: float) -> list[float]:
    """Returns the seconds of health checks from a process of its own, each over a new connection."""
    root = str(Path(__file__).parent.parent)
    command = (sys.executable, "-m", "bench.connections", host, str(port), str(seconds))
    child = await asyncio.create_subprocess_exec(*command, cwd=root, stdout=asyncio.subprocess.PIPE)
    printed, _ = await child.communicate()
    if child.returncode:
        raise RuntimeError(f"the probe of /healthz ended with code {child.returncode}")
    found: list[float] = json.loads(printed)
    return found


async def _probe(host: str, port: int, seconds: float) -> None:
    times, ends_at = [], time.monotonic() + seconds
    while time.monotonic() < ends_at:
        began = time.monotonic()
        connection = await Connection.open(host, port)
        if await connection.get("/healthz") != 200:
            raise RuntimeError("/healthz is not 200")
        connection.close()
        times.append(time.monotonic() - began)
        await asyncio.sleep(0.05)
    sys.stdout.write(json.dumps(times))


def place_of(url: str) -> tuple[str, int]:
    """Returns the host and the port of a URL."""
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


@contextlib.contextmanager
def all_files() -> Iterator[None]:
    """Lets this process, and those that it starts meanwhile, open as many files as the system allows."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def measure(report: Report, options: argparse.Namespace) -> None:
    with all_files():
        for workers in (1, 2):
            await _measure(report, workers)
        await _too_many(report)


async def _measure(report: Report, workers: int) -> None:
    environ = {"QUOTEWAY_SERVER__WORKERS": str(workers), **PATIENT}
    named = f"{workers} worker{'s' * (workers > 1)}"
    async with gateway(environ=environ) as url, aiohttp.ClientSession() as session:
        host, port = place_of(url)
        alone = await health_times(host, port, PROBE_S / 2)
        before = await worker_memory(session, url)
        async with opened(host, port, IDLE) as idle:
            used = await worker_memory(session, url)
            each_kib = (used - before) / IDLE / 1024
            report.at_most(
                f"{named}: memory of each of {IDLE} idle connections", each_kib, MOST_IDLE_KIB, "KiB"
            )
            beside = await health_times(host, port, PROBE_S / 2)
            async with opened(host, port, ACTIVE) as asking:
                began = time.monotonic()
                async with active(asking) as outcomes:
                    busy = await health_times(host, port, PROBE_S)
                    used_now = await worker_memory(session, url)
                rate = outcomes.total() / (time.monotonic() - began)
            kept = await asked_again(idle)
        each_kib = (used_now - used) / ACTIVE / 1024
        report.baseline(f"{named}: memory of each of {ACTIVE} active ones", f"{each_kib:.1f} KiB")
        report.baseline(f"{named}: answers to the active ones", f"{rate:.0f}/s: {counts(outcomes.items())}")
        wrong = outcomes.total() - outcomes["200"]
        report.at_most(
            f"{named}: requests of active ones without a good answer", wrong, 0, "requests", digits=0
        )
        lost = IDLE - kept["200"]
        report.at_most(f"{named}: idle connections that were lost", lost, 0, "connections", digits=0)
        shown = " | ".join("{:.1f}, {:.1f}".format(*milliseconds(each)) for each in (alone, beside, busy))
        report.baseline(f"{named}: /healthz p50, p99: alone | beside idle | beside all", f"{shown} ms")
        p99 = percentile(busy, 0.99) * 1e3
        report.at_most(f"{named}: /healthz beside all, p99", p99, MOST_HEALTH_MS, "ms")


async def _too_many(report: Report) -> None:
    """Makes more connections than a gateway has room for, which closes those that have waited longest."""
    async with gateway(most_files=FEW_FILES, environ=PATIENT) as url:
        outcomes, quoted = await crowd(url, MOST_OPENED)
    room = FEW_FILES * 3 // 4
    report.baseline(
        f"{MOST_OPENED} connections to a gateway that may open {FEW_FILES} files", _shown(outcomes)
    )
    report.at_least("of these, answered in the end: places", outcomes["200"], room - 8, digits=0)
    odd = outcomes.total() - outcomes["200"] - outcomes["closed"]
    report.at_most("of these, neither answered nor closed", odd, 0, "connections", digits=0)
    report.at_most("quotes that failed beside them", quoted["failed"], 0, "quotes", digits=0)


def _shown(outcomes: Counter[str]) -> str:
    return counts(sorted(outcomes.items()))


async def crowd(url: str, count: int) -> tuple[Counter[str], Counter[str]]:
    """Opens connections, quotes beside them, and asks on each again.

    Returns the outcomes of both: a quote is ``quoted`` or ``failed``. One is opened after the other: each has
    had its answer, and waits, when it has to go for a new one.
    """
    host, port = place_of(url)
    quoted = Counter[str]()
    async with opened(host, port, count, at_once=1) as connections, aiohttp.ClientSession() as session:
        for number in range(10):
            request = session.post(f"{url}/v2/swaps/quote", json=_quote_request(number))
            async with request as answer:
                quoted["quoted" if answer.status == 200 else "failed"] += 1
        return await asked_again(connections), quoted


def _quote_request(number: int) -> dict[str, Any]:
    from quoteway_devnet.manifest import chain_manifests

    token = chain_manifests()["devnet"].token("USDC").address
    pair = {"fromToken": "native", "toToken": token, "amount": str(10**16 + number)}
    return {"network": "devnet", "address": WALLET, **pair}


if __name__ == "__main__":
    asyncio.run(_probe(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
