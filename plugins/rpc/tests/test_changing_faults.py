"""Nodes whose faults change at once, so that the good one is one that was given up until just now."""

import asyncio
import itertools
import time

import pytest
from fake_node import FakeNode, healthy
from faults import hang
from gates import after, own

SLOW_S = 4.0
WITHIN_S = 5.0
"""Half of the pause that the good node has."""


@pytest.mark.parametrize("probe", ["failed", "under way"])
async def test_a_node_that_was_given_up_is_probed_at_once_when_the_others_get_slow(over, probe):
    async with FakeNode(hang) as one, FakeNode() as two, FakeNode() as three:
        rpc = over([one, two, three], cooldown_s=10.0, attempt_timeout_s=1.5 * SLOW_S)
        (health,) = rpc._healths.values()
        numbers, took = itertools.count(), []
        # A slow answer comes before the time of an attempt is over: no other node is asked in its stead.
        await asyncio.gather(*(rpc.ask(*own(next(numbers))) for _ in range(20)))
        for _ in range(5):
            health.probe_failed(health.upstreams[0], "timeout")
        assert health.next_probe_s() > 2 * WITHIN_S - 1
        if probe == "under way":
            one.silent, before = True, len(one.seen)
            await asyncio.sleep(1.5 * SLOW_S / 5)
            health.hurry_probes()
            while len(one.seen) == before:
                await asyncio.sleep(0.01)
            one.silent = False
        one.behaviour, two.behaviour, three.behaviour = healthy, after(SLOW_S), hang
        changed_at = time.monotonic()

        async def client():
            while (began := time.monotonic()) < changed_at + WITHIN_S + 2:
                await rpc.ask(*own(next(numbers)))
                took.append(time.monotonic() - began)
                await asyncio.sleep(0.1)

        await asyncio.gather(*(client() for _ in range(4)))
        # The good node is probed a second after its last probe. What is under way is sent to it at once then.
        assert max(took) < SLOW_S / 2
