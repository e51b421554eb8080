"""What clients and the core see of the cache, and what a node on a socket sees of them."""

import asyncio

import pytest
from cache_gateway import BLOCK, FINALIZED, LOG, NETWORK, OLD, RECEIPT, A, H, T, made
from cache_gateway import caller as caller
from cache_gateway import gateway as gateway
from quoteway import Network, UpstreamError
from quoteway_rpc import bulkhead
from quoteway_rpc.asking import Ask


async def test_twenty_reads_of_one_old_block_are_one_call(gateway, caller):
    gate = await gateway()
    answers = [await caller(gate)("eth_getBlockByNumber", OLD, False) for _ in range(20)]
    assert answers == [gate.chain.block(5)] * 20
    assert gate.asked("eth_getBlockByNumber", OLD) == 1
    assert gate.asked("eth_getBlockByNumber", "finalized") <= 1


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getBlockByHash", [f"0x{5:064x}", False]),
        ("eth_getBlockByNumber", [OLD, False]),
        ("eth_getBalance", [A, OLD]),
        ("eth_getBalance", [A, {"blockHash": H}]),
        ("eth_getCode", [A, OLD]),
        ("eth_call", [{"to": A, "data": "0xabcdef"}, OLD]),
        ("eth_getLogs", [{"fromBlock": OLD, "toBlock": OLD}]),
        ("eth_getTransactionReceipt", [T]),
    ],
)
async def test_repeated_reads_of_what_is_final_come_from_memory(gateway, caller, method, params):
    gate = await gateway()
    if method == "eth_getTransactionReceipt":
        gate.chain.results[method] = RECEIPT
    if method == "eth_getLogs":
        gate.chain.results[method] = [LOG]
    if method == "eth_getCode":
        gate.chain.results[method] = "0x"  # no contract: an answer like any other
    await caller(gate)("eth_getBalance", A, "0x1")  # the finalised block is known after it
    await gate.settle()
    before = gate.asked(method)
    answers = [await caller(gate)(method, *params) for _ in range(100)]
    assert all(answer == answers[0] for answer in answers)
    assert gate.asked(method) == before + 1, "99 % of 100 reads"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_blockNumber", []),
        ("eth_getBalance", [A, "latest"]),
        ("eth_getBlockByNumber", ["finalized", False]),
        ("eth_getBalance", [A, hex(FINALIZED + 1)]),
        ("eth_getBalance", [A, "pending"]),
        ("eth_call", [{"to": A}, OLD, {A: {"balance": "0x1"}}]),
        ("eth_getBalance", [A, {"blockHash": H, "requireCanonical": True}]),
    ],
)
async def test_what_may_change_is_asked_again(gateway, caller, method, params):
    gate = await gateway()
    await caller(gate)("eth_getBalance", A, OLD)
    await gate.settle()
    before = gate.asked(method, *params)
    for _ in range(3):
        await caller(gate)(method, *params)
    assert gate.asked(method, *params) == before + 3


@pytest.mark.parametrize("public", [True, False], ids=["public", "core"])
@pytest.mark.parametrize("result", [None, {"hash": H, "number": "0x6"}, {"hash": H}], ids=str)
async def test_null_and_blocks_that_were_not_asked_for_are_not_kept(public, result):
    results = [result, {**BLOCK, "hash": T}]

    async def answer(ask):
        return results.pop(0)

    cache = made(answer)
    ask = Ask(NETWORK, "eth_getBlockByHash", [T, False], 1e9, public)
    assert await cache(ask) == result
    assert await cache(ask) == {**BLOCK, "hash": T}


async def test_null_of_a_node_is_not_kept(gateway, caller):
    gate = await gateway()
    gate.chain.results["eth_getBlockByHash"] = None
    asked = f"0x{5:064x}"
    assert await caller(gate)("eth_getBlockByHash", asked, False) is None
    del gate.chain.results["eth_getBlockByHash"]
    assert await caller(gate)("eth_getBlockByHash", asked, False) == gate.chain.block(5)


@pytest.mark.parametrize("result", [{**BLOCK, "number": "0x6"}, {"hash": H}], ids=["of another", "malformed"])
async def test_blocks_that_were_not_asked_for_are_neither_given_nor_kept(gateway, caller, result):
    gate = await gateway()
    gate.chain.results["eth_getBlockByHash"] = result
    asked = f"0x{5:064x}"
    with pytest.raises(UpstreamError):
        await caller(gate)("eth_getBlockByHash", asked, False)
    del gate.chain.results["eth_getBlockByHash"]
    assert await caller(gate)("eth_getBlockByHash", asked, False) == gate.chain.block(5)


