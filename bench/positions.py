"""Random positions found by an index, against their contracts: found, their amounts, and their flows.

The node allows ``eth_getLogs`` of 1,000 blocks at most.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from bench.harness import harness
from bench.report import Report, counts

MOST_BLOCKS = 1_000


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_devnet.chains import Devnet

    compare = harness("indexed_positions", "indexer").compare_positions
    report.say(f"making {options.operations} random positions, seed {options.seed}")
    async with Devnet.start() as devnet:
        with tempfile.TemporaryDirectory() as folder:
            done = await compare(devnet, Path(folder), options.operations, options.seed, MOST_BLOCKS)
    report.baseline("random positions", f"{done.positions}: {counts(sorted(done.made.items()))}")
    limits = f"{done.blocks} blocks by ranges of {MOST_BLOCKS}, {done.refused} longer ones refused"
    report.baseline("chain", limits)
    report.baseline("eth_getLogs", counts(sorted(done.log_requests.items())))
    report.none("positions that the index does not find", done.missing, "positions")
    report.none("positions that are shown and do not exist", done.unexpected, "positions")
    report.none("positions whose amounts differ from a withdrawal", done.amounts_off, "positions")
    compared = counts(sorted(done.flows_compared.items()))
    report.baseline("positions whose deposits, withdrawals and fees were compared", compared)
    report.none("positions whose flows differ from the receipts", done.flows_off, "positions")
    report.none("parts of answers that are named as missing", done.partial, "parts")
    report.none("positions that the search without an index does not find", done.searched, "positions")
    report.baseline("positions of one wallet, p50", f"{statistics.median(done.answer_s):.2f} s")
    report.baseline("seconds", ", ".join(f"{what} {took:.0f}" for what, took in done.seconds.items()))
    for line in done.wrong[:5]:
        report.say(str(line))
