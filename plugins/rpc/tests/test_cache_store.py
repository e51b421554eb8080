"""Replicas that share a Valkey or Redis, and a store that fails, lies or hangs."""

import asyncio
import contextlib
import shutil
from collections import Counter
from types import SimpleNamespace

import orjson
import pytest
from quoteway import ConfigError, Network, Secret, UpstreamError
from quoteway_rpc import cache_store, quoteway_doctor_checks
from quoteway_rpc.asking import Ask
from quoteway_rpc.cache import Cache
from quoteway_rpc.cache_keys import plan_of
from quoteway_rpc.cache_store import Store, open_store
from quoteway_rpc.settings import RpcSettings

NETWORK = Network("ethereum", 1, "Ethereum")
H, T = "0x" + "cd" * 32, "0x" + "12" * 32
BLOCK = {"hash": H, "number": "0x5"}


class Client:
    """A store in memory, with the methods of the Valkey client."""

    def __init__(self):
        self.values = {}
        self.asked = 0
        self.failure = None

    async def get(self, key):
        self.asked += 1
        if self.failure is not None:
            await self.failure()
        return self.values.get(key)

    async def set(self, key, value, ex):
        assert ex > 0
        if self.failure is not None:
            await self.failure()
        self.values[key] = value

    async def ping(self):
        if self.failure is not None:
            await self.failure()

    async def aclose(self):
        pass


class Replica:
    def __init__(self, client, clock=lambda: 0.0, results=()):
        self.sent, self.counts = [], Counter()
        self.results = {"eth_getBlockByHash": BLOCK, **dict(results)}
        self.store = Store(client) if not isinstance(client, Store) else client
        self.cache = Cache(
            self.send,
            capacity_bytes=1 << 20,
            clock=clock,
            count=lambda event, network, amount: self.counts.update({event: amount}),
            store=self.store,
        )

    async def send(self, ask):
        if ask.params and ask.params[0] == "finalized":
            return {"number": "0x64", "hash": "0x" + "64" * 32}
        if ask.method != "web3_clientVersion":
            self.sent.append(ask.method)
        return self.results.get(ask.method, "0x2a")

    async def ask(self, method="eth_getBlockByHash", *params, public=True, network=NETWORK):
        answer = await self.cache(Ask(network, method, list(params) or [H], 1e9, public))
        facts = self.cache._facts.known(network)
        background = {facts.refreshing, facts.identifying, *self.store._writes} - {None}
        if background:
            await asyncio.wait(background)
        return answer


async def test_a_replica_uses_what_another_has_read():
    client = Client()
    one, other = Replica(client), Replica(client)
    assert await one.ask() == await other.ask() == BLOCK
    assert (len(one.sent), len(other.sent)) == (1, 0)
    assert other.counts["cache_store_hits"] == 1
    await other.ask()
    assert client.asked == 2, "the second time it is in the replica's memory"


async def test_only_what_cannot_change_is_written():
    client = Client()
    receipt = {"transactionHash": T, "blockHash": H}
    one = Replica(client, results={"eth_getTransactionReceipt": {**receipt, "blockNumber": "0x5"}})
    await one.ask("eth_getBalance", "0x" + "ab" * 20, "0x1")
    for method, params in [
        ("eth_blockNumber", []),
        ("eth_getBalance", ["0x" + "ab" * 20]),
        ("eth_getBalance", ["0x" + "ab" * 20, "0x65"]),
        ("eth_getLogs", [{"blockHash": H}]),
    ]:
        client.values.clear()
        one.results["eth_getLogs"] = []
        await one.ask(method, *params)
        assert not client.values
    for method, params in [
        ("eth_getBalance", ["0x" + "ab" * 20, "0x5"]),
        ("eth_getTransactionReceipt", [T]),
    ]:
        client.values.clear()
        await one.ask(method, *params)
        assert len(client.values) == 1
        other = Replica(client, results=one.results)
        await other.ask("eth_getBalance", "0x" + "ab" * 20, "0x1")
        other.sent.clear()
        assert await other.ask(method, *params) == one.results.get(method, "0x2a")
        assert not other.sent


async def test_the_core_neither_reads_nor_writes_it():
    client = Client()
    await Replica(client).ask()
    one = Replica(client)
    await one.ask(public=False)
    assert one.sent == ["eth_getBlockByHash"]
    client.values.clear()
    await Replica(client).ask(public=False)
    assert not client.values


async def test_chains_of_developers_are_not_in_it():
    """They start anew under the same chain id."""
    client = Client()
    await Replica(client).ask(network=Network("devnet", 31337, "Devnet"))
    assert not client.values


