"""The newest block that a chain client knows: followed, shared, and never older than a request."""

import asyncio
import logging
from functools import partial

import pytest
from devnet_nodes import FAST, Node, block_answer
from quoteway.errors import Reason, UpstreamError
from quoteway.evm.arrivals import request_arrival


async def test_the_head_is_known_without_asking_and_followed(fresh_devnet, make_chain, node):
    rpc, chain = fresh_devnet.rpc(), make_chain(node)
    first = await chain.head()
    sent = chain.requests
    assert await chain.head() == first
    assert chain.requests == sent
    await asyncio.to_thread(rpc, "anvil_mine", "0x1")
    assert (await chain.head(fresh=True)).number == first.number + 1
    chain = make_chain(node, network=FAST)
    await chain.head()
    await asyncio.to_thread(rpc, "anvil_mine", "0x1")
    async with asyncio.timeout(60):
        while (await chain.head()).number != first.number + 2:
            await asyncio.sleep(0.02)


@pytest.mark.looptime
async def test_polling_ends_when_nobody_asks(make_chain):
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5)
    chain = make_chain(node, network=FAST, idle_s=0.1, clock=asyncio.get_running_loop().time)
    await chain.head()
    await asyncio.sleep(0.4)
    asked = len(node.asked)
    await asyncio.sleep(0.3)
    assert len(node.asked) == asked
    assert (await chain.head()).number == 5


@pytest.mark.looptime
async def test_a_failing_node_is_logged_once_and_never_serves_an_old_head(make_chain, caplog):
    now = [0.0]
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5)
    chain = make_chain(node, network=FAST, clock=lambda: now[0])
    await chain.head()
    node.broken = UpstreamError("down", reason=Reason.RPC_ERROR)
    with caplog.at_level(logging.WARNING, "quoteway.evm"):
        await asyncio.sleep(0.4)
    assert len(caplog.records) == 1
    assert (await chain.head()).number == 5  # still within what may be served
    now[0] += 30
    with pytest.raises(UpstreamError):
        await chain.head()
    node.broken = None
    assert (await chain.head()).number == 5


@pytest.mark.looptime
async def test_a_fresh_head_is_no_older_than_the_call(make_chain):
    node = Node()
    heads = iter([1, 2, 3])
    node.answers["eth_getBlockByNumber"] = lambda params: block_answer(next(heads))
    chain = make_chain(node)
    await chain.head()
    node.gate = asyncio.Event()
    under_way = asyncio.create_task(chain.block("latest"))
    await asyncio.sleep(0)
    fresh = asyncio.create_task(chain.head(fresh=True))
    await asyncio.sleep(0.01)
    node.gate.set()
    await under_way
    assert (await fresh).number == 3  # not 2, which was asked for before


async def test_in_a_request_the_head_is_read_once_and_after_its_arrival(make_chain):
    node = Node()
    heads = iter(range(1, 100))
    node.answers["eth_getBlockByNumber"] = lambda params: block_answer(next(heads))
    chain = make_chain(node)
    assert (await chain.head()).number == 1
    for number in (2, 3):
        with request_arrival():
            assert (await chain.head()).number == number
            with request_arrival():  # a quote inside of a request that is marked already
                assert (await asyncio.gather(*(chain.head() for _ in range(10))))[0].number == number
    assert (await chain.head()).number == 3


@pytest.mark.parametrize("under_way", ["head", "block"])
async def test_a_request_does_not_join_a_read_that_was_under_way(make_chain, under_way):
    """The node may have answered it before the block of the request's own transaction."""
    node = Node()
    heads = iter(range(1, 100))

    async def answer(method, params, timeout_s):
        read = block_answer(next(heads)) if method == "eth_getBlockByNumber" else "0x7a69"
        if node.gate is not None:  # the node has read its state, and its answer takes a while
            await node.gate.wait()
        return read

    chain = make_chain(answer)
    await chain.head()
    node.gate = asyncio.Event()
    read = {"head": partial(chain.head, fresh=True), "block": partial(chain.block, "latest")}[under_way]
    before = asyncio.create_task(read())
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    async def request():
        with request_arrival():
            return await chain.head()

    later = [asyncio.create_task(request()) for _ in range(50)]
    await asyncio.sleep(0.01)
    after = asyncio.create_task(request())
    await asyncio.sleep(0.01)
    node.gate.set()
    assert (await before).number == 2
    assert {block.number for block in await asyncio.gather(*later)} == {3}, (
        "one read for all that came together"
    )
    assert (await after).number == 4


async def test_a_request_is_not_answered_with_a_head_from_before_it_when_the_node_fails(make_chain):
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5)
    chain = make_chain(node)
    await chain.head()
    node.broken = UpstreamError("down", reason=Reason.RPC_ERROR)
    with request_arrival(), pytest.raises(UpstreamError):
        await chain.head()
    node.broken = None
    with request_arrival():
        assert (await chain.head()).number == 5


async def test_a_request_that_is_cancelled_takes_no_head_from_those_who_share_its_read(make_chain):
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5)
    chain = make_chain(node)
    await chain.head()
    node.gate = asyncio.Event()

    async def request():
        with request_arrival():
            return await chain.head()

    alone = asyncio.create_task(request())
    await asyncio.sleep(0)
    alone.cancel()  # before its read has begun
    one, two = asyncio.create_task(request()), asyncio.create_task(request())
    await asyncio.sleep(0.01)
    one.cancel()
    node.gate.set()
    assert (await two).number == 5
    assert one.cancelled()
    assert alone.cancelled()


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        [],
        "0x",
        {"number": 5},
        block_answer(5) | {"number": "5"},
        block_answer(5) | {"hash": "0x12"},
    ],
)
async def test_a_garbled_block_is_an_upstream_error(make_chain, answer):
    node = Node()
    node.answers["eth_getBlockByNumber"] = answer
    with pytest.raises(UpstreamError):
        await make_chain(node).head()


@pytest.mark.parametrize("member", ["number", "timestamp", "baseFeePerGas"])
@pytest.mark.parametrize("value", ["0x-1", "0x 1", "0x1_0", "0x" + "1" * 65, "0x", "1", 1])
async def test_a_number_that_is_none_is_an_upstream_error(make_chain, member, value):
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5) | {member: value}
    with pytest.raises(UpstreamError):
        await make_chain(node).head()


@pytest.mark.parametrize("member", ["number", "timestamp"])
async def test_a_block_of_the_year_10000_is_an_upstream_error(make_chain, member):
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5) | {member: hex(253_402_300_800)}
    with pytest.raises(UpstreamError):
        await make_chain(node).head()


async def test_blocks_by_number_and_tag(chain):
    head = await chain.head()
    assert await chain.block(head.number) == head
    assert (await chain.block("finalized")).number <= head.number
    with pytest.raises(UpstreamError, match="has no block"):
        await chain.block(head.number + 1000)
