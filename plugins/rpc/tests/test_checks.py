"""Nodes that omit, lie about or contradict what others have: another upstream is asked."""

import asyncio
import logging

import pytest
from chain_nodes import ADDRESS, OTHER, TOPIC, ChainModel, Node, digest
from fake_node import FakeNode
from faults import hang, reset
from quoteway import Reason, UpstreamError
from quoteway_rpc.attempts import ROUNDS_IN_DOUBT

MAIN = ChainModel()
MISSING_BLOCK = digest("no such block")

CALLS = {
    "eth_getBlockByNumber": [hex(50), False],
    "eth_getBlockByHash": [MAIN.hash(50), False],
    "eth_getTransactionByHash": [MAIN.transaction(50)],
    "eth_getTransactionReceipt": [MAIN.transaction(50)],
}
WRONG = {
    "block of another number": ("eth_getBlockByNumber", MAIN.block(49)),
    "block of another hash": ("eth_getBlockByHash", MAIN.block(49)),
    "block without a hash": ("eth_getBlockByHash", MAIN.block(50) | {"hash": None}),
    "block that is a text": ("eth_getBlockByNumber", "0x2a"),
    "transaction of another hash": ("eth_getTransactionByHash", {"hash": MAIN.transaction(49)}),
    "receipt of another transaction": ("eth_getTransactionReceipt", MAIN.receipt(MAIN.transaction(49))),
    "receipt with another's logs": (
        "eth_getTransactionReceipt",
        MAIN.receipt(MAIN.transaction(50)) | {"logs": [MAIN.log(49)]},
    ),
    "receipt without logs": (
        "eth_getTransactionReceipt",
        MAIN.receipt(MAIN.transaction(50)) | {"logs": None},
    ),
}
FILTER = {"address": ADDRESS, "topics": [[TOPIC, None]]}
LOGS = {"fromBlock": hex(50), "toBlock": hex(50), "address": ADDRESS, "topics": [TOPIC]}
WRONG_LOGS = {
    "other address": [MAIN.log(50) | {"address": OTHER}],
    "other topic": [MAIN.log(50) | {"topics": ["0x" + "00" * 32]}],
    "fewer topics": [MAIN.log(50) | {"topics": []}],
    "other block": [MAIN.log(51)],
    "two blocks of one number": [MAIN.log(50), MAIN.log(50) | {"blockHash": MISSING_BLOCK}],
    "removed": [MAIN.log(50) | {"removed": True}],
    "no list": {"logs": []},
    "no objects": ["0x"],
    "empty": [],
}


@pytest.mark.parametrize("method", CALLS)
async def test_null_for_what_another_has_is_asked_elsewhere(gateway_of, method):
    async with FakeNode(Node(MAIN, **{method: None})) as without, FakeNode(Node(MAIN)) as good:
        rpc = gateway_of(without, good)
        assert await rpc.ask(method, *CALLS[method]) == MAIN.answer(method, CALLS[method])


@pytest.mark.parametrize("method", CALLS)
async def test_null_from_two_is_null(gateway_of, method):
    lie = {method: None}
    async with (
        FakeNode(Node(MAIN, **lie)) as one,
        FakeNode(Node(MAIN, **lie)) as two,
        FakeNode(Node(MAIN)) as three,
    ):
        # Without hedges: on a busy machine the third would be asked beside the second.
        rpc = gateway_of(one, two, three, settings={"hedge_unknown_s": 60.0})
        assert await rpc.ask(method, *CALLS[method]) is None
        assert not three.calls
        assert await gateway_of(one).ask(method, *CALLS[method]) is None


async def test_null_is_returned_when_nobody_else_answers(gateway_of):
    async with FakeNode() as gone:
        pass
    async with FakeNode(Node(MAIN, eth_getTransactionReceipt=None)) as only:
        for nodes in ((only, gone), (gone, only)):
            assert await gateway_of(*nodes).ask("eth_getTransactionReceipt", MAIN.transaction(1)) is None


