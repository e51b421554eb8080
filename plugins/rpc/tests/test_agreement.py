"""Reads of the core with a quorum: a lagging, forked or lying node never decides what is believed."""

import asyncio
import logging

import pytest
from chain_node import ChainNode, MadeUpChain, RefusalError
from fake_node import error, healthy
from faults import hang, reset
from quoteway import Reason, RpcError, UpstreamError
from quoteway_rpc import agreed_head, agreement
from quoteway_rpc.probations import PROBES_TO_RETURN

ACCOUNT = "0x" + "11" * 20
CALL = {"to": ACCOUNT, "data": "0x"}
CHAIN = MadeUpChain(200)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    """What never agrees need not be asked for as long as a block spreads."""
    for module in (agreement, agreed_head):
        monkeypatch.setattr(module, "PAUSES_S", (0.01, 0.01))


def lie_of_state(method, params, answer):
    return "0xdead" if method in ("eth_getBalance", "eth_call") else answer


def lie_of_header(method, params, answer):
    return {**answer, "baseFeePerGas": "0x1"} if method.startswith("eth_getBlockBy") and answer else answer


def far_ahead(method, params, answer):
    if method != "eth_getBlockByNumber" or params[0] != "latest":
        return answer
    return {**answer, "number": hex(10**9), "hash": "0x" + "ee" * 32}


def omit_logs(method, params, answer):
    return [] if method == "eth_getLogs" else answer


def final_too_early(method, params, answer):
    return CHAIN.block(200) if params[:1] == ["finalized"] else answer


FAULTY = {
    "lying": lambda: ChainNode(CHAIN, lie=lie_of_state),
    "lying about the header": lambda: ChainNode(CHAIN, lie=lie_of_header),
    "far ahead": lambda: ChainNode(CHAIN, lie=far_ahead),
    "final too early": lambda: ChainNode(CHAIN, lie=final_too_early),
    "omitting logs": lambda: ChainNode(CHAIN, lie=omit_logs),
    "lagging": lambda: ChainNode(MadeUpChain(180)),
    "forked": lambda: ChainNode(MadeUpChain(200, forked_at=195)),
    "forked ahead": lambda: ChainNode(MadeUpChain(205, forked_at=196)),
    "of another chain": lambda: other_chain(),
    "resetting": lambda: ChainNode(CHAIN, behaviour=reset),
    "failing": lambda: ChainNode(CHAIN, behaviour=error(-32603, "internal error")),
}


def other_chain():
    node = ChainNode(CHAIN)
    node.chain_id = 137
    return node


async def everything_is_right(rpc):
    head = await rpc("eth_getBlockByNumber", "latest", False)
    assert head == CHAIN.block(200)
    at = {"blockHash": head["hash"]}
    assert await rpc("eth_getBalance", ACCOUNT, at) == CHAIN.balance(ACCOUNT, 200)
    assert await rpc("eth_call", CALL, at) == CHAIN.balance(str(CALL), 200)
    assert await rpc("eth_getBalance", ACCOUNT, "latest") == CHAIN.balance(ACCOUNT, 200)
    assert await rpc("eth_getLogs", {"blockHash": head["hash"]}) == CHAIN.logs_of(200)
    wanted = {"fromBlock": "0x64", "toBlock": "0x78"}
    assert await rpc("eth_getLogs", wanted) == CHAIN.logs(wanted)
    assert await rpc("eth_blockNumber") == hex(200)
    assert await rpc("eth_getBlockByNumber", "finalized", False) == CHAIN.block(136)


@pytest.mark.parametrize("fault", FAULTY)
async def test_two_honest_of_three_decide(asking, fault):
    rpc = await asking(FAULTY[fault](), ChainNode(CHAIN), ChainNode(CHAIN), quorum=2, cache_bytes=0)
    for _ in range(4):
        await everything_is_right(rpc)


async def outcome(rpc, method, *params):
    try:
        return await rpc(method, *params), None
    except UpstreamError as failure:
        return None, failure