def damaged(value):
    other = orjson.dumps({**BLOCK, "number": "0x6"})
    yield b""
    yield b"\x00"
    yield value[:-1]
    yield value[:16] + other
    yield b"\x00" * 16 + value[16:]
    yield value[16:]
    yield b"\xff" * 10_000
    yield "text"


@pytest.mark.parametrize("index", range(8))
async def test_a_damaged_value_is_not_used(index):
    client = Client()
    await Replica(client).ask()
    ((key, value),) = client.values.items()
    client.values[key] = list(damaged(value))[index]
    one = Replica(client)
    assert await one.ask() == BLOCK
    assert len(one.sent) == 1
    assert client.values[key] == value, "it is replaced"


async def test_the_answer_of_another_call_is_not_used():
    client = Client()
    await Replica(client).ask()
    other = "0x" + "ee" * 32
    ((_, value),) = client.values.items()
    key_of_other = plan_of(1, "eth_getBlockByHash", [other]).key
    for poison in (value, cache_store._digest(key_of_other, value[16:]) + value[16:]):
        client.values[cache_store._name(key_of_other)] = poison
        one = Replica(client, results={"eth_getBlockByHash": {"hash": other, "number": "0x6"}})
        assert await one.ask("eth_getBlockByHash", other) == {"hash": other, "number": "0x6"}
        assert len(one.sent) == 1


async def refused():
    raise ConnectionRefusedError("redis://:canary@10.0.0.1:6379")


async def hanging():
    await asyncio.sleep(3600)


@pytest.mark.parametrize("failure", [refused, hanging])
async def test_a_store_that_fails_is_left_alone_until_it_answers(failure, caplog, monkeypatch):
    monkeypatch.setattr("quoteway.store_rest.FIRST_REST_S", 0.05)
    client = Client()
    client.failure = failure
    one = Replica(client)
    for number in range(20):
        assert await one.ask("eth_getBlockByHash", f"0x{number:064x}") == BLOCK
    assert client.asked == 1, "it is asked again in the background alone"
    client.failure = None
    async with asyncio.timeout(60):
        while one.store.rest.rests:
            await asyncio.sleep(0.01)
    assert await one.ask() == BLOCK
    assert client.asked == 2
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert "canary" not in caplog.text
    assert "answers again" in caplog.text
    await one.store.close()


def test_an_invalid_url_is_refused_without_being_shown(monkeypatch):
    monkeypatch.setenv("STORE", "http://:canary@host")
    errors = RpcSettings().validate({"cache_store": {"env": "STORE"}})
    assert "expected a valkey:// or redis:// URL" in str(errors)
    assert "canary" not in str(errors)
    with pytest.raises(ConfigError) as refusal:
        open_store("redis://:canary@host?canary=1")
    assert "canary" not in str(refusal.value)


def doctor_checks(url):
    settings = {"cache_store": None if url is None else Secret(url)}
    return quoteway_doctor_checks(SimpleNamespace(settings=settings))


def test_the_doctor_asks_no_store_where_none_is_named():
    assert not doctor_checks(None)
    (check,) = doctor_checks("redis://host")
    assert check.setting == "cache_store"


@pytest.mark.services
async def test_replicas_share_a_server(tmp_path, unused_tcp_port):
    server = shutil.which("valkey-server") or shutil.which("redis-server")
    assert server is not None, "install redis-server (Debian) or valkey-server"
    port = str(unused_tcp_port)
    process = await asyncio.create_subprocess_exec(
        server, "--port", port, "--dir", str(tmp_path), "--save", "", stdout=asyncio.subprocess.DEVNULL
    )
    stores = [open_store(f"redis://127.0.0.1:{port}/0") for _ in range(2)]
    try:
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", unused_tcp_port)
                    writer.close()
                    break
                await asyncio.sleep(0.05)
        one, other = (Replica(store) for store in stores)
        async with asyncio.timeout(60):
            while not other.counts["cache_store_hits"]:  # a busy machine may be slower than the store's limit
                for replica in (one, other):
                    replica.cache.entries.clear()
                    assert await replica.ask() == BLOCK
                await asyncio.sleep(0.05)
        (check,) = doctor_checks(f"redis://127.0.0.1:{port}/0")
        assert "answers in" in await check.ask()
        process.terminate()
        await process.wait()
        with pytest.raises(UpstreamError, match="no answer: ConnectionError") as refusal:
            await check.ask()
        assert port not in str(refusal.value)
        other.cache.entries.clear()
        sent = len(other.sent)
        assert await other.ask() == BLOCK
        assert len(other.sent) == sent + 1
    finally:
        for store in stores:
            await store.close()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
