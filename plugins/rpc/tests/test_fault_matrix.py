"""Every fault of availability at two of three upstreams: no call fails, and no text of theirs is shown."""

import asyncio
import contextlib
import time

import pytest
from fake_node import HEALTHY, FakeNode
from quoteway import UpstreamError
from quoteway.testing.node_faults import SECRET, fault_names, faulty_node

FAULTS = [pytest.param(name, marks=pytest.mark.slow) if name == "50 MB" else name for name in fault_names()]
OWN = ("eth_chainId", "eth_getBlockByNumber")
"""What the gateway asks by itself: the chain id, and the heads."""
METHODS = ("eth_gasPrice", "eth_call", "eth_getBalance", "eth_getLogs", "eth_blockNumber")


@contextlib.asynccontextmanager
async def three(over, fault, **settings):
    async with FakeNode() as node, contextlib.AsyncExitStack() as stack:
        url = f"http://127.0.0.1:{node.port}/"
        nodes = [await stack.enter_async_context(faulty_node(url, each)) for each in (fault, fault, None)]
        yield over([each.address for each in nodes], **settings), nodes


@pytest.mark.parametrize("fault", FAULTS)
async def test_no_call_fails_with_one_healthy_upstream_of_three(over, fault):
    async with three(over, fault) as (rpc, _):
        for number in range(4):
            method = METHODS[number]
            assert await rpc.ask(method, public=True) == HEALTHY.get(method, "0x2a")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
async def test_many_calls_at_once_cost_few_more_requests(over, fault):
    calls, window, took = 200, asyncio.Semaphore(4), []
    async with three(over, fault) as (rpc, nodes):

        async def call(number):
            async with window:
                began = time.monotonic()
                method = METHODS[number % len(METHODS)]
                # Identical calls at once would be sent once.
                params = [] if method == "eth_getLogs" else [number]
                answer = await rpc.ask(method, params, public=True, timeout_s=30.0)
                assert answer == HEALTHY.get(method, "0x2a")
                took.append(time.monotonic() - began)

        await asyncio.gather(*map(call, range(calls)))
    sent = sum(count for node in nodes for method, count in node.calls.items() if method not in OWN)
    took.sort()
    print(f"{fault}: p50 {took[100] * 1e3:.1f} ms, p99 {took[198] * 1e3:.1f} ms, {sent / calls:.3f}x")
    assert took[100] < 1.0, "the faults are learned"
    # What an upstream lacks is learned for each method, while four calls are under way; where nothing is
    # learned, a call is up to three requests. A busy machine is slow, and slow calls are sent twice.
    assert sent <= calls + 0.2 * calls + 8 * len(METHODS)


async def test_the_texts_of_providers_are_not_shown(over, caplog):
    for fault in ("401", "402", "403", "-32016"):
        async with FakeNode() as node, faulty_node(f"http://127.0.0.1:{node.port}/", fault) as only:
            with pytest.raises(UpstreamError) as failure:
                await over([only.address]).ask(timeout_s=0.3)
            texts = (repr(failure.value), str(getattr(failure.value, "rpc_message", "")), caplog.text)
            assert not any(SECRET in text for text in texts)
