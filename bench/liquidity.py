"""Hundreds of random liquidity operations executed on the devnet: moved minus quoted, to the unit."""

from __future__ import annotations

import argparse
import sys

from bench.exactness import HARNESS
from bench.report import Report


async def measure(report: Report, options: argparse.Namespace) -> None:
    sys.path.insert(0, str(HARNESS))  # the harness is the plugin's test; only its size differs here
    from liquidity import compare_random_positions, execute_random_operations

    report.say(f"executing {options.operations} random liquidity operations, seed {options.seed}")
    done = await execute_random_operations(options.operations, options.seed)
    report.baseline("liquidity operations executed", f"{done.count} in {done.seconds:.0f} s")
    report.baseline("by kind", ", ".join(f"{kind} {count}" for kind, count in sorted(done.done.items())))
    report.refusals("liquidity operations not quoted", done.refused)
    report.baseline("v3 and v4 positions withdrawn whole and compared", str(done.positions))
    report.at_most(
        "operations where moved minus quoted, or position minus withdrawal, is not 0",
        len(done.wrong),
        0,
        "operations",
        digits=0,
    )
    report.at_most("liquidity operations that reverted", len(done.reverted), 0, "operations", digits=0)
    report.say(f"withdrawing {options.positions} random positions, seed {options.seed}")
    held = await compare_random_positions(options.positions, options.seed)
    report.baseline(
        "random positions withdrawn after random trading", f"{held.positions} in {held.seconds:.0f} s"
    )
    report.at_most(
        "positions that differ from their withdrawal",
        len(held.wrong) + len(held.reverted),
        0,
        "positions",
        digits=0,
    )
    for line in [*done.reverted[:5], *done.wrong[:5], *held.reverted[:5], *held.wrong[:5]]:
        report.say(line)
