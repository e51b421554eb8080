"""Hundreds of random liquidity operations executed on the devnet: moved minus quoted, in base units."""

from __future__ import annotations

import argparse

from bench.harness import harness
from bench.report import Report, counts


async def measure(report: Report, options: argparse.Namespace) -> None:
    liquidity = harness("liquidity", "uniswap")
    report.say(f"executing {options.operations} random liquidity operations, seed {options.seed}")
    done = await liquidity.execute_random_operations(options.operations, options.seed)
    report.baseline("liquidity operations executed", f"{done.count} in {done.seconds:.0f} s")
    report.baseline("by kind", counts(sorted(done.done.items())))
    report.refusals("liquidity operations not quoted", done.refused)
    report.baseline("v3 and v4 positions withdrawn whole and compared", str(done.positions))
    report.executed(
        "liquidity operations",
        "moved minus quoted, or position minus withdrawal, is not 0",
        done.wrong,
        done.reverted,
    )
    report.say(f"withdrawing {options.positions} random positions, seed {options.seed}")
    held = await liquidity.compare_random_positions(options.positions, options.seed)
    report.baseline(
        "random positions withdrawn after random trading", f"{held.positions} in {held.seconds:.0f} s"
    )
    report.executed("positions", "the position differs from its withdrawal", held.wrong, held.reverted)