PAIRS = [
    (first, second)
    for first in ("lying", "far ahead", "lagging", "forked ahead", "failing")
    for second in ("lying", "lagging", "forked")
    if first != second  # two that say the same are a quorum
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
async def test_one_honest_of_three_gives_errors_and_no_lie(asking, first, second):
    """Unless two lie alike, which no quorum of two can see."""
    rpc = await asking(FAULTY[first](), FAULTY[second](), ChainNode(CHAIN), quorum=2)
    at = {"blockHash": CHAIN.hash_of(200)}
    asked = [("eth_getBlockByNumber", ("latest", False), CHAIN.block(200))]
    asked += [("eth_getBalance", (ACCOUNT, block), CHAIN.balance(ACCOUNT, 200)) for block in (at, "latest")]
    for method, params, right in asked:
        answer, failure = await outcome(rpc, method, *params)
        assert answer == right or failure.reason in (Reason.NODES_DISAGREE, Reason.RPC_ERROR)
        assert not isinstance(failure, RpcError)


@pytest.mark.parametrize("quorum", [2, 3])
async def test_a_flood_on_the_honest_nodes_never_lowers_the_quorum(asking, quorum):
    honest = [ChainNode(CHAIN, behaviour=hang) for _ in range(2)]
    rpc = await asking(FAULTY["lying"](), *honest, quorum=quorum)
    with pytest.raises(UpstreamError) as failure:
        await rpc("eth_getBalance", ACCOUNT, {"blockHash": CHAIN.hash_of(200)}, timeout_s=1.0)
    assert failure.value.reason in (Reason.RPC_ERROR, Reason.PROVIDER_TIMEOUT)


async def test_one_against_one_is_an_error_that_names_nobody(asking, caplog):
    rpc = await asking(FAULTY["lying"](), ChainNode(CHAIN), quorum=2)
    with pytest.raises(UpstreamError) as failure:
        await rpc("eth_getBalance", ACCOUNT, {"blockHash": CHAIN.hash_of(200)})
    assert failure.value.reason is Reason.NODES_DISAGREE
    assert "node 0" not in failure.value.message
    assert any(f"node {one} against node {1 - one}" in caplog.text for one in (0, 1))
    assert rpc.counts("disagreements") == 1


async def test_clients_calls_ask_one_node(asking):
    nodes = [ChainNode(CHAIN) for _ in range(3)]
    rpc = await asking(*nodes, quorum=2)
    await rpc("eth_getBalance", ACCOUNT, "latest", public=True)
    assert [len(node.calls) for node in nodes] == [1, 0, 0]


async def test_agreeing_nodes_are_asked_no_more_than_the_quorum(asking):
    nodes = [ChainNode(CHAIN) for _ in range(3)]
    rpc = await asking(*nodes, quorum=2)
    await rpc("eth_getBalance", ACCOUNT, {"blockHash": CHAIN.hash_of(200)})
    assert [len(node.calls) for node in nodes] == [1, 1, 0]


def cordoned(rpc):
    return [row.label for row in rpc.dispatcher._healths[1].rows() if row.state == "cordoned"]


async def test_the_odd_one_out_is_named_counted_and_out_of_use_until_it_agrees(asking, caplog):
    caplog.set_level(logging.WARNING)
    liar = FAULTY["lying"]()
    rpc = await asking(liar, ChainNode(CHAIN), ChainNode(CHAIN), quorum=2, cache_bytes=0)
    now = [0.0]
    rpc.dispatcher.agreement._probations.clock = lambda: now[0]

    async def read():
        """A minute later; with the shadow probe that it may send."""
        now[0] += 60
        await rpc("eth_getBalance", ACCOUNT, {"blockHash": CHAIN.hash_of(200)})
        await asyncio.gather(*rpc.dispatcher.agreement._probes)

    await read()
    assert "node 0 of ethereum contradicts the others on eth_getBalance" in caplog.text
    assert rpc.counts("cordoned") == 1
    asked, heads_asked = len(liar.calls), liar.counted("eth_getBlockByNumber")
    await rpc("eth_getBalance", ACCOUNT, "latest", public=True)
    await rpc("eth_blockNumber", public=True)
    await rpc("eth_getBlockByNumber", "latest", False)
    assert len(liar.calls) == asked
    assert liar.counted("eth_getBlockByNumber") == heads_asked, "nor for its head"
    for _ in range(PROBES_TO_RETURN + 1):
        await read()
    assert cordoned(rpc) == ["node 0"], "it still lies"
    liar.lie = None
    for _ in range(PROBES_TO_RETURN):
        assert cordoned(rpc) == ["node 0"]
        await read()
    assert cordoned(rpc) == []
    assert "node 0 of ethereum agrees with the others again" in caplog.text


async def test_a_laggard_is_not_out_of_use(asking):
    rpc = await asking(FAULTY["lagging"](), ChainNode(CHAIN), ChainNode(CHAIN), quorum=2)
    await everything_is_right(rpc)
    assert cordoned(rpc) == []


@pytest.mark.parametrize("texts", [("execution reverted", "VM Exception: revert"), ("reverted", "reverted")])
async def test_a_revert_is_agreed_by_its_data(asking, texts):
    nodes = [ChainNode(CHAIN, behaviour=error(3, text, "0x08c379a0")) for text in texts]
    rpc = await asking(*nodes, quorum=2)
    with pytest.raises(RpcError) as failure:
        await rpc("eth_call", CALL, {"blockHash": CHAIN.hash_of(200)})
    assert (failure.value.rpc_code, failure.value.data) == (3, "0x08c379a0")


async def test_a_made_up_revert_is_outvoted(asking):
    liar = ChainNode(CHAIN, behaviour=error(3, "execution reverted", "0x"))
    rpc = await asking(liar, ChainNode(CHAIN), ChainNode(CHAIN), quorum=2)
    at = {"blockHash": CHAIN.hash_of(200)}
    assert await rpc("eth_call", CALL, at) == CHAIN.balance(str(CALL), 200)


async def test_a_method_counts_as_missing_when_enough_nodes_do_not_have_it(asking):
    without = [ChainNode(CHAIN) for _ in range(2)]
    rpc = await asking(*without, quorum=2)
    with pytest.raises(RpcError) as failure:
        await rpc("eth_simulateV1", {}, {"blockHash": CHAIN.hash_of(200)})
    assert failure.value.rpc_code == -32601
    one = [ChainNode(CHAIN, behaviour=healthy), ChainNode(CHAIN, behaviour=healthy), ChainNode(CHAIN)]
    rpc = await asking(*reversed(one), quorum=2)
    assert await rpc("eth_simulateV1", {}, {"blockHash": CHAIN.hash_of(200)}) == "0x2a"


async def test_a_receipt_that_one_node_has_is_not_there_yet(asking):
    transaction = "0x" + "22" * 32
    receipt = {"transactionHash": transaction, "blockHash": CHAIN.hash_of(200), "blockNumber": hex(200)}
    receipt |= {"status": "0x1", "logs": []}
    one, other = ChainNode(CHAIN), ChainNode(CHAIN)
    one.others["eth_getTransactionReceipt"] = receipt
    other.others["eth_getTransactionReceipt"] = None
    rpc = await asking(one, other, quorum=2)
    assert await rpc("eth_getTransactionReceipt", transaction) is None
    other.others["eth_getTransactionReceipt"] = receipt
    assert await rpc("eth_getTransactionReceipt", transaction) == receipt


@pytest.mark.parametrize("lie", ["0x1", "0xffffffffff", "nothing"])
async def test_a_gas_price_far_from_the_others_is_not_taken(asking, lie):
    liar = ChainNode(CHAIN, lie=lambda method, params, answer: lie)
    rpc = await asking(liar, ChainNode(CHAIN), ChainNode(CHAIN), quorum=2)
    assert await rpc("eth_gasPrice") == "0x64"


async def test_a_block_that_spreads_is_no_disagreement(asking):
    """One node has a newer block, which another one gets while it is asked for it."""
    ahead, follower, behind = ChainNode(MadeUpChain(201)), ChainNode(MadeUpChain(200)), ChainNode(CHAIN)
    rpc = await asking(behind, follower, ahead, quorum=2)
    assert (await rpc("eth_getBlockByNumber", "latest", False))["number"] == hex(200)
    follower.chain = ahead.chain
    assert (await rpc("eth_getBlockByNumber", "latest", False))["number"] == hex(201)


async def test_a_slow_node_is_not_waited_for(asking):
    rpc = await asking(ChainNode(CHAIN, behaviour=hang), ChainNode(CHAIN), ChainNode(CHAIN), quorum=2)
    async with asyncio.timeout(5):  # the slow one would take ten seconds
        await rpc("eth_getBlockByNumber", "latest", False)
        await rpc("eth_getBalance", ACCOUNT, {"blockHash": CHAIN.hash_of(200)})


async def test_a_slow_node_is_asked_last_for_a_while(asking):
    slow = ChainNode(CHAIN, behaviour=hang)
    rpc = await asking(slow, ChainNode(CHAIN), ChainNode(CHAIN), quorum=2, cache_bytes=0)
    for _ in range(5):
        await rpc("eth_getBalance", ACCOUNT, {"blockHash": CHAIN.hash_of(200)})
    assert len(slow.calls) == 1


async def test_nodes_that_know_no_blocks_by_hash_are_asked_by_number(asking):
    def refuse_hashes(method, params, answer):
        if method == "eth_getBalance" and isinstance(params[1], dict):
            raise RefusalError(-32602, "invalid argument 1: hex string without 0x prefix")
        return answer

    nodes = [ChainNode(CHAIN, lie=refuse_hashes) for _ in range(2)]
    rpc = await asking(*nodes, quorum=2)
    for _ in range(2):
        assert await rpc("eth_getBalance", ACCOUNT, "latest") == CHAIN.balance(ACCOUNT, 200)
    assert nodes[0].counted("eth_getBalance") == 3, "the second time, the hash is not tried"


@pytest.mark.parametrize("count", [1, 2])
async def test_a_network_with_one_endpoint_is_told_what_it_does_not_have(asking, caplog, count):
    caplog.set_level(logging.INFO)
    await asking(*(ChainNode(CHAIN) for _ in range(count)))
    assert ("ethereum has one endpoint: no failover, and no agreement" in caplog.text) is (count == 1)
