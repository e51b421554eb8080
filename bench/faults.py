"""Clients of a gateway over three nodes of which two have a fault, for each fault of availability.

Each flow is compared with the same flow over three healthy nodes in the same run. One server is started for
each fault. Server, proxies and client share this process and its processor, so times include all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import logging
import random
import statistics
import time
from collections.abc import Mapping
from typing import Any

from bench.harness import harness
from bench.report import Report, percentile

HEDGE_S = 0.15
"""The longest that the first call to a silent node waits before another node is asked."""
ADDED_MS = 30.0
MOST_CALLS = 1.05
FORCED = ("range limited",)
"""Faults that force calls: what the node refuses is asked elsewhere."""
SHARES = {"rpc": 1.0, "swap": 0.5, "catalog": 1.0, "portfolio": 1.0}
"""How often a flow runs for each of the calls asked for. One of a swap is a quote and its action."""
WARM_UP = 6
"""Calls of each flow that are not timed. None of them may fail either."""


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway.testing.node_faults import SLOW, fault_names
    from quoteway_devnet.chains import Devnet

    logging.getLogger("quoteway").setLevel(logging.CRITICAL)  # each fault is logged as it should be
    flows = harness("faulty_flows")
    async with Devnet.start() as devnet:
        base = await _run(report, flows, devnet, None, options.faults)
        wrong: list[object] = []
        for fault in fault_names():
            ran = await _run(report, flows, devnet, fault, options.faults)
            limit_ms = ADDED_MS + (2 * HEDGE_S * 1e3 if fault in SLOW else 0.0)
            for name, outcomes in ran["flows"].items():
                wrong += outcomes.errors
                added_ms = (outcomes.percentile(0.99) - base["flows"][name].percentile(0.99)) * 1e3
                report.at_most(f"{fault}: {name}, added p99", added_ms, limit_ms, "ms")
            ratio = ran["requests"] / base["requests"]
            if fault in FORCED:
                report.baseline(f"{fault}: requests of the RPC flow", f"{ratio:.3f} x")
            else:
                report.at_most(f"{fault}: requests of the RPC flow", ratio, MOST_CALLS, "x", digits=3)
        report.none("calls that failed with one healthy node of three", wrong, "calls")
        for line in wrong[:5]:
            report.say(str(line))
    await _hedges(report)
    await _three_at_30_percent(report)
    await _two_networks(report)


async def _run(report: Report, flows: Any, devnet: Any, fault: str | None, calls: int) -> Mapping[str, Any]:
    async with flows.flows_over(devnet, fault, fault, None) as clients:
        warm_up = [(await getattr(clients, name)(WARM_UP)).errors for name in SHARES]
        before = clients.requests()
        ran = {"rpc": await clients.rpc(calls)}
        requests = clients.requests() - before
        for name in ("swap", "catalog", "portfolio"):
            ran[name] = await getattr(clients, name)(max(int(calls * SHARES[name]), 1))
    shown = ", ".join(
        f"{name} p50 {statistics.median(each.took_s) * 1e3:.1f} p99 {each.percentile(0.99) * 1e3:.1f}"
        for name, each in ran.items()
    )
    ran["rpc"].errors.extend(itertools.chain.from_iterable(warm_up))
    errors = sum(len(each.errors) for each in ran.values())
    report.say(f"{fault or 'healthy'}: {errors} errors, {requests} requests; ms: {shown}")
    return {"flows": ran, "requests": requests}


# --- of the plugin alone, over fake nodes -------------------------------------------------------------------


def _upstreams(*networks: Any) -> Any:
    """Returns ``ask(chain)`` of a dispatcher over fake nodes of the plugin's tests, and the HTTP session."""
    import aiohttp
    from quoteway import Context, Endpoint, Network, Networks
    from quoteway.config.model import Config
    from quoteway.host.runtime import Runtime
    from quoteway_rpc.dispatch import Dispatcher
    from quoteway_rpc.settings import RpcSettings

    made = [
        Network(
            f"chain{number}",
            number,
            f"Chain {number}",
            endpoints=tuple(Endpoint(f"http://127.0.0.1:{node.port}/") for node in nodes),
        )
        for number, nodes in enumerate(networks, 1)
    ]
    runtime = Runtime(Config())
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    runtime.networks, runtime.session = Networks(made), session
    dispatcher = Dispatcher(Context("rpc", RpcSettings().load({}), logging.getLogger("bench"), runtime))

    numbers = itertools.count(1)

    async def ask(chain: int = 1, timeout_s: float = 10.0) -> None:
        # No two calls are identical: those would be sent once.
        params = [f"0x{next(numbers):040x}", "latest"]
        await dispatcher.forward_public(made[chain - 1], "eth_getBalance", params, timeout_s=timeout_s)

    return ask, session