async def test_an_error_is_not_kept(gateway, caller, monkeypatch):
    monkeypatch.setattr(bulkhead, "OUTAGE_S", 0.0)
    gate = await gateway()
    gate.chain.fails = 1_000_000  # the race asks a few times
    with pytest.raises(UpstreamError):
        await caller(gate)("eth_getBlockByHash", f"0x{5:064x}", False)
    gate.chain.fails = 0
    assert await caller(gate)("eth_getBlockByHash", f"0x{5:064x}", False) == gate.chain.block(5)


async def test_a_changed_object_does_not_change_the_kept_one(gateway, caller):
    gate = await gateway()
    for _ in range(3):
        block = await caller(gate)("eth_getBlockByHash", f"0x{5:064x}", False)
        assert block == gate.chain.block(5)
        block["transactions"].append("0xdead")
        block["number"] = None


async def test_the_core_does_not_get_what_came_for_a_client(gateway):
    """One node is enough for a client's answer; nodes have to agree on the core's."""
    gate = await gateway()
    params = (f"0x{5:064x}", False)
    await gate.public("eth_getBlockByHash", *params)
    await gate.core("eth_getBlockByHash", *params)
    assert gate.asked("eth_getBlockByHash") == 2
    await gate.core("eth_getBlockByHash", *params)
    await gate.public("eth_getBlockByHash", *params)
    assert gate.asked("eth_getBlockByHash") == 2


async def test_the_core_does_not_join_a_client(gateway):
    gate = await gateway()
    gate.chain.held = {"eth_getBlockByHash"}
    calls = [asyncio.create_task(gate.public("eth_getBlockByHash", f"0x{5:064x}", False)) for _ in range(5)]
    await gate.chain.waiting.wait()
    calls += [asyncio.create_task(gate.core("eth_getBlockByHash", f"0x{5:064x}", False)) for _ in range(5)]
    gate.chain.let_go.set()
    assert await asyncio.gather(*calls) == [gate.chain.block(5)] * 10
    assert gate.asked("eth_getBlockByHash") == 2


async def test_a_chain_that_was_reset_is_read_anew(gateway):
    """A local node that starts anew under the same chain id."""
    now = [0.0]
    gate = await gateway(clock=lambda: now[0])
    await gate.public("eth_getBlockByNumber", OLD, False)
    await gate.settle()
    assert await gate.public("eth_getBlockByNumber", OLD, False) == gate.chain.block(5)
    gate.chain.head, gate.chain.finalized, gate.chain.fork = 90, 20, 1
    await gate.public("eth_blockNumber")
    assert await gate.public("eth_getBlockByNumber", OLD, False) == gate.chain.block(5), "of the new chain"
    now[0] = 100.0
    await gate.public("eth_getBlockByNumber", OLD, False)
    await gate.settle()
    for _ in range(2):
        assert await gate.public("eth_getBlockByNumber", OLD, False) == gate.chain.block(5)
    gate.chain.head, gate.chain.finalized = 2000, 1900
    now[0] = 200.0
    await gate.public("eth_getBlockByNumber", OLD, False)
    await gate.settle()
    assert await gate.public("eth_getBlockByNumber", OLD, False) == gate.chain.block(5)


async def test_a_node_that_lags_does_not_empty_the_cache(gateway):
    now = [0.0]
    gate = await gateway(clock=lambda: now[0])
    await gate.public("eth_getBlockByNumber", OLD, False)
    await gate.settle()
    gate.chain.finalized = FINALIZED - 32  # by another node, which has the block that was final before
    now[0] = 100.0
    for _ in range(3):
        await gate.public("eth_getBlockByNumber", OLD, False)
        await gate.settle()
    assert gate.asked("eth_getBlockByNumber", OLD) == 1
    assert gate.asked("eth_getBlockByNumber", hex(FINALIZED)) == 1


@pytest.mark.parametrize("version", ["anvil/v1.4.0", "HardhatNetwork/2.26"])
async def test_state_of_a_development_node_is_not_kept_by_block(gateway, caller, version):
    """``anvil_setBalance`` changes it without a new block."""
    gate = await gateway()
    gate.chain.version = version
    for balance in ("0x1", "0x2", "0x3"):
        gate.chain.results["eth_getBalance"] = balance
        assert await caller(gate)("eth_getBalance", A, {"blockHash": H}) == balance
        await gate.settle()


async def test_chains_do_not_share_answers():
    async def answer(ask):
        return {"hash": H, "number": OLD, "of": ask.network.chain_id}

    cache = made(answer)
    for _ in range(2):
        for chain_id in (1, 10):
            ask = Ask(Network(f"chain-{chain_id}", chain_id, "A chain"), "eth_getBlockByHash", [H], 1e9, True)
            assert (await cache(ask))["of"] == chain_id


async def test_operators_see_the_counts(gateway):
    gate = await gateway()
    for _ in range(3):
        await gate.public("eth_getBlockByHash", f"0x{5:064x}", False)
    assert gate.counted("cache_misses_immutable") == 1
    assert gate.counted("cache_hits_immutable") == 2
    assert gate.counted("cache_stored_bytes") > 100
