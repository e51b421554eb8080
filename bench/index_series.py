"""Series over HTTP from an index of many swaps, while it grows and 64 callers ask without a pause.

Four processes: one has the DuckDB index and commits swaps, hours of pools and prices of tokens five times a
second, one is a gateway that reads it, this one asks for the series of 200 pools of 30 days, and one asks for
/healthz, as a probe does, which shares no event loop with 64 busy callers. The gateway has no node to ask.
The baseline is a bare aiohttp handler that sends as many bytes to as many callers.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import http.client
import multiprocessing
import random
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.harness import harness
from bench.index_store import BATCH, CALLERS, end_with_parent, swaps_table
from bench.report import Report, percentile
from bench.server import bare_handler
from bench.startup import resident_bytes

GOAL_MS = 25
HEALTH_GOAL_MS = 20
ASKED_S = 15
"""So long callers ask."""
COMMIT_S = 0.2
POOLS = 200
LIVE_POOLS = 20
"""How many pools have other hours after each commit."""
DAYS = 30
HOUR_S = 3_600
START = 1_700_000_000 // HOUR_S * HOUR_S
END = START + DAYS * 24 * HOUR_S
METRICS = ("volume", "fees", "tvl", "apr")
INTERVALS = ("1h", "1d")
HEALTH_PAUSE_S = 0.02


async def measure(report: Report, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "store": "duckdb",
            "path": str(Path(folder) / "index.duckdb"),
            "socket": None,
            "memory_mb": 1024,
            "cache_mb": 512,
        }
        index = _Process(_index, settings, options.rows)
        try:
            report.say(f"loading {options.rows} swaps, and the hours of {POOLS} pools")
            await index.ready()
            server = _Process(_serve, settings)
            try:
                await _measure(report, str(await server.ready()))
                memory = resident_bytes(server.pid) / 1e6, resident_bytes(index.pid) / 1e6
            finally:
                await server.end()
        finally:
            commits = await index.end()
    report.baseline("commits while callers asked", str(commits))
    report.baseline("memory of the gateway, of the index process", f"{memory[0]:.0f} MB, {memory[1]:.0f} MB")


async def _measure(report: Report, url: str) -> None:
    paths = [
        f"/v2/pools/{pool}/{metric}?interval={interval}&from={START}&to={END}"
        for pool in map(_id, range(POOLS))
        for metric in METRICS
        for interval in INTERVALS
    ]
    report.say(f"asking for each of {len(paths)} series once, one after the other")
    first = await _ask(url, paths)
    report.baseline("first answer of a series, one at a time (median, p99)", _middle_and_end(first.times))
    report.say(f"asking for any of them, {CALLERS} callers at once, for {ASKED_S} s")
    found = await _ask_at_once(url, paths)
    bare_bytes = found.total_bytes // len(found.times)
    async with bare_handler(bare_bytes) as bare:
        base = await _ask_at_once(bare, [f"/{bare_bytes}"], health="/")
    for who, asked in (("series", found), (f"a bare handler of {bare_bytes} bytes", base)):
        report.baseline(f"{who}: answers/s", f"{len(asked.times) / ASKED_S:.0f} /s")
        report.baseline(f"{who}: {CALLERS} callers at once (median, p99)", _middle_and_end(asked.times))
    report.at_most(
        f"any series, {CALLERS} callers at once (p99)", percentile(found.times, 0.99), GOAL_MS, "ms"
    )
    report.at_most("/healthz meanwhile (p99)", percentile(found.health, 0.99), HEALTH_GOAL_MS, "ms")


def _middle_and_end(times: Sequence[float]) -> str:
    return f"{percentile(times, 0.5):.1f} ms, {percentile(times, 0.99):.1f} ms"


# --- callers -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Asked:
    """How long answers took, in milliseconds, and their bytes."""

    times: list[float]
    health: list[float]
    total_bytes: int = 0


class _Caller:
    """One connection, without what a client of HTTP spends on an answer."""

    async def connect(self, url: str) -> None:
        place = urlsplit(url)
        self._host = place.netloc
        self._reader, self._writer = await asyncio.open_connection(place.hostname, place.port, limit=1 << 24)

    async def get(self, path: str) -> tuple[float, int]:
        """Returns milliseconds and bytes. Raises ``RuntimeError`` for an answer other than 200."""
        began = time.perf_counter()
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        body = await self._reader.readexactly(length)
        if head.split()[1] != b"200":
            raise RuntimeError(f"{path} was answered {body[:300]!r}")
        return (time.perf_counter() - began) * 1e3, length

    def close(self) -> None:
        self._writer.close()


async def _ask(url: str, paths: Sequence[str]) -> _Asked:
    caller, asked = _Caller(), _Asked([], [])
    await caller.connect(url)
    for path in paths:
        asked.times.append((await caller.get(path))[0])
    caller.close()
    return asked


async def _ask_at_once(url: str, paths: Sequence[str], health: str = "/healthz") -> _Asked:
    async def ask(number: int) -> None:
        caller, draw = _Caller(), random.Random(number)  # noqa: S311
        await caller.connect(url)
        while time.perf_counter() < until:
            took_ms, length = await caller.get(draw.choice(paths))
            asked.times.append(took_ms)
            asked.total_bytes += length
        caller.close()

    probe = _Process(_probe, url, health)
    try:
        await probe.ready()
        asked, until = _Asked([], []), time.perf_counter() + ASKED_S
        await asyncio.gather(*map(ask, range(CALLERS)))
    finally:
        asked.health = await probe.end()
    return asked


def _probe(url: str, path: str, stop: Any, results: Any) -> None:
    """Asks for a path again and again. Gives the milliseconds of each answer."""
    threading.Thread(target=end_with_parent, name="bench-parent", daemon=True).start()
    place, took_ms = urlsplit(url), []
    connection = http.client.HTTPConnection(place.hostname or "", place.port)
    connection.connect()
    results.put(None)
    while not stop.wait(HEALTH_PAUSE_S):
        began = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path} was answered {answer.status}")
        took_ms.append((time.perf_counter() - began) * 1e3)
    connection.close()
    results.put(took_ms)


# --- the index and the gateway -----------------------------------------------------------------------------


class _Process:
    """A process that says when it is ready, and gives a result when it is told to end."""

    def __init__(self, target: Callable[..., None], *given: Any) -> None:
        processes = multiprocessing.get_context("spawn")
        self._stop, self._results = processes.Event(), processes.SimpleQueue()
        self._child = processes.Process(target=target, args=(*given, self._stop, self._results))
        self._child.start()

    @property
    def pid(self) -> int:
        return self._child.pid or 0

    async def ready(self) -> Any:
        """Raises ``RuntimeError`` when the process ends before."""
        while self._results.empty():
            if not self._child.is_alive():
                raise RuntimeError(f"a process ended with code {self._child.exitcode}")
            await asyncio.sleep(0.1)
        return self._results.get()

    async def end(self) -> Any:
        self._stop.set()
        await asyncio.to_thread(self._child.join)
        return None if self._results.empty() else self._results.get()


def _index(settings: dict[str, Any], rows: int, stop: Any, results: Any) -> None:
    from quoteway_indexer.store import Commit
    from quoteway_indexer.stores import open_store, served

    threading.Thread(target=end_with_parent, name="bench-parent", daemon=True).start()
    history = harness("history_rows", "indexer")
    store = open_store(settings)
    store.migrate()
    for first in range(0, rows, BATCH):
        loaded = swaps_table(first, min(BATCH, rows - first), rows)
        store.commit(Commit(history.CHAIN, facts={"swap": loaded}))
    _load(store, history)
    draw, commits = random.Random(1), 0  # noqa: S311
    with served(store, settings):
        results.put(None)
        while not stop.wait(COMMIT_S):
            commits += 1
            hours = [_hour(history, draw.randrange(POOLS), END - HOUR_S, commits) for _ in range(LIVE_POOLS)]
            history.write(
                store,
                facts={"swap": swaps_table(rows + commits * 200, 200, rows)},
                pool_hour=list(dict.fromkeys(hours)),
                token_hour=_prices(history, END - HOUR_S, commits),
                computed=_computed(history, commits),
            )
    store.close()
    results.put(commits)


def _load(store: Any, history: Any) -> None:
    made = harness("index_rows", "indexer").facts(
        "pool_created",
        *(
            {
                "block": 1,
                "log_index": number,
                "pool": history.place(number + 1)[0],
                "token0": history.COIN,
                "token1": history.USDX,
                "timestamp": START,
            }
            for number in range(POOLS)
        ),
    )
    hours = range(START, END, HOUR_S)
    prices = [row for hour in hours for row in _prices(history, hour, 0)]
    history.write(store, facts={"pool_created": made}, token_hour=prices, computed=_computed(history, 0))
    for number in range(POOLS):
        history.write(store, pool_hour=[_hour(history, number, hour, 0) for hour in hours])


def _hour(history: Any, pool: int, hour: int, more: int) -> Any:
    return history.pool_hour(
        hour,
        pool=history.place(pool + 1)[0],
        volume0=10**20 + more,
        volume1=10**8 + more,
        lp_fee0=10**17,
        principal0=10**24 + more,
        principal1=10**12,
    )


def _prices(history: Any, hour: int, more: int) -> list[Any]:
    return [
        history.token_hour(history.COIN, hour, 1 + more / 1e6),
        history.token_hour(history.USDX, hour, 1.0),
    ]


def _computed(history: Any, more: int) -> list[Any]:
    until = END - HOUR_S + 60 + more
    return [history.computed("pools:dex", until), history.computed("prices", until)]


def _serve(settings: dict[str, Any], stop: Any, results: Any) -> None:
    import uvloop

    threading.Thread(target=end_with_parent, name="bench-parent", daemon=True).start()
    uvloop.run(_gateway(settings, stop, results))


async def _gateway(settings: dict[str, Any], stop: Any, results: Any) -> None:
    from quoteway import EventRule, EventSource, Network, Token, hookimpl
    from quoteway.config.model import Config, LimitsConfig, ServerConfig
    from quoteway.server.serve import GC_THRESHOLDS, freeze_what_stays
    from quoteway.testing.fakes import FakePlugin, MemoryRpc
    from quoteway.testing.serving import served
    from quoteway_indexer.metrics import IndexMetrics
    from quoteway_indexer.stores import open_reader

    gc.set_threshold(*GC_THRESHOLDS)
    history = harness("history_rows", "indexer")
    chain_id = history.CHAIN
    reader = open_reader(settings)

    class Index:
        @hookimpl
        def quoteway_event_sources(self, context: Any) -> list[EventSource]:
            rule = EventRule("Sync(uint112 reserve0, uint112 reserve1)", "reserves", {"pool": "@"})
            return [EventSource("dex", chain_id, 1, (rule,))]

        @hookimpl
        def quoteway_metrics_providers(self, context: Any) -> list[IndexMetrics]:
            return [IndexMetrics(context, reader, frozenset({chain_id}))]

    tokens = (
        Token(chain_id, history.COIN_TEXT, 18, "COIN", "Coin"),
        Token(chain_id, history.USDX_TEXT, 6, "USDX", "A dollar"),
    )
    network = Network("devnet", chain_id, "Devnet", wrapped_native=history.WRAPPED_TEXT)
    chain = FakePlugin([MemoryRpc({chain_id}, tokens=tokens)], networks=[network])
    limit = "100000000/minute"
    limits = LimitsConfig(quotes=limit, catalog=limit, rpc=limit)
    config = Config(server=replace(ServerConfig(), port=0), limits=limits)
    try:
        async with served({"chain": chain, "index": Index()}, config) as api:
            freeze_what_stays()
            results.put(api.url)
            await asyncio.to_thread(stop.wait)
    finally:
        await reader.close()


def _id(pool: int) -> str:
    history = harness("history_rows", "indexer")
    return f"{history.CHAIN}:{history.place(pool + 1)[1]}"
