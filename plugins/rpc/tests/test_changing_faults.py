"""Nodes whose faults change at once, so that the good one is one that was given up until just now."""

import asyncio
import itertools
import time

from fake_node import FakeNode, healthy
from faults import hang
from gates import after, own

SLOW_S = 2.0
WITHIN_S = 5.0
"""Half of the pause that the good node has: its next probe, a second after the last one, and much time."""


async def test_a_node_that_was_given_up_is_probed_at_once_when_the_others_get_slow(over):
    async with FakeNode(hang) as one, FakeNode() as two, FakeNode() as three:
        rpc = over([one, two, three], cooldown_s=10.0)
        (health,) = rpc._healths.values()
        numbers, took = itertools.count(), []
        # A slow answer comes before the time of an attempt is over: no other node is asked in its stead.
        await asyncio.gather(*(rpc.ask(*own(next(numbers))) for _ in range(20)))
        for _ in range(5):
            health.probe_failed(health.upstreams[0], "timeout")
        assert health.next_probe_s() > 2 * WITHIN_S - 1
        one.behaviour, two.behaviour, three.behaviour = healthy, after(SLOW_S), hang
        changed_at = time.monotonic()

        async def client():
            while (began := time.monotonic()) < changed_at + WITHIN_S + 2:
                await rpc.ask(*own(next(numbers)))
                took.append((began - changed_at, time.monotonic() - began))
                await asyncio.sleep(0.1)

        await asyncio.gather(*(client() for _ in range(4)))
        late = [each_s for began_s, each_s in took if began_s > WITHIN_S]
        assert late
        assert max(late) < SLOW_S / 2
        slow = [each for each in took if each[1] >= SLOW_S / 2]
        assert len(slow) <= 8, "those under way at the change, and one for each client until the probe"
