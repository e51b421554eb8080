"""Reorganisations of depth 1 to 64 with a crash of the index at a statement: equal to a clean index."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from bench.harness import harness
from bench.report import Report

PART = 5
"""Reorganisations of one chain: it grows with each, and so do the indexes that are compared."""


async def measure(report: Report, options: argparse.Namespace) -> None:
    """Compares the index with a clean one after each reorganisation; the chain is restored now and then."""
    from quoteway_devnet.chains import Devnet

    trials, done, crashes, wrong = harness("reorganisations", "indexer").trials, 0, 0, []
    began = time.perf_counter()
    async with Devnet.start() as devnet:
        while done < options.reorgs:
            count, seed = min(PART, options.reorgs - done), options.seed + done
            with devnet.restored(), tempfile.TemporaryDirectory() as folder:
                try:
                    crashes += await trials(devnet, Path(folder), count, seed)
                except AssertionError:
                    wrong.append(seed)
            done += count
            report.say(f"{done} of {options.reorgs} reorganisations, {crashes} crashes")
    report.baseline("reorganisations", f"{done} in {time.perf_counter() - began:.0f} s, {crashes} crashes")
    report.none(f"parts of {PART} reorganisations where the index differs from a clean one", wrong, "parts")
