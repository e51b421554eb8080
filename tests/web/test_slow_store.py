"""A store of limits that is slow or hangs: one request waits for it for a bounded time, and it is told."""

import asyncio
import time
from dataclasses import replace

import pytest
from quoteway.config.model import LimitsConfig
from quoteway.shared_store import STORE_TIMEOUT_S
from shared_server import SlowProxy, server_at

pytestmark = pytest.mark.services


async def resting(api):
    text = (await api.get("/metrics")).raw.decode()
    return 'quoteway_store_resting{store="limits"} 1.0' in text


@pytest.mark.parametrize("delay_s", [2.0, None])
async def test_a_slow_store_of_limits_is_told_and_waited_for_once(
    serve_app, make_config, tmp_path, unused_tcp_port, delay_s
):
    process = await server_at(unused_tcp_port, tmp_path)
    async with SlowProxy(unused_tcp_port) as proxy:
        config = replace(make_config(), limits=LimitsConfig(catalog="1000/hour", store=proxy.url))
        api = await serve_app(config=config)
        assert (await api.get("/v2/providers")).status == 200
        assert not await resting(api)
        proxy.delay_s = delay_s
        began = time.monotonic()
        assert (await api.get("/v2/providers")).status == 200
        assert time.monotonic() - began < STORE_TIMEOUT_S + 5.0
        began = time.monotonic()
        for _ in range(20):
            assert (await api.get("/v2/providers")).status == 200
        assert time.monotonic() - began < 10 * STORE_TIMEOUT_S, "each that waited would take as long"
        assert await resting(api)
        ready = await api.get("/readyz")
        assert (ready.status, ready.body["storesNotAnswering"]) == (200, ["limits"])
        proxy.delay_s = 0.0
        async with asyncio.timeout(60):
            while "storesNotAnswering" in (await api.get("/readyz")).body:
                await asyncio.sleep(0.05)
        assert (await api.get("/v2/providers")).status == 200
        assert not await resting(api)
    process.kill()
    await process.wait()
