"""Loads synthetic swaps and hours of 1,000 pools into DuckDB, and times queries of series over the socket.

A process of its own has the index, and commits while 64 callers ask at once.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.report import Report
from bench.startup import resident_bytes

CALLERS = 64
ASKED = 40
POOLS = 1000
CHAIN = 1
BATCH = 100_000
HOURS = 24 * 365
START = 1_700_000_000 // 3600 * 3600


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_indexer.stores import open_reader

    processes = multiprocessing.get_context("spawn")
    loaded, stop, results = processes.Event(), processes.Event(), processes.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.duckdb"
        settings = {"store": "duckdb", "path": str(path), "socket": None, "memory_mb": 1024, "cache_mb": 512}
        report.say(f"loading {options.rows} swaps and their hours")
        child = processes.Process(target=_index, args=(settings, options.rows, loaded, stop, results))
        child.start()
        try:
            while not loaded.is_set():
                if not child.is_alive():
                    raise RuntimeError(f"the index process ended with code {child.exitcode}")
                await asyncio.sleep(0.1)
            swaps_rate, hours_rate, hours = results.get()
            report.baseline(f"DuckDB: load of {options.rows} swaps", f"{swaps_rate:,.0f} rows/s")
            report.baseline(f"DuckDB: load of {hours} hours of pools", f"{hours_rate:,.0f} rows/s")
            reader = open_reader(settings)
            try:
                for what, days in (("hours of a pool over 30 d", 30), ("hours of a pool over 1 y", 365)):
                    report.say(f"{CALLERS} callers ask for {what}")
                    times = await _times(reader, days, options.seed)
                    report.baseline(f"DuckDB: {what} (median)", f"{statistics.median(times):.1f} ms")
                    p99 = statistics.quantiles(times, n=100)[98]
                    report.at_most(f"DuckDB: {what}, {CALLERS} callers at once (p99)", p99, 25, "ms")
            finally:
                await reader.close()
            report.baseline(
                "DuckDB: memory of the index process", f"{resident_bytes(child.pid) / 1e6:.0f} MB"
            )
            report.baseline("DuckDB: size of the file", f"{path.stat().st_size / 1e6:.0f} MB")
        finally:
            stop.set()
            await asyncio.to_thread(child.join)
    report.baseline("DuckDB: commits while callers asked", str(results.get()))


async def _times(reader: Any, days: int, seed: int) -> list[float]:
    from quoteway_indexer.store import Condition, Select

    columns = ("hour", "swaps", "volume0", "volume1", "lp_fee0", "lp_fee1", "principal0", "principal1")
    since = START + (HOURS - days * 24) * 3600
    times: list[float] = []

    async def caller(number: int) -> None:
        draw = random.Random(seed * CALLERS + number)  # noqa: S311
        for _ in range(ASKED):
            where = (
                Condition("chain_id", "=", CHAIN),
                Condition("pool", "=", _pool(int(POOLS * draw.random() ** 3))),
                Condition("hour", ">=", since),
            )
            started = time.perf_counter()
            await reader.fetch(Select("pool_hour", columns, where, ("hour",)))
            times.append((time.perf_counter() - started) * 1000)

    await asyncio.gather(*(caller(number) for number in range(CALLERS)))
    return times


def _index(settings: dict[str, Any], rows: int, loaded: Any, stop: Any, results: Any) -> None:
    from quoteway_indexer.store import Commit
    from quoteway_indexer.stores import open_store, served

    store = open_store(settings)
    store.migrate()
    seconds = 0.0
    for first in range(0, rows, BATCH):
        swaps = _swaps(first, min(BATCH, rows - first), rows)
        started = time.perf_counter()
        store.commit(Commit(CHAIN, facts={"swap": swaps}))
        seconds += time.perf_counter() - started
    count, hours_seconds = _load_hours(store, rows // 50)
    with served(store, settings):
        results.put((rows / seconds, count / hours_seconds, count))
        loaded.set()
        commits = 0
        while not stop.wait(0.2):
            store.commit(Commit(CHAIN, facts={"swap": _swaps(rows + commits * 200, 200, rows)}))
            commits += 1
    store.close()
    results.put(commits)


def _load_hours(store: Any, most: int) -> tuple[int, float]:
    """Writes the newest hours of each pool by its share of the swaps. Returns how many, and the seconds."""
    from quoteway_indexer.store import Commit
    from quoteway_indexer.tables import TABLES

    table = TABLES["pool_hour"]
    rows = []
    for pool in range(POOLS):
        share = ((pool + 1) / POOLS) ** (1 / 3) - (pool / POOLS) ** (1 / 3)
        given = {"chain_id": CHAIN, "pool": _pool(pool), "source": "dex"}
        rows += [
            tuple(
                START + hour * 3600 if one.name == "hour" else given.get(one.name, 10**18 + hour)
                for one in table.columns
            )
            for hour in range(HOURS - max(1, min(HOURS, int(most * share))), HOURS)
        ]
    started = time.perf_counter()
    for first in range(0, len(rows), HOURS):
        store.commit(Commit(CHAIN, rollups={"pool_hour": rows[first : first + HOURS]}))
    return len(rows), time.perf_counter() - started


def _swaps(first: int, count: int, total: int) -> Any:
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
