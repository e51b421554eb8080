"""``python -m bench``: runs the measurements and prints one table; says what missed its goal.

Times on a shared machine are noise: every one is a median, and every rate stands beside a bare aiohttp
handler's, taken in turns in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine

from bench import activity, exactness, liquidity, portfolio, rounds, speed, startup, transfers, vaults
from bench.report import Report

PARTS: dict[str, Callable[[Report, argparse.Namespace], Coroutine[None, None, None]]] = {
    "startup": startup.measure,
    "rounds": rounds.measure,
    "speed": speed.measure,
    "portfolio": portfolio.measure,
    "exactness": exactness.measure,
    "liquidity": liquidity.measure,
    "vaults": vaults.measure,
    "transfers": transfers.measure,
    "activity": activity.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of: {', '.join(PARTS)} (default: all)")
    parser.add_argument(
        "--swaps", type=int, default=3000, help="how many random swaps to execute (default 3000)"
    )
    parser.add_argument(
        "--operations", type=int, default=500, help="how many liquidity and vault operations (default 500)"
    )
    parser.add_argument(
        "--positions", type=int, default=200, help="how many positions to withdraw (default 200)"
    )
    parser.add_argument(
        "--transfers", type=int, default=200, help="how many transfers, joined and not (default 200)"
    )
    parser.add_argument(
        "--trades", type=int, default=20_000, help="how many swaps to replay at most (default 20000)"
    )
    parser.add_argument(
        "--minutes", type=float, default=6, help="when the replay stops, done or not (default 6)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of what is random (default 1)")
    parser.add_argument("--quotes", type=int, default=500, help="how many quotes to time (default 500)")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {sorted(unknown)[0]!r}: choose from {', '.join(PARTS)}")
    report = Report()
    for name in options.parts or PARTS:
        asyncio.run(PARTS[name](report, options))
    report.show()
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
