"""Where filters have got to, kept for all workers: memory, a file, a server, and what happens without it."""

import asyncio
import contextlib
import shutil

import pytest
from quoteway.web.rpc.answers import FilterNotFound
from quoteway.web.rpc.cursors import Cursors, FileCursors, MemoryCursors, ValkeyCursors
from quoteway.web.rpc.filter_ids import RESTART_S
from reorganised_chain import CHAIN, Client, changes, new_filter, worker


@pytest.fixture(params=["memory", "file"])
def shared(request, tmp_path):
    """``shared()``: what one worker has of the place that all share."""
    memory = MemoryCursors()
    path = tmp_path / "filters.sqlite3"
    return lambda: Cursors(memory if request.param == "memory" else FileCursors(path))


async def test_any_worker_goes_on_where_another_was(clock, chain, shared):
    workers, client = [worker(clock, shared()) for _ in range(3)], Client()
    filter_id = await new_filter(workers[0], chain)
    for turn in range(12):
        chain.mine(turn % 3)
        if turn % 4 == 3:
            chain.drop(2)
            chain.mine(1), chain.mine(1)
        client.take(await changes(workers[turn % 3], chain, filter_id))
    assert list(client.logs.values()) == chain.logs_after(5)
    assert await workers[1].answer(chain.ask, CHAIN, "eth_uninstallFilter", [filter_id]) is True
    with pytest.raises(FilterNotFound):
        await changes(workers[2], chain, filter_id)
    for each in workers:
        await each.close()


async def test_polls_at_once_give_nothing_twice(clock, chain, shared):
    workers, client = [worker(clock, shared()) for _ in range(2)], Client()
    filter_id = await new_filter(workers[0], chain)
    for _ in range(5):
        chain.mine(2)
        for found in await asyncio.gather(*(changes(each, chain, filter_id) for each in workers * 3)):
            client.take(found)
    assert list(client.logs.values()) == chain.logs_after(5)
    for each in workers:
        await each.close()


async def test_when_the_shared_place_is_lost_a_filter_begins_anew(clock, chain):
    filter_id = await new_filter(worker(clock), chain)
    chain.mine(1)
    clock.now += RESTART_S - 10
    assert await changes(worker(clock), chain, filter_id) == chain.logs_after(5)
    clock.now += 20
    with pytest.raises(FilterNotFound):
        await changes(worker(clock), chain, filter_id)


async def test_a_shared_place_that_fails_is_replaced_by_memory(clock, chain):
    class Failing(MemoryCursors):
        fails = False

        async def load(self, key):
            if self.fails:
                raise ConnectionError
            return await super().load(key)

        save_ = MemoryCursors.save

        async def save(self, *arguments):
            if self.fails:
                raise ConnectionError
            return await self.save_(*arguments)

    store = Failing()
    filters, client = worker(clock, Cursors(store)), Client()
    filter_id = await new_filter(filters, chain)
    for store.fails in (False, True, True):
        chain.mine(1)
        client.take(await changes(filters, chain, filter_id))
    assert list(client.logs.values()) == chain.logs_after(5)


async def test_memory_is_bounded():
    store = MemoryCursors(max_bytes=10_000)
    for number in range(1_000):
        assert await store.save(str(number), 0, b"x" * 100, 300)
    assert await store.load("0") is None
    assert await store.load("999") == (1, b"x" * 100)
    assert len(store._rows) < 30


async def test_a_file_is_bounded(tmp_path):
    store = FileCursors(tmp_path / "filters.sqlite3", max_bytes=100_000)
    for number in range(1_024):
        assert await store.save(str(number), 0, b"x" * 1_000, 300)
    assert await store.load("0") is None
    assert await store.load("1023") == (1, b"x" * 1_000)
    await store.close()


@pytest.mark.services
async def test_replicas_share_a_server(clock, chain, tmp_path, unused_tcp_port):
    """Valkey or Redis: what one replica gave, another does not; without the server, memory stands in."""
    server = shutil.which("valkey-server") or shutil.which("redis-server")
    assert server is not None, "install redis-server (Debian) or valkey-server"
    process = await asyncio.create_subprocess_exec(
        *(server, "--port", str(unused_tcp_port), "--dir", str(tmp_path), "--save", ""),
        stdout=asyncio.subprocess.DEVNULL,
    )
    replicas = [
        worker(clock, Cursors(ValkeyCursors(f"redis://127.0.0.1:{unused_tcp_port}/0", "mine")))
        for _ in range(2)
    ]
    try:
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", unused_tcp_port)
                    writer.close()
                    break
                await asyncio.sleep(0.05)
        client = Client()
        filter_id = await new_filter(replicas[0], chain)
        for turn in range(8):
            chain.mine(1)
            both = (changes(each, chain, filter_id) for each in replicas)
            for found in await asyncio.gather(*both):
                client.take(found)
            if turn == 4:
                chain.drop(2)
                chain.mine(1), chain.mine(1)
        assert list(client.logs.values()) == chain.logs_after(5)
    finally:
        process.terminate()
        await process.wait()
    chain.mine(1)
    found = await changes(replicas[1], chain, filter_id)
    assert found[-1:] == chain.blocks[-1]["logs"], "some may come twice now, none is left out"
    assert await replicas[0].answer(chain.ask, CHAIN, "eth_uninstallFilter", [filter_id]) is True
    for each in replicas:
        await each.close()
