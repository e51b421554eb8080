"""Logs through nodes with limits are those of a node without limits, byte for byte."""

import asyncio
import json
import random

import pytest
from chain_node import ChainNode, MadeUpChain, RefusalError
from fake_node import ok
from log_limits import DIALECTS, everything, results, truncates
from quoteway import RpcError, UpstreamError
from quoteway_rpc.log_spans import Spans

CHAIN = MadeUpChain(3000)


def random_filter(chance, chain):
    first = chance.randint(0, chain.height)
    last = min(chain.height, first + int(chance.triangular(0, chain.height, 50)))
    wanted = {"fromBlock": hex(first), "toBlock": hex(last)}
    if chance.random() < 0.1:
        wanted["toBlock"] = "latest"
    if chance.random() < 0.4:
        wanted["address"] = chance.choice([chance.choice(chain.addresses), chance.sample(chain.addresses, 2)])
    if chance.random() < 0.5:
        options = [None, chance.choice(chain.topics), chance.sample(chain.topics, 2)]
        wanted["topics"] = [chance.choice(options) for _ in range(chance.randint(1, 3))]
    return wanted


async def equal_on_random_filters(asking, dialect, count):
    """Asks ``count`` filters. Returns the calls for logs that reached the node, and the least possible."""
    refuse, minimal = DIALECTS[dialect]
    node = ChainNode(CHAIN, refuse=refuse)
    rpc = await asking(node)
    chance, least = random.Random(dialect), 0
    for _ in range(count):
        wanted = random_filter(chance, CHAIN)
        answer = await rpc("eth_getLogs", wanted)
        assert json.dumps(answer) == json.dumps(CHAIN.logs(wanted)), wanted
        least += minimal(CHAIN, wanted) if minimal else 0
        node_spared(rpc)
    return node.counted("eth_getLogs"), least


def node_spared(rpc):
    (row,) = rpc.dispatcher._healths[1].rows()
    assert row.state == "closed", "a size refusal blames nobody"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_equal_to_a_node_without_limits(asking, dialect):
    await equal_on_random_filters(asking, dialect, 8)


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_equal_on_a_thousand_filters_with_few_calls(asking):
    calls = least = 0
    for dialect in DIALECTS:
        took, needed = await equal_on_random_filters(asking, dialect, 125)
        if needed:
            assert took <= 1.4 * needed, (dialect, took, needed)
            calls, least = calls + took, least + needed
    assert calls <= 1.3 * least, (calls, least)


async def test_what_was_learned_is_kept(asking):
    node = ChainNode(CHAIN, refuse=DIALECTS["blocks, with a hint"][0])
    rpc = await asking(node)
    for refused, first in ((1, 1), (0, 1001)):
        node.seen.clear()
        await rpc("eth_getLogs", {"fromBlock": hex(first), "toBlock": hex(first + 999)})
        assert node.counted("eth_getLogs") == 10 + refused


async def test_parts_are_read_at_once(asking):
    """The node answers nothing until four parts wait."""
    held, gate = [], asyncio.Event()
    node = ChainNode(CHAIN, refuse=DIALECTS["blocks, with a hint"][0])

    async def hold(node, request, writer):
        wanted = request["params"][0]
        if (
            request["method"] == "eth_getLogs"
            and int(wanted["toBlock"], 16) - int(wanted["fromBlock"], 16) < 100
        ):
            held.append(request)
            if len(held) == 4:
                gate.set()
            await gate.wait()
        await node.answer(node, request, writer)

    node.behaviour = hold
    rpc = await asking(node)
    wanted = {"fromBlock": "0x1", "toBlock": hex(1000)}
    assert await rpc("eth_getLogs", wanted) == CHAIN.logs(wanted)


async def test_a_node_that_refuses_everything_costs_few_calls(asking):
    node = ChainNode(CHAIN, refuse=everything)
    rpc = await asking(node)
    with pytest.raises(RpcError) as failure:
        await rpc("eth_getLogs", {"fromBlock": "0x1", "toBlock": hex(2900)})
    assert failure.value.rpc_code == -32005
    assert "one block" in failure.value.rpc_message
    assert node.counted("eth_getLogs") < 100


async def test_the_total_is_limited_and_the_error_says_what_would_pass(asking):
    rpc = await asking(ChainNode(CHAIN, refuse=results(500)), max_logs=2000)
    with pytest.raises(RpcError) as failure:
        await rpc("eth_getLogs", {"fromBlock": "0x0", "toBlock": hex(3000)})
    assert failure.value.rpc_code == -32005
    assert failure.value.rpc_message.startswith("query returned more than 2000 results. Try with")
    wanted = {"fromBlock": failure.value.data["from"], "toBlock": failure.value.data["to"]}
    assert await rpc("eth_getLogs", wanted) == CHAIN.logs(wanted)


async def test_exactly_a_thousand_logs_may_be_all(asking):
    node = ChainNode(CHAIN, refuse=truncates(1000))
    rpc = await asking(node)
    last = next(n for n in range(3000) if len(CHAIN.logs({"fromBlock": "0x0", "toBlock": hex(n)})) >= 1000)
    for end in (last - 1, last, last + 1):
        wanted = {"fromBlock": "0x0", "toBlock": hex(end)}
        assert await rpc("eth_getLogs", wanted) == CHAIN.logs(wanted)


