"""What each bad plugin of the corpus costs others: one server without it and one with it, asked in turns.

Writes ``docs/reference/bad-plugins.md``, a row a plugin. Also measures the door that every call of a provider
goes through, and a call to the process of an isolated plugin.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

from quoteway.config.model import Config, PluginsConfig, QuotesConfig
from quoteway.testing.bad_plugins import BAD_PLUGINS, RIVAL, BadPlugin

from bench.harness import harness
from bench.report import Report

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "bad-plugins.md"
WARM_UP = 12
"""Quotes before the measured ones. A breaker opens after 3; a newcomer is none after 8."""
SETTLE_S = 2
"""How long servers are left to what they do after their start, as reading lists. Two alike differ by a fifth
before."""
ROUNDS, FIRST_ROUNDS = 15, 2
"""How many rounds count, and how many before them do not."""
REPEATS = 2
"""How often a plugin above the goal is measured again. Two servers alike differ by a fifth at times."""
CALLS = 300
GOAL = 1.2
DOOR_GOAL = 5
ATTEMPTS = 2
"""How often a plugin is measured when a request is lost: the machine may have been stopped for a while."""
LOST = ("lost", "", "", "", "", "", "")
ASKED = ("quote", "action", "list", "health")
TOGETHER = {
    "an honest rival": (RIVAL,),
    "an honest rival, isolated": (replace(RIVAL, needs="process"),),
    "all in the server's process": tuple(bad for bad in BAD_PLUGINS if bad.needs is None),
    "all others, isolated": tuple(bad for bad in BAD_PLUGINS if bad.needs == "process"),
}

BEFORE: Mapping[str, str] = {
    "sleeps-in-quote": "every route for the time it sleeps, and the log named Uniswap",
    "computes-in-quote": "every route for the time it computes",
    "sleeps-in-healthy": "every route for the time it sleeps",
    "sleeps-in-networks": "every route for the time it sleeps",
    "lifespan-sleeps": "other plugins were refused",
    "slow-import": "every route for the time it sleeps",
    "hook-sleeps": "every route for the time it sleeps",
    "observer-sleeps": "1.5 s a quote, for 0.5 s of sleep",
    "token-hangs": "all swaps failed, and Uniswap was named",
    "token-lies": "all swaps failed, and Uniswap was named",
    "ignores-cancellation": "only SIGKILL stopped the server",
    "squats-an-id": "Uniswap was switched off",
    "squats-a-name": "Uniswap was switched off",
    "hangs-in-quote": "3 s a quote, for ever",
    "slow-in-quote": "2.9 s a quote, for a provider of 2.9 s",
    "prices-of-1e12": "its price won alone",
    "prices-hang": "passed",
    "catalog-of-300000": "8.9 s of every route",
    "promises-1e30": "it won, and its action failed",
    "leaves-gas-out": "it won with 90 %",
    "other-plan": "KeyError, told to be worth a retry",
    "stops-the-loop": "the server ended",
    "ends-the-process": "the server ended",
    "keeps-memory": "50 MB a quote",
    "leaks": "50 MB a quote",
    "replaces-the-guard": "a transfer to 0xdead was answered with 201",
}
"""What a fault cost when nothing was done about it, where that was measured."""

COMPETITION_S = 3
_HEAD = """# Bad plugins

Each row is a plugin of `quoteway.testing.bad_plugins`, installed beside Uniswap in a server of its own. The
last rows are one more provider without a fault, for comparison, and many bad plugins in one server.
`python -m bench plugins` writes this page.

- *before*: what the fault cost when nothing was done about it.
- *quote*, *action*, *list* (of tokens, a page that is not in the cache), *health* (`/healthz`): the median
  time of {rounds} requests, divided by that of a server without the plugin, which was started at the same
  time and is asked in turns with it. What is above {goal} is measured {times} times, and has the median.
  Plugins that are refused at the start run no code: how far their figures are from 1 is the machine's noise.
- *first*: seconds of the longest of the first {warm_up} quotes, in which the server learns that a provider
  does not answer. The competition lasts {competition_s} s at most.
- *isolated*: the plugin has [a process of its own](../how-to/isolate-a-plugin.md), as it needs.
- *SIGTERM*: seconds until the server has ended, {most_stop_s:g} at most.

