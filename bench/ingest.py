"""How many logs of recorded answers the index parses, decodes and commits to DuckDB on one core.

And how many calls, and how long, an index takes behind a node of 1,000 blocks and 100 ms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.harness import harness
from bench.report import Report

GOAL = 60_000
CALLS_GOAL = 1.3
BLOCKS = 60
BODY_LOGS = 8_000
"""What the index makes its ranges for."""
BODIES = 12
STAGES = ("parse", "read", "decode", "commit")
BEHIND_LIMITS = {"most_blocks": 1_000, "delay_s": 0.1}
CHAIN_BLOCKS = 200_000
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
        stages, by_clock = _index(bodies, declared)
    finally:
        os.sched_setaffinity(0, cores)
    report.say(f"{len(logs)} recorded logs, repeated in {BODIES} answers of {sum(map(len, bodies)) >> 20} MB")
    report.at_least(
        "logs/s parsed, decoded, committed, of one core's time",
        statistics.median(1e6 / sum(times) for times in zip(*stages.values(), strict=True)),
        GOAL,
        "logs/s",
        digits=0,
    )
    by_stage = ", ".join(f"{stage} {statistics.median(times):.2f}" for stage, times in stages.items())
    report.baseline("microseconds of the core for a log", by_stage)
    report.baseline(
        "logs/s by the clock, beside what else runs on the core", f"{statistics.median(by_clock):.0f} logs/s"
    )
    await _behind_limits(report)


async def _behind_limits(report: Report) -> None:
    """Indexes a long chain behind a node with limits and a delay."""
    measured = await harness("limited_index", "indexer").index_behind(CHAIN_BLOCKS, **BEHIND_LIMITS)
    report.at_most(
        "calls of eth_getLogs at 1,000 blocks and 100 ms, to the fewest",
        measured.log_calls / measured.minimum,
        CALLS_GOAL,
        "x",
        digits=2,
    )
    report.baseline(
        "the same index",
        f"{measured.log_calls} calls for logs ({measured.minimum} at least), {measured.other_calls} others, "
        f"{CHAIN_BLOCKS} blocks, {measured.logs} logs, {measured.took_s:.1f} s",
    )


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


def _index(bodies: Sequence[bytes], declared: Sequence[Any]) -> tuple[Mapping[str, list[float]], list[float]]:
    """Returns the microseconds of the core for a log by stage, and the logs per second by the clock.

    There is one of each for each body. The time of the core is that of all threads of this process.
    """
    import orjson
    from quoteway_indexer.ingest.decoding import decode
    from quoteway_indexer.ingest.logs import read_logs
    from quoteway_indexer.ingest.sources import compile_sources
    from quoteway_indexer.store import Commit, IndexedBlock
    from quoteway_indexer.stores.duckdb import DuckDBStore

    (source,) = compile_sources(declared).all
    spent: dict[str, list[float]] = defaultdict(list)
    by_clock = []

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        began = time.process_time()
        yield
        spent[name].append(time.process_time() - began)

    with tempfile.TemporaryDirectory() as folder:
        store = DuckDBStore(Path(folder) / "index.duckdb", memory_mb=1024, threads=1)
        store.migrate()
        for body in bodies:
            began = time.perf_counter()
            with stage("parse"):
                answer = orjson.loads(body)["result"]
            with stage("read"):
                batch = read_logs(answer, 0, 1 << 40)
            with stage("decode"):
                times = {number: block.timestamp or 0 for number, block in batch.blocks.items()}
                decoded = decode([source.decoder], batch, times, lambda _: None)
            with stage("commit"):
                blocks = [
                    IndexedBlock(number, bytes.fromhex(block.hash[2:]), bytes(32), times[number])
                    for number, block in batch.blocks.items()
                ]
                spans = [source.span(min(batch.blocks), max(batch.blocks))]
                store.commit(Commit(31337, facts=decoded.facts, blocks=blocks, read=spans))
            by_clock.append(len(batch.logs) / (time.perf_counter() - began))
            for name in STAGES:
                spent[name][-1] *= 1e6 / len(batch.logs)
            if decoded.rows != len(batch.logs):
                raise RuntimeError("not all recorded logs were decoded")
        store.close()
    return spent, by_clock