async def _times(ask: Any, calls: int, at_once: int) -> tuple[list[float], int]:
    window, took, errors = asyncio.Semaphore(at_once), list[float](), 0

    async def call() -> None:
        nonlocal errors
        async with window:
            began = time.perf_counter()
            try:
                await ask()
            except Exception:
                errors += 1
            took.append(time.perf_counter() - began)

    await asyncio.gather(*(call() for _ in range(calls)))
    return took, errors


async def _hedges(report: Report) -> None:
    plain, _ = await _with_tail(0.0)
    took, ratio = await _with_tail(0.03)
    report.baseline("no slow answers: p99", f"{percentile(plain, 0.99) * 1e3:.1f} ms")
    report.at_most("3 % of 400 ms at each of three: p99", percentile(took, 0.99) * 1e3, 30, "ms")
    report.at_most("3 % of 400 ms at each of three: requests", ratio, MOST_CALLS, "x", digits=3)


async def _with_tail(share: float) -> tuple[list[float], float]:
    """Returns the times of 6,000 calls to nodes of which this share takes 0.4 s, and the requests a call."""
    node = harness("fake_node", "rpc")
    chance = random.Random(1)  # noqa: S311 - not for secrets

    async def tail(fake: Any, request: Any, writer: Any) -> None:
        if chance.random() < share:
            await asyncio.sleep(0.4)
        await node.healthy(fake, request, writer)

    async with node.FakeNode(tail) as one, node.FakeNode(tail) as two, node.FakeNode(tail) as three:
        ask, session = _upstreams([one, two, three])
        async with session:
            took, _ = await _times(ask, 6000, 2)
        sent = sum(len(each.calls) for each in (one, two, three))
        await asyncio.sleep(0.5)  # slow answers end
    return took, sent / 6000


async def _three_at_30_percent(report: Report) -> None:
    node, faults = harness("fake_node", "rpc"), harness("faults", "rpc")
    kinds = (node.raw("{}", "429 Too Many Requests"), faults.reset, node.raw("<html>sorry</html>"))
    chance = random.Random(1)  # noqa: S311 - not for secrets

    def sometimes(fault: Any) -> Any:
        async def behave(fake: Any, request: Any, writer: Any) -> None:
            await (fault if chance.random() < 0.3 else node.healthy)(fake, request, writer)

        return behave

    one, two, three = (node.FakeNode(sometimes(kind)) for kind in kinds)
    async with one, two, three:
        ask, session = _upstreams([one, two, three])
        async with session:
            took, errors = await _times(ask, 1000, 16)
    report.at_most("three nodes that fail 30 % each: errors in 1,000", errors, 0, "calls", digits=0)
    report.baseline("three nodes that fail 30 % each: p99", f"{percentile(took, 0.99) * 1e3:.1f} ms")


async def _two_networks(report: Report) -> None:
    node, over = harness("fake_node", "rpc"), asyncio.Event()

    async def hang(fake: Any, request: Any, writer: Any) -> None:
        await over.wait()

    async def five_ms(fake: Any, request: Any, writer: Any) -> None:
        await asyncio.sleep(0.005)
        node.ok(writer, request, "0x2a")

    async with node.FakeNode(hang) as silent, node.FakeNode(five_ms, chain_id=2) as quick:
        ask, session = _upstreams([silent], [quick])
        async with session:
            alone, _ = await _times(lambda: ask(2), 200, 1)
            hanging = [asyncio.create_task(ask(1, 60.0)) for _ in range(400)]
            await asyncio.sleep(0.2)
            beside, _ = await _times(lambda: ask(2), 200, 1)
            for each in hanging:
                each.cancel()
            await asyncio.wait(hanging)
            late_ms = await _lateness_ms(ask)
        over.set()
        await asyncio.sleep(0.1)  # the node's connections end
    report.baseline("another network alone: p50", f"{statistics.median(alone) * 1e3:.1f} ms")
    report.at_most("beside 400 hanging calls: p50", statistics.median(beside) * 1e3, 20, "ms")
    report.at_most("hanging node: answer after the deadline", late_ms, 50, "ms")


async def _lateness_ms(ask: Any) -> float:
    """Returns the longest time that calls to a hanging node took beyond their deadline of 0.3 s."""
    longest_s = 0.0
    for _ in range(20):
        began = time.perf_counter()
        try:
            await ask(1, 0.3)
        except Exception:
            longest_s = max(longest_s, time.perf_counter() - began - 0.3)
    return longest_s * 1e3
