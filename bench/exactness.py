"""Thousands of random swaps executed or tried on the devnet: received minus quoted, to the wei."""

from __future__ import annotations

import argparse

from bench.harness import harness
from bench.report import Report, counts


async def measure(report: Report, options: argparse.Namespace) -> None:
    report.say(f"executing {options.swaps} random swaps, seed {options.seed}")
    done = await harness("exactness", "uniswap").execute_random_swaps(options.swaps, options.seed)
    report.baseline("random swaps executed", f"{len(done.swaps)} in {done.seconds:.0f} s")
    report.baseline("paths taken", counts(done.paths.most_common(12)))
    report.refusals("not quoted", done.refused)
    report.executed("swaps", "received minus quoted is not 0 wei", done.wrong, done.reverted)
    report.say(f"trying {options.trials} random swaps in calls, seed {options.seed}")
    tried = await harness("trials", "uniswap").try_random_swaps(options.trials, options.seed, say=report.say)
    report.baseline("random swaps tried", f"{sum(tried.tried.values())} in {tried.seconds:.0f} s")
    report.baseline("kinds", counts(tried.tried.most_common()))
    report.refusals("not quoted", tried.refused)
    report.none("swaps tried: other amounts than quoted, or a revert", tried.wrong, "swaps")
