"""``python -m bench`` runs the measurements, prints one table and marks the goals that were missed.

Times vary on a shared machine: each one is a median, and each rate is compared with a bare aiohttp handler's,
measured in turns in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine

from bench import (
    activity,
    catalog,
    checks,
    connections,
    corruptions,
    exactness,
    faults,
    fresh,
    gaps,
    history,
    index_kills,
    index_series,
    index_store,
    ingest,
    installed,
    liars,
    liquidity,
    plugins,
    ponder_peer,
    portfolio,
    positions,
    price_attacks,
    quotes,
    reorgs,
    replicas,
    restarts,
    rounds,
    routing,
    rpc,
    soak,
    speed,
    startup,
    streams,
    transfers,
    vaults,
)
from bench.report import Report

PARTS: dict[str, Callable[[Report, argparse.Namespace], Coroutine[None, None, None]]] = {
    "startup": startup.measure,
    "rounds": rounds.measure,
    "speed": speed.measure,
    "streams": streams.measure,
    "rpc": rpc.measure,
    "quotes": quotes.measure,
    "routing": routing.measure,
    "gaps": gaps.measure,
    "portfolio": portfolio.measure,
    "catalog": catalog.measure,
    "exactness": exactness.measure,
    "fresh": fresh.measure,
    "liquidity": liquidity.measure,
    "vaults": vaults.measure,
    "transfers": transfers.measure,
    "activity": activity.measure,
    "corruptions": corruptions.measure,
    "ingest": ingest.measure,
}
ON_REQUEST = {
    "checks": checks.measure,
    "plugins": plugins.measure,
    "faults": faults.measure,
    "liars": liars.measure,
    "positions": positions.measure,
    "price-attacks": price_attacks.measure,
    "reorgs": reorgs.measure,
    "replicas": replicas.measure,
    "restarts": restarts.measure,
    "installed": installed.measure,
    "history": history.measure,
    "index-store": index_store.measure,
    "index-series": index_series.measure,
    "index-kills": index_kills.measure,
    "ponder": ponder_peer.measure,
    "soak": soak.measure,
    "connections": connections.measure,
}
"""Parts that run only when they are named: they take long."""

OPTIONS: tuple[tuple[str, int | float, str], ...] = (
    ("swaps", 3000, "random swaps to execute"),
    ("trials", 10_000, "random swaps, exact in and out and split, to try in calls on one state each"),
    ("rounds", 1000, "rounds of own transaction, quote, action and execution"),
    ("operations", 500, "liquidity and vault operations to execute, or positions to find"),
    ("positions", 200, "positions to withdraw"),
    ("transfers", 200, "transfers to execute, joined with a swap and not"),
    ("cases", 100_000, "changed quotes and builds to give to the core"),
    ("trades", 20_000, "most swaps to replay"),
    ("lies", 10_000, "rounds of quote, action and execution behind faulty nodes"),
    ("minutes", 6.0, "longest time of the replay, or time of the soak"),
    ("flows", 10.0, "flows a second of the soak"),
    ("reorgs", 1000, "reorganisations with a crash of the index"),
    ("rows", 10_000_000, "swaps to load into an index"),
    ("kills", 200, "processes to kill while they write an index"),
    ("restarts", 100, "restarts, reloads and kills under load"),
    ("rate", 200.0, "requests a second during the restarts"),
    ("longest", 60.0, "minutes after which no other restart begins"),
    ("attacks", 300, "attacks on prices"),
    ("controls", 300, "honest markets beside the attacks on prices"),
    ("seed", 1, "seed of the random numbers"),
    ("quotes", 500, "quotes to time"),
    ("faults", 1000, "calls with each fault of nodes"),
)


def main() -> int:
    """Measures the parts that the command line names. Returns 1 when a goal was missed."""
    known = PARTS | ON_REQUEST
    parts = f"of: {', '.join(known)} (default: all but {', '.join(ON_REQUEST)})"
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=parts)
    for name, default, meaning in OPTIONS:
        text = f"{meaning} (default {default})"
        parser.add_argument(f"--{name}", type=type(default), default=default, help=text)
    options = parser.parse_args()
    unknown = set(options.parts) - set(known)
    if unknown:
        parser.error(f"unknown part {sorted(unknown)[0]!r}: choose from {', '.join(known)}")
    # Ends as Ctrl-C does: with the processes that it started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report = Report()
    for name in options.parts or PARTS:
        asyncio.run(known[name](report, options))
    report.show()
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
