"""Random transfers to the other chain, and swaps joined with a transfer: arrived minus quoted."""

from __future__ import annotations

import argparse
import statistics

from bench.harness import harness
from bench.report import Report, counts


async def measure(report: Report, options: argparse.Namespace) -> None:
    runs = (
        ("transfers", harness("transfers", "across").run_transfers),
        ("swaps joined with a transfer", harness("crossings").run_crossings),
    )
    for what, run in runs:
        report.say(f"executing {options.transfers} random {what}, seed {options.seed}")
        done = await run(options.transfers, options.seed)
        report.baseline(f"{what} executed", f"{done.done}: {counts(sorted(done.kinds.items()))}")
        report.none(f"{what} where not all is as quoted", done.wrong, what)
        # A new block comes before each: only the lists are cached, and the fee service's time is included.
        report.at_most(f"{what}: quote after a new block, p50", statistics.median(done.quote_ms), 25, "ms")
        report.at_most(f"{what}: action with simulation, p50", statistics.median(done.action_ms), 60, "ms")
        for line in done.wrong[:5]:
            report.say(line)
