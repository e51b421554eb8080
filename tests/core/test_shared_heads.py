"""One replica follows a chain for all: leases, takeovers, a server that fails, and false heads."""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

import orjson
import pytest
from quoteway.host import shared_heads
from quoteway.host.shared_server import SharedServer
from quoteway.models import Block, Header
from shared_replicas import CHAIN_ID, SECRET, SharingReplica, head_number
from shared_server import server_at

pytestmark = [pytest.mark.services]
WAIT_S = 120
HEAD = f"mine/heads/{{{CHAIN_ID}}}/head"


async def until(condition, *replicas):
    """Waits for a condition, while the replicas stay in use."""
    async with asyncio.timeout(WAIT_S):
        while not condition():
            for replica in replicas:
                with contextlib.suppress(Exception):
                    await replica.use()
            await asyncio.sleep(0.02)


async def blocks(count, *replicas):
    """Waits until the chain has so many blocks more and all replicas know."""
    least = head_number() + count
    await until(lambda: all(each.known and each.known.number >= least for each in replicas), *replicas)


def holders(replicas):
    return [each for each in replicas if each.heads.holds]


def settled(replicas):
    """One holds the lease, the others follow it."""
    return len(holders(replicas)) == 1 and sum(each.heads.follows for each in replicas) == len(replicas) - 1


@pytest.fixture
async def valkey(tmp_path, unused_tcp_port):
    """A server that can be stopped and started again at the same port."""

    class Server:
        url = f"redis://127.0.0.1:{unused_tcp_port}/0"
        process = None

        async def start(self):
            self.process = await server_at(unused_tcp_port, tmp_path)

        async def end(self):
            if self.process.returncode is None:
                self.process.send_signal(signal.SIGCONT)
                self.process.kill()
            await self.process.wait()

        def signal(self, number):
            self.process.send_signal(number)

    server = Server()
    await server.start()
    yield server
    await server.end()


@pytest.fixture
async def replicas(valkey):
    """``await replicas(count)``: replicas in use, of which one holds the lease."""
    made = []

    async def make(count, **options):
        mine = [SharingReplica(valkey.url, **options) for _ in range(count)]
        made.extend(mine)
        await asyncio.gather(*(each.use() for each in mine))
        await until(lambda: settled(mine), *mine)
        return mine

    yield make
    for each in made:
        await each.close()


@pytest.fixture
async def client(valkey):
    from valkey.asyncio import Valkey

    async with Valkey.from_url(valkey.url.replace("redis", "valkey", 1)) as client:
        yield client


async def test_one_replica_follows_a_chain_for_all(replicas):
    mine = await replicas(4)
    before = {each: each.node.heads_asked for each in mine}
    await blocks(12, *mine)
    (holder,) = holders(mine)
    asked = {each: each.node.heads_asked - before[each] for each in mine}
    others = [asked[each] for each in mine if each is not holder]
    assert asked[holder] >= 12
    assert max(others) <= asked[holder] / 6, (asked[holder], others)
    assert all(each.events("heads") for each in mine if each is not holder)


async def test_a_request_reads_the_head_itself_also_where_another_replica_follows(replicas):
    from quoteway.evm.arrivals import request_arrival

    mine = await replicas(2)
    other = next(each for each in mine if each.heads.follows)
    before = other.node.heads_asked
    with request_arrival():
        await other.chain.head()
    assert other.node.heads_asked > before


async def test_a_holder_that_ends_gives_the_lease_to_another(replicas):
    mine = await replicas(3)
    (holder,) = holders(mine)
    await holder.close()
    others = [each for each in mine if each is not holder]
    await until(lambda: settled(others), *others)
    await blocks(4, *others)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_process_that_is_killed_or_stopped_loses_the_lease_and_publishes_no_more(
    valkey, replicas, client, how
):
    """One that was stopped goes on, and finds that another has taken its place."""
    file = Path(__file__).with_name("shared_replicas.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(file), valkey.url, stdout=asyncio.subprocess.PIPE
    )
    told = []

    async def watch():
        opener = SharedServer(None, "mine", [SECRET], timeout_s=1)
        async with client.pubsub(ignore_subscribe_messages=True) as subscription:
            await subscription.subscribe(HEAD)
            async for message in subscription.listen():
                told.append(orjson.loads(opener.opened(HEAD.encode(), message["data"]))["epoch"])

    watching = asyncio.create_task(watch())
    mine = []
    try:
        async with asyncio.timeout(WAIT_S):
            while not (await process.stdout.readline()).strip().endswith(b" 1"):
                pass
        mine = [SharingReplica(valkey.url) for _ in range(2)]
        await until(lambda: all(each.heads.follows for each in mine), *mine)
        await until(lambda: len(told) > 2)
        first = told[-1]
        process.send_signal(how)
        await until(lambda: settled(mine), *mine)
        await blocks(4, *mine)
        if how == signal.SIGSTOP:
            process.send_signal(signal.SIGCONT)
            async with asyncio.timeout(WAIT_S):  # it holds no more, and knows the newest head
                while not (line := await process.stdout.readline()).strip().endswith(b" 0"):
                    pass
                while int(line.split()[0]) < mine[0].known.number:
                    line = await process.stdout.readline()
            await blocks(4, *mine)
            assert len(holders(mine)) == 1
        assert told == sorted(told), "no one published over the next holder"
        assert told[-1] > first
    finally:
        watching.cancel()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        for each in mine:
            await each.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "stopped"])
