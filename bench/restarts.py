"""Restarts under load: what callers of two replicas behind nginx lose while these stop, reload or are killed.

A process of its own sends requests at a fixed rate and checks each answer (``restart_load``). Each round does
one of ``Rounds.kinds`` meanwhile, in turns. Between rounds a quote of one replica is built by the other and
executed. Nothing may be lost or wrong of what goes through nginx. What nginx cuts when it is itself reloaded,
and what clients lose that connect to a replica's own port, is told apart.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.report import Report, counts, milliseconds
from bench.restart_load import Orders
from bench.restart_rounds import BOUGHT, RELOAD_OF_NGINX, WAIT_S, Rounds, deployed, order

PAUSE_S: Final = 1.0
"""Between two rounds, so that a loss belongs to one."""
SHOWN, LINE = 20, 700
"""Of what was lost or wrong: lines of each kind, and characters of a line."""
_ROOT: Final = Path(__file__).parent.parent


@dataclass
class Client:
    """The process that sends the requests, and what it said."""

    failures: list[dict[str, Any]] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    @contextlib.asynccontextmanager
    async def running(self, orders: Orders) -> AsyncIterator[None]:
        """Sends requests during the block."""
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bench.restart_load", json.dumps(asdict(orders))),
            cwd=_ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 30,
        )
        assert child.stdin is not None
        reading = asyncio.create_task(self._read(child))
        try:
            await asyncio.wait_for(self.ready.wait(), 2 * WAIT_S)
            if reading.done():
                raise RuntimeError("the process that sends requests ended: see above")
            yield
            child.stdin.close()
            await asyncio.wait_for(reading, WAIT_S)
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()

    async def _read(self, child: asyncio.subprocess.Process) -> None:
        assert child.stdout is not None
        async for line in child.stdout:
            said = json.loads(line)
            if "ready" in said:
                self.ready.set()
            elif "sent" in said:
                self.found = said
            else:
                self.failures.append(said)
        self.ready.set()  # nobody needs to wait any more

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Returns the failures that are ``lost``, ``wrong`` or ``direct``."""
        return [each for each in self.failures if kind in each]


@dataclass
class Seen:
    """What a run of rounds showed."""

    rounds: Rounds
    client: Client
    done: list[tuple[float, str]] = field(default_factory=list)
    """When each round began, and its kind."""
    retried: Counter[str] = field(default_factory=Counter)
    """What went wrong with the connections that nginx tried first."""
    _said: int = 0

    def during(self, at: float) -> str:
        """Returns the kind of the round at a time."""
        return next((kind for began, kind in reversed(self.done) if began <= at), "before")

    def unsaid(self) -> list[str]:
        """Returns what was lost or wrong since the last call."""
        since, self._said = self._said, len(self.client.failures)
        return [str(each)[:LINE] for each in self.client.failures[since:] if "direct" not in each]

    @property
    def cut_by_nginx(self) -> list[dict[str, Any]]:
        """Returns the requests that met the end of a kept connection when nginx itself was reloaded.

        It closes all connections that wait at once. From 1.27.4 on, ``keepalive_min_timeout`` prevents that.
        """
        lost = self.client.of("lost")
        return [each for each in lost if each["how"] == "cut" and self.during(each["at"]) == RELOAD_OF_NGINX]

    @property
    def lost(self) -> list[dict[str, Any]]:
        """Returns the other requests through nginx that had no answer."""
        return [each for each in self.client.of("lost") if each not in self.cut_by_nginx]

    @property
    def wrong(self) -> list[object]:
        return [*self.client.of("wrong"), *self.rounds.refused]

    @property
    def sent(self) -> int:
        return sum(self.client.found["sent"].values())

    def told(self, kind: str) -> list[tuple[str, int]]:
        """Returns what failed, most often first, with how often."""
        lines = (
            f"{kind} {each[kind]} during {self.during(each['at'])}: {each['how']} {each.get('text', '')}"
            for each in self.client.of(kind)
        )
        # What follows are ids, which differ each time.
        return Counter(line[:LINE] for line in lines).most_common()


