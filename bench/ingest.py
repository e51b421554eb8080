"""How many logs of recorded answers the index parses, decodes and commits to DuckDB on one core."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.harness import harness
from bench.report import Report

GOAL = 60_000
BLOCKS = 60
BODY_LOGS = 8_000
"""What the index makes its ranges for."""
BODIES = 12
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


async def measure(report: Report, options: argparse.Namespace) -> None:
    """Records the transfers of the devnet, and indexes them over and over, each copy in later blocks."""
    from quoteway_devnet.chains import Devnet

    chain = harness("index_chain", "indexer")
    async with Devnet.start() as devnet:
        traffic = chain.Traffic(devnet, options.seed)
        traffic.mine(BLOCKS, most=6)
        wanted = {"fromBlock": "0x0", "toBlock": "latest", "topics": [TRANSFER]}
        logs = [log for log in traffic.rpc("eth_getLogs", wanted) if len(log["topics"]) == 3]
        traffic.close()
        declared = chain.sources_of(devnet.chains["devnet"])[:1]
    bodies = _bodies(logs)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        rates = _index(bodies, declared)
    finally:
        os.sched_setaffinity(0, cores)
    report.say(f"{len(logs)} recorded logs, repeated in {BODIES} answers of {sum(map(len, bodies)) >> 20} MB")
    report.at_least("logs/s parsed, decoded, committed", statistics.median(rates), GOAL, "logs/s", digits=0)


def _bodies(logs: Sequence[dict[str, str]]) -> list[bytes]:
    import orjson

    span = max(int(log["blockNumber"], 16) for log in logs) + 1
    bodies, at = [], 0
    for _ in range(BODIES):
        copies: list[dict[str, str]] = []
        while len(copies) < BODY_LOGS:
            copies += [{**log, "blockNumber": hex(int(log["blockNumber"], 16) + at)} for log in logs]
            at += span
        bodies.append(orjson.dumps({"jsonrpc": "2.0", "id": 1, "result": copies}))
    return bodies


def _index(bodies: Sequence[bytes], declared: Sequence[object]) -> list[float]:
    """Returns the logs per second of each body."""
    import orjson
    from quoteway_indexer.ingest.decoding import decode
    from quoteway_indexer.ingest.logs import read_logs
    from quoteway_indexer.ingest.sources import compile_sources
    from quoteway_indexer.store import Commit, IndexedBlock
    from quoteway_indexer.stores.duckdb import DuckDBStore

    (source,) = compile_sources(declared).all  # type: ignore[arg-type]
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        store = DuckDBStore(Path(folder) / "index.duckdb", memory_mb=1024, threads=1)
        store.migrate()
        for body in bodies:
            began = time.perf_counter()
            batch = read_logs(orjson.loads(body)["result"], 0, 1 << 40)
            times = {number: block.timestamp or 0 for number, block in batch.blocks.items()}
            decoded = decode([source.decoder], batch, times, lambda _: None)
            blocks = [
                IndexedBlock(number, bytes.fromhex(block.hash[2:]), bytes(32), times[number])
                for number, block in batch.blocks.items()
            ]
            spans = [source.span(min(batch.blocks), max(batch.blocks))]
            store.commit(Commit(31337, facts=decoded.facts, blocks=blocks, read=spans))
            rates.append(len(batch.logs) / (time.perf_counter() - began))
            if sum(table.num_rows for table in decoded.facts.values()) != len(batch.logs):
                raise RuntimeError("not all recorded logs were decoded")
        store.close()
    return rates