| plugin | fault | before | quote | action | list | health | first | `/v2/providers` | SIGTERM |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
_HEAD_OF_BLOCKING = """
## Not isolated

In the server's own process these block the event loop. What `worstStall` in `/v2/providers` says of them
after one quote, action and list:

| plugin | milliseconds | function |
| --- | --- | --- |
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """The times beside a plugin, divided by those without it, by what was asked."""

    ratios: Mapping[str, float]
    first_s: float
    said: str
    stopped_s: float

    @property
    def cells(self) -> tuple[str, ...]:
        times = (f"{self.ratios[name]:.2f}" for name in ASKED)
        return (*times, f"{self.first_s:.1f}", self.said, f"{self.stopped_s:.1f}")


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_devnet.chains import Devnet

    with Devnet.running() as devnet:
        await _calls(report, devnet)
        with tempfile.TemporaryDirectory() as folder:
            _servers(report, devnet, Path(folder))


# --- servers ------------------------------------------------------------------------------------------------


def _servers(report: Report, devnet: Any, folder: Path) -> None:
    servers = harness("bad_servers")
    groups = {bad.name: (bad,) for bad in BAD_PLUGINS} | TOGETHER

    def start(name: str, *, isolated: bool = True) -> Any:
        home = Path(tempfile.mkdtemp(dir=folder))
        startup_s = 30 if len(groups[name]) > 1 or groups[name][0].needs else 3
        return servers.BadServer(devnet, home, groups[name], isolated, startup_s, COMPETITION_S)

    def alone() -> Any:
        """A server of the same age, which asks and keeps what the other one does."""
        home = Path(tempfile.mkdtemp(dir=folder))
        return servers.BadServer(devnet, home, competition_s=COMPETITION_S)

    def measured(name: str) -> Measured | None:
        for _ in range(ATTEMPTS):
            try:
                with alone() as without, start(name) as server:
                    found = _beside(without, server, groups[name])
            except (AssertionError, RuntimeError, OSError, HTTPException) as error:
                report.say(f"{name}: {str(error)[-400:]}")
                continue
            report.say(f"{name}: {' '.join(found.cells)}")
            return found
        return None

    rows: dict[str, Sequence[str]] = {}
    for name in groups:
        found = [measured(name)]
        if found[0] is not None and max(found[0].ratios.values()) > GOAL:
            found += [measured(name) for _ in range(REPEATS)]
        if None in found:
            rows[name] = LOST
            continue
        row = _median([each for each in found if each is not None])
        rows[name] = row.cells
        for asked in ASKED:
            report.at_most(f"{asked} beside {name}", row.ratios[asked], GOAL, "x", digits=2)
        report.at_most(f"stop with {name}", row.stopped_s, servers.MOST_STOP_S, "s")
    lost = [name for name, cells in rows.items() if cells is LOST]
    report.none(f"plugins beside which a request was lost: {', '.join(lost)}", lost, "plugins")
    blocking = {}
    for bad in BAD_PLUGINS:
        if bad.cost == "blocks the loop":
            with start(bad.name, isolated=False) as server:
                blocking[bad.name] = _named(server, bad)
            report.say(f"{bad.name}: {' '.join(blocking[bad.name])}")
    PAGE.write_text(page(rows, blocking, servers.MOST_STOP_S))


def _median(found: Sequence[Measured]) -> Measured:
    """Returns the last measurement with the median ratios of all, and the longest times."""
    return replace(
        found[-1],
        ratios={asked: statistics.median(each.ratios[asked] for each in found) for asked in ASKED},
        first_s=max(each.first_s for each in found),
        stopped_s=max(each.stopped_s for each in found),
    )


def _beside(alone: Any, server: Any, group: Sequence[BadPlugin]) -> Measured:
    both, first_s = (alone, server), 0.0
    time.sleep(SETTLE_S)
    for _ in range(WARM_UP):
        alone.quote()
        first_s = max(first_s, _timed(server.quote)[0])
    took: dict[tuple[str, Any], list[float]] = {}
    for number in range(-FIRST_ROUNDS, ROUNDS):
        for each in both if number % 2 else reversed(both):
            seconds, quote = _timed(each.quote)
            if quote["provider"] != "uniswap":
                raise RuntimeError(f"{quote['provider']} won against Uniswap")
            times = [("quote", seconds)]
            for asked, ask in (
                ("action", lambda each=each, quote=quote: each.action(quote)),
                ("list", lambda each=each: each.rows("tokens")),
                *[("health", each.healthy)] * 3,
            ):
                times.append((asked, _timed(ask)[0]))
            for asked, each_s in times if number >= 0 else ():
                took.setdefault((asked, each.folder), []).append(each_s)
    ratios = {
        asked: statistics.median(took[asked, server.folder]) / statistics.median(took[asked, alone.folder])
        for asked in ASKED
    }
    said = _said(server, group)
    return Measured(ratios, first_s, said, server.stop()[1])


def _timed(ask: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    answer = ask()
    return time.perf_counter() - started, answer


def _said(server: Any, group: Sequence[BadPlugin]) -> str:
    """Returns what ``/v2/providers`` says of a plugin, and of many how many are enabled."""
    rows = server.providers()
    if len(group) > 1:
        enabled = sum(row["enabled"] for name, row in rows.items() if name.startswith("bad-"))
        return f"{enabled} enabled, Uniswap {'enabled' if rows['quoteway-uniswap']['enabled'] else 'not'}"
    (bad,) = group
    row = rows.get(bad.distribution)
    if row is None:
        return "no provider"
    said = ["enabled" if row["enabled"] else row["reason"]]
    paused = [each for each in row.get("methods") or () if each["breaker"] != "closed"]
    said += [f"{each['method']} {each['breaker']} ({each['reason']})" for each in paused]
    if row.get("lastError"):
        said.append(f"last error {row['lastError']['reason']} in {row['lastError']['method']}")
    if row["score"] is not None and row["score"]["failed"]:
        said.append(f"{row['score']['failed']} of {row['score']['rehearsed']} rehearsals failed")
    if row["priceOutliers"]:
        said.append(f"{row['priceOutliers']} price outliers")
    if row["worstStall"] is not None:
        said.append(f"worst stall {row['worstStall']['milliseconds']} ms")
    if bad.needs == "process":
        said.append("isolated")
    return ", ".join(said)


def _named(server: Any, bad: BadPlugin) -> tuple[str, str]:
    server.action(server.quote())
    server.rows("tokens")
    stall = server.until(lambda: server.providers()[bad.distribution]["worstStall"])
    return str(stall["milliseconds"]), f"`{stall['function']}`"


def page(rows: Mapping[str, Sequence[str]], blocking: Mapping[str, Sequence[str]], most_stop_s: float) -> str:
    """Returns the page: a row a plugin."""
    head = _HEAD.format(
        rounds=ROUNDS,
        goal=GOAL,
        times=1 + REPEATS,
        warm_up=WARM_UP,
        competition_s=COMPETITION_S,
        most_stop_s=most_stop_s,
    )
    told = {
        bad.name: (f"`{bad.name}`", bad.fault, BEFORE.get(bad.name, "not measured")) for bad in BAD_PLUGINS
    }
    told |= {name: (f"{name} ({len(group)})", "", "not measured") for name, group in TOGETHER.items()}
    lines = [_line(*told[name], *cells) for name, cells in rows.items()]
    return (
        head
        + "".join(lines)
        + _HEAD_OF_BLOCKING
        + "".join(_line(f"`{name}`", *cells) for name, cells in blocking.items())
    )


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


# --- calls --------------------------------------------------------------------------------------------------


async def _calls(report: Report, devnet: Any) -> None:
    """Measures the door and the process of an isolated plugin, each in pairs with the call made directly."""
    from quoteway.engine.gateway import Gateway
    from quoteway.evm.arrivals import request_arrival
    from quoteway.models import Capability

    ports = {"port": devnet.ports["devnet"], "l2_port": devnet.ports["devnet-l2"]}

    def gateway(*isolate: str) -> Gateway:
        plugins = PluginsConfig(load=("devnet", "rpc", "uniswap"), startup_timeout_s=300, isolate=isolate)
        quotes = QuotesConfig(competition_timeout_s=30.0)
        sections = {"devnet": {"enabled": True, "start": False, **ports}}
        return Gateway(Config(plugins=plugins, quotes=quotes, plugin_sections=sections))

    async with gateway().running() as plain, gateway("uniswap").running() as isolating:
        request = harness("core.devnet_gateway").DevnetGateway(devnet, plain).request()
        own = plain.registry.get(Capability.SWAP, "uniswap")
        other: Any = isolating.registry.get(Capability.SWAP, "uniswap")

        async def direct() -> None:
            with request_arrival():
                await own.quote(request)  # type: ignore[attr-defined]

        async def by_the_door() -> None:
            with request_arrival():
                await plain.registry.calls.ask_all([own], lambda p: p.quote(request), verb="quote")  # type: ignore[attr-defined]

        async def isolated() -> None:
            with request_arrival():
                await other.quote(request)

        async def whole() -> None:
            with request_arrival():
                await plain.quoting.quote(Capability.SWAP, request)

        took = await _in_turns(direct, by_the_door, whole, isolated, other.healthy)
    (own_s, own_cpu_s), (_, door_cpu_s), (warm_s, warm_cpu_s), (isolated_s, _), (nothing_s, _) = took
    door_s = door_cpu_s - own_cpu_s
    report.baseline(
        "warm quote of the core", f"{warm_s * 1e3:.1f} ms, {warm_cpu_s * 1e3:.1f} ms of a processor"
    )
    report.at_most(
        f"the door's part of that processor time, {door_s * 1e6:.0f} us",
        100 * door_s / warm_cpu_s,
        DOOR_GOAL,
        "%",
    )
    report.baseline(
        "Uniswap's quote, and the same in a process of its own",
        f"{own_s * 1e3:.1f} ms, {isolated_s * 1e3:.1f} ms",
    )
    report.baseline("call to an isolated plugin that does nothing", f"{nothing_s * 1e6:.0f} us")


async def _in_turns(*calls: Callable[[], Awaitable[Any]]) -> list[tuple[float, float]]:
    """Returns the median seconds of each call, and those of the processor in this process.

    The calls are made in turns, so that all see the same machine.
    """
    took: list[list[tuple[float, float]]] = [[] for _ in calls]
    for number in range(WARM_UP + CALLS):
        for times, call in zip(took, calls, strict=True):
            started, cpu = time.perf_counter(), time.process_time()
            await call()
            if number >= WARM_UP:
                times.append((time.perf_counter() - started, time.process_time() - cpu))
    return [
        (statistics.median(t for t, _ in times), statistics.median(c for _, c in times)) for times in took
    ]
