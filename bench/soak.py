"""A gateway of two workers under a mixed load for an hour, while nodes, Redis and PostgreSQL fail in turns.

Two chains have a block every 2 s, trades by the gateway's own actions and reorganisations. Each is reached
through three nodes: of the first chain one or two at a time are slow, silent, reset connections, refuse (429)
or lag; of the second, where two nodes must agree, one does so too, or lies. Redis is killed and started
again, PostgreSQL is stopped and started again.

No 5xx is expected, but of answers from the index's database while that is down: those must be good again
within ten seconds after its start. ``--minutes`` says how long it takes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, TypeAlias

from bench.report import Report, counts, percentile
from bench.server import process
from bench.soak_faults import DATABASE_EVERY_S, DOWN_S, RECOVERY_S, SHARED_EVERY_S, is_unexpected
from bench.soak_load import Outcome, outcomes_in
from bench.soak_place import SoakPlace, Usage, soak_place

SAMPLE_S: Final = 5.0
MOST_DRIFT: Final = 5.0
MOST_FDS: Final = 10
"""How many more files a process may have open in the end. Clients come and go."""
SLOW_MS: Final = 1_000
MOST_P99: Final = 1.5
"""The p99 of the last third to that of the second, on a machine with other work."""

Sample: TypeAlias = tuple[float, list[Usage]]


async def measure(report: Report, options: argparse.Namespace) -> None:
    seconds = 60 * options.minutes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        down_s = min(DOWN_S, seconds / 12)
        places = soak_place(
            folder,
            options.seed,
            shared_every_s=min(SHARED_EVERY_S, seconds / 3),
            database_every_s=min(DATABASE_EVERY_S, seconds / 2),
            down_s=down_s,
        )
        async with places as place:
            file = folder / "outcomes"
            async with client(place.url, file, options.flows, options.seed) as child:
                while not file.exists() or not file.stat().st_size:
                    if child.returncode is not None:
                        raise RuntimeError(file.with_suffix(".log").read_text())
                    await asyncio.sleep(0.1)
                began = time.monotonic()
                samples = await _watched(report, place, file, seconds)
            judge(report, place, [*outcomes_in(file), *place.chains.outcomes], samples, began, seconds)


def client(
    url: str, file: Path, rate: float, seed: int
) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
    """Runs a client that writes its outcomes to ``file``."""
    command = (sys.executable, "-m", "bench.soak_load", url, str(file), str(rate), str(seed))
    environ = {"PYTHONPATH": str(Path(__file__).parent.parent)}
    return process(*command, environ=environ, log=file.with_suffix(".log"))


async def _watched(report: Report, place: SoakPlace, file: Path, seconds: float) -> list[Sample]:
    """Samples the processes, and says each minute how it goes."""
    samples: list[Sample] = []
    began = time.monotonic()
    minute, late_s = 0, 0.0
    while time.monotonic() - began < seconds:
        due = time.monotonic() + SAMPLE_S
        await asyncio.sleep(SAMPLE_S)
        late_s = max(late_s, time.monotonic() - due)
        samples.append((time.monotonic(), place.usages()))
        if (time.monotonic() - began) // 60 > minute:
            minute += 1
            machine = f"load {os.getloadavg()[0]:.1f}, this process up to {late_s * 1e3:.0f} ms late"
            report.say(f"minute {minute}: {_line(place, outcomes_in(file), samples[-1][1])}; {machine}")
            late_s = 0.0
    return samples


def _line(place: SoakPlace, outcomes: Sequence[Outcome], usages: Sequence[Usage]) -> str:
    since = time.monotonic() - 60
    last = [each for each in outcomes if each.ended >= since]
    took = [each.took_s for each in last if is_request(each)]
    statuses = Counter(f"{each.status} {each.code}".strip() for each in last)
    used = ", ".join(
        f"{each.name} {each.rss_bytes >> 20} MiB {each.fds} fds {each.cpu_s:.0f} s" for each in usages
    )
    unexpected = [each for each in outcomes if is_unexpected(each, place.database)]
    asked = {slug: sum(node.calls.total() for node in faults.nodes) for slug, faults in place.faults.items()}
    p50, p99 = (percentile(took, share) * 1e3 for share in (0.5, 0.99)) if took else (0.0, 0.0)
    return (
        f"{used}; {len(last)} answers, p50 {p50:.0f} ms, p99 {p99:.0f} ms; "
        f"{counts(sorted(statuses.items()))}; unexpected 5xx in all {len(unexpected)}; nodes now: "
        f"{' | '.join(each.said for each in place.faults.values())}; requests to nodes in all {asked}"
    )


def is_request(outcome: Outcome) -> bool:
    """Tells whether an outcome is that of one request, and not of a kept connection."""
    return outcome.kind not in ("stream", "socket")


def judge(
    report: Report,
    place: SoakPlace,
    outcomes: Sequence[Outcome],
    samples: Sequence[Sample],
    began: float,
    seconds: float,
) -> None:
    """Adds the rows of a run of so many seconds."""
    chains = place.chains
    done = f"{chains.blocks} of 2 chains, {chains.reorganisations} reorganisations, {chains.trades} trades"
    report.baseline("blocks", done)
    down = f"Redis {len(place.shared.spans)} times, PostgreSQL {len(place.database.spans)} times"
    report.baseline("servers stopped and started again", down)
    statuses = Counter(str(each.status) for each in outcomes)
    report.baseline(f"answers in {seconds / 60:g} minutes", f"{len(outcomes)}: {counts(statuses.items())}")
    failed = Counter(f"{o.kind}: {o.status} {o.code}" for o in outcomes if o.status >= 500)
    report.baseline("5xx by kind", counts(failed.most_common()))
    unexpected = [each for each in outcomes if is_unexpected(each, place.database)]
    report.none("5xx that no fault explains", unexpected, "answers")
    report.none("requests without an answer in time", [o for o in outcomes if o.status == -1], "requests")
    broken = [each for each in outcomes if each.status == 0]
    report.none("connections that broke", broken, "connections")
    odd = [each for each in outcomes if is_odd(each)]
    report.none("other answers than the request deserves", odd, "answers")
    report.none("trades that reverted", chains.reverted, "trades")
    for found in (unexpected, broken, odd):
        for each in found[:20]:
            report.say(f"{each.began - began:.1f} s: {each}")
    for line in chains.reverted[:5]:
        report.say(line)
    _recovery(report, place, outcomes)
    _drifts(report, samples, began, seconds)
    _latencies(report, outcomes, began, seconds)
    for message, times in place.errors().most_common(15):
        report.say(f"logged {times} times: {message}")


def is_odd(outcome: Outcome) -> bool:
    """Tells whether an answer is neither good nor a failure, nor the refusal of bad input."""
    if not 0 < outcome.status < 500:
        return False
    wanted = range(400, 500) if outcome.kind == "bad input" else range(200, 300)
    # An error of JSON-RPC has the status 200.
    return outcome.status not in wanted or (outcome.kind != "bad input" and bool(outcome.code))


def _recovery(report: Report, place: SoakPlace, outcomes: Sequence[Outcome]) -> None:
    longest = 0.0
    for _, up in place.database.spans:
        late = [o.ended - up for o in outcomes if o.status >= 500 and up <= o.ended <= up + 60]
        longest = max([longest, *late])
    report.at_most("last 5xx after PostgreSQL was started again", longest, RECOVERY_S, "s")


def _drifts(report: Report, samples: Sequence[Sample], began: float, seconds: float) -> None:
    """Compares the last sixth with the second one: minutes 50 to 60 of an hour with 10 to 20.

    What is kept for half an hour, as swaps that were handed out, grows until minute 30. What grows in the
    last half hour as well is shown beside it, by the last sixth and the fourth one.
    """
    sixths = defaultdict[str, list[list[Usage]]](lambda: [[] for _ in range(6)])
    sums: list[list[int]] = [[] for _ in range(6)]
    pids = defaultdict[str, set[int]](set)
    for at, usages in samples:
        sixth = min(int(max(at - began, 0.0) * 6 / seconds), 5)
        sums[sixth].append(sum(each.rss_bytes for each in usages))
        for each in usages:
            pids[each.name].add(each.pid)
            sixths[each.name][sixth].append(each)
    if all(sums):
        _drift(report, "all processes", [statistics.median(each) for each in sums])
    for name, parts in sixths.items():
        if not all(parts):
            continue
        _drift(report, name, [statistics.median(each.rss_bytes for each in part) for part in parts])
        opened = [statistics.median(each.fds for each in parts[number]) for number in (1, 5)]
        report.at_most(
            f"{name}: more open files, from {opened[0]:g}", opened[1] - opened[0], MOST_FDS, "files"
        )
    restarted = [name for name, found in pids.items() if len(found) > 1]
    report.none("processes that were started again", restarted, "processes")


def _drift(report: Report, name: str, rss_bytes: Sequence[float]) -> None:
    """Adds what the memory of a process was in each sixth."""
    shown = ", ".join(f"{each / 2**20:.1f}" for each in rss_bytes)
    report.baseline(f"{name}: memory of each sixth", f"{shown} MiB")
    report.at_most(f"{name}: drift of memory", (rss_bytes[5] / rss_bytes[1] - 1) * 100, MOST_DRIFT, "%")
    report.baseline(f"{name}: drift of the last half", f"{(rss_bytes[5] / rss_bytes[3] - 1) * 100:.1f} %")


def _latencies(report: Report, outcomes: Sequence[Outcome], began: float, seconds: float) -> None:
    requests = [each for each in outcomes if is_request(each)]
    thirds = [
        [each.took_s * 1e3 for each in requests if number <= (each.began - began) * 3 / seconds < number + 1]
        for number in range(3)
    ]
    if not all(thirds):
        return
    shown = ", ".join(f"{percentile(each, 0.5):.0f} and {percentile(each, 0.99):.0f} ms" for each in thirds)
    report.baseline("p50 and p99 of each third", shown)
    # The p99 is one or two times what a slow node adds: how many answers that held up says more.
    slow = ", ".join(f"{sum(took > SLOW_MS for took in each) / len(each):.2%}" for each in thirds)
    report.baseline(f"answers after more than {SLOW_MS / 1e3:g} s, of each third", slow)
    ratio = percentile(thirds[2], 0.99) / percentile(thirds[1], 0.99)
    report.at_most("p99 of the last third to the second", ratio, MOST_P99, "times", digits=2)
    kinds = defaultdict[str, list[float]](list)
    for each in requests:
        kinds[each.kind].append(each.took_s * 1e3)
    for kind, took in sorted(kinds.items()):
        p50, p99 = percentile(took, 0.5), percentile(took, 0.99)
        report.say(f"{kind}: {len(took)}, p50 {p50:.0f} ms, p99 {p99:.0f} ms, most {max(took):.0f} ms")
