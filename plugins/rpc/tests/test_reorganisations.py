"""Reorganisations: what one node tells of replaced blocks is compared with what the others tell."""

import time

import pytest
from chain_nodes import ChainModel, Node
from fake_node import FakeNode
from faults import FAULTS, hang
from quoteway import UpstreamError

MAIN = ChainModel()


async def test_a_reorganisation_is_followed(gateway_of):
    async with FakeNode(Node(MAIN)) as one, FakeNode(Node(MAIN)) as two:
        rpc = gateway_of(one, two)
        assert (await rpc.ask("eth_getBlockByNumber", "latest", False))["hash"] == MAIN.hash(99)
        for fork in (ChainModel(branch="b", fork_at=95), ChainModel(99, branch="c", fork_at=95)):
            one.behaviour = two.behaviour = Node(fork)
            for upstream in rpc.seen.views:
                await rpc.seen.look(upstream)
            latest = await rpc.ask("eth_getBlockByNumber", "latest", False)
            assert latest["hash"] == fork.hash(fork.length - 1)
            assert await rpc.ask("eth_blockNumber") == hex(fork.length - 1)


async def _three_that_know_the_chain(gateway_of, one, two, three, **more):
    """A dispatcher that has the last blocks of the three nodes' chain."""
    rpc = gateway_of(one, two, three, block_time_s=2.0, **more)
    main = ChainModel(90)
    one.behaviour = two.behaviour = three.behaviour = Node(main)
    for length in range(91, 101):
        main.length = length
        for upstream in rpc.seen.views:
            await rpc.seen.look(upstream)
    return rpc


async def test_a_reorganisation_that_one_node_alone_can_tell_is_followed(gateway_of):
    async with FakeNode() as one, FakeNode() as two, FakeNode() as three:
        rpc = await _three_that_know_the_chain(gateway_of, one, two, three)
        fork = ChainModel(100, branch="b", fork_at=96)
        one.behaviour, two.behaviour, three.behaviour = Node(fork), hang, FAULTS["429"]
        for method, *params in (
            ("eth_getBlockByNumber", "latest", False),
            ("eth_getLogs", {"fromBlock": hex(94), "toBlock": hex(99)}),
            ("eth_getTransactionReceipt", fork.transaction(97)),
            ("eth_getBlockByNumber", hex(96), False),
        ):
            assert await rpc.read(method, *params) == fork.answer(method, params)
        assert rpc.seen.served.hash == fork.hash(99)


@pytest.mark.parametrize("others", ["one answers", "none answers"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getLogs", [{"fromBlock": hex(94), "toBlock": hex(99)}]),
        ("eth_getLogs", [{"fromBlock": hex(99), "toBlock": hex(99)}]),
        ("eth_getTransactionReceipt", [MAIN.transaction(97)]),
        ("eth_getBlockByNumber", [hex(97), False]),
        ("eth_getBlockByNumber", ["latest", False]),
    ],
)
async def test_a_reorganisation_is_told_without_waiting_for_a_node_that_hangs(
    gateway_of, method, params, others
):
    async with FakeNode() as one, FakeNode() as two, FakeNode() as three:
        settings = {"attempt_timeout_s": 60.0, "total_timeout_s": 60.0, "hedge_share": 0.001}
        rpc = await _three_that_know_the_chain(gateway_of, one, two, three, settings=settings)
        two.behaviour = hang
        three.behaviour = three.behaviour if others == "one answers" else FAULTS["429"]
        (health,) = rpc._healths.values()
        health.probe_failed(health.upstreams[1], "timeout")
        fork = ChainModel(100, branch="b", fork_at=96)
        one.behaviour = Node(fork)
        if others == "one answers":
            three.behaviour = Node(fork)
        began = time.monotonic()
        assert await rpc.read(method, *params, timeout_s=60.0) == fork.answer(method, params)
        assert time.monotonic() - began < 10


@pytest.mark.parametrize("numbers", [(99,), (98, 99), (96, 99), (95, 99, 97, 96), (97, 95, 99)])
async def test_blocks_beside_replaced_ones_are_served_where_one_node_alone_can_tell(gateway_of, numbers):
    """What is above or below a block that is known no more is compared with its neighbours alone."""
    async with FakeNode() as one, FakeNode() as two, FakeNode() as three:
        rpc = await _three_that_know_the_chain(gateway_of, one, two, three)
        fork = ChainModel(101, branch="b", fork_at=96)
        one.behaviour, two.behaviour, three.behaviour = Node(fork), FAULTS["reset"], FAULTS["429"]
        assert await rpc.read("eth_getBlockByNumber", "latest", False) == fork.block(100)
        for number in numbers:
            assert await rpc.read("eth_getBlockByNumber", hex(number), False) == fork.block(number)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getLogs", [{"fromBlock": hex(97), "toBlock": hex(97)}]),
        ("eth_getTransactionReceipt", [MAIN.transaction(97)]),
        ("eth_getBlockByNumber", [hex(97), False]),
    ],
)
async def test_what_is_of_a_block_below_a_replaced_one_is_served_where_one_node_alone_can_tell(
    gateway_of, method, params
):
    async with FakeNode() as one, FakeNode() as two, FakeNode() as three:
        rpc = await _three_that_know_the_chain(gateway_of, one, two, three)
        del rpc.seen._chain[97]  # as after reads that skipped it
        fork = ChainModel(101, branch="b", fork_at=96)
        one.behaviour, two.behaviour, three.behaviour = Node(fork), FAULTS["reset"], FAULTS["429"]
        assert await rpc.read(method, *params) == fork.answer(method, params)


async def test_a_branch_of_one_node_is_not_believed_while_the_others_answer(gateway_of):
    async with FakeNode() as one, FakeNode() as two, FakeNode() as three:
        rpc = await _three_that_know_the_chain(gateway_of, one, two, three)
        main = two.behaviour.chain
        one.behaviour = Node(ChainModel(101, branch="b", fork_at=96))
        for method, *params in (
            ("eth_getBlockByNumber", "latest", False),
            ("eth_getLogs", {"fromBlock": hex(94), "toBlock": hex(99)}),
            ("eth_getTransactionReceipt", main.transaction(97)),
        ):
            for _ in range(6):
                assert await rpc.read(method, *params) == main.answer(method, params)
        assert rpc.seen.served.hash == main.hash(main.length - 1)


async def test_a_node_of_another_chain_is_not_believed_when_it_is_alone(gateway_of):
    async with FakeNode() as one, FakeNode() as two, FakeNode() as three:
        rpc = await _three_that_know_the_chain(gateway_of, one, two, three)
        one.chain_id, one.behaviour = 5, Node(ChainModel(101, branch="another chain"))
        two.behaviour = three.behaviour = FAULTS["429"]
        with pytest.raises(UpstreamError):
            await rpc.read("eth_getBlockByNumber", "latest", False)
