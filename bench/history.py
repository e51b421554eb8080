"""Hours of pools after random operations over simulated days, against a second replay and the contracts.

Swaps, mints, burns, collects, flashes, donations and fee switches run on the real v2, v3 and v4 contracts.
Blocks are as dense as those of 100,000 operations in 60 days; ``--minutes`` ends them earlier.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.harness import harness
from bench.report import Report, counts

OPERATIONS_PER_BLOCK = 20
LEAST_BLOCKS = 200
BLOCKS_PER_DAY = 84


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_devnet.chains import Devnet

    history_trial = harness("history_trial", "indexer").HistoryTrial
    operations = options.operations
    per_block = max(1, min(OPERATIONS_PER_BLOCK, operations // LEAST_BLOCKS))
    days = operations / per_block / BLOCKS_PER_DAY
    with tempfile.TemporaryDirectory() as folder:
        async with Devnet.start() as devnet:
            running = history_trial(devnet, Path(folder), options.seed)
            most_s = 60 * options.minutes
            trial = await running.run(operations, days, per_block=per_block, most_s=most_s, say=report.say)
    done = f"{trial.operations} over {trial.days:.1f} days in {trial.seconds:.0f} s"
    report.baseline("random operations of v2, v3 and v4 pools", done)
    report.baseline("events of them", f"{trial.events.total()}: {counts(sorted(trial.events.items()))}")
    report.baseline(
        "hours of pools compared with an independent replay",
        f"{trial.buckets} of {trial.pools} pools, twice: kept with restarts and reorganisations, and at once",
    )
    report.baseline("contract reads at ends of hours", str(trial.edges))
    report.baseline("hours of v2 pairs whose protocol part of fees is marked inexact", str(trial.inexact))
    report.none("amounts that differ by a unit or more", trial.wrong, "amounts")
    for line in trial.wrong[:10]:
        report.say(line)
    rate = trial.replayed / trial.replay_s
    report.at_least("events replayed per second, with their reads and writes", rate, 60_000, digits=0)
