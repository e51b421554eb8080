"""Random transfers to the other chain, and swaps joined with one: arrived minus quoted, to the unit."""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from bench.report import Report

_ROOT = Path(__file__).parent.parent
HARNESSES = (_ROOT / "plugins" / "across" / "tests", _ROOT / "tests")


async def measure(report: Report, options: argparse.Namespace) -> None:
    sys.path[:0] = map(str, HARNESSES)  # the harnesses are tests; only their size differs here
    from crossings import run_crossings
    from transfers import run_transfers

    for what, run in (("transfers", run_transfers), ("swaps joined with a transfer", run_crossings)):
        report.say(f"executing {options.transfers} random {what}, seed {options.seed}")
        done = await run(options.transfers, options.seed)
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(done.kinds.items()))
        report.baseline(f"{what} executed", f"{done.done}: {kinds}")
        report.at_most(f"{what} where not all is as quoted", len(done.wrong), 0, what, digits=0)
        # A new block before each: nothing is warm but the lists, and the fee service's own time is in it.
        report.at_most(f"{what}: quote after a new block, p50", statistics.median(done.quote_ms), 25, "ms")
        report.at_most(f"{what}: action with simulation, p50", statistics.median(done.action_ms), 60, "ms")
        for line in done.wrong[:5]:
            report.say(line)
