"""A slow server that replicas share: it costs one request a bounded time, and the next nothing."""

import asyncio
import time

import pytest
from quoteway.errors import UpstreamError
from quoteway.evm.arrivals import request_arrival
from quoteway.host.plugin_rows import ValkeyRows
from quoteway.host.shared_answers import SharedAnswersOf
from quoteway.host.shared_server import SharedServer
from quoteway.shared_store import store_client
from quoteway.web.rpc.cursors import ValkeyCursors
from shared_server import SlowProxy, server_at

SECRET = b"a key that all replicas have"


@pytest.fixture
async def slow(tmp_path, unused_tcp_port, monkeypatch):
    """A proxy before a server, for the shared answers of two replicas, with a time limit of 0.5 s."""
    monkeypatch.setattr("quoteway.store_rest.FIRST_REST_S", 0.2)
    process = await server_at(unused_tcp_port, tmp_path)
    async with SlowProxy(unused_tcp_port) as proxy:
        server = SharedServer(store_client(proxy.url), "mine", [SECRET], timeout_s=0.5, wait_s=0.5)
        proxy.answers = SharedAnswersOf(server, "rpc")
        proxy.server = server
        yield proxy
        await proxy.answers.close()
        await server.close()
    process.kill()
    await process.wait()


async def request_of(answers, reads):
    """A request that reads one thing after another; returns how long it took."""
    began = time.monotonic()
    with request_arrival():
        for number in range(reads):
            await answers.get(b"read %d of %f" % (number, began))
    return time.monotonic() - began


@pytest.mark.services
@pytest.mark.parametrize("delay_s", [2.0, None])
async def test_a_slow_server_costs_one_request_a_bounded_time_and_the_next_nothing(slow, delay_s):
    await slow.answers.get(b"connected")
    slow.delay_s = delay_s
    assert await request_of(slow.answers, 50) < 0.5 + 0.5 + 4.0
    assert slow.server.rests
    began = time.monotonic()
    took = [await request_of(slow.answers, 50) for _ in range(50)]
    while time.monotonic() - began < 1.5:  # longer than the first pauses: looks do not end the rest
        took.append(await request_of(slow.answers, 50))
        await asyncio.sleep(0.01)
    assert slow.server.rests
    assert sorted(took)[int(0.99 * len(took))] < 0.25
    slow.delay_s = 0.0
    async with asyncio.timeout(60):
        while slow.server.rests:
            await asyncio.sleep(0.05)
    slow.answers.put(b"key", b"value", 60)
    async with asyncio.timeout(60):
        while await slow.answers.get(b"key") != b"value":
            await asyncio.sleep(0.05)


@pytest.mark.services
async def test_answers_that_are_each_in_time_do_not_add_up(slow):
    """A request that reads one thing after another waits no longer for the server than one command may."""
    await slow.answers.get(b"connected")
    slow.delay_s = 0.2
    assert await request_of(slow.answers, 50) < 0.5 + 0.5 + 4.0
    assert slow.server.rests
    await asyncio.sleep(1.0)
    assert slow.server.rests, "as slow as before"


@pytest.mark.services
async def test_a_late_answer_is_never_taken_for_that_of_another_command(slow):
    await slow.answers.get(b"connected")
    for number in range(5):
        slow.answers.put(b"key %d" % number, b"value %d" % number, 60)
    slow.delay_s = 0.7
    await asyncio.gather(*(slow.answers.get(b"key %d" % number) for number in range(5)))
    slow.delay_s = 0.0
    async with asyncio.timeout(60):
        while slow.server.rests:
            await asyncio.sleep(0.05)
    for number in range(5):
        assert await slow.answers.get(b"key %d" % number) in (b"value %d" % number, None)


@pytest.mark.services
async def test_stores_that_hang_fail_in_time(slow):
    slow.delay_s = None
    rows = ValkeyRows(slow.url)
    async with asyncio.timeout(30):
        with pytest.raises(UpstreamError):
            await rows.get("mine", "key")
        with pytest.raises(TimeoutError):
            await ValkeyCursors(slow.url, "mine").load("key")
    assert rows.failures == 1
    await rows.close()
