"""Hundreds of random vault operations executed on the devnet: moved minus quoted, in base units."""

from __future__ import annotations

import argparse

from bench.harness import harness
from bench.report import Report, counts


async def measure(report: Report, options: argparse.Namespace) -> None:
    report.say(f"executing {options.operations} random vault operations, seed {options.seed}")
    done = await harness("vault_exactness", "erc4626").execute_random_operations(
        options.operations, options.seed
    )
    report.baseline("vault operations executed", f"{len(done.done)} in {done.seconds:.0f} s")
    report.baseline("by vault", counts(sorted(done.kinds.items())))
    report.refusals("vault operations not executed", done.refused)
    report.executed(
        "vault operations",
        "moved minus quoted is not 0, or less than the minimum arrived",
        done.wrong,
        done.reverted,
    )
