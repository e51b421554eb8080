"""Volume, fees, and the LPs' and the protocol's part of them, of random swaps against an independent replay.

Executing and replaying 20,000 swaps takes a quarter of an hour on two cores; ``--minutes`` limits it.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from bench.harness import harness
from bench.report import Report, counts

CHUNK = 800
"""Swaps of one run of the harness: four turns with the fee switch off and four with it on. The harness
restores the first state after a run."""


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_devnet.chains import Devnet

    compare_random_swaps = harness("trading", "uniswap").compare_random_swaps
    compared: Counter[str] = Counter()
    wrong: list[str] = []
    inexact, executed = 0, 0
    started = time.monotonic()
    while executed < options.trades and time.monotonic() - started < 60 * options.minutes:
        size = min(CHUNK, options.trades - executed)
        async with Devnet.start() as devnet:
            comparison = await compare_random_swaps(size, options.seed + executed, devnet)
        executed += size
        compared += comparison.compared
        inexact += comparison.inexact
        wrong += comparison.wrong
        report.say(f"{executed} of {options.trades} random swaps replayed")
    seconds = time.monotonic() - started
    report.baseline("random swaps replayed for volume and fees", f"{executed} in {seconds:.0f} s")
    report.baseline(
        "swaps of single pools compared, by kind and fee switch",
        f"{compared.total()}: {counts(sorted(compared.items()))}",
    )
    report.at_most("swaps whose state before was not known", inexact, 0, "swaps", digits=0)
    report.none("differences in volume, LP fee or protocol fee", wrong, "differences")
    for line in wrong[:10]:
        report.say(line)
