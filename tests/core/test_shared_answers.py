"""Answers that replicas share: one finds it, the others wait, but not for one that ended, and no damage."""

import asyncio
import signal
import time

import pytest
from quoteway.host.shared_answers import SharedAnswersOf
from quoteway.host.shared_server import MOST_VALUE_BYTES, SharedServer
from quoteway.shared_store import store_client
from shared_server import server_at

pytestmark = [pytest.mark.services]
SECRET = b"a key that all replicas have"
NAME = b"mine/answers/rpc/key"


@pytest.fixture
async def valkey(tmp_path, unused_tcp_port):
    process = await server_at(unused_tcp_port, tmp_path)
    process.url = f"redis://127.0.0.1:{unused_tcp_port}/0"
    yield process
    if process.returncode is None:
        process.send_signal(signal.SIGCONT)
        process.kill()
    await process.wait()


@pytest.fixture
async def replica(valkey):
    """``replica()``: the shared answers of one more replica."""
    made = []

    def make(*, secrets=(SECRET,), timeout_s=30.0, wait_s=30.0):
        server = SharedServer(
            store_client(valkey.url, timeout_s=30), "mine", secrets, timeout_s=timeout_s, wait_s=wait_s
        )
        made.append(SharedAnswersOf(server, "rpc"))
        made[-1].server = server
        return made[-1]

    yield make
    for each in made:
        await each.close()
        await each.server.close()


@pytest.fixture
async def client(valkey):
    from valkey.asyncio import Valkey

    async with Valkey.from_url(valkey.url.replace("redis", "valkey", 1)) as client:
        yield client


async def written(*replicas):
    for each in replicas:
        while each._tasks:
            await asyncio.wait(each._tasks)


async def test_one_replica_finds_an_answer_and_the_others_wait_for_it(replica):
    one, *others = (replica() for _ in range(4))
    assert await one.get(b"key") is None
    waiting = [asyncio.create_task(each.get(b"key")) for each in others]
    await asyncio.sleep(0.05)
    assert not any(task.done() for task in waiting)
    one.put(b"key", b"value", 60)
    assert await asyncio.gather(*waiting) == [b"value"] * 3
    assert all(each.server.answer_results["rpc", "waited_hits"] for each in others)
    assert await replica().get(b"key") == b"value"


async def test_reads_of_one_turn_take_one_round_trip(replica, client):
    one, other = replica(), replica()
    keys = [f"key {number}".encode() for number in range(50)]
    assert await asyncio.gather(*map(one.get, keys)) == [None] * 50
    for key in keys:
        one.put(key, key + b" value", 60)
    await written(one)
    trips = []
    run = other.server.run

    async def counted(command):
        trips.append(command)
        return await run(command)

    other.server.run = counted
    assert await asyncio.gather(*map(other.get, keys)) == [key + b" value" for key in keys]
    assert len(trips) == 1


async def test_a_replica_that_found_nothing_holds_up_nobody(replica):
    one, other = replica(), replica()
    assert await one.get(b"key") is None
    waiting = asyncio.create_task(other.get(b"key"))
    await asyncio.sleep(0.05)
    one.release(b"key")
    async with asyncio.timeout(20):
        assert await waiting is None
    # The other one has the mark now, and only it can take it back.
    one.release(b"key")
    await written(one)
    third = asyncio.create_task(replica().get(b"key"))
    await asyncio.sleep(0.05)
    other.put(b"key", b"value", 60)
    assert await third == b"value"


async def test_a_replica_that_ended_is_waited_for_a_bounded_time(replica):
    assert await replica().get(b"key") is None
    other = replica(wait_s=0.1)
    async with asyncio.timeout(20):
        assert await other.get(b"key") is None
    assert other.server.answer_results["rpc", "waited_in_vain"] == 1
    other.put(b"key", b"value", 60)
    await written(other)
    assert await replica().get(b"key") == b"value"


async def test_the_mark_of_one_that_ended_goes_by_itself(replica, monkeypatch):
    monkeypatch.setattr("quoteway.host.shared_answers.MARK_S", 0.2)
    assert await replica(wait_s=0.1).get(b"key") is None
    async with asyncio.timeout(20):
        assert await replica(wait_s=30.0).get(b"key") is None


async def test_long_values_are_compressed_and_too_long_ones_left_out(replica, client):
    one, other = replica(), replica()
    for value in (b"", b"x", b"ab" * 100_000, bytes(range(256)) * 100):
        key = str(len(value)).encode()
        assert await one.get(key) is None
        one.put(key, value, 60)
        await written(one)
        assert await other.get(key) == value
    assert await client.strlen("mine/answers/rpc/200000") < 5_000
    assert await one.get(b"long") is None
    one.put(b"long", b"x" * (MOST_VALUE_BYTES + 1), 60)
    await written(one)
    assert not await client.exists("mine/answers/rpc/long")


