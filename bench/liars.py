"""Quotes and actions under a quorum of two, while the first node of three lies, lags or is on a fork."""

from __future__ import annotations

import argparse

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench.harness import harness
from bench.report import Report, counts


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_devnet.chains import Devnet

    liars, direct = harness("liars"), harness("direct_client")
    each = max(1, options.lies // len(liars.FIRST))
    report.say(f"{each} rounds of quote, action and execution behind each of {', '.join(liars.FIRST)}")
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    cases = {"nobody, without a quorum": (direct.FarNode, 1), "nobody": (direct.FarNode, 2)}
    cases |= {name: (kind, 2) for name, kind in liars.FIRST.items()}
    for name, (first, quorum) in cases.items():
        count = each if name in liars.FIRST else min(each, 100)
        async with Devnet.start() as devnet:
            url = devnet.urls["devnet"]
            with devnet.rpc() as rpc:
                rpc("anvil_mine", hex(liars.BEHIND + 5))
            nodes = [first(url), direct.FarNode(url), direct.FarNode(url)]
            async with liars.client_of(devnet, nodes, quorum) as client:
                with Progress(*columns, console=report.console, transient=True) as progress:
                    task = progress.add_task(name, total=count)
                    found = await liars.rounds(
                        client,
                        count,
                        f"{options.seed} {name}",
                        lambda: progress.advance(task),  # noqa: B023 - called within this turn
                    )
        calls = [sum(node.asked.values()) for node in nodes]
        report.baseline(f"faulty: {name}", f"{found.done} rounds in {found.seconds:.0f} s")
        report.baseline(f"{name}: calls of each node", ", ".join(map(str, calls)))
        if lies := getattr(nodes[0], "lies", None):
            report.baseline(f"{name}: lies told", counts((+lies).most_common(6)))
        report.none(f"{name}: received otherwise than quoted", found.wrong, "rounds")
        report.none(f"{name}: errors", found.errors, "rounds")
        for line in [*found.wrong[:5], *found.errors[:5]]:
            report.say(line)