@pytest.mark.parametrize(
    "wanted",
    [
        {"fromBlock": "earliest", "toBlock": "latest"},
        {"fromBlock": "0x1"},
        {"fromBlock": "0x0", "toBlock": "safe"},
        {"fromBlock": "0x0", "toBlock": "0x4e20"},
    ],
)
async def test_the_range_of_a_client_is_limited_once_its_tags_are_numbers(asking, wanted):
    node = ChainNode(MadeUpChain(20_000, logs_per_block=0))
    rpc = await asking(node)
    with pytest.raises(RpcError) as failure:
        await rpc("eth_getLogs", wanted, public=True)
    assert failure.value.rpc_code == -32602
    assert "10000 blocks" in failure.value.rpc_message
    assert node.counted("eth_getLogs") == 0
    assert await rpc("eth_getLogs", wanted) == []


@pytest.mark.parametrize("wanted", [{}, {"fromBlock": "latest"}, {"fromBlock": "0xbb8", "toBlock": "latest"}])
async def test_tags_of_the_core_are_numbers_for_the_nodes(asking, wanted):
    node = ChainNode(CHAIN)
    rpc = await asking(node)
    assert await rpc("eth_getLogs", wanted) == CHAIN.logs_of(3000)
    (sent,) = [request["params"][0] for request in node.seen if request["method"] == "eth_getLogs"]
    assert (sent["fromBlock"], sent["toBlock"]) == (hex(3000), hex(3000))


async def test_a_client_that_follows_the_chain_costs_one_call_each_time(asking):
    """Its range is known to be short from the head that was read for the first one."""
    node = ChainNode(MadeUpChain(100))
    rpc = await asking(node)
    for height in range(101, 111):
        wanted = {"fromBlock": hex(height), "toBlock": "latest"}
        node.chain.height = height
        assert await rpc("eth_getLogs", wanted, public=True) == node.chain.logs_of(height)
        assert await rpc("eth_getLogs", {}, public=True) == node.chain.logs_of(height)
    assert node.counted("eth_getLogs") == 20
    assert node.counted("eth_getBlockByNumber") < 10


async def test_a_clients_range_that_begins_after_the_newest_block_is_empty(asking):
    def refuse(chain, wanted, logs):
        if wanted.get("toBlock") == "latest":
            raise RefusalError(-32000, "invalid block range params")
        return logs

    rpc = await asking(ChainNode(CHAIN, refuse=refuse))
    await rpc("eth_getLogs", {"fromBlock": "0xbb0", "toBlock": "0xbb8"}, public=True)
    for _ in range(2):
        assert await rpc("eth_getLogs", {"fromBlock": "0xbb9", "toBlock": "latest"}, public=True) == []


async def test_the_logs_of_the_next_block_are_none_yet(asking):
    rpc = await asking(ChainNode(CHAIN))
    assert await rpc("eth_getLogs", {"fromBlock": hex(3001), "toBlock": "latest"}) == []


@pytest.mark.parametrize("topics", [[CHAIN.topics[0], None], [None, None, None], [[CHAIN.topics[0], None]]])
async def test_what_a_filter_leaves_open_fits(asking, topics):
    """Also to logs that have fewer topics, as reth gives them. Null among alternatives stands for all."""
    rpc = await asking(ChainNode(CHAIN))
    wanted = {"fromBlock": "0x1", "toBlock": hex(50), "topics": topics}
    logs = await rpc("eth_getLogs", wanted)
    assert logs == CHAIN.logs(wanted)
    assert any(len(log["topics"]) < 2 for log in logs)


async def test_a_range_by_block_hash_is_one_call(asking):
    node = ChainNode(CHAIN)
    rpc = await asking(node)
    assert CHAIN.logs_of(8)
    assert await rpc("eth_getLogs", {"blockHash": CHAIN.hash_of(8)}) == CHAIN.logs_of(8)
    assert len(node.calls) == 1


@pytest.mark.parametrize("times", [1, 2])
async def test_a_reorganisation_between_parts(asking, times):
    """The chain forks when the second part is asked for: all parts of the answer are of one chain."""
    node = ChainNode(CHAIN, refuse=DIALECTS["blocks, with a hint"][0])
    forks = [MadeUpChain(3000, forked_at=2950 + each) for each in range(times)]
    starts = []

    async def reorganise(node, request, writer):
        if request["method"] == "eth_getLogs" and request["params"][0]["toBlock"] == hex(3000):
            starts.append(request)
            if len(starts) > 1 and forks:
                node.chain = forks.pop()
        ok(writer, request, node.result(request["method"], request["params"]))

    node.behaviour = reorganise
    node.refuse = None
    rpc = await asking(node)
    spans = rpc.dispatcher.log_ranges._spans
    spans[1] = Spans(lambda: 0.0, passed=100, refused=101)
    spans[1]._refused_at = 0.0
    starts.append("the first call has no fork")
    wanted = {"fromBlock": hex(2801), "toBlock": hex(3000)}
    if times == 1:
        assert await rpc("eth_getLogs", wanted) == node.chain.logs(wanted)
        assert node.chain is not CHAIN
    else:
        with pytest.raises(UpstreamError) as failure:
            await rpc("eth_getLogs", wanted)
        assert failure.value.retryable


async def test_nodes_with_different_limits_agree_on_parts(asking):
    nodes = [ChainNode(CHAIN, refuse=DIALECTS["blocks, with a hint"][0]), ChainNode(CHAIN)]
    rpc = await asking(*nodes, quorum=2)
    wanted = {"fromBlock": "0x1", "toBlock": hex(1000)}
    assert await rpc("eth_getLogs", wanted) == CHAIN.logs(wanted)


async def test_an_answer_longer_than_the_gateway_takes_is_split(asking):
    rpc = await asking(ChainNode(CHAIN), max_response_bytes=200_000, max_logs=1_000_000)
    wanted = {"fromBlock": "0x1", "toBlock": hex(300)}
    with pytest.raises(RpcError) as failure:
        await rpc("eth_getLogs", wanted)
    assert failure.value.rpc_message.startswith("query response size exceeded. Try with this block range")
