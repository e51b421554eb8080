"""The head never goes back, but by a reorganisation that the parents of its blocks prove.

The node is the devnet's, behind a stub that answers with older heads, as a node that lags does.
"""

import asyncio
import logging

import pytest
from devnet_nodes import RICH, Node
from quoteway.errors import Reason, UpstreamError
from quoteway.evm import head as heads
from quoteway.evm import header_ring
from quoteway.evm.arrivals import request_arrival
from quoteway.evm.head import forget_after_s
from quoteway.networks import Network

NETWORK = Network("devnet", 31337, "Devnet", head_poll_s=3600, block_time_s=60)


class Front(Node):
    """The devnet's node; ``shown`` are the numbers of the heads it answers next, the last one for ever."""

    def __init__(self, url):
        super().__init__(url)
        self.shown = []

    async def __call__(self, method, params, timeout_s):
        if self.shown and params[:1] == ["latest"]:
            params = [hex(self.shown.pop(0) if len(self.shown) > 1 else self.shown[0]), *params[1:]]
        return await super().__call__(method, params, timeout_s)


@pytest.fixture
def front(fresh_devnet):
    return Front(fresh_devnet.urls["devnet"])


@pytest.fixture
def rpc(fresh_devnet):
    with fresh_devnet.rpc() as rpc:
        yield rpc


@pytest.fixture(autouse=True)
def long_wait(monkeypatch):
    """A busy machine may take long for an answer that is on its way."""
    monkeypatch.setattr(heads, "_MAX_WAIT_S", 30.0)


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def chain(make_chain, front, clock):
    return make_chain(front, network=NETWORK, clock=lambda: clock[0])


async def mine(rpc, blocks=1):
    await asyncio.to_thread(rpc, "anvil_mine", hex(blocks))


async def hash_of(rpc, at="latest"):
    return (await asyncio.to_thread(rpc, "eth_getBlockByNumber", at, False))["hash"]


async def follow(chain, rpc, blocks):
    """Mines blocks of one transaction and reads each as the head."""
    for _ in range(blocks):
        await asyncio.to_thread(rpc.send, {"from": RICH, "to": RICH})
        block = await chain.head(fresh=True)
    return block


async def refused(chain, number):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "_MAX_WAIT_S", 0.2)  # for what never comes
        with pytest.raises(UpstreamError, match=f"do not have block {number} yet") as error:
            await chain.head(fresh=True)
    assert error.value.reason is Reason.BEHIND
    assert error.value.retryable


# --- nodes that lag -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unseen", [0, 3])
async def test_an_older_head_is_asked_again(chain, front, rpc, unseen):
    """It is known to be older, also when the chain client never saw it: its blocks were mined in between."""
    await follow(chain, rpc, 2)
    await mine(rpc, unseen + 1)
    newest = await chain.head(fresh=True)
    front.shown = [newest.number - 1, newest.number - 1, newest.number - max(unseen, 1), newest.number]
    assert await chain.head(fresh=True) == newest
    assert front.shown == [newest.number]


async def test_two_heads_in_turns_are_one(chain, front, rpc):
    newest = await follow(chain, rpc, 5)
    front.shown = [newest.number - back for back in (3, 0, 2, 0, 4, 0, 1, 0)]
    for _ in range(4):
        with request_arrival():
            assert await chain.head() == newest


async def test_a_node_that_stays_behind_is_named_so(chain, front, rpc):
    newest = await follow(chain, rpc, 3)
    front.shown = [newest.number - 2]
    await refused(chain, newest.number)
    assert chain.known_head == newest
    assert chain.behind is not None
    front.shown = [newest.number]
    assert await chain.head(fresh=True) == newest
    assert chain.behind is None


async def test_what_is_known_to_be_old_costs_one_read_each_time(chain, front, rpc):
    newest = await follow(chain, rpc, 2)
    await mine(rpc, 40)
    newest = await chain.head(fresh=True)
    front.shown = [newest.number - 1]
    for _ in range(3):  # it may not be known at the first time: the wait is short
        await refused(chain, newest.number)
    assert front.asked.count("eth_getBlockByHash") < 50


