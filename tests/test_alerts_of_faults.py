"""Each alert of deploy/prometheus/alerts.yml fires and clears in a Prometheus that scrapes a gateway of two
workers, in which the fault happens: nodes, providers, plugins, the store and processes fail.
"""

import asyncio
import contextlib
import os
import re
import signal

import pytest
from alert_room import MOST_FILES, NOBODY, Frozen, Room, rules
from quoteway.testing.node_faults import NODE_FAULTS

pytestmark = [pytest.mark.services, pytest.mark.slow]

LOAD = {"QuotewayDown", "QuotewayLoopBlocked", "QuotewayProviderSlow"}
"""What a busy machine can cause too."""
BLAMED = {"QuotewayErrors", "QuotewayProviderFails", "QuotewayCapabilityDegraded", "QuotewayCapabilityDead"}
"""What must not fire for what callers did."""
FAULTY = {
    "QuotewayWorkersMissing": [{}],
    "QuotewayWorkersRestart": [{"worker": "1"}],
    "QuotewayNetworkDead": [{"network": "three"}],
    "QuotewayCapabilityDead": [{"network": "four", "capability": "swap"}],
    "QuotewayHeadStandsStill": [
        {"network": "four", "reason": "head_stale"},
        {"network": "one", "reason": "head_lags"},
    ],
    "QuotewayCapabilityDegraded": [
        {"network": "one", "capability": "swap", "reason": "breaker_open"},
        {"network": "two", "capability": "swap", "reason": "breaker_open"},
    ],
    "QuotewayErrors": [{}],
    "QuotewayProviderFails": [{"provider": "lone"}],
    "QuotewayProviderSlow": [{"provider": "slow"}],
    "QuotewayPluginNotEnabled": [{"plugin": "apart"}],
    "QuotewayNodeOut": [{"network": "one", "upstream": "bad"}],
    "QuotewayStoreFails": [{"store": "limits"}, {"store": "plugins"}, {"store": "shared"}],
    "QuotewayLoopBlocked": [{}],
    "QuotewayFilesUsedUp": [{"worker": "0"}],
    "QuotewayMemoryHigh": [{}],
}
"""The alerts of faults that do not hinder each other, by the labels that they must have."""
ALL = re.findall(r"- alert: (\w+)", rules())


class Alerts:
    """What Prometheus says of the alerts."""

    def __init__(self, room):
        self.room = room

    async def active(self, state="firing|pending"):
        return [labels for labels, _ in await self.room.ask(f'ALERTS{{alertstate=~"{state}"}}')]

    async def fire(self, expected):
        """Waits until each of these alerts has fired, at whatever time."""
        missing = [(name, each) for name, rows in expected.items() for each in rows]

        async def look():
            firing = await self.active("firing")
            missing[:] = [each for each in missing if not any(_is(labels, *each) for labels in firing)]
            return missing

        await self.room.until(look, [])

    async def clear(self):
        """Waits until no alert is active that the load of the machine cannot cause, and each of the others
        has been inactive.
        """
        left = set(LOAD)

        async def look():
            active = {labels["alertname"] for labels in await self.active()}
            left.intersection_update(active)
            return sorted((active - LOAD) | left)

        await self.room.until(look, [])


def _is(labels, name, wanted):
    return labels["alertname"] == name and wanted.items() <= labels.items()


@contextlib.asynccontextmanager
async def again_and_again(*calls):
    """Awaits each of the calls again and again during the block."""
    stop = asyncio.Event()

    async def repeat(call):
        while not stop.is_set():
            await call()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 0.1)

    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(repeat(call))
        try:
            yield
        finally:
            stop.set()


async def test_each_alert_fires_by_its_fault_and_clears_after_it(tmp_path, fresh_devnet):
    async with contextlib.AsyncExitStack() as stack:
        room = Room(tmp_path, fresh_devnet, stack)
        await room.open()
        alerts = Alerts(room)
        swaps = again_and_again(lambda: room.quote("one"), lambda: room.quote("two"))
        await stack.enter_async_context(swaps)

        await callers_are_to_blame(room)
        await parts_fail(room, alerts)
        await all_nodes_are_silent(room, alerts)
        await the_gateway_hangs(room, alerts)
        await alerts.clear()

        was_pending = {
            labels["alertname"]
            for labels, _ in await room.ask('count_over_time(ALERTS{alertstate="pending"}[10m])')
        }
        assert was_pending == set(ALL)


