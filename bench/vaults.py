"""Hundreds of random vault operations executed on the devnet: moved minus quoted, to the unit."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.report import Report

HARNESS = Path(__file__).parent.parent / "plugins" / "erc4626" / "tests"


async def measure(report: Report, options: argparse.Namespace) -> None:
    sys.path.insert(0, str(HARNESS))  # the harness is the plugin's test; only its size differs here
    from vault_exactness import execute_random_operations

    report.say(f"executing {options.operations} random vault operations, seed {options.seed}")
    done = await execute_random_operations(options.operations, options.seed)
    report.baseline("vault operations executed", f"{len(done.done)} in {done.seconds:.0f} s")
    report.baseline("by vault", ", ".join(f"{kind} {count}" for kind, count in sorted(done.kinds.items())))
    report.refusals("vault operations not executed", done.refused)
    report.at_most(
        "vault operations where moved minus quoted is not 0, or less than the minimum arrived",
        len(done.wrong),
        0,
        "operations",
        digits=0,
    )
    report.at_most("vault operations that reverted", len(done.reverted), 0, "operations", digits=0)
    for line in [*done.reverted[:5], *map(str, done.wrong[:5])]:
        report.say(line)