async def run(
    report: Report, rounds: int, rate: float, *, pause_s: float = PAUSE_S, most_s: float = 3_600.0
) -> Seen:
    """Runs so many rounds at so many requests a second. After ``most_s`` seconds no other round begins."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with tempfile.TemporaryDirectory(prefix="quoteway-restarts-") as folder:
        async with deployed(Path(folder)) as deployment:
            seen = Seen(deployment, Client())
            with Progress(*columns, console=report.console) as progress:
                task = progress.add_task("warming", total=rounds)
                async with seen.client.running(_orders(deployment, rate)):
                    kinds, ends_at = itertools.cycle(deployment.kinds.items()), time.monotonic() + most_s
                    for number, (kind, event) in enumerate(itertools.islice(kinds, rounds)):
                        if time.monotonic() > ends_at:
                            break
                        # Six kinds and two replicas: each kind meets both.
                        replica = deployment.replicas[(number + number // len(deployment.kinds)) % 2]
                        progress.update(task, description=f"{kind} of {replica.name}")
                        began = time.monotonic()
                        seen.done.append((began, kind))
                        await event(replica)
                        await deployment.compare(number)
                        await asyncio.sleep(pause_s)
                        progress.advance(task)
                        if not progress.console.is_terminal:
                            report.say(_line(seen, number, kind, time.monotonic() - began))
                        for failure in itertools.islice(seen.unsaid(), SHOWN):
                            report.say(failure)
            seen.retried = deployment.proxy.retried()
            return seen


def _line(seen: Seen, number: int, kind: str, took_s: float) -> str:
    lost, wrong = len(seen.lost), len(seen.wrong)
    return f"round {number + 1}, {kind}: {took_s:.1f} s; {lost} lost and {wrong} wrong so far"


def _orders(deployment: Rounds, rate: float) -> Orders:
    from quoteway_devnet.accounts import ACCOUNTS

    devnet = deployment.devnet
    usdc = devnet.chains["devnet"].token("USDC")
    return Orders(
        port=deployment.proxy.port,
        replicas=[each.port for each in deployment.replicas],
        rate=rate,
        chain="devnet",
        chain_id=devnet.chains["devnet"].chain_id,
        wallet=ACCOUNTS[5].address,
        bodies=[order(devnet, bought) for bought in BOUGHT],
        # `decimals()`.
        rpc=["eth_call", [{"to": usdc.address, "data": "0x313ce567"}, "latest"], f"0x{usdc.decimals:064x}"],
    )


async def measure(report: Report, options: argparse.Namespace) -> None:
    seen = await run(report, options.restarts, options.rate, most_s=options.longest * 60)
    found, kinds = seen.client.found, Counter(kind for _, kind in seen.done)
    report.baseline("rounds", counts(kinds.items()))
    reached = seen.sent / found["seconds"]
    report.baseline(f"requests through nginx, of {options.rate:g}/s", f"{seen.sent:,}, {reached:.1f}/s")
    report.baseline("of these", counts(found["sent"].items()))
    report.none("requests that were lost", seen.lost, "requests")
    report.baseline("requests that nginx cut at its own reload", str(len(seen.cut_by_nginx)))
    report.none("answers that were wrong", seen.wrong, "answers")
    report.baseline("quotes of one replica that the other built, executed", str(seen.rounds.executed))
    for name, took in (("all", list(itertools.chain(*found["took"].values()))), *found["took"].items()):
        p50, p99 = milliseconds(took)
        report.baseline(f"{name}: p50, p99, longest", f"{p50:.1f}, {p99:.1f}, {max(took) * 1e3:.0f} ms")
    report.baseline("tries of nginx that failed and went on", counts(seen.retried.most_common()))
    for name, answered in found["direct"].items():
        report.baseline(f"replica's own port, {name}: answered", f"{answered:,}")
        for kind in kinds:
            lost = Counter(
                each["how"]
                for each in seen.client.of("direct")
                if each["direct"] == name and seen.during(each["at"]) == kind
            )
            report.baseline(f"replica's own port, {name}: {kind}", counts(lost.most_common()))
    for line, times in [*seen.told("lost"), *seen.told("wrong")][:SHOWN]:
        report.say(f"{times} times: {line}")
    for line in seen.rounds.refused[:SHOWN]:
        report.say(line)
