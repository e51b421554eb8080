"""Reads of the core that replicas make once for all: what is shared, what is not, and wrong values."""

import asyncio
from collections import Counter

import orjson
import pytest
from chain_nodes import ChainModel, Node, until
from fake_node import FakeNode
from quoteway import Network, RpcError, UpstreamError
from quoteway_rpc.asking import Ask
from quoteway_rpc.cache import Cache
from quoteway_rpc.shared_looks import SharedLooks
from quoteway_rpc.shared_reads import SharedReads

H, A = "0x" + "cd" * 32, "0x" + "ab" * 20
AT = {"blockHash": H}
BLOCK = {"hash": H, "number": "0x5"}
NETWORK = Network("ethereum", 1, "Ethereum")


class Answers:
    """Shared answers in memory; who found none has the mark of the key until ``put`` or ``release``."""

    def __init__(self):
        self.values, self.ttls, self.marks = {}, {}, Counter()
        self.asked = []

    async def get(self, key):
        self.asked.append(key)
        found = self.values.get(key)
        if found is None:
            self.marks[key] += 1
        return found

    def put(self, key, value, ttl_s):
        assert self.marks.pop(key, 0) <= 1
        self.values[key], self.ttls[key] = value, ttl_s

    def release(self, key):
        self.marks.pop(key, None)


class Replica:
    def __init__(self, answers, network=NETWORK, version="Geth/v1.16.0", **results):
        self.sent, self.counts, self.network = [], Counter(), network
        self.results = {"web3_clientVersion": version, "eth_getBlockByHash": BLOCK, **results}
        count = lambda event, network, amount: self.counts.update({event: amount})  # noqa: E731
        self.cache = Cache(
            self.send,
            capacity_bytes=1 << 20,
            clock=lambda: 0.0,
            count=count,
            shared=SharedReads(answers, count),
        )

    async def send(self, ask):
        if ask.params and ask.params[0] == "finalized":
            return {"number": "0x64", "hash": "0x" + "64" * 32}
        if ask.method != "web3_clientVersion":
            self.sent.append(ask.method)
        result = self.results.get(ask.method, "0x2a")
        if isinstance(result, Exception):
            raise result
        return result

    async def ready(self):
        """Learns what the node is and which block is final, as the first calls do."""
        await self.ask("eth_getBalance", A, {"blockHash": "0x" + "01" * 32})
        await self.ask("eth_getBalance", A, "0x1")
        facts = self.cache._facts.known(self.network)
        for task in (facts.refreshing, facts.identifying):
            if task is not None:
                await asyncio.wait([task])
        self.sent.clear()
        return self

    async def ask(self, method, *params, public=False):
        return await self.cache(Ask(self.network, method, list(params), 1e9, public))


async def pair(**options):
    answers = Answers()
    one, other = [await Replica(answers, **options).ready() for _ in range(2)]
    answers.asked.clear()
    return answers, one, other


READS = [
    ("eth_call", {"to": A, "data": "0x01"}, AT),
    ("eth_getBalance", A, AT),
    ("eth_getCode", A, AT),
    ("eth_getBlockByHash", H, False),
    ("eth_getBalance", A, "0x5"),
]


@pytest.mark.parametrize(("method", "params"), [(method, params) for method, *params in READS])
async def test_a_read_of_the_core_at_a_block_is_made_once_for_all(method, params):
    answers, one, other = await pair()
    assert await one.ask(method, *params) == await other.ask(method, *params)
    assert (len(one.sent), len(other.sent)) == (1, 0)
    assert not answers.marks
    assert other.counts["shared_hits"] == 1
    asked = len(answers.asked)
    await other.ask(method, *params)
    await one.ask(method, *params)
    assert len(answers.asked) == asked, "what is in memory is not asked for"


async def test_logs_of_a_block_without_any_are_shared_for_a_short_time():
    answers, one, other = await pair(eth_getLogs=[])
    for each in (one, other):
        assert await each.ask("eth_getLogs", AT) == []
    assert not other.sent
    assert list(answers.ttls.values()) == [60.0]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getBlockByNumber", ["latest", False]),
        ("eth_blockNumber", []),
        ("eth_call", [{"to": A}, "latest"]),
        ("eth_getBalance", [A, "0x65"]),  # above the final block
        ("eth_call", [{"to": A}, AT, {A: {"balance": "0x1"}}]),
        ("eth_simulateV1", [{"blockStateCalls": []}, AT]),
        ("eth_getTransactionReceipt", [H]),
    ],
)
async def test_what_may_change_is_not_asked_for_there(method, params):
    answers, one, _ = await pair(eth_getTransactionReceipt=None)
    await one.ask(method, *params)
    assert not answers.asked


async def test_calls_of_clients_neither_bring_nor_get_anything():
    answers, one, other = await pair()
    await one.ask("eth_getBalance", A, AT, public=True)
    assert not answers.asked
    await one.ask("eth_getCode", A, AT)
    await other.ask("eth_getCode", A, AT, public=True)
    assert other.sent == ["eth_getCode"]


async def test_chains_of_developers_share_no_state():
    answers, one, other = await pair(version="anvil/v1.2.0")
    await one.ask("eth_getBalance", A, AT)
    assert not answers.asked
    await one.ask("eth_getBlockByHash", H, False)
    await other.ask("eth_getBlockByHash", H, False)
    assert other.sent == [], "a block itself does not change"