async def test_a_head_read_before_a_newer_one_was_known_is_given(make_chain):
    """Answers overtake each other: no request waits for a head that it did not need."""
    gates = [asyncio.Event(), asyncio.Event()]
    answers = iter([(5, None), (6, gates[0]), (7, gates[1])])

    async def node(method, params, timeout_s):
        if method == "eth_chainId":
            return "0x7a69"
        number, gate = next(answers)
        if gate is not None:
            await gate.wait()
        return {"number": hex(number), "hash": f"0x{number:064x}", "timestamp": "0x1"}

    chain = make_chain(node, network=NETWORK)
    await chain.head()
    first = asyncio.create_task(chain.head(fresh=True))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(chain.head(fresh=True))
    await asyncio.sleep(0.01)
    gates[1].set()
    assert (await second).number == 7
    gates[0].set()
    assert (await first).number == 6
    assert chain.known_head.number == 7


# --- reorganisations ----------------------------------------------------------------------------------------


async def replaced(chain, rpc, blocks, depth):
    """The last of so many new heads; as many empty blocks have replaced the newest ``depth`` since."""
    await follow(chain, rpc, blocks - depth)
    snapshot = await asyncio.to_thread(rpc, "evm_snapshot")
    before = await follow(chain, rpc, depth)
    await asyncio.to_thread(rpc, "evm_revert", snapshot)
    await mine(rpc, depth)
    return before


@pytest.mark.parametrize("depth", range(1, 11))
async def test_a_reorganisation_is_followed(chain, front, rpc, depth):
    before = await replaced(chain, rpc, 11, depth)
    after = await chain.head(fresh=True)
    assert (after.number, after.hash) == (before.number, await hash_of(rpc))
    assert after.hash != before.hash
    front.shown = [before.number - depth]  # the common ancestor: older on both chains
    await refused(chain, before.number)
    front.shown = []
    assert (await follow(chain, rpc, 1)).number == before.number + 1


async def test_a_block_that_another_process_has_seen_is_waited_for(chain, front, rpc):
    block = await follow(chain, rpc, 2)
    await mine(rpc, 1)
    front.shown = [block.number, block.number, block.number + 1]
    newest = await hash_of(rpc)
    assert (await chain.block_seen_elsewhere(block.number + 1)).hash == newest
    assert front.shown == [block.number + 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "_MAX_WAIT_S", 0.2)
        with pytest.raises(UpstreamError) as error:
            await chain.block_seen_elsewhere(block.number + 2)
    assert error.value.reason is Reason.BEHIND


@pytest.mark.parametrize("mined", [0, 1, 3])
async def test_a_block_that_was_taken_back_is_known_by_the_parents_of_the_newest(chain, front, rpc, mined):
    """Also while the node, or a cache before it, tells the old block for its number."""
    block = await follow(chain, rpc, 3)
    old = await asyncio.to_thread(rpc, "eth_getBlockByNumber", hex(block.number), False)
    await mine(rpc, mined)
    assert await chain.replacing(block) is None
    front.answers["eth_getBlockByNumber"] = lambda params: old if params[0] != "latest" else newest
    await asyncio.to_thread(rpc, "anvil_reorg", mined + 1, [])
    await mine(rpc, 1)
    newest = await asyncio.to_thread(rpc, "eth_getBlockByNumber", "latest", False)
    assert (await chain.replacing(block)).hash == newest["hash"]


async def test_the_first_block_of_all_is_followed_when_it_is_replaced(chain, rpc):
    """The ring has one header, whose parent is the other one's too."""
    snapshot = await asyncio.to_thread(rpc, "evm_snapshot")
    before = await follow(chain, rpc, 1)
    await asyncio.to_thread(rpc, "evm_revert", snapshot)
    await mine(rpc)
    after = await chain.head(fresh=True)
    assert (after.number, after.hash == before.hash) == (before.number, False)