async def test_null_soon_does_not_wait_for_a_node_that_hangs(gateway_of):
    node = Node(ChainModel(), eth_getTransactionReceipt=None)
    async with FakeNode(node) as one, FakeNode(hang) as two:
        rpc = gateway_of(one, two)

        async def ask(number):
            assert await rpc.ask("eth_getTransactionReceipt", f"0x{number:064x}") is None

        number = 0
        async with asyncio.timeout(60):
            while (await rpc.upstreams())[1].state != "open":
                await ask(number := number + 1)
        assert number < 12
        asked = len(two.calls)
        for _ in range(5):
            await ask(number := number + 1)
        assert sum(call["method"] == "eth_getTransactionReceipt" for call in two.calls[asked:]) == 0


@pytest.mark.parametrize("fault", [reset, hang], ids=["resets", "hangs"])
async def test_null_does_not_wait_for_the_deadline_when_nobody_else_answers(over, fault):
    async with FakeNode(Node(MAIN, eth_getTransactionReceipt=None)) as only, FakeNode(fault) as faulty:
        for nodes in ((only, faulty), (faulty, only)):
            rpc = over(nodes, attempt_timeout_s=0.3, total_timeout_s=60)
            async with asyncio.timeout(20):
                found = await rpc.ask(
                    "eth_getTransactionReceipt", [MAIN.transaction(1)], public=True, timeout_s=60
                )
            assert found is None
        assert faulty.methods.count("eth_getTransactionReceipt") <= 2 * ROUNDS_IN_DOUBT


async def test_a_block_that_is_not_mined_is_asked_of_one(gateway_of):
    async with FakeNode(Node(MAIN)) as one, FakeNode(Node(MAIN)) as two:
        rpc = gateway_of(one, two)
        await rpc.ask("eth_blockNumber")
        before = len(one.calls) + len(two.calls)
        assert await rpc.ask("eth_getBlockByNumber", hex(100), False) is None
        assert len(one.calls) + len(two.calls) == before + 1


@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_answer_is_not_passed_on(gateway_of, case, caplog):
    method, answer = WRONG[case]
    async with FakeNode(Node(MAIN, **{method: answer})) as wrong, FakeNode(Node(MAIN)) as good:
        with caplog.at_level(logging.WARNING, "quoteway.plugin.rpc"):
            found = await gateway_of(wrong, good).ask(method, *CALLS[method])
        assert found == MAIN.answer(method, CALLS[method])
        assert "upstream 1 of ethereum failed" in caplog.text
        with pytest.raises(UpstreamError):
            await gateway_of(wrong).ask(method, *CALLS[method])


async def test_a_node_that_contradicts_another_in_each_answer_is_named_once(gateway_of, caplog):
    async with FakeNode(Node(MAIN, eth_getLogs=[])) as empty, FakeNode(Node(MAIN)) as good:
        rpc = gateway_of(empty, good)
        with caplog.at_level(logging.WARNING, "quoteway.plugin.rpc"):
            for number in range(50, 60):
                at = {"fromBlock": hex(number), "toBlock": hex(number)}
                assert await rpc.ask("eth_getLogs", {**LOGS, **at}) == [MAIN.log(number)]
        assert empty.methods.count("eth_getLogs") > 1
        assert caplog.text.count("gave an answer that another contradicts: empty") == 1


@pytest.mark.parametrize("case", WRONG_LOGS)
@pytest.mark.parametrize("by", ["number", "hash"])
async def test_logs_that_do_not_fit_to_the_filter(gateway_of, case, by):
    wanted = dict(LOGS)
    if by == "hash":
        wanted = {"blockHash": MAIN.hash(50), "address": ADDRESS, "topics": [TOPIC]}
    async with FakeNode(Node(MAIN, eth_getLogs=WRONG_LOGS[case])) as wrong, FakeNode(Node(MAIN)) as good:
        assert await gateway_of(wrong, good).ask("eth_getLogs", wanted) == [MAIN.log(50)]