@pytest.mark.parametrize(
    "failure", [RpcError(3, "execution reverted"), UpstreamError("No node answered."), None]
)
async def test_errors_and_null_are_not_shared_and_hold_up_nobody(failure):
    answers, one, other = await pair()
    answer = failure if failure else {"eth_getBlockByHash": None}
    one.results.update({"eth_call": answer, "eth_getBlockByHash": None})
    if failure:
        with pytest.raises(type(failure)):
            await one.ask("eth_call", {"to": A}, AT)
        params = "eth_call", {"to": A}, AT
    else:
        assert await one.ask("eth_getBlockByHash", H, False) is None
        params = "eth_getBlockByHash", H, False
    assert not answers.values
    assert not answers.marks, "others may ask at once"
    assert await other.ask(*params)
    assert len(other.sent) == 1


async def test_a_caller_that_is_cancelled_holds_up_nobody():
    answers, one, _ = await pair()
    held = asyncio.Event()

    async def send(ask):
        await held.wait()

    one.cache._send = send
    task = asyncio.create_task(one.ask("eth_getCode", A, AT))
    await until(lambda: answers.marks)
    task.cancel()
    await asyncio.wait([task])
    assert not answers.marks


@pytest.mark.parametrize(
    "body", [b"", b"null", b"{", b"[1]", b'{"hash":"0x01","number":"0x5"}', b'"text"', b"\xff\xfe"]
)
async def test_what_is_no_answer_to_the_call_is_not_used(body):
    answers, one, other = await pair()
    await one.ask("eth_getBlockByHash", H, False)
    ((key, _),) = answers.values.items()
    answers.values[key] = body
    assert await other.ask("eth_getBlockByHash", H, False) == BLOCK
    assert other.sent == ["eth_getBlockByHash"]
    assert orjson.loads(answers.values[key]) == BLOCK, "it is replaced"


async def test_a_replica_that_needs_more_nodes_to_agree_takes_nothing_from_one_that_does_not():
    answers = Answers()
    two = Network("ethereum", 1, "Ethereum", quorum=2)
    weak, strong = await Replica(answers).ready(), await Replica(answers, network=two).ready()
    await weak.ask("eth_getCode", A, AT)
    await strong.ask("eth_getCode", A, AT)
    assert strong.sent == ["eth_getCode"]
    another = await Replica(answers, network=two).ready()
    await another.ask("eth_getCode", A, AT)
    assert another.sent == []


async def test_answers_of_two_chains_are_kept_apart():
    answers = Answers()
    other_chain = Network("base", 8453, "Base")
    one, other = await Replica(answers).ready(), await Replica(answers, network=other_chain).ready()
    await one.ask("eth_getCode", A, AT)
    await other.ask("eth_getCode", A, AT)
    assert other.sent == ["eth_getCode"]


async def test_one_replica_asks_each_node_for_its_head_and_all_learn(gateway_of):
    """Nodes that lag are noticed by all of them."""
    answers = Answers()
    async with FakeNode(Node(ChainModel(100))) as node, FakeNode(Node(ChainModel(95))) as behind:
        replicas = [gateway_of(node, behind, block_time_s=2.0, head_poll_s=1.0) for _ in range(3)]
        for each in replicas:
            each.seen._shared_looks = SharedLooks(answers, clock=lambda: 100.0)
        for each in replicas:
            for upstream in each.seen.views:
                await each.seen.look(upstream)
        for each in (node, behind):
            assert [call["method"] for call in each.seen].count("eth_getBlockByNumber") == 1
        lags = [[each.seen.lag(upstream) for upstream in each.seen.views] for each in replicas]
        assert lags == [[0, 5]] * 3


async def test_a_head_that_a_request_read_is_no_more_looked_for_by_others(gateway_of):
    answers = Answers()
    async with FakeNode(Node(ChainModel())) as node, FakeNode(Node(ChainModel())) as second:
        replicas = [gateway_of(node, second, block_time_s=2.0, head_poll_s=1.0) for _ in range(2)]
        for each in replicas:
            each.seen._shared_looks = SharedLooks(answers, clock=lambda: 100.0)
        one, other = replicas
        upstream = next(iter(one.seen.views))
        for _ in range(3):
            await upstream.ask("eth_getBlockByNumber", ["latest", False], timeout_s=30)
        key = one.seen._shared_looks.key(upstream.identity, one.seen._interval_s)
        assert orjson.loads(answers.values[key])["number"] == hex(99)
        asked = node.methods.count("eth_getBlockByNumber")
        await other.seen.look(next(iter(other.seen.views)))
        assert node.methods.count("eth_getBlockByNumber") == asked
        assert next(iter(other.seen.views.values())).number == 99


async def test_an_older_head_of_another_replica_is_asked_for_again(gateway_of):
    answers = Answers()
    async with FakeNode(Node(ChainModel())) as node, FakeNode(Node(ChainModel())) as second:
        rpc = gateway_of(node, second, block_time_s=2.0)
        looks = rpc.seen._shared_looks = SharedLooks(answers, clock=lambda: 100.0)
        upstream = next(iter(rpc.seen.views))
        await rpc.seen.look(upstream)
        known = rpc.seen.views[upstream].number
        key = looks.key(upstream.identity, rpc.seen._interval_s)
        answers.values[key] = orjson.dumps({**orjson.loads(answers.values[key]), "number": hex(known - 1)})
        asked = len(node.seen)
        await rpc.seen.look(upstream)
        assert len(node.seen) > asked
        assert rpc.seen.views[upstream].number == known
        for poison in (b"", b"{}", b"[]", b'{"number": 1}', b'{"number":"0xffffffffffff"}'):
            answers.values[key] = poison
            await rpc.seen.look(upstream)
            assert rpc.seen.views[upstream].number == known