async def callers_are_to_blame(room):
    """Most answers are errors, and none is a fault of the service."""

    async def wrong():
        for status in (
            await room.post("/v2/swaps/quote", {}),
            await room.post("/v2/swaps/none/action", {}),
            await room.quote("one", sold="CRV", bought="LDO"),
        ):
            assert status in (404, 422, 502)

    of_callers = 'sum(rate(quoteway_http_errors_total{fault="caller"}[5s]))'
    share = f"min_over_time(({of_callers} / sum(rate(quoteway_http_requests_total[5s])))[3s:500ms])"
    async with again_and_again(wrong):
        await room.until(lambda: room.value(share), lambda found: found is not None and found > 0.4)
    seen = {labels["alertname"] for labels, _ in await room.ask("count_over_time(ALERTS[10m])")}
    assert not seen & BLAMED


async def parts_fail(room, alerts):
    """A node fails, one lags, one is gone and one stands still; providers fail, hang, block and grow; a
    plugin cannot start; the store is gone; files are used up; a worker ends again and again.
    """
    room.nodes["bad"].behaviour = NODE_FAULTS["reset"]
    room.stop_chain("three")
    room.moves = False
    await room.stop_store()
    room.on("breaks", "lone", "slow", "blocks", "grows", "keeps", "apart")
    room.kill_isolated()
    connections = Connections(room.port)
    async with again_and_again(kill_worker(room), connections):
        # A node that is behind is asked last: first the one that fails must have been asked.
        await alerts.fire({"QuotewayNodeOut": FAULTY["QuotewayNodeOut"]})
        room.nodes["old"].behaviour = Frozen(await asyncio.to_thread(room.mine, "one"))
        await asyncio.to_thread(room.mine, "one", 40)
        await alerts.fire(FAULTY)
        # By now its breaker is open, and nearly all requests are refused without a call.
        await alerts.fire({"QuotewayProviderFails": FAULTY["QuotewayProviderFails"]})
    connections.close()
    room.off("breaks", "lone", "slow", "blocks", "grows", "keeps", "apart")
    room.moves = True
    await room.start_store()
    room.start_chain("three")
    room.nodes["bad"].behaviour = room.nodes["old"].behaviour = None
    # The worker that was started while the plugin could not be has it after a reload.
    await room.reload()


def kill_worker(room):
    """Kills the worker with the index 1 as soon as Prometheus has seen that it runs anew, three times."""
    killed = set()

    async def kill():
        started = await room.value('quoteway_process_start_time_seconds{worker="1"}')
        if started is not None and started not in killed and len(killed) < 3:
            killed.add(started)
            os.kill(room.workers()[1], signal.SIGKILL)

    return kill


class Connections:
    """Opens more and more connections, each of which a request has kept open."""

    def __init__(self, port):
        self.port, self.held = port, []

    async def __call__(self):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            for _ in range(20):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                self.held.append(writer)
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                await reader.readuntil(b"\r\n")
        while len(self.held) > 2 * MOST_FILES:
            self.held.pop(0).close()

    def close(self):
        while self.held:
            self.held.pop().close()


async def all_nodes_are_silent(room, alerts):
    before = {node: node.upstream for node in room.nodes.values()}
    for node in before:
        node.upstream = NOBODY
    networks = [{"network": name} for name in ("one", "two", "three", "four")]
    await alerts.fire({"QuotewayNotReady": [{}], "QuotewayNetworkDead": networks})
    for node, upstream in before.items():
        node.upstream = upstream


async def the_gateway_hangs(room, alerts):
    room.signal_all(signal.SIGSTOP)
    try:
        await alerts.fire({"QuotewayDown": [{"job": "quoteway"}]})
    finally:
        room.signal_all(signal.SIGCONT)