async def test_logs_that_fit_are_asked_of_one(gateway_of):
    async with FakeNode(Node(MAIN)) as good, FakeNode(Node(MAIN)) as other:
        rpc = gateway_of(good, other)
        for topics in ([], [None], [[TOPIC, "0x" + "00" * 32]], [TOPIC.upper().replace("X", "x")]):
            for address in (ADDRESS, [OTHER, ADDRESS.upper().replace("X", "x")]):
                wanted = {"fromBlock": hex(50), "toBlock": hex(52), "topics": topics}
                good.behaviour = Node(MAIN, eth_getLogs=[MAIN.log(n) for n in (50, 51, 52)])
                assert len(await rpc.ask("eth_getLogs", wanted | {"address": address})) == 3
        assert not other.calls


async def test_empty_logs_that_the_bloom_confirms_are_asked_of_one(gateway_of):
    async with FakeNode(Node(MAIN)) as good, FakeNode(Node(MAIN)) as other:
        rpc = gateway_of(good, other)
        assert await rpc.ask("eth_getLogs", LOGS | {"address": OTHER}) == []
        assert await rpc.ask("eth_getLogs", {"blockHash": MAIN.hash(50), "address": OTHER}) == []
        assert not other.calls


async def test_empty_logs_from_two_are_empty(gateway_of):
    async with FakeNode(Node(MAIN, eth_getLogs=[])) as one, FakeNode(Node(MAIN, eth_getLogs=[])) as two:
        assert await gateway_of(one, two).ask("eth_getLogs", LOGS) == []


async def test_a_head_never_goes_back(gateway_of):
    late = ChainModel(80)
    async with FakeNode(Node(MAIN)) as first, FakeNode(Node(MAIN)) as good, FakeNode(Node(late)) as other:
        rpc = gateway_of(first, good, other)
        assert await rpc.ask("eth_blockNumber") == hex(99)
        first.behaviour = Node(late)
        for _ in range(5):
            assert await rpc.ask("eth_blockNumber") == hex(99)
            assert (await rpc.ask("eth_getBlockByNumber", "latest", False))["number"] == hex(99)
            assert (await rpc.read("eth_getBlockByNumber", "latest", False))["number"] == hex(99)


async def test_a_node_20_behind_as_the_first_of_three(gateway_of):
    async with (
        FakeNode(Node(ChainModel(80))) as late,
        FakeNode(Node(MAIN)) as two,
        FakeNode(Node(MAIN)) as three,
    ):
        rpc = gateway_of(late, two, three)
        for _ in range(3):
            assert await rpc.ask("eth_blockNumber") == hex(99)
        asked = len(late.calls)
        await rpc.ask("eth_call", {}, "latest")
        await rpc.ask("eth_getBalance", ADDRESS)
        await rpc.ask("eth_getBalance", ADDRESS, hex(90))
        await rpc.ask("eth_getBalance", ADDRESS, {"blockHash": MAIN.hash(99)})
        assert len(late.calls) == asked, "it does not have that state"
        assert {rpc.seen.lag(each) for each in rpc.seen.views} == {20, 0}


async def test_a_node_behind_is_asked_last_for_what_it_has(gateway_of):
    async with (
        FakeNode(Node(ChainModel(80))) as late,
        FakeNode(Node(MAIN)) as two,
        FakeNode(Node(MAIN)) as three,
    ):
        rpc = gateway_of(late, two, three)
        assert await rpc.ask("eth_blockNumber") == hex(99)
        assert await rpc.ask("eth_getBalance", ADDRESS, hex(69)) == "0x2a"
        assert "eth_getBalance" not in late.methods, "the others are ahead"
        two.behaviour = three.behaviour = reset
        assert await rpc.ask("eth_getBalance", ADDRESS, hex(70)) == "0x2a"
        assert late.methods.count("eth_getBalance") == 1


async def test_when_all_nodes_are_behind(gateway_of):
    """The core compares itself; a client gets the number that was told before, or an error that says why."""
    late = Node(ChainModel(80))
    async with FakeNode(Node(MAIN)) as one, FakeNode(Node(MAIN)) as two:
        rpc = gateway_of(one, two, block_time_s=1.0)
        assert await rpc.ask("eth_blockNumber") == hex(99)
        one.behaviour = two.behaviour = late
        assert await rpc.ask("eth_blockNumber") == hex(99)
        assert (await rpc.read("eth_getBlockByNumber", "latest", False))["number"] == hex(79)
        with pytest.raises(UpstreamError) as failure:
            await rpc.ask("eth_getBlockByNumber", "latest", False)
        assert failure.value.reason is Reason.BEHIND
        assert failure.value.headers["Retry-After"] == "1"


