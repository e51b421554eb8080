"""The blocks and logs of the devnet's node as they come and go, told to many listeners at once."""

import asyncio
import json

import pytest
from devnet_nodes import FAST, RICH, Node
from quoteway.errors import UpstreamError
from quoteway.evm.address import keccak256
from quoteway.evm.block_feed import MAX_GAP_BLOCKS, BlockFeed
from quoteway.evm.chain import RpcChain
from quoteway.evm.log_feed import LogFeed
from quoteway.evm.log_filter import LogFilter

DEADLINE_S = 60
DEPOSIT = "0x" + keccak256(b"Deposit(address,uint256)").hex()
OTHER = "0x" + "ab" * 32


async def until(condition):
    async with asyncio.timeout(DEADLINE_S):
        while not condition():
            await asyncio.sleep(0.01)


class Blocks:
    """Notes what a feed of blocks tells."""

    def __init__(self):
        self.told, self.is_lost = [], False

    def added(self, block):
        self.told.append(("added", block))

    def removed(self, block):
        self.told.append(("removed", block))

    def lost(self):
        self.is_lost = True

    @property
    def numbers(self):
        return [(what, block.number) for what, block in self.told]

    @property
    def chain(self):
        """The blocks that are left; fails where one is not the child of the one before."""
        chain = []
        for what, block in self.told:
            if what == "removed":
                assert chain.pop() == block
            else:
                assert not chain or block.parent == chain[-1].hash
                chain.append(block)
        return chain


class Logs:
    """Notes what a feed of logs tells."""

    def __init__(self, wanted=LogFilter()):  # noqa: B008 - immutable
        self.filter, self.told, self.is_lost = wanted, [], False

    def log(self, entry):
        self.told.append(json.loads(entry))

    def lost(self):
        self.is_lost = True


class Chain:
    """The devnet's chain behind a node that can fail, with what happens on it."""

    def __init__(self, devnet):
        self.devnet = devnet
        self.node = Node(devnet.urls["devnet"])
        self.weth = devnet.chains["devnet"].contracts["WETH9"]
        self.chain = RpcChain(FAST, self.node)
        self.blocks = BlockFeed(self.chain)
        self.logs = LogFeed(self.chain, self.blocks)

    async def rpc(self, method, *params):
        def call():
            with self.devnet.rpc("devnet") as rpc:
                return rpc(method, *params)

        return await asyncio.to_thread(call)

    async def mine(self, count=1):
        await self.rpc("anvil_mine", hex(count))

    async def deposit(self, amount=1):
        """Mines a block with one log."""
        transaction = {"from": RICH, "to": self.weth, "data": "0xd0e30db0", "value": hex(amount)}

        def send():
            with self.devnet.rpc("devnet") as rpc:
                return rpc.send(transaction)

        return await asyncio.to_thread(send)

    async def head(self):
        return int(await self.rpc("eth_blockNumber"), 16)

    def times(self, method):
        return self.node.asked.count(method)


@pytest.fixture
async def chain(fresh_devnet):
    fresh_devnet.diverge()
    chain = Chain(fresh_devnet)
    yield chain
    await chain.chain.close()


async def test_every_block_comes_once_with_the_header_of_the_node(chain):
    first, second = Blocks(), Blocks()
    await chain.blocks.join(first)
    await chain.blocks.join(second)
    begin = await chain.head()
    for _ in range(3):
        await chain.mine()
    await until(lambda: len(first.told) == 3)
    assert first.numbers == second.numbers == [("added", begin + n) for n in (1, 2, 3)]
    assert [block.number for block in first.chain] == [begin + n for n in (1, 2, 3)]
    block = first.told[0][1]
    whole = await chain.rpc("eth_getBlockByHash", block.hash, False)
    assert {name: whole[name] for name in whole if name not in _BODY} == json.loads(block.header)


_BODY = {"transactions", "uncles", "withdrawals", "size", "totalDifficulty"}


async def test_a_reorganisation_takes_blocks_back_newest_first(chain):
    told = Blocks()
    await chain.blocks.join(told)
    begin = await chain.head()
    for _ in range(3):
        await chain.deposit()  # no empty blocks: those mined instead could be the same ones
    await until(lambda: len(told.told) == 3)
    await chain.rpc("anvil_reorg", 2, [])
    await until(lambda: len(told.told) == 7)
    assert told.numbers[3:] == [
        ("removed", begin + 3),
        ("removed", begin + 2),
        ("added", begin + 2),
        ("added", begin + 3),
    ]
    assert len(told.chain) == 3


async def test_a_reorganisation_below_the_first_head_is_followed(chain):
    for _ in range(6):
        await chain.deposit()
        await chain.chain.head(fresh=True)  # requests have followed the chain before
    told = Blocks()
    await chain.blocks.join(told)
    begin = await chain.head()
    await chain.deposit()
    await until(lambda: told.told)
    await chain.rpc("anvil_reorg", 5, [])
    await until(lambda: len(told.told) == 11)
    gone = [("removed", number) for number in range(begin + 1, begin - 4, -1)]
    assert told.numbers[1:] == gone + [("added", begin + n) for n in range(-3, 2)]
    assert not told.is_lost


@pytest.mark.parametrize("missed", [1, 40])
async def test_blocks_missed_while_the_node_was_away_come_once(chain, missed):
    told = Blocks()
    await chain.blocks.join(told)
    begin = await chain.head()
    chain.node.broken = UpstreamError("away")
    await chain.mine(missed)
    seen = len(chain.node.asked)
    await until(lambda: len(chain.node.asked) > seen + 3)
    assert not told.told
    chain.node.broken = None
    await until(lambda: len(told.told) == missed)
    await chain.mine()
    await until(lambda: len(told.told) == missed + 1)
    assert [block.number for block in told.chain] == list(range(begin + 1, begin + missed + 2))