async def test_no_signature_is_taken_for_the_mark_of_a_replica_that_reads(replica):
    """One of 256 begins with the byte of marks, which others would wait for."""
    one, other = replica(), replica()
    keys = [b"key %d" % number for number in range(250)]
    for key in keys:
        one.put(key, b"value", 60)
    await written(one)
    async with asyncio.timeout(25):
        for turn in range(0, 250, 50):
            found = await asyncio.gather(*map(other.get, keys[turn : turn + 50]))
            assert found == [b"value"] * 50
        for _ in range(4):
            for key in keys:
                one.put(key, b"value", 60)
            await written(one)
            assert await asyncio.gather(*map(other.get, keys)) == [b"value"] * 250


async def test_a_value_ends_with_its_time(replica, client):
    one = replica()
    one.put(b"key", b"value", 60)
    await written(one)
    assert 0 < await client.pttl(NAME.decode()) <= 60_000


async def test_values_of_a_key_of_before_are_read_and_written_with_the_new_one(replica):
    """While keys are rotated, replicas have both, in another order."""
    old, both, new = replica(), replica(secrets=(b"new", SECRET)), replica(secrets=(b"new",))
    old.put(b"old", b"1", 60)
    both.put(b"new", b"2", 60)
    await written(old, both)
    assert await both.get(b"old") == b"1"
    assert await new.get(b"new") == b"2"
    assert await old.get(b"new") is None
    assert await new.get(b"old") is None


def poisons(value):
    yield b"x"
    yield b"?"
    yield value[:-1]
    yield value[:17] + b"=" + b"other"
    yield b"!" + b"\x00" * 16 + value[17:]
    yield b"=" + value[1:]
    yield SharedServer(None, "mine", [b"another key"], timeout_s=1).sealed(NAME, b"other", 60)
    yield SharedServer(None, "mine", [SECRET], timeout_s=1).sealed(b"mine/answers/rpc/other", b"other", 60)
    # What is signed, and is no compressed value.
    server = SharedServer(None, "mine", [SECRET], timeout_s=1)
    dated = value[17:25] + b"~rubbish"
    yield b"!" + server._mac(server._keys[0], NAME, dated) + dated
    yield value[:17] + b"\xff" * 8 + value[25:]  # a later end
    past = SharedServer(None, "mine", [SECRET], timeout_s=1, now=lambda: time.time() - 3_600)
    yield past.sealed(NAME, b"other", 60)  # replayed after its end
    yield b"\xff" * 1_000_000
    yield b"\xff" * (MOST_VALUE_BYTES + 100)


@pytest.mark.parametrize("index", range(13))
async def test_a_damaged_or_foreign_value_is_not_used(replica, client, index):
    one, other = replica(), replica(wait_s=0.05)
    one.put(b"key", b"value", 60)
    await written(one)
    poison = list(poisons(await client.get(NAME)))[index]
    await client.set(NAME, poison)
    assert await other.get(b"key") is None
    other.put(b"key", b"value", 60)
    await written(other)
    assert await replica().get(b"key") == b"value", "it is replaced"


async def test_a_value_of_another_type_is_not_used(replica, client):
    await client.lpush(NAME, "a list")
    one = replica()
    assert await one.get(b"key") is None
    assert await asyncio.gather(one.get(b"key"), one.get(b"other")) == [None, None]
    one.put(b"key", b"value", 60)
    await written(one)
    assert await replica().get(b"key") == b"value"
    assert not one.server.failures


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_server_that_does_not_answer_costs_one_short_wait(replica, valkey, how, caplog):
    one = replica(timeout_s=0.2)
    await one.get(b"key")
    valkey.send_signal(how)
    if how == signal.SIGKILL:
        await valkey.wait()
    async with asyncio.timeout(30):
        assert await asyncio.gather(*(one.get(str(number).encode()) for number in range(20))) == [None] * 20
    failures = one.server.failures
    assert failures >= 1
    assert one.server.rests
    assert await one.get(b"key") is None
    one.put(b"key", b"value", 60)
    assert one.server.failures == failures, "it is left alone"
    assert "127.0.0.1" not in caplog.text


async def test_a_server_that_answers_again_is_used_again(replica, valkey, monkeypatch):
    """A look in the background finds that out: no request waits for a server that does not answer."""
    monkeypatch.setattr("quoteway.store_rest.FIRST_REST_S", 0.05)
    one = replica(timeout_s=0.5)
    valkey.send_signal(signal.SIGSTOP)
    assert await one.get(b"key") is None
    assert one.server.rests
    valkey.send_signal(signal.SIGCONT)
    async with asyncio.timeout(120):
        while not one.server.answer_results["rpc", "misses"]:
            await asyncio.sleep(0.05)
            assert await one.get(b"key") is None
    assert not one.server.rests


async def test_callers_that_were_cancelled_leave_nothing_behind(replica, valkey):
    one = replica(timeout_s=30.0)
    valkey.send_signal(signal.SIGSTOP)
    waiting = [asyncio.create_task(one.get(b"key")) for _ in range(3)]
    await asyncio.sleep(0.05)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    valkey.send_signal(signal.SIGCONT)
    await written(one)
    assert await replica(wait_s=0.05).get(b"key") is None
