"""The comparison of a node's chain id, which one replica makes for all: as good as each making its own."""

import time

import pytest
from fake_node import FakeNode
from quoteway import Endpoint
from quoteway_rpc.shared_chain_ids import OWN_S, SharedChainIds
from quoteway_rpc.upstream import VERIFIED_S, Unusable, Upstream
from test_shared_reads import Answers

MAX_BYTES = 1 << 20


class Replicas:
    """Replicas of one node whose shared clock a test sets; ``older`` lets time pass for the comparisons."""

    def __init__(self, node, many=3, answers=None):
        self.answers = answers or Answers()
        self.now = time.time()
        ids = SharedChainIds(self.answers, lambda: self.now)
        endpoint = Endpoint(f"http://127.0.0.1:{node.port}/")
        self.node = node
        self.upstreams = [Upstream(endpoint, 1, 0, MAX_BYTES, shared=ids) for _ in range(many)]

    def older(self, seconds, *, own=True):
        self.now += seconds
        for each in self.upstreams:
            if each._verified_at is not None:
                each._verified_at -= seconds
            if own:
                each._compared_at -= seconds

    async def ask_all(self):
        for each in self.upstreams:
            await each.ask("eth_gasPrice", [], timeout_s=30)

    @property
    def comparisons(self):
        return self.node.methods.count("eth_chainId")

    def close(self):
        for each in self.upstreams:
            each.close()


@pytest.fixture
async def replicas():
    async with FakeNode() as node:
        made = Replicas(node)
        await made.ask_all()
        yield made
        made.close()


async def test_each_replica_compares_first_and_then_one_for_all(replicas):
    assert replicas.comparisons == 3
    for turn in range(1, 6):
        replicas.older(VERIFIED_S)
        replicas.answers.values.clear()  # as its lifetime has ended
        await replicas.ask_all()
        assert replicas.comparisons == 3 + turn


async def test_the_word_of_another_is_no_newer_than_what_it_was_told(replicas):
    """A node that changed its chain is noticed as soon as where each replica compares for itself."""
    replicas.older(VERIFIED_S)
    replicas.answers.values.clear()
    first, second, _ = replicas.upstreams
    await first.ask("eth_gasPrice", [], timeout_s=30)
    replicas.older(VERIFIED_S - 5)
    assert replicas.comparisons == 4
    await second.ask("eth_gasPrice", [], timeout_s=30)  # takes the word, which is 25 s old
    assert replicas.comparisons == 4
    replicas.node.chain_id = 5
    replicas.older(5)
    with pytest.raises(Unusable, match="wrong_chain_id"):
        await second.ask("eth_gasPrice", [], timeout_s=30)


async def test_a_changed_chain_is_told_to_nobody_and_holds_up_nobody(replicas):
    replicas.older(VERIFIED_S)
    replicas.answers.values.clear()
    replicas.node.chain_id = 5
    for each in replicas.upstreams:
        with pytest.raises(Unusable, match="wrong_chain_id"):
            await each.ask("eth_gasPrice", [], timeout_s=30)
    assert not replicas.answers.values
    assert not replicas.answers.marks


async def test_after_a_failure_and_after_a_while_each_compares_for_itself(replicas):
    replicas.upstreams[0].doubt()
    await replicas.ask_all()
    assert replicas.comparisons == 4
    replicas.older(OWN_S)
    await replicas.ask_all()
    assert replicas.comparisons == 7


@pytest.mark.parametrize("wrong", [b"", b"x", b"\xff", b"1e99", b"9" * 400, b"9" * 5_000, b"-5", "future"])
async def test_a_word_that_is_none_is_not_believed(replicas, wrong):
    replicas.older(VERIFIED_S)
    (key,) = replicas.answers.values
    future = b"%d" % int((replicas.now + 60) * 1_000)
    replicas.answers.values[key] = future if wrong == "future" else wrong
    first = replicas.upstreams[0]
    await first.ask("eth_gasPrice", [], timeout_s=30)
    assert replicas.comparisons == 4


async def test_endpoints_that_differ_share_nothing():
    answers = Answers()
    async with FakeNode() as node:
        made = Replicas(node, 1, answers)
        ids = made.upstreams[0]._shared
        for more in ({"url": "?key=2"}, {"headers": {"X-Key": "1"}}):
            endpoint = Endpoint(
                f"http://127.0.0.1:{node.port}/{more.get('url', '')}", more.get("headers", {})
            )
            made.upstreams.append(Upstream(endpoint, 1, 0, MAX_BYTES, shared=ids))
        await made.ask_all()
        assert len(answers.values) == 3
        made.close()


async def test_a_store_that_is_gone_costs_nothing_but_the_comparison(replicas):
    async def nothing(key):
        return None

    replicas.answers.get = nothing
    replicas.older(VERIFIED_S)
    await replicas.ask_all()
    assert replicas.comparisons == 6
