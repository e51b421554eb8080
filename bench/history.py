"""Hours of pools after random operations over simulated days, against a second replay and the contracts.

Swaps, mints, burns, collects, flashes, donations and fee switches run on the real v2, v3 and v4 contracts.
They would take 60 days in all; ``--minutes`` ends them earlier.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.harness import harness
from bench.report import Report, counts

DAYS = 60


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_devnet.chains import Devnet

    history_trial = harness("history_trial", "indexer").HistoryTrial
    with tempfile.TemporaryDirectory() as folder:
        async with Devnet.start() as devnet:
            running = history_trial(devnet, Path(folder), options.seed)
            trial = await running.run(options.operations, DAYS, most_s=60 * options.minutes, say=report.say)
    operations = f"{trial.operations} over {trial.days:.1f} days in {trial.seconds:.0f} s"
    report.baseline("random operations of v2, v3 and v4 pools", operations)
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
