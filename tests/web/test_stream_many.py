"""1,000 idle streams of two workers: memory of each, other requests meanwhile, news, and the end."""

import asyncio
import contextlib
import re
import resource
import signal
import time
import urllib.request

import pytest
from test_serving import Served, worker_pids

STREAMS = 1_000
AT_ONCE = 40
WAIT_S = 300
MOST_KIB = 64
"""Of resident memory for one stream, with its connection."""
CONFIG = """
plugins.load = ["rpc"]
quotes.keys = [{{id = "a", secret = {{env = "KEY"}}}}]
networks.devnet = {{chain_id = 31337, name = "Devnet", rpc = "{url}", head_poll_s = 0.2}}
limits.enabled = false
stream = {{streams = 2000, streams_per_caller = 2000, heartbeat_s = 600}}
"""


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1])


def health_s(url):
    began = time.perf_counter()
    with urllib.request.urlopen(f"{url}/healthz", timeout=60) as answer:
        assert answer.status == 200
    return time.perf_counter() - began


@contextlib.asynccontextmanager
async def opened(url):
    """All streams, each of which has had its first event."""
    host, _, port = url.removeprefix("http://").partition(":")
    request = f"GET /v2/stream?heads=devnet HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
    streams, turn = [], asyncio.Semaphore(AT_ONCE)

    async def open_one():
        async with turn:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(request)
            await reader.readuntil(b"event: head\n")
            await reader.readuntil(b"\n\n")
            streams.append((reader, writer))

    try:
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(*(open_one() for _ in range(STREAMS)))
        yield [reader for reader, _ in streams]
    finally:
        for _, writer in streams:
            writer.transport.abort()


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_a_thousand_idle_streams_of_two_workers_cost_little_and_end_at_once(tmp_path, fresh_devnet):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4 * STREAMS:
        pytest.skip(f"needs {4 * STREAMS} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    (tmp_path / "quoteway.toml").write_text(CONFIG.format(url=fresh_devnet.urls["devnet"]))
    served = Served(tmp_path, "--workers", "2")
    try:
        url = await asyncio.to_thread(served.url, workers=2)
        await asyncio.to_thread(served.lines, "Quoteway is serving")
        workers = worker_pids(served.process.pid)
        assert len(workers) == 2
        for _ in range(20):
            await asyncio.to_thread(health_s, url)
        before = sum(map(resident_kib, workers))
        async with opened(url) as readers:
            grown = sum(map(resident_kib, workers)) - before
            assert grown / STREAMS < MOST_KIB
            took = sorted([await asyncio.to_thread(health_s, url) for _ in range(100)])
            assert took[50] < 1.0
            with fresh_devnet.rpc() as rpc:
                rpc("evm_mine")
            async with asyncio.timeout(WAIT_S):
                await asyncio.gather(*(reader.readuntil(b"event: head\n") for reader in readers))
                await asyncio.gather(*(reader.readuntil(b"\n\n") for reader in readers))
            served.process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(WAIT_S):
                ends = await asyncio.gather(*(reader.read() for reader in readers))
            assert all(b'"draining","reconnect":true' in each for each in ends)
            print(f"{grown / STREAMS:.1f} KiB a stream, /healthz p50 {1e3 * took[50]:.1f} ms")
        assert await asyncio.to_thread(served.process.wait, WAIT_S) == 0
    finally:
        served.process.kill()
        served.process.wait()
