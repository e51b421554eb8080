"""Identical calls at once: who joins which, and what becomes of the others when one fails or leaves."""

import asyncio

import pytest
from cache_gateway import BLOCK, NETWORK, OLD, RECEIPT, A, H, T, made
from cache_gateway import caller as caller
from cache_gateway import gateway as gateway
from quoteway import Reason, RpcError, UpstreamError
from quoteway_rpc.asking import Ask


@pytest.mark.parametrize("settings", [{}, {"cache_bytes": 0}], ids=["on", "off"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_blockNumber", []),
        ("eth_getBlockByHash", [f"0x{5:064x}", False]),
        ("eth_call", [{"to": A}, "latest"]),
        ("eth_call", [{"to": A}, "pending", {A: {"balance": "0x1"}}]),
    ],
)
async def test_a_thousand_identical_calls_are_one(gateway, caller, method, params, settings):
    gate = await gateway(**settings)
    answers = await asyncio.gather(*(caller(gate)(method, *params) for _ in range(1000)))
    assert all(answer == answers[0] for answer in answers)
    assert gate.asked(method) == 1


async def test_late_callers_join_what_cannot_change(gateway):
    gate = await gateway()
    gate.chain.held = {"eth_getBlockByHash"}
    calls = [asyncio.create_task(gate.public("eth_getBlockByHash", f"0x{5:064x}", False))]
    await gate.chain.waiting.wait()
    calls += [
        asyncio.create_task(gate.public("eth_getBlockByHash", f"0x{5:064x}", False)) for _ in range(100)
    ]
    await asyncio.sleep(0)
    gate.chain.let_go.set()
    await asyncio.gather(*calls)
    assert gate.asked("eth_getBlockByHash") == 1


@pytest.mark.parametrize(
    ("method", "params", "before", "after"),
    [
        ("eth_getBalance", [A, "latest"], "0x1", "0x2"),
        ("eth_getBalance", [A], "0x1", "0x2"),
        ("eth_call", [{"to": A}, "pending"], "0x1", "0x2"),
        ("eth_getTransactionReceipt", [T], None, RECEIPT),
        ("eth_getBlockByHash", [H], None, BLOCK),
    ],
    ids=["latest", "omitted", "pending", "receipt", "block"],
)
async def test_a_caller_never_gets_the_state_before_its_own_transaction(
    gateway, caller, method, params, before, after
):
    gate = await gateway()
    gate.chain.held, gate.chain.results[method] = {method}, before
    early = asyncio.create_task(caller(gate)(method, *params))
    await gate.chain.waiting.wait()
    gate.chain.results[method] = after  # the transaction of the second caller is mined here
    late = [asyncio.create_task(caller(gate)(method, *params)) for _ in range(20)]
    await asyncio.sleep(0)
    gate.chain.let_go.set()
    assert await asyncio.gather(*late) == [after] * 20
    assert await early == before
    assert gate.asked(method) == 2


async def test_cancelling_the_first_caller_leaves_the_others(gateway, caller):
    gate = await gateway()
    gate.chain.held = {"eth_gasPrice"}
    first, *others = [asyncio.create_task(caller(gate)("eth_gasPrice")) for _ in range(10)]
    await gate.chain.waiting.wait()
    first.cancel()
    gate.chain.let_go.set()
    assert await asyncio.gather(*others) == ["0x2a"] * 9
    assert first.cancelled()
    assert gate.asked("eth_gasPrice") == 2, "one of the others has made the call again"


async def test_cancelling_all_callers_ends_the_call(gateway, caller):
    gate = await gateway()
    gate.chain.held = {"eth_gasPrice"}
    calls = [asyncio.create_task(caller(gate)("eth_gasPrice")) for _ in range(3)]
    await gate.chain.waiting.wait()
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
    assert not len(gate.rpc._send._flights)
    gate.chain.let_go.set()
    assert await caller(gate)("eth_gasPrice") == "0x2a"


async def test_closing_ends_what_is_under_way(gateway):
    gate = await gateway()
    gate.chain.held = {"eth_getBalance", "eth_getBlockByNumber"}
    async with gate.rpc.running():
        call = asyncio.create_task(gate.public("eth_getBalance", A, OLD))
        await gate.chain.waiting.wait()
    await asyncio.wait([call])
    facts = gate.rpc._send._facts.known(gate.network)
    await asyncio.sleep(0)
    with pytest.raises(UpstreamError, match="the gateway ends"):
        call.result()
    assert facts.refreshing is None


async def test_after_a_failure_late_callers_ask_once_more():
    sent, let_go = [], asyncio.Event()

    async def answer(ask):
        sent.append(ask)
        await let_go.wait()
        if len(sent) == 1:
            raise UpstreamError("no", reason=Reason.RPC_ERROR)
        return BLOCK

    cache = made(answer)
    ask = Ask(NETWORK, "eth_getBlockByHash", [H, False], 1e9, True)
    first = asyncio.create_task(cache(ask))
    while not sent:
        await asyncio.sleep(0)
    others = [asyncio.create_task(cache(ask)) for _ in range(1000)]
    await asyncio.sleep(0)
    let_go.set()
    assert await asyncio.gather(*others) == [BLOCK] * 1000
    with pytest.raises(UpstreamError):
        await first
    assert len(sent) == 2


async def test_a_failure_of_a_node_is_repeated_once_for_all(gateway):
    gate = await gateway()
    gate.chain.held, gate.chain.fails = {"eth_getBlockByHash"}, 1
    calls = [asyncio.create_task(gate.public("eth_getBlockByHash", f"0x{5:064x}", False))]
    await gate.chain.waiting.wait()
    calls += [
        asyncio.create_task(gate.public("eth_getBlockByHash", f"0x{5:064x}", False)) for _ in range(1000)
    ]
    await asyncio.sleep(0)
    gate.chain.let_go.set()
    assert await asyncio.gather(*calls) == [gate.chain.block(5)] * 1001
    assert gate.asked("eth_getBlockByHash") == 2


async def test_a_revert_is_shared_and_not_asked_again(gateway):
    sent, let_go = [], asyncio.Event()

    async def revert(ask):
        sent.append(ask)
        await let_go.wait()
        raise RpcError(3, "execution reverted", "0x08c379a0")

    cache = made(revert)
    ask = Ask(NETWORK, "eth_call", [{"to": A}, {"blockHash": H}], 1e9, True)
    cache._facts.known(NETWORK).editable = False
    calls = [asyncio.create_task(cache(ask))]
    while not sent:
        await asyncio.sleep(0)
    calls += [asyncio.create_task(cache(ask)) for _ in range(5)]
    await asyncio.sleep(0)
    let_go.set()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [outcome.rpc_code for outcome in outcomes] == [3] * 6
    assert len(sent) == 1


async def test_each_caller_has_its_own_deadline(gateway):
    gate = await gateway()
    gate.chain.held = {"eth_gasPrice"}
    patient = asyncio.create_task(gate.public("eth_gasPrice", timeout_s=60.0))
    await asyncio.sleep(0)
    with pytest.raises(UpstreamError):
        await gate.public("eth_gasPrice", timeout_s=0.2)
    gate.chain.let_go.set()
    assert await patient == "0x2a"
