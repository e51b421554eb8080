"""Lists and series of our own plugins over far-away nodes: the first answer, later ones, and new blocks."""

import asyncio
import contextlib
import statistics
import time
from dataclasses import replace

import aiohttp
import pytest
from quoteway.networks import Endpoint
from quoteway.testing.fakes import FakePlugin
from quoteway.testing.serving import served

quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
quoteway_uniswap = pytest.importorskip("quoteway_uniswap", reason="needs the quoteway-uniswap distribution")
quoteway_erc4626 = pytest.importorskip("quoteway_erc4626", reason="needs the quoteway-erc4626 distribution")
quoteway_tokenlist = pytest.importorskip("quoteway_tokenlist", reason="needs quoteway-tokenlist")
quoteway_across = pytest.importorskip("quoteway_across", reason="needs the quoteway-across distribution")
devnet_networks = pytest.importorskip("quoteway_devnet.networks").devnet_networks
Relayer = pytest.importorskip("quoteway_devnet.relayer").Relayer

LISTS = {
    "/v2/pools": "uniswap",
    "/v2/vaults": "erc4626",
    "/v2/tokens": "tokenlist",
    "/v2/bridges/routes": "across",
}
"""Each list, and the provider of what is in it."""


@pytest.fixture
async def far_away(fresh_devnet, slow_node):
    """``await far_away(delay_s)`` serves the plugins over nodes that answer after this delay; at once when
    ``/readyz`` is 200."""
    async with contextlib.AsyncExitStack() as stack:
        relayer = stack.enter_context(Relayer.running(fresh_devnet))

        async def serve(delay_s):
            networks = [
                replace(network, endpoints=(Endpoint(await slow_node(network.endpoints[0].url, delay_s)),))
                for network in devnet_networks(
                    fresh_devnet.ports, bridge_api=f"http://127.0.0.1:{relayer.port}/api"
                )
            ]
            plugins = {
                "chains": FakePlugin(networks=networks),
                "rpc": quoteway_rpc,
                "uniswap": quoteway_uniswap,
                "erc4626": quoteway_erc4626,
                "tokenlist": quoteway_tokenlist,
                "across": quoteway_across,
            }
            api = await stack.enter_async_context(served(plugins))
            while (await api.get("/readyz")).status != 200:
                await asyncio.sleep(0.01)
            return api

        yield serve


async def complete(api, path):
    """The list once no provider is missing."""
    async with asyncio.timeout(60):
        while (await api.get(path)).body.get("partial") != []:
            await asyncio.sleep(0.05)
        return (await api.get(path)).body


@pytest.mark.parametrize(
    "delay_s", [0.0, *(pytest.param(far, marks=pytest.mark.slow) for far in (0.05, 0.15))]
)
async def test_the_first_list_after_ready_is_answered(far_away, delay_s):
    api = await far_away(delay_s)

    async def first(path):
        started = time.perf_counter()
        answer = await api.get(path)
        return answer, time.perf_counter() - started

    answers = dict(zip(LISTS, await asyncio.gather(*map(first, LISTS)), strict=True))
    for path, (answer, took_s) in answers.items():
        print(f"delay {delay_s * 1000:3.0f} ms  first {path}: {answer.status}, {took_s * 1000:.0f} ms, "
              f"{answer.body.get('total')} rows, partial {answer.body.get('partial')}")  # fmt: skip
    for path, provider in LISTS.items():
        answer, took_s = answers[path]
        assert answer.status == 200, (path, answer.body)
        whole = await complete(api, path)
        assert whole["total"] > 0
        if answer.body["total"] < whole["total"]:
            assert provider in {row["provider"] for row in answer.body["partial"]}, path


async def ask_while_blocks_come(api, devnet, times, every_s, block_s):
    """The statuses and durations of ``times`` requests for pools while the chain has new blocks."""
    outcomes = []

    async def mine():
        async with aiohttp.ClientSession() as session:
            while True:
                await asyncio.sleep(block_s)
                body = {"jsonrpc": "2.0", "id": 1, "method": "evm_mine", "params": []}
                for url in devnet.urls.values():
                    async with session.post(url, json=body) as answer:
                        await answer.read()

    mining = asyncio.create_task(mine())
    try:
        for number in range(times):
            started = time.perf_counter()
            # Another query each time, which no kept page answers.
            answer = await api.get(f"/v2/pools?limit={number % 200 + 1}&minTvlUsd=0.{number}")
            outcomes.append((answer.status, time.perf_counter() - started))
            await asyncio.sleep(every_s)
    finally:
        mining.cancel()
        await asyncio.wait([mining])
    took_ms = [1000 * took_s for _, took_s in outcomes]
    print(f"{times} requests: p50 {statistics.median(took_ms):.1f} ms, max {max(took_ms):.0f} ms")
    return [status for status, _ in outcomes]


@pytest.mark.slow
async def test_every_request_is_answered_while_blocks_come(far_away, fresh_devnet):
    api = await far_away(0.08)
    statuses = await ask_while_blocks_come(api, fresh_devnet, 50, every_s=0.02, block_s=0.3)
    assert statuses == [200] * 50


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_500_of_500_with_a_block_every_two_seconds(far_away, fresh_devnet):
    api = await far_away(0.08)
    statuses = await ask_while_blocks_come(api, fresh_devnet, 500, every_s=0.03, block_s=2.0)
    assert statuses == [200] * 500


def series_paths(devnet):
    """Each series of a pool of each version and of a vault."""
    manifest = devnet.chains["devnet"]
    pools = {pool.protocol: pool.id for pool in manifest.pools}
    paths = [f"/v2/pools/31337:{place}/{metric}" for place in pools.values()
             for metric in ("tvl", "volume", "fees", "apr")]  # fmt: skip
    (vault, *_) = manifest.vaults
    return [*paths, *(f"/v2/vaults/31337:{vault.address}/{metric}" for metric in ("tvl", "apy"))]


@pytest.mark.slow
@pytest.mark.parametrize("delay_s", [0.1])
async def test_no_series_of_a_far_away_node_is_an_error(far_away, fresh_devnet, delay_s):
    api = await far_away(delay_s)
    paths = [
        f"{path}?interval={interval}" for path in series_paths(fresh_devnet) for interval in ("1d", "1h")
    ]
    paths = [path for path in paths if "vaults" not in path or "1d" in path]
    unread, began, read_s = set(paths), time.perf_counter(), {}
    async with asyncio.timeout(120):
        while unread:
            answers = dict(zip(unread, await asyncio.gather(*map(api.get, unread)), strict=True))
            for path, answer in answers.items():
                assert answer.status == 200, (path, answer.body)
                if answer.body["reason"] is None:
                    # Flows and yields need a past state, which the node may not have any more.
                    assert answer.body["current"] is not None or "/tvl" not in path, path
                    read_s[path] = time.perf_counter() - began
            unread -= read_s.keys()
            await asyncio.sleep(0.05)
    slowest = max(read_s, key=read_s.__getitem__)
    took_s = [read_s[path] for path in paths]
    print(f"delay {delay_s * 1000:.0f} ms: {len(paths)} series asked for at once were read in "
          f"{statistics.median(took_s):.1f} s (median), {slowest} in {max(took_s):.1f} s")  # fmt: skip
    for path in paths:
        answer = await api.get(path)
        assert (answer.status, answer.body["reason"]) == (200, None), path
