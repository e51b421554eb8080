"""The places of an upstream: bounded, shared with the core, and handed on."""

import asyncio
import itertools
import time

import pytest
from fake_node import FakeNode, error, healthy
from faults import hang
from gates import Gate, own
from quoteway import Reason, UpstreamError
from quoteway_rpc.hedging import HedgeBudget, HedgeDelays


async def test_an_upstream_has_a_bounded_number_of_requests(over):
    gate = Gate()
    async with FakeNode(gate) as node:
        rpc = over([node], most_requests=8)
        calls = [asyncio.create_task(rpc.ask(*own(number), timeout_s=60)) for number in range(30)]
        await gate.holds(8)
        gate.opened.set()
        assert await asyncio.gather(*calls) == ["0x2a"] * 30
        assert gate.most == 8


async def test_a_call_goes_to_an_upstream_with_room_instead_of_waiting(over):
    first, second = Gate(), Gate()
    async with FakeNode(first) as one, FakeNode(second) as two:
        rpc = over([one, two], most_requests=4, hedge_share=0, attempt_timeout_s=60)
        calls = [asyncio.create_task(rpc.ask(*own(number), timeout_s=60)) for number in range(6)]
        await first.holds(4)
        await second.holds(2)
        first.opened.set()
        second.opened.set()
        assert await asyncio.gather(*calls) == ["0x2a"] * 6


async def test_the_core_has_places_that_clients_cannot_take(over):
    gate = Gate()
    async with FakeNode(gate) as node:
        rpc = over([node], most_requests=8)
        clients = [
            asyncio.create_task(rpc.ask(*own(number), public=True, timeout_s=60)) for number in range(30)
        ]
        await gate.holds(6)
        core = [asyncio.create_task(rpc.ask("eth_chainId", [number], timeout_s=60)) for number in range(3)]
        # The fake node answers this method at once.
        assert await asyncio.gather(*core) == ["0x1"] * 3
        assert gate.waiting == 6
        gate.opened.set()
        await asyncio.gather(*clients)


async def test_reads_of_the_core_that_wait_go_before_calls_of_clients(over):
    gate, order = Gate(), []
    async with FakeNode(gate) as node:
        rpc = over([node], most_requests=1)

        numbers = itertools.count()

        async def call(name, public):
            await rpc.ask(*own(next(numbers)), public=public, timeout_s=60)
            order.append(name)

        calls = [asyncio.create_task(call("first", False))]
        await gate.holds(1)
        calls += [asyncio.create_task(call(f"client {number}", True)) for number in range(3)]
        await asyncio.sleep(0)
        calls += [asyncio.create_task(call(f"core {number}", False)) for number in range(2)]
        await asyncio.sleep(0)
        gate.opened.set()
        await asyncio.gather(*calls)
        assert order == ["first", "core 0", "core 1", "client 0", "client 1", "client 2"]


async def test_a_call_that_waits_for_a_place_ends_at_its_deadline_and_leaves_none_taken(over):
    gate = Gate()
    async with FakeNode(gate) as node:
        rpc = over([node], most_requests=1)
        first = asyncio.create_task(rpc.ask(*own(1), timeout_s=60))
        await gate.holds(1)
        with pytest.raises(UpstreamError) as failure:
            await rpc.ask(*own(2), timeout_s=0.1)
        assert failure.value.reason is Reason.PROVIDER_TIMEOUT
        second = asyncio.create_task(rpc.ask(*own(3), timeout_s=60))
        third = asyncio.create_task(rpc.ask(*own(4), timeout_s=60))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second])
        gate.opened.set()
        assert await asyncio.gather(first, third) == ["0x2a", "0x2a"]


async def test_callers_that_leave_give_their_places_back(over):
    gate = Gate()
    async with FakeNode(gate) as node:
        rpc = over([node], most_requests=4)
        calls = [asyncio.create_task(rpc.ask(*own(number), timeout_s=60)) for number in range(20)]
        await gate.holds(4)
        late = asyncio.create_task(rpc.ask(*own(20), timeout_s=60))
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        gate.opened.set()
        assert await late == "0x2a"
        unstarted = asyncio.create_task(rpc.ask(*own(21), timeout_s=60))
        await asyncio.sleep(0)
        unstarted.cancel()
        assert await asyncio.gather(*(rpc.ask(*own(number)) for number in range(8))) == ["0x2a"] * 8


async def test_hanging_calls_of_one_network_leave_another_free(over):
    async with FakeNode(hang) as one, FakeNode(chain_id=2) as two:
        rpc = over([one], [two])
        hanging = [
            asyncio.create_task(rpc.ask(*own(number), public=True, timeout_s=60)) for number in range(400)
        ]
        await asyncio.sleep(0.1)
        took = []
        for _ in range(50):
            began = time.monotonic()
            assert await rpc.ask(chain=2, public=True) == "0x2a"
            took.append(time.monotonic() - began)
        print(f"p50 {sorted(took)[25] * 1e3:.1f} ms beside 400 hanging calls")
        assert not any(call.done() for call in hanging)
        for call in hanging:
            call.cancel()
        await asyncio.wait(hanging)


# --- what is learned of an upstream -------------------------------------------------------------------------


async def test_an_upstream_that_lacks_what_a_method_asks_is_asked_later_for_that_method(over):
    async def pruned(node, request, writer):
        lacks = request["method"] == "eth_getBalance"
        await (error(-32000, "missing trie node") if lacks else healthy)(node, request, writer)

    async with FakeNode(pruned) as one, FakeNode() as two:
        rpc = over([one, two])
        for _ in range(20):
            assert await rpc.ask("eth_getBalance") == "0x2a"
        assert len(one.calls) <= 4
        before = len(one.calls)
        assert await rpc.ask("eth_gasPrice") == "0x2a"
        assert len(one.calls) == before + 1, "it has what other methods ask"


class Known:
    def __init__(self, *values):
        self.values = sorted(values)

    def quantile(self, method, q):
        return self.values[int(q * len(self.values))] if self.values else None


@pytest.mark.parametrize(
    ("latencies", "delay_s"),
    [
        ((), 0.15),
        ([0.001] * 100, 0.02),
        ([0.1 + number / 1000 for number in range(100)], 0.195),
        ([0.1] * 94 + [2.0] * 6, 0.15),
        ([0.1] * 80 + [2.0] * 20, 2.0),
    ],
    ids=["unknown", "fast", "even", "6 percent slow", "20 percent slow"],
)
def test_the_delay_of_a_hedge(latencies, delay_s):
    delays = HedgeDelays(Known(*latencies), floor_s=0.02, unknown_s=0.15)
    assert delays.of("eth_call", now=0.0) == pytest.approx(delay_s)


def test_hedges_never_exceed_their_share_by_more_than_the_burst():
    budget, spent = HedgeBudget(share=0.05, burst=10.0), 0
    for _ in range(10_000):
        budget.earn()
        spent += budget.spend()
    assert 500 <= spent <= 510
    assert not HedgeBudget(share=0.0, burst=10.0).spend()
