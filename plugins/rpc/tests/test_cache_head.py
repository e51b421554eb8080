"""Answers at a pushed head, and the bounds of the memory."""

import asyncio
import gc
import tracemalloc
from collections import Counter
from types import SimpleNamespace

import pytest
from cache_gateway import NETWORK, OLD, A, H, T, made
from quoteway import RawJson
from quoteway_rpc.asking import Ask
from quoteway_rpc.cache import Cache


class Pushed:
    def __init__(self, number=100):
        self.now, self.sent, self.results = 0.0, [], {"web3_clientVersion": "Geth/v1.16.0"}
        self.head = None
        self.push(number)

    def push(self, number, block_hash=H):
        self.head = SimpleNamespace(number=number, hash=block_hash)

    def newest(self, chain_id):
        return self.head

    def finalized(self, chain_id):
        return 10

    async def send(self, ask):
        self.sent.append(ask.method)
        result = self.results.get(ask.method, f"0x{len(self.sent):x}")
        await asyncio.sleep(0)
        return result


@pytest.fixture
async def pushed():
    heads = Pushed()
    heads.cache = made(heads.send, lambda: heads.now, heads=heads)
    heads.ask = lambda method, *params, public=True: heads.cache(
        Ask(NETWORK, method, list(params), 1e9, public)
    )
    heads.count = lambda method: heads.sent.count(method)
    heads.cache._facts.known(NETWORK).editable = False
    return heads


async def test_a_client_gets_answers_at_a_pushed_head_from_memory_until_the_next(pushed):
    answers = {await pushed.ask("eth_getBalance", A) for _ in range(5)}
    assert len(answers) == 1
    assert pushed.count("eth_getBalance") == 1
    pushed.push(101)
    assert await pushed.ask("eth_getBalance", A, "latest") not in answers


async def test_what_is_kept_is_given_at_once_until_the_next_head(pushed):
    balance = f'["{A}"]'.encode()
    assert pushed.cache.kept(NETWORK, "eth_getBalance", balance) is None
    answer = await pushed.ask("eth_getBalance", A)
    assert pushed.cache.kept(NETWORK, "eth_getBalance", balance) == f'"{answer}"'.encode()
    assert pushed.cache.kept(NETWORK, "eth_getBalance", f'["{A}", "latest"]'.encode()) is not None
    pushed.push(101)
    assert pushed.cache.kept(NETWORK, "eth_getBalance", balance) is None


@pytest.mark.parametrize("params", [b"", b"[", b"{}", b"null", b"[1e999]", b'["' + b"a" * 2_000 + b'"]'])
async def test_nothing_is_kept_of_parameters_that_cannot_be_read(pushed, params):
    await pushed.ask("eth_gasPrice")
    assert pushed.cache.kept(NETWORK, "eth_gasPrice", b"[]") is not None
    assert pushed.cache.kept(NETWORK, "eth_gasPrice", params) is None


async def test_the_core_never_gets_an_answer_at_the_head_from_memory(pushed):
    await pushed.ask("eth_getBalance", A)
    assert len({await pushed.ask("eth_getBalance", A, public=False) for _ in range(3)}) == 3


async def test_an_answer_at_the_head_is_served_for_two_seconds_at_most(pushed):
    first = await pushed.ask("eth_gasPrice")
    pushed.now = 1.9
    assert await pushed.ask("eth_gasPrice") == first
    pushed.now = 2.1
    assert await pushed.ask("eth_gasPrice") != first


async def test_a_receipt_of_a_newer_block_ends_the_answers_of_the_head(pushed):
    """The push of block 101 is late, and a client has seen it."""
    before = await pushed.ask("eth_getBalance", A)
    pushed.results["eth_getTransactionReceipt"] = {
        "transactionHash": T,
        "blockHash": "0x" + "ee" * 32,
        "blockNumber": hex(101),
    }
    await pushed.ask("eth_getTransactionReceipt", T)
    assert await pushed.ask("eth_getBalance", A) != before
    assert len({await pushed.ask("eth_getBalance", A) for _ in range(3)}) == 3, "and no new one is kept"
    pushed.push(101)
    assert len({await pushed.ask("eth_getBalance", A) for _ in range(3)}) == 1


async def test_a_chain_that_returns_to_a_block_has_new_answers(pushed):
    before = await pushed.ask("eth_getBalance", A)
    pushed.push(100, "0x" + "ee" * 32)
    pushed.push(100, H)
    assert await pushed.ask("eth_getBalance", A) != before


async def test_a_head_that_changes_during_the_call_keeps_nothing(pushed):
    call = asyncio.create_task(pushed.ask("eth_getBalance", A))
    while not pushed.sent:
        await asyncio.sleep(0)
    pushed.push(101)
    before = await call
    assert await pushed.ask("eth_getBalance", A) != before


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("eth_blockNumber", [], hex(99)),
        ("eth_getBlockByNumber", ["latest", False], {"number": hex(99), "hash": "0x" + "99" * 32}),
        ("eth_getBlockByNumber", ["latest", False], {"number": hex(100), "hash": "0x" + "99" * 32}),
    ],
    ids=["number", "older", "fork"],
)
async def test_an_answer_of_a_node_with_another_head_is_not_kept(pushed, method, params, result):
    pushed.results[method] = result
    for _ in range(3):
        assert await pushed.ask(method, *params) == result
    assert pushed.count(method) == 3