async def test_a_node_alone_that_went_back_is_believed_after_a_block_time(gateway_of):
    async with FakeNode(Node(MAIN)) as one:
        rpc = gateway_of(one, block_time_s=0.5)
        assert await rpc.ask("eth_blockNumber") == hex(99)
        answers = iter(["0x20", hex(99)])
        one.behaviour = Node(MAIN, eth_blockNumber=lambda honest: next(answers))
        assert await rpc.ask("eth_blockNumber") == hex(99), "another node behind the same address"
        one.behaviour = Node(ChainModel(80))
        assert await rpc.ask("eth_blockNumber") == hex(79), "its chain was reset"
        asked = len(one.calls)
        assert await rpc.ask("eth_blockNumber") == hex(79)
        assert len(one.calls) == asked + 1


@pytest.mark.parametrize("number", [10**18, 2**63, 2**255, 99 + 1000])
async def test_a_forged_head_is_neither_served_nor_kept(gateway_of, number):
    forged = MAIN.block(99) | {"number": hex(number)}
    liar = Node(MAIN, eth_blockNumber=hex(number), eth_getBlockByNumber=forged)
    async with FakeNode(liar) as bad, FakeNode(Node(MAIN)) as two, FakeNode(Node(MAIN)) as three:
        rpc = gateway_of(bad, two, three)
        for _ in range(3):
            assert await rpc.ask("eth_blockNumber") == hex(99)
            assert (await rpc.ask("eth_getBlockByNumber", "latest", False))["number"] == hex(99)
        assert rpc.seen.served.number == 99
        assert all(rpc.seen.lag(each) == 0 for each in rpc.seen.views)


async def test_a_forked_node_as_the_first_of_three(gateway_of):
    fork = ChainModel(branch="fork", fork_at=90)
    async with FakeNode(Node(fork)) as forked, FakeNode(Node(MAIN)) as two, FakeNode(Node(MAIN)) as three:
        rpc = gateway_of(forked, two, three)
        for node in range(3):  # what each upstream has, as polls would tell
            await rpc.seen.look(list(rpc.seen.views)[node])
        for block in ("latest", hex(99)):
            assert (await rpc.ask("eth_getBlockByNumber", block, False))["hash"] == MAIN.hash(99)
        wanted = {"fromBlock": hex(99), "toBlock": hex(99)}
        assert await rpc.ask("eth_getLogs", wanted) == [MAIN.log(99)]
        receipt = await rpc.ask("eth_getTransactionReceipt", MAIN.transaction(99))
        assert receipt["blockHash"] == MAIN.hash(99)


async def test_a_chain_id_that_changes_after_the_first_check(gateway_of):
    """Nothing of a node that is of another chain by now is passed on once its blocks show that."""
    alien = Node(ChainModel(branch="another chain"))
    async with FakeNode(Node(MAIN)) as changed, FakeNode(Node(MAIN)) as two, FakeNode(Node(MAIN)) as three:
        rpc = gateway_of(changed, two, three)
        for upstream in rpc.seen.views:
            await rpc.seen.look(upstream)
        next(iter(rpc.seen.views))._verified_at -= 2
        changed.chain_id, changed.behaviour = 5, alien
        latest = await rpc.ask("eth_getBlockByNumber", "latest", False)
        assert latest["hash"] == MAIN.hash(99)
        asked = len(changed.calls)
        assert await rpc.ask("eth_gasPrice") == "0x2a"
        assert len(changed.calls) == asked
        assert changed.methods[-1] == "eth_chainId"


async def test_a_chain_id_in_an_answer(gateway_of):
    async with FakeNode() as changed, FakeNode() as good:
        rpc = gateway_of(changed, good)
        assert await rpc.ask("eth_chainId") == "0x1"
        changed.chain_id = 5
        assert await rpc.ask("eth_chainId") == "0x1"
        assert good.methods