async def test_without_the_server_each_replica_follows_the_chain_itself(valkey, replicas, how):
    mine = await replicas(2, timeout_s=0.5)
    await (valkey.end() if how == "killed" else asyncio.to_thread(valkey.signal, signal.SIGSTOP))
    await until(lambda: not any(each.heads.holds or each.heads.follows for each in mine), *mine)
    await blocks(6, *mine)
    await (valkey.start() if how == "killed" else asyncio.to_thread(valkey.signal, signal.SIGCONT))
    await until(lambda: settled(mine), *mine)
    await blocks(4, *mine)
    assert all(each.server.failures for each in mine)


async def test_a_reorganisation_reaches_all_replicas(replicas):
    mine = await replicas(3)
    await blocks(4, *mine)
    fork_at = head_number() - 1
    for each in mine:
        each.node.fork_at = fork_at
    await blocks(4, *mine)
    assert all(each.known.hash.startswith("0x00000001") for each in mine)


async def test_a_holder_whose_node_fails_leaves_the_lease(replicas):
    mine = await replicas(3)
    (holder,) = holders(mine)
    others = [each for each in mine if each is not holder]
    holder.node.fails = True
    await until(lambda: holders(mine) and not holder.heads.holds, *mine)
    await until(lambda: settled(others), *mine)
    await blocks(4, *others)
    # It has no node to read a head itself, and knows the newest one of the others.
    await until(lambda: holder.known.number >= head_number() - 3)


async def test_a_holder_that_tells_blocks_that_do_not_exist_is_not_followed(replicas):
    mine = await replicas(2)
    (holder,) = holders(mine)
    (other,) = (each for each in mine if each is not holder)
    holder.node.behind = -60
    await until(lambda: other.events("distrusted"), *mine)
    assert not other.heads.follows
    await blocks(4, other)
    assert other.known.number <= head_number()


async def test_a_holder_whose_node_lags_is_not_followed(valkey):
    holder, other = SharingReplica(valkey.url), SharingReplica(valkey.url)
    holder.node.behind = 60
    await until(lambda: holder.heads.holds, holder)
    await until(lambda: other.events("distrusted"), holder, other)
    await blocks(4, other)
    assert not other.heads.follows
    await holder.close()
    await until(lambda: other.heads.holds, other)
    await other.close()


async def test_what_no_replica_has_signed_is_ignored(replicas, client):
    mine = await replicas(2)
    (other,) = (each for each in mine if each.heads.follows)
    foreign = SharedServer(None, "mine", [b"another key"], timeout_s=1)
    forged = shared_heads._text(Header(Block(head_number() + 3, "0x" + "ee" * 32, 1), None), 10**6)
    value = await client.get(HEAD)
    for poison in (
        b"",
        b"x",
        value[:-1],
        value[:17] + b"=" + forged,
        foreign.sealed(HEAD.encode(), forged, 60),
        SharedServer(None, "mine", [SECRET], timeout_s=1).sealed(b"another name", forged, 60),
        SharedServer(None, "mine", [SECRET], timeout_s=1).sealed(HEAD.encode(), b"[1]", 60),
        SharedServer(None, "mine", [SECRET], timeout_s=1).sealed(HEAD.encode(), b"{}", 60),
        b"\xff" * 100_000,
    ):
        await client.publish(HEAD, poison)
        await client.set(HEAD, poison)
    await client.delete(HEAD)
    await client.lpush(HEAD, "a list")
    damaged = other.events("damaged_heads")
    await blocks(4, *mine)
    assert damaged
    assert other.known.hash != "0x" + "ee" * 32
    await until(lambda: settled(mine), *mine)


async def test_deployments_with_other_keys_or_prefixes_share_nothing(replicas, valkey):
    await replicas(1)
    apart = SharingReplica(valkey.url, prefix="theirs")
    await until(lambda: apart.heads.holds, apart)
    await apart.close()
    stranger = SharingReplica(valkey.url, secret=b"another key")
    await stranger.use()
    await blocks(4, stranger)
    assert not stranger.heads.follows
    assert stranger.events("damaged_heads")
    await stranger.close()


async def test_after_a_minute_without_use_the_lease_is_free(replicas, monkeypatch):
    mine = await replicas(2)
    (holder,) = holders(mine)
    (other,) = (each for each in mine if each is not holder)
    monkeypatch.setattr(shared_heads, "IDLE_S", 1.0)
    holder.chain._head.idle_s = 0.5
    await until(lambda: other.heads.holds, other)
    assert not holder.heads.holds
