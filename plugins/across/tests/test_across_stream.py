"""Real transfers followed with ``GET /v2/stream``: one that arrives, and one that is refunded."""

import asyncio
import contextlib
import json
import time

import aiohttp
import pytest
from aiohttp import web
from quoteway.config.model import LimitsConfig, StreamConfig
from quoteway.server.serve import make_runner
from quoteway.web.app import make_app
from quoteway_devnet.relayer import Relayer
from transfers import SENDER

DEADLINE_S = 240


@contextlib.asynccontextmanager
async def served_at(harness):
    runner = make_runner(make_app(harness.gateway, run_gateway=False), harness.gateway.config)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with aiohttp.ClientSession() as session:
        yield session, f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def events_of(session, url, **topics):
    """Yields the names and data of the events of a stream."""
    async with session.get(f"{url}/v2/stream", params=topics) as response:
        assert response.status == 200, await response.text()
        name = None
        async for line in response.content:
            member, _, value = line.decode().rstrip("\n").partition(": ")
            if member == "event":
                name = value
            elif member == "data":
                yield name, json.loads(value)


async def followed(harness, request, before=None):
    """Sends a transfer and returns the states that a stream tells of it, with its end."""
    async with served_at(harness) as (session, url), asyncio.timeout(DEADLINE_S):
        quoted = await harness.quote(request)
        action = await harness.action(quoted)
        sent = await harness.send(action)
        seen = []
        async for name, data in events_of(session, url, transfers=f"{action.steps[-1].tx_id}:{sent}"):
            if name == "end":
                return seen, data
            assert name == "transfer", data
            assert data["hash"] == sent
            seen.append(data)
            if before is not None:
                await before(data["status"])
    raise AssertionError("the stream has ended without an end")


FAST = {"stream": StreamConfig(transaction_interval_s=0.1), "limits": LimitsConfig(enabled=False)}


@pytest.mark.slow
async def test_a_stream_follows_a_real_transfer_to_its_arrival(fresh_devnet, relayer, make_harness):
    harness = await make_harness(fresh_devnet, relayer.port, **FAST)
    relayer.behave(delay_s=1.5)
    seen, end = await followed(harness, harness.request())
    statuses = [each["status"] for each in seen]
    assert statuses == sorted(
        statuses, key=["origin_pending", "origin_confirmed", "fill_pending", "filled"].index
    )
    assert end == {"reason": "complete", "reconnect": False}
    receipt = await harness.rpc("devnet-l2", "eth_getTransactionReceipt", seen[-1]["fillHash"])
    assert receipt["status"] == "0x1"


@pytest.mark.slow
async def test_a_stream_follows_a_real_transfer_to_its_refund(own_devnet, make_harness):
    with Relayer.running(own_devnet) as relayer:
        harness = await make_harness(own_devnet, relayer.port, clock=time.time, **FAST)
        relayer.behave(filling=False)
        moved = []

        async def move(status):
            if status == "fill_pending" and not moved:
                moved.append(status)
                for slug in ("devnet", "devnet-l2"):
                    await harness.rpc(slug, "evm_increaseTime", hex(7_300))
                    await harness.rpc(slug, "evm_mine")

        seen, end = await followed(harness, harness.request(), move)
        last = seen[-1]
        assert (last["status"], end["reason"]) == ("refunded", "complete")
        assert (last["refund"]["address"], last["refund"]["amount"]) == (SENDER, str(10**9))
        receipt = await harness.rpc("devnet", "eth_getTransactionReceipt", last["refundHash"])
        assert receipt["status"] == "0x1"
