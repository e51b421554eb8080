"""Random attacks on prices on real contracts, and honest markets beside them: what counts, and what is true.

300 of each take an hour or more: each is on a devnet of its own, with an hour of blocks.
"""

from __future__ import annotations

import argparse

from bench.harness import harness
from bench.report import Report, counts


async def measure(report: Report, options: argparse.Namespace) -> None:
    report.say(f"{options.attacks} attacks and {options.controls} honest markets, seed {options.seed}")
    run = harness("price_attacks", "uniswap").run_price_attacks
    done = await run(options.attacks, options.controls, options.seed, say=report.say)
    report.baseline("attacks and honest markets", f"{done.attacks}, {done.controls} in {done.seconds:.0f} s")
    for name, kind in done.kinds.items():
        what = f"{name.replace('_', ' ')} ({kind.scenarios})"
        report.baseline(f"{what}: prices", counts(sorted(kind.outcomes.items())))
        report.none(f"{what}: of {kind.holdings} holdings, over what they pay", kind.over, "holdings")
        report.none(f"{what}: wrong without a warning", kind.silent, "prices")
    if done.prices:
        # Each of these tokens had an anchored price before: none may be null.
        report.baseline("honest prices, those anchored", f"{done.prices}, {done.anchored}")
        report.none("honest prices that are null", done.missing, "prices")
        report.none("honest prices off by more than 0.5 %", done.off, "prices")
        report.at_most("honest price that is off the most", 100 * done.worst_off, 0.5, "%", digits=3)
    for line in done.wrong[:20]:
        report.say(line)