async def test_identical_calls_at_one_pushed_head_share_one_that_was_sent(pushed):
    call = asyncio.create_task(pushed.ask("eth_getBalance", A))
    while not pushed.sent:
        await asyncio.sleep(0)
    others = [asyncio.create_task(pushed.ask("eth_getBalance", A)) for _ in range(5)]
    assert len({await call, *await asyncio.gather(*others)}) == 1
    assert pushed.count("eth_getBalance") == 1
    pending = asyncio.create_task(pushed.ask("eth_getBalance", A, "pending"))
    while pushed.count("eth_getBalance") < 2:
        await asyncio.sleep(0)
    other = asyncio.create_task(pushed.ask("eth_getBalance", A, "pending"))
    assert await pending != await other


async def test_memory_is_bounded_in_bytes():
    counts = Counter()

    async def answer(ask):
        return {"hash": ask.params[0], "filling": "x" * 1000}

    cache = Cache(
        answer,
        capacity_bytes=100_000,
        clock=lambda: 0.0,
        count=lambda event, network, amount: counts.update({event: amount}),
    )

    async def read(number):
        ask = Ask(NETWORK, "eth_getBlockByHash", [f"0x{number:064x}"], 1e9, True)
        return await cache(ask)

    for number in range(1000):
        await read(number)
        await read(0)
        assert cache.entries.size_bytes <= 100_000
    assert len(cache.entries) > 50
    assert counts["cache_hits_immutable"] == 1000, "the one in use stays"
    assert counts["cache_evictions_immutable"] == 1000 - len(cache.entries)


async def test_answers_take_the_memory_that_is_counted():
    async def answer(ask):
        return {"hash": ask.params[0], "filling": "x" * 100}

    cache = Cache(answer, capacity_bytes=10_000_000, clock=lambda: 0.0, count=lambda *_: None)
    asked = [Ask(NETWORK, "eth_getBlockByHash", [f"0x{number:064x}"], 1e9, True) for number in range(1_001)]
    await cache(asked.pop())
    tracemalloc.start()
    try:
        before, counted = tracemalloc.get_traced_memory()[0], cache.entries.size_bytes
        for each in asked:
            await cache(each)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(cache.entries) == 1_001
    assert taken < 1.5 * (cache.entries.size_bytes - counted)


async def test_answers_whose_time_has_passed_take_no_memory():
    now = [0.0]

    async def answer(ask):
        return [] if ask.method == "eth_getLogs" else {"hash": ask.params[0]}

    cache = made(answer, lambda: now[0])

    async def logs(number):
        await cache(Ask(NETWORK, "eth_getLogs", [{"blockHash": f"0x{number:064x}"}], 1e9, True))

    for number in range(500):
        now[0] = float(number)
        await logs(number)
        await logs(number // 100)  # the same one again, once it has passed
        assert len(cache.entries) <= 62
    now[0] = 1_000.0
    await cache(Ask(NETWORK, "eth_getBlockByHash", [H], 1e9, True))
    assert len(cache.entries) == 1
    await logs(1)
    now[0] = 1_061.0
    await logs(2)
    assert len(cache.entries) == 2
    await cache(Ask(NETWORK, "eth_getBlockByHash", [H], 1e9, True))
    now[0] = 2_000.0
    await cache(Ask(NETWORK, "eth_getBlockByHash", ["0x" + "cd" * 32], 1e9, True))
    left = cache.entries._entries.values()
    assert (len(left), cache.entries.size_bytes) == (2, sum(each.size_bytes for each in left))


async def test_what_would_fill_the_memory_is_not_kept():
    async def answer(ask):
        return {"hash": H, "filling": "x" * 20_000}

    cache = Cache(answer, capacity_bytes=100_000, clock=lambda: 0.0, count=lambda *_: None)
    await cache(Ask(NETWORK, "eth_getBlockByHash", [H], 1e9, True))
    assert len(cache.entries) == 0


async def test_an_empty_list_is_read_again_after_a_minute():
    """A node that has lost old logs answers so as well."""
    now, sent = [0.0], []

    async def answer(ask):
        sent.append(ask)
        return []

    cache = made(answer, lambda: now[0])
    ask = Ask(NETWORK, "eth_getLogs", [{"blockHash": H}], 1e9, True)
    for at, calls in [(0.0, 1), (59.0, 1), (61.0, 2)]:
        now[0] = at
        assert await cache(ask) == []
        assert len(sent) == calls


async def test_json_as_it_was_written():
    async def answer(ask):
        return {"hash": H, "number": OLD}

    cache = made(answer)
    ask = Ask(NETWORK, "eth_getBlockByHash", [H], 1e9, True, raw=True)
    await cache(ask)
    hit = await cache(ask)
    assert isinstance(hit, RawJson)
    assert hit.parsed() == {"hash": H, "number": OLD}