async def test_a_node_that_fails_in_the_middle_of_a_gap_costs_nothing_twice(chain):
    told = Blocks()
    await chain.blocks.join(told)
    chain.node.broken = UpstreamError("away")
    await chain.mine(40)
    chain.node.broken, answered = None, 0

    def flaky(method, answer):
        nonlocal answered
        answered += method.startswith("eth_getBlockBy")
        if answered % 3 == 0 and method.startswith("eth_getBlockBy"):
            raise UpstreamError("away")
        return answer

    chain.node.rewrite = flaky
    await until(lambda: len(told.told) >= 40)
    assert len(told.chain) == 40


@pytest.mark.slow
async def test_a_listener_that_missed_too_much_is_told(chain):
    blocks, logs = Blocks(), Logs()
    await chain.blocks.join(blocks)
    await chain.logs.join(logs)
    chain.node.broken = UpstreamError("away")
    await chain.mine(MAX_GAP_BLOCKS + 1)
    chain.node.broken = None
    await until(lambda: blocks.is_lost and logs.is_lost)
    assert not blocks.told
    again = Blocks()
    await chain.blocks.join(again)
    await chain.mine()
    await until(lambda: len(again.told) == 1)


async def test_the_feed_ends_with_its_last_listener(chain):
    def following():
        return [task for task in asyncio.all_tasks() if task.get_name().startswith(("blocks of", "logs of"))]

    first, second = Blocks(), Logs()
    await chain.blocks.join(first)
    await chain.logs.join(second)
    assert len(following()) == 1
    chain.blocks.leave(first)
    await chain.mine()
    assert following()
    chain.logs.leave(second)
    await until(lambda: not following())
    assert not first.told


async def test_joining_while_no_node_answers_is_an_error(chain):
    chain.node.broken = UpstreamError("away")
    with pytest.raises(UpstreamError):
        await chain.logs.join(Logs())
    chain.node.broken = None
    told = Blocks()
    await chain.blocks.join(told)
    await chain.mine()
    await until(lambda: len(told.told) == 1)


# --- logs ---------------------------------------------------------------------------------------------------


async def test_fifty_listeners_cost_one_read_for_each_block(chain):
    mine = [Logs(LogFilter(frozenset([chain.weth.lower()]), (frozenset([DEPOSIT]),))) for _ in range(25)]
    mine += [Logs() for _ in range(25)]
    others = [Logs(LogFilter(topics=(frozenset([OTHER]),)))]
    for listener in mine + others:
        await chain.logs.join(listener)
    receipts = [await chain.deposit() for _ in range(3)]
    await until(lambda: all(len(listener.told) == 3 for listener in mine))
    assert mine[0].told == mine[-1].told == [{**log, "removed": False} for r in receipts for log in r["logs"]]
    assert not others[0].told
    assert chain.times("eth_getLogs") == 3


async def test_a_block_without_the_logs_that_somebody_wants_costs_none(chain):
    told, blocks = Logs(LogFilter(topics=(frozenset([OTHER]),))), Blocks()
    await chain.logs.join(told)
    await chain.blocks.join(blocks)
    await chain.deposit()
    await chain.mine()
    await until(lambda: len(blocks.told) == 2)
    assert chain.times("eth_getLogs") == 0


async def test_logs_that_the_node_leaves_out_are_asked_for_again(chain):
    told = Logs()
    left_out = [2]

    def forgetful(method, answer):
        if method == "eth_getLogs" and left_out[0]:
            left_out[0] -= 1
            return {"result": []}
        return answer

    chain.node.rewrite = forgetful
    await chain.logs.join(told)
    await chain.deposit()
    await until(lambda: told.told)
    assert chain.times("eth_getLogs") == 3


async def test_logs_wait_for_the_node_and_keep_their_order(chain):
    told, blocks = Logs(), Blocks()
    await chain.logs.join(told)
    await chain.blocks.join(blocks)

    def no_logs(method, answer):
        if method == "eth_getLogs":
            raise UpstreamError("away")
        return answer

    chain.node.rewrite = no_logs
    for amount in (1, 2, 3):
        await chain.deposit(amount)
    await until(lambda: len(blocks.told) == 3)
    assert not told.told
    chain.node.rewrite = None
    await until(lambda: len(told.told) == 3)
    assert [int(log["data"], 16) for log in told.told] == [1, 2, 3]


async def test_a_reorganisation_takes_logs_back_from_those_who_had_them(chain):
    early, late = Logs(), Logs()
    await chain.logs.join(early)
    await chain.deposit(1)
    await chain.deposit(2)
    await until(lambda: len(early.told) == 2)
    await chain.logs.join(late)
    await chain.rpc("anvil_reorg", 2, [])
    await until(lambda: len(early.told) == 4)
    one, two = early.told[:2]
    assert early.told[2:] == [{**two, "removed": True}, {**one, "removed": True}]
    assert not late.told
    await chain.deposit(3)
    await until(lambda: late.told)
    assert late.told[0]["removed"] is False


async def test_logs_of_a_block_that_is_gone_are_not_waited_for(chain):
    told = Logs()
    await chain.logs.join(told)
    gone = []

    def hides(method, answer):
        if method == "eth_getLogs" and not gone:
            raise UpstreamError("away")
        return answer

    chain.node.rewrite = hides
    await chain.deposit(1)
    await until(lambda: chain.times("eth_getLogs") >= 2)
    await chain.rpc("anvil_reorg", 1, [])
    await chain.deposit(2)
    gone.append(True)
    await until(lambda: told.told)
    assert [int(log["data"], 16) for log in told.told] == [2]
