"""Heads that nodes push: known at once, no reads meanwhile, and never older than a request."""

import asyncio

import pytest
from devnet_nodes import DEVNET, FAST, Node, block_answer
from quoteway.evm.answers import header_of
from quoteway.evm.arrivals import request_arrival


class Pushes:
    """As ``RpcUpstream.heads``: an iterator while ``live``. ``send`` pushes a head, ``end`` ends it all."""

    def __init__(self, *, live=True):
        self.live = live
        self.asked = self.ended = 0
        self.queue = asyncio.Queue()

    def __call__(self):
        self.asked += 1
        return self._heads() if self.live else None

    async def _heads(self):
        try:
            while (item := await self.queue.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.ended += 1

    def send(self, number, **members):
        self.queue.put_nowait(header_of(block_answer(number) | members))

    def end(self, item=None):
        self.live = False
        self.queue.put_nowait(item)


@pytest.fixture
def node():
    node = Node()
    node.number = 5
    node.answers["eth_getBlockByNumber"] = lambda params: block_answer(node.number)
    return node


def clock():
    return asyncio.get_running_loop().time()


@pytest.mark.looptime
async def test_a_pushed_head_is_known_at_once_and_nothing_is_polled(make_chain, node):
    pushes = Pushes()
    chain = make_chain(node, network=FAST, pushed=pushes, clock=clock)
    assert (await chain.head()).number == 5
    sent = len(node.asked)
    for number in range(6, 20):
        await asyncio.sleep(1.0)
        pushes.send(number)
        await asyncio.sleep(0.001)
        assert (await chain.head()).number == number
    assert len(node.asked) == sent


@pytest.mark.looptime
async def test_a_request_reads_the_head_itself(make_chain, node):
    """A block that is not pushed yet may have the transaction that its caller has seen."""
    pushes = Pushes()
    chain = make_chain(node, network=DEVNET, pushed=pushes, clock=clock)
    await chain.head()
    pushes.send(6)
    await asyncio.sleep(0.001)
    node.number = 7
    with request_arrival():
        head = await chain.head()
        assert head.number == 7
        assert chain.was_head(head)
    assert (await chain.head()).number == 7


@pytest.mark.looptime
async def test_a_request_never_gets_an_older_head_than_was_pushed(make_chain, node):
    pushes = Pushes()
    chain = make_chain(node, network=DEVNET, pushed=pushes, clock=clock)
    await chain.head()
    pushes.send(6)
    await asyncio.sleep(0.001)
    with request_arrival():  # the node that answers does not have block 6 yet
        waiting = asyncio.create_task(chain.head())
        await asyncio.sleep(0.2)
        assert not waiting.done()
        node.number = 6
        assert (await waiting).number == 6


@pytest.mark.looptime
async def test_a_late_push_leads_to_no_older_head(make_chain, node):
    pushes = Pushes()
    chain = make_chain(node, network=DEVNET, pushed=pushes, clock=clock)
    node.number = 9
    await chain.head()
    pushes.send(8)
    await asyncio.sleep(0.001)
    assert (await chain.head()).number == 9
    with request_arrival():
        assert (await chain.head()).number == 9


@pytest.mark.looptime
async def test_a_pushed_head_that_came_after_the_read_is_one_of_the_request(make_chain, node):
    pushes = Pushes()
    chain = make_chain(node, network=DEVNET, pushed=pushes, clock=clock)
    await chain.head()
    with request_arrival():
        assert (await chain.head()).number == 5
        pushes.send(6)
        await asyncio.sleep(0.001)
        assert (await chain.head()).number == 5, "all reads of a request are of one block"
        assert chain.known_head.number == 6
        assert chain.was_head(chain.known_head)


@pytest.mark.looptime
@pytest.mark.parametrize("ended_by", ["end", "error"])
async def test_without_pushes_the_head_is_polled_until_they_are_offered_again(make_chain, node, ended_by):
    pushes = Pushes()
    chain = make_chain(node, network=FAST, pushed=pushes, clock=clock)
    await chain.head()
    await asyncio.sleep(0.2)
    pushes.end(RuntimeError("a plugin's bug") if ended_by == "error" else None)
    node.number = 6
    await asyncio.sleep(0.2)
    assert chain.known_head.number == 6
    assert pushes.ended == 1
    pushes.live = True
    await asyncio.sleep(0.1)
    pushes.send(7)
    await asyncio.sleep(0.001)
    assert chain.known_head.number == 7


@pytest.mark.looptime
async def test_a_head_that_is_not_pushed_is_read_after_two_block_times(make_chain, node):
    chain = make_chain(node, network=FAST, pushed=Pushes(), clock=clock)
    await chain.head()
    node.number = 6
    await asyncio.sleep(3 * FAST.block_time_s)
    assert chain.known_head.number == 6


@pytest.mark.looptime
async def test_pushes_are_not_followed_when_nobody_asks(make_chain, node):
    pushes = Pushes()
    chain = make_chain(node, network=FAST, pushed=pushes, clock=clock, idle_s=30.0)
    await chain.head()
    await asyncio.sleep(120)
    assert pushes.ended == 1
    sent = len(node.asked)
    await asyncio.sleep(300)
    assert (len(node.asked), pushes.asked) == (sent, 1)


@pytest.mark.looptime
async def test_closing_ends_the_iterator(make_chain, node):
    pushes = Pushes()
    chain = make_chain(node, network=FAST, pushed=pushes, clock=clock)
    await chain.head()
    await asyncio.sleep(0.01)
    await chain.close()
    assert pushes.ended == 1
