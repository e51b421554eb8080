"""Loads synthetic swaps and hours of pools into an index, and times queries of series.

A process of its own has the index, and commits swaps and hours while 64 callers ask at once. Every pool has
all hours of the last 30 days, some of them those of a year. The first read of each is timed apart. A read
that fails counts with its time. The baseline is a reader that keeps no rows. PostgreSQL gets fewer rows, and
is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from itertools import count
from multiprocessing import connection
from pathlib import Path
from typing import Any

from quoteway import UpstreamError

from bench.report import Report
from bench.startup import resident_bytes

CALLERS = 64
ASKED_S = 3
"""So long callers ask, while a commit comes five times a second."""
_TESTS = Path(__file__).parents[1] / "plugins" / "indexer" / "tests"
POSTGRES_ROWS = 200_000
POOLS = 1000
MONTH_POOLS = 200
YEAR_POOLS = 20
CHAIN = 31337
BATCH = 500_000
HOURS = 24 * 365
START = 1_700_000_000 // 3600 * 3600


async def measure(report: Report, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.duckdb"
        settings = {"store": "duckdb", "path": str(path), "socket": None, "memory_mb": 1024, "cache_mb": 512}
        await _measure(report, "DuckDB", settings, options.rows, 25, options.seed)
        report.baseline("DuckDB: size of the file", f"{path.stat().st_size / 1e6:.0f} MB")
    if not await asyncio.to_thread(_has_postgres):
        report.say("PostgreSQL is not installed: it is not measured")
        return
    sys.path.insert(0, str(_TESTS))
    from postgres_server import postgres_server, postgres_settings

    with postgres_server() as server:
        settings = {**await asyncio.to_thread(postgres_settings, server, count(1)), "cache_mb": 512}
        rows = min(options.rows, POSTGRES_ROWS)
        await _measure(report, "PostgreSQL", settings, rows, 60, options.seed)


def _has_postgres() -> bool:
    return any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


async def _measure(
    report: Report,
    name: str,
    settings: dict[str, Any],
    rows: int,
    goal_ms: int,
    seed: int,
) -> None:
    from quoteway_indexer.stores import open_reader

    processes = multiprocessing.get_context("spawn")
    loaded, stop, results = processes.Event(), processes.Event(), processes.SimpleQueue()
    report.say(f"{name}: loading {rows} swaps and their hours")
    # A secret does not go to another process by accident.
    sent = {**settings, "url": settings["url"].reveal()} if "url" in settings else settings
    child = processes.Process(target=_index, args=(sent, rows, loaded, stop, results))
    child.start()
    try:
        while not loaded.is_set():
            if not child.is_alive():
                raise RuntimeError(f"the index process ended with code {child.exitcode}")
            await asyncio.sleep(0.1)
        swaps_rate, hours_rate, hours = results.get()
        report.baseline(f"{name}: load of {rows} swaps", f"{swaps_rate:,.0f} rows/s")
        report.baseline(f"{name}: load of {hours} hours of pools", f"{hours_rate:,.0f} rows/s")
        reader = open_reader(settings)
        try:
            for what, days, asked in (("30 d", 30, MONTH_POOLS), ("1 y", 365, YEAR_POOLS)):
                report.say(f"{name}: first reads of {asked} pools over {what}, then {CALLERS} callers")
                first = await _first_times(reader, days, asked)
                report.baseline(
                    f"{name}: first read of a pool over {what}, one at a time (median, p99)",
                    f"{statistics.median(first):.1f} ms, {_p99(first):.1f} ms",
                )
                times = await _times(reader, days, asked, seed)
                report.say(f"{name}: {what}: median {statistics.median(times):.1f}, p99 {_p99(times):.1f} ms")
                report.baseline(
                    f"{name}: hours of a pool over {what} (median)", f"{statistics.median(times):.1f} ms"
                )
                report.at_most(
                    f"{name}: hours of a pool over {what}, {CALLERS} callers (p99)",
                    _p99(times),
                    goal_ms,
                    "ms",
                )
        finally:
            await reader.close()
        bare = _bare(settings)
        try:
            times = await _times(bare, 30, MONTH_POOLS, seed)
        finally:
            await bare.close()
        report.baseline(
            f"{name}: hours of a pool over 30 d, {CALLERS} callers, no rows kept (median, p99)",
            f"{statistics.median(times):.1f} ms, {_p99(times):.1f} ms",
        )
        own, index = (resident_bytes(pid) / 1e6 for pid in (os.getpid(), child.pid or 0))
        report.baseline(
            f"{name}: memory of the reader, of the index process", f"{own:.0f} MB, {index:.0f} MB"
        )
    finally:
        stop.set()
        await asyncio.to_thread(child.join)
    report.baseline(f"{name}: commits while callers asked", str(results.get()))


def _bare(settings: dict[str, Any]) -> Any:
    """Returns a reader that asks the index at each read."""
    if settings["store"] == "postgres":
        from quoteway_indexer.stores.postgres_reading import PostgresReader

        return PostgresReader(settings["url"].reveal())
    from quoteway_indexer.reading import SocketReader
    from quoteway_indexer.store_settings import socket_path

    return SocketReader(socket_path(settings))


def _hours(days: int, pool: int) -> Any:
    from quoteway_indexer.store import Condition, Select

    columns = ("hour", "swaps", "volume0", "volume1", "lp_fee0", "lp_fee1", "principal0", "principal1")
    where = (
        Condition("chain_id", "=", CHAIN),
        Condition("pool", "=", _pool(pool)),
        Condition("hour", ">=", START + (HOURS - days * 24) * 3600),
    )
    return Select("pool_hour", columns, where, ("hour",))


async def _timed(reader: Any, days: int, pool: int) -> float:
    started = time.perf_counter()
    try:
        rows = await reader.fetch(_hours(days, pool))
    except UpstreamError:
        return (time.perf_counter() - started) * 1000
    seconds = time.perf_counter() - started
    if len(rows) < days * 24:
        raise RuntimeError(f"{len(rows)} hours of {days} days")
    return seconds * 1000


async def _first_times(reader: Any, days: int, pools: int) -> list[float]:
    return [await _timed(reader, days, pool) for pool in range(pools)]


async def _times(reader: Any, days: int, pools: int, seed: int) -> list[float]:
    times: list[float] = []
    until = time.perf_counter() + ASKED_S

    async def caller(number: int) -> None:
        draw = random.Random(seed * CALLERS + number)  # noqa: S311
        while time.perf_counter() < until:
            times.append(await _timed(reader, days, int(pools * draw.random() ** 3)))

    await asyncio.gather(*(caller(number) for number in range(CALLERS)))
    return times


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


def _index(settings: dict[str, Any], rows: int, loaded: Any, stop: Any, results: Any) -> None:
    from quoteway import Secret
    from quoteway_indexer.store import Commit
    from quoteway_indexer.stores import open_store, served

    threading.Thread(target=end_with_parent, name="bench-parent", daemon=True).start()
    if "url" in settings:
        settings = {**settings, "url": Secret(settings["url"])}
    store = open_store(settings)
    store.migrate()
    seconds = 0.0
    for first in range(0, rows, BATCH):
        swaps = swaps_table(first, min(BATCH, rows - first), rows)
        started = time.perf_counter()
        store.commit(Commit(CHAIN, facts={"swap": swaps}))
        seconds += time.perf_counter() - started
    hours_count, hours_seconds = _load_hours(store)
    with served(store, settings):
        results.put((rows / seconds, hours_count / hours_seconds, hours_count))
        loaded.set()
        commits = 0
        draw = random.Random(1)  # noqa: S311
        while not stop.wait(0.2):
            hours = [_hour(int(MONTH_POOLS * draw.random() ** 3), HOURS - 1, commits) for _ in range(20)]
            swaps = swaps_table(rows + commits * 200, 200, rows)
            store.commit(Commit(CHAIN, facts={"swap": swaps}, rollups={"pool_hour": list(set(hours))}))
            commits += 1
    store.close()
    results.put(commits)


def end_with_parent() -> None:
    """Ends the index process when the benchmark is gone, by SIGKILL too: nobody would tell it to stop."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def _load_hours(store: Any) -> tuple[int, float]:
    """Writes the newest hours of each pool, some pools at a time. Returns how many, and the seconds."""
    from quoteway_indexer.store import Commit

    written, seconds = 0, 0.0
    for first in range(0, MONTH_POOLS, YEAR_POOLS // 2):
        rows = [
            _hour(pool, hour, hour)
            for pool in range(first, first + YEAR_POOLS // 2)
            for hour in range(0 if pool < YEAR_POOLS else HOURS - 720, HOURS)
        ]
        started = time.perf_counter()
        store.commit(Commit(CHAIN, rollups={"pool_hour": rows}))
        seconds += time.perf_counter() - started
        written += len(rows)
    return written, seconds


def _hour(pool: int, hour: int, more: int) -> tuple[Any, ...]:
    from quoteway_indexer.tables import TABLES

    given = {"chain_id": CHAIN, "pool": _pool(pool), "source": "dex", "hour": START + hour * 3600}
    return tuple(
        given.get(one.name, (10**21 if one.type.endswith("256") else 1) + more)
        for one in TABLES["pool_hour"].columns
    )


def swaps_table(first: int, count: int, total: int) -> Any:
    import numpy as np
    import pyarrow as pa
    from quoteway_indexer.stores.batches import arrow_schema
    from quoteway_indexer.tables import TABLES

    draw = np.random.default_rng(first)
    words = np.zeros((count, 32), np.uint8)
    words[:, 20:] = draw.integers(0, 256, (count, 12), np.uint8)
    word = pa.FixedSizeBinaryArray.from_buffers(pa.binary(32), count, [None, pa.py_buffer(words.tobytes())])
    pools = pa.array([_pool(pool) for pool in range(POOLS)], pa.binary())
    numbers = np.arange(first, first + count)
    given = {
        "chain_id": np.full(count, CHAIN),
        "source": pa.array(["dex"] * count),
        "block": numbers // 10,
        "log_index": numbers % 10,
        "timestamp": START + numbers * (HOURS * 3600) // total,
        "transaction_hash": word,
        "pool": pools.take(pa.array((POOLS * draw.random(count) ** 3).astype(np.int64))),
        "tick": draw.integers(-1000, 1000, count),
    }
    wide = ("amount0", "amount1", "sqrt_price_x96", "liquidity")
    arrays = []
    schema = arrow_schema(TABLES["swap"])
    for field in schema:
        values = word if field.name in wide else given.get(field.name)
        array = pa.nulls(count, field.type) if values is None else pa.array(values)
        arrays.append(array.cast(field.type))
    return pa.table(arrays, schema=schema)


def _pool(index: int) -> bytes:
    return (index + 1).to_bytes(20, "big")
