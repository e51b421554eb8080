"""Volume, fees and their LP and protocol parts of thousands of random swaps against an independent replay.

Executing and replaying 20,000 takes a quarter of an hour on two cores; ``--minutes`` says when to stop.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from bench.exactness import HARNESS
from bench.report import Report

CHUNK = 800
"""Swaps of one run of the harness, which goes back to the first state after it: four turns with the fee
switch off and four with it on."""


async def measure(report: Report, options: argparse.Namespace) -> None:
    sys.path.insert(0, str(HARNESS))  # the harness is the plugin's test; only its size differs here
    from quoteway_devnet.chains import Devnet
    from trading import account_for_random_swaps

    compared: Counter[str] = Counter()
    wrong: list[str] = []
    inexact, executed = 0, 0
    started = time.monotonic()
    while executed < options.trades and time.monotonic() - started < 60 * options.minutes:
        size = min(CHUNK, options.trades - executed)
        async with Devnet.start() as devnet:
            account = await account_for_random_swaps(size, options.seed + executed, devnet)
        executed += size
        compared += account.compared
        inexact += account.inexact
        wrong += account.wrong
        report.say(f"{executed} of {options.trades} random swaps replayed")
    seconds = time.monotonic() - started
    report.baseline("random swaps replayed for volume and fees", f"{executed} in {seconds:.0f} s")
    report.baseline(
        "swaps of single pools compared, by kind and fee switch",
        f"{compared.total()}: " + ", ".join(f"{kind} {count}" for kind, count in sorted(compared.items())),
    )
    report.at_most("swaps whose state before was not known", inexact, 0, "swaps", digits=0)
    report.at_most("differences in volume, LP fee or protocol fee", len(wrong), 0, "differences", digits=0)
    for line in wrong[:10]:
        report.say(line)
