"""Thousands of random swaps executed on the devnet: received minus quoted, to the wei."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.report import Report

HARNESS = Path(__file__).parent.parent / "plugins" / "uniswap" / "tests"


async def measure(report: Report, options: argparse.Namespace) -> None:
    sys.path.insert(0, str(HARNESS))  # the harness is the plugin's test; only its size differs here
    from exactness import execute_random_swaps

    report.say(f"executing {options.swaps} random swaps, seed {options.seed}")
    done = await execute_random_swaps(options.swaps, options.seed)
    report.baseline("random swaps executed", f"{len(done.swaps)} in {done.seconds:.0f} s")
    report.baseline("paths taken", ", ".join(f"{path} {count}" for path, count in done.paths.most_common(12)))
    report.refusals("not quoted", done.refused)
    report.at_most("swaps where received minus quoted is not 0 wei", len(done.wrong), 0, "swaps", digits=0)
    report.at_most("swaps that reverted", len(done.reverted), 0, "swaps", digits=0)
    for line in [*done.reverted[:5], *map(str, done.wrong[:5])]:
        report.say(line)
