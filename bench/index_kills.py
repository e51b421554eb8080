"""Kills a process that writes an index, and checks after each that the index has no gap and no duplicate."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from bench.report import Report

_TESTS = Path(__file__).parents[1] / "plugins" / "indexer" / "tests"


async def measure(report: Report, options: argparse.Namespace) -> None:
    await asyncio.to_thread(_measure, report, options.kills, options.seed)


def _measure(report: Report, kills: int, seed: int) -> None:
    sys.path.insert(0, str(_TESTS))
    from index_crashes import crash_trials

    wrong: list[str] = []
    blocks = trials = 0
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "index.duckdb")
        settings = {"store": "duckdb", "path": path, "socket": None, "memory_mb": 256, "cache_mb": 8}
        for blocks, found in crash_trials(settings, kills, seed):
            trials += 1
            wrong += [f"kill {trials}: {one}" for one in found]
            if trials % 20 == 0:
                report.say(f"{trials} of {kills} kills, {blocks} blocks in the index, {len(wrong)} faults")
    for line in wrong[:5]:
        report.say(line)
    report.baseline("kills of a process that writes a DuckDB index", f"{trials} ({blocks} blocks at the end)")
    report.none("gaps, duplicates and contradictions after kills", wrong, "faults")