@pytest.mark.parametrize(("depth", "mined"), [(2, 2), (7, 7), (5, 2)])
async def test_a_reorganisation_right_after_the_first_head_is_followed(chain, front, rpc, depth, mined):
    """Only one head is known. Nodes have the blocks that were replaced still, by their hashes."""
    await mine(rpc, 3)
    snapshot = await asyncio.to_thread(rpc, "evm_snapshot")
    for _ in range(depth):
        await asyncio.to_thread(rpc.send, {"from": RICH, "to": RICH})
    before = await chain.head()
    replaced = {}
    for number in range(before.number - depth + 1, before.number + 1):
        block = await asyncio.to_thread(rpc, "eth_getBlockByNumber", hex(number), False)
        replaced[block["hash"]] = block
    await asyncio.to_thread(rpc, "evm_revert", snapshot)
    await mine(rpc, mined)
    real = Node.__call__

    async def node(method, params, timeout_s):
        block = replaced.get(params[0]) if method == "eth_getBlockByHash" else None
        return block or await real(front, method, params, timeout_s)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Front, "__call__", lambda self, *call: node(*call))
        after = await chain.head(fresh=True)
    assert (after.number, after.hash) == (before.number - depth + mined, await hash_of(rpc))


async def test_a_first_head_that_a_node_is_behind_is_no_reorganisation(chain, front, rpc):
    await mine(rpc, 12)
    newest = await chain.head(fresh=True)
    for back in (1, 5, 11):
        front.shown = [newest.number - back]
        await refused(chain, newest.number)


async def test_a_shorter_chain_is_followed_when_it_is_proven(chain, rpc):
    await follow(chain, rpc, 2)
    snapshot = await asyncio.to_thread(rpc, "evm_snapshot")
    before = await follow(chain, rpc, 5)
    await asyncio.to_thread(rpc, "evm_revert", snapshot)
    await mine(rpc)
    after = await chain.head(fresh=True)
    assert (after.number, after.hash) == (before.number - 4, await hash_of(rpc))


async def test_a_reorganisation_deeper_than_the_ring_is_not_taken_for_one(chain, rpc, monkeypatch):
    monkeypatch.setattr(header_ring, "RING_BLOCKS", 4)
    before = await replaced(chain, rpc, 10, 8)
    await refused(chain, before.number)
    assert (await follow(chain, rpc, 1)).number == before.number + 1, "a higher block needs no proof"


async def test_a_chain_that_proves_nothing_is_not_followed(chain, front, rpc):
    """Another chain's block, whose parents nobody has."""
    before = await follow(chain, rpc, 3)
    other = {"number": hex(before.number), "hash": "0x" + "ab" * 32, "parentHash": "0x" + "cd" * 32}
    front.answers["eth_getBlockByNumber"] = other | {"timestamp": hex(before.timestamp)}
    await refused(chain, before.number)


# --- chains that were reset ---------------------------------------------------------------------------------


async def test_a_chain_that_was_reset_is_followed_after_a_while(chain, rpc, clock, caplog):
    snapshot = await asyncio.to_thread(rpc, "evm_snapshot")
    before = await follow(chain, rpc, 5)
    await asyncio.to_thread(rpc, "evm_revert", snapshot)
    await refused(chain, before.number)
    clock[0] += forget_after_s(NETWORK) - 1
    await refused(chain, before.number)
    clock[0] += 1.5
    with caplog.at_level(logging.WARNING, "quoteway.evm"):
        after = await chain.head(fresh=True)
    assert after.number == before.number - 5
    assert f"went back from block {before.number} to {after.number}" in caplog.text
    assert (await follow(chain, rpc, 1)).number == after.number + 1


async def test_a_node_that_catches_up_in_between_was_not_reset(chain, front, rpc, clock):
    newest = await follow(chain, rpc, 3)
    for _ in range(3):
        front.shown = [newest.number - 2]
        await refused(chain, newest.number)
        clock[0] += forget_after_s(NETWORK) - 1
        front.shown = [newest.number]
        assert await chain.head(fresh=True) == newest


# --- one block for a request --------------------------------------------------------------------------------


async def test_all_of_a_request_is_of_one_block(chain, rpc):
    with request_arrival():
        first = await chain.head()
        await mine(rpc)
        assert (await chain.head(fresh=True)).number == first.number + 1
        assert await chain.head() == first
        assert chain.was_head(first)

        async def outlives():
            await over.wait()
            return await chain.head()

        over = asyncio.Event()
        task = asyncio.create_task(outlives())
    over.set()
    assert (await task).number == first.number + 1
