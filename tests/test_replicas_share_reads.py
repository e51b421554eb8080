"""Replicas behind one Valkey ask the nodes as much as one does, and quotes of one are built by another."""

import secrets

import pytest

for plugin in ("devnet", "rpc", "router", "uniswap"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

import asyncio  # noqa: E402
import time  # noqa: E402
from contextlib import AsyncExitStack  # noqa: E402
from urllib.parse import urlsplit  # noqa: E402

import aiohttp  # noqa: E402
from shared_server import SlowProxy  # noqa: E402

from bench.replicas import (  # noqa: E402
    CountingNode,
    Load,
    look_alike,
    requests_of,
    served,
    valkey,
)

pytestmark = [pytest.mark.services, pytest.mark.slow]
BLOCKS = 8
MOST_RATIO = 1.8


@pytest.fixture(scope="module")
def chain():
    with look_alike() as chain:
        yield chain


async def test_four_replicas_ask_the_nodes_far_less_than_four_times_as_much_as_one(chain):
    """At 5 quotes a second, a block every 2 s and three nodes, which are compared.

    ``python -m bench replicas`` has the goal: where other work runs beside, replicas wait for each other in
    vain now and then. Without sharing it is 2.6 times with one node.
    """
    one = await requests_of(chain, 1, shared=True, blocks=BLOCKS, nodes=3)
    many = await requests_of(chain, 4, shared=True, blocks=BLOCKS, nodes=3)
    ratio = many.total() / one.total()
    print(f"4 replicas: {many.total()} requests, {one.total()} of one: {ratio:.2f}")
    assert ratio <= MOST_RATIO, (sorted(one.items()), sorted(many.items()))


async def test_a_quote_of_one_replica_is_built_by_another_and_both_outlive_the_server(chain):
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        node, key = CountingNode(chain.urls["ethereum"]), secrets.token_hex(32)
        node_url = await enter(node.running())
        server = AsyncExitStack()
        shared_url = await server.enter_async_context(valkey())
        stack.push_async_callback(server.aclose)
        urls = [await enter(served([node_url], shared_url, key=key)) for _ in range(2)]
        session = await enter(aiohttp.ClientSession())
        load = Load(node, urls, chain.chains["ethereum"].contracts["WETH9"], session)

        async def crossed():
            quote = await load.quote(urls[0])
            async with session.post(f"{urls[1]}/v2/swaps/{quote['quoteId']}/action", json={}) as answer:
                return answer.status, await answer.json()

        await load.blocks(2)
        status, action = await crossed()
        assert status == 201, action
        assert action["transactions"]
        await server.aclose()  # the server of [shared] is gone
        await load.blocks(2)
        assert (await crossed())[0] == 201


async def test_quotes_are_as_fast_as_before_while_the_server_is_slow(chain):
    """One quote waits for it, for as long as ``[shared]`` says, and the others do without it."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        node, key = CountingNode(chain.urls["ethereum"]), secrets.token_hex(32)
        node_url = await enter(node.running())
        proxy = await enter(SlowProxy(urlsplit(await enter(valkey())).port))
        waits = "timeout_s = 0.25\nwait_s = 0.5"
        url = await enter(served([node_url], proxy.url, key=key, waits=waits))
        session = await enter(aiohttp.ClientSession())
        load = Load(node, [url], chain.chains["ethereum"].contracts["WETH9"], session)
        await load.until_quick(url)
        await load.blocks(2)

        async def ready():
            async with session.get(f"{url}/readyz") as answer:
                return (await answer.json()).get("storesNotAnswering", [])

        async def timed(count):
            took = []
            for number in range(count):
                if number % 10 == 0:
                    await load._mine()
                began = time.monotonic()
                await load.quote(url)
                took.append(time.monotonic() - began)
            return sorted(took)

        before = await timed(40)
        proxy.delay_s = 2.0
        slow = await timed(100)
        print(
            f"before {before[19]:.3f} {before[-1]:.3f} s, slow {slow[49]:.3f} {slow[97]:.3f} {slow[-1]:.3f} s"
        )
        assert await ready() == ["shared"]
        # A busy machine delays some quotes as well, before and now.
        assert slow[49] < 2 * before[19] + 0.2
        assert slow[97] < before[-1] + 0.25 + 0.5 + 1.0
        proxy.delay_s = 0.0
        async with asyncio.timeout(60):
            while await ready():
                await asyncio.sleep(0.1)
                await load.quote(url)
