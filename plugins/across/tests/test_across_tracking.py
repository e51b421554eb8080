"""The states of a transfer: slow, not filled, expired, refunded, reverted, and reorganised on either
chain."""

import asyncio

import pytest
from quoteway import TransferRefund, TransferState
from quoteway.evm.abi import decode, encode_call
from quoteway_across.spoke_pool import read_deposit
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.relayer import Relayer
from transfers import KEEPER, RECIPIENT, SENDER


async def mine(harness, slug, blocks=1, seconds=None):
    if seconds is not None:
        await harness.rpc(slug, "evm_increaseTime", hex(seconds))
    for _ in range(blocks):
        await harness.rpc(slug, "evm_mine")


@pytest.mark.slow
async def test_a_slow_fill_passes_through_its_states(harness, relayer):
    relayer.behave(delay_s=1.5)
    request = harness.request()
    quoted, sent = await harness.deposit(request)
    assert quoted.quote.terms.estimated_seconds == 3
    seen, last = await harness.until(request, sent, "filled")
    assert seen in (["origin_confirmed", "fill_pending", "filled"], ["fill_pending", "filled"])
    receipt = await harness.rpc("devnet-l2", "eth_getTransactionReceipt", last.fill_hash)
    assert receipt["status"] == "0x1"
    assert last.destination_chain_id == 31338


async def rounds_of(relayer, count=5):
    """Waits until the relayer has looked at the chains so many times."""
    wanted = relayer.rounds + count
    while relayer.rounds < wanted:
        await asyncio.sleep(0.02)


async def test_a_relayer_without_liquidity_fills_later(harness, relayer):
    request = harness.request()
    quoted = await harness.quote(request)
    action = await harness.action(quoted)
    relayer.behave(liquid=False)
    sent = await harness.send(action)
    await harness.until(request, sent, "fill_pending")
    await rounds_of(relayer)
    assert (await harness.track(request, sent)).status == "fill_pending"
    relayer.behave(liquid=True)
    await harness.until(request, sent, "filled")


@pytest.mark.slow
@pytest.mark.parametrize("sold", ["USDC", "ETH"])
async def test_an_unfilled_deposit_is_refunded(own_devnet, make_harness, sold):
    with Relayer.running(own_devnet) as relayer:
        harness = await make_harness(own_devnet, relayer.port)
        relayer.behave(filling=False, refunding=False)
        amount = 10**9 if sold == "USDC" else 10**18
        request = harness.request(sold, amount)
        back = harness.token("WETH" if sold == "ETH" else sold)
        held = await harness.balance(back, SENDER)
        quoted, sent = await harness.deposit(request)
        await harness.until(request, sent, "fill_pending")
        for slug in ("devnet", "devnet-l2"):
            await mine(harness, slug, seconds=7_300)
        _, answer = await harness.until(request, sent, "refund_pending")
        refund = quoted.quote.terms.refund
        assert answer.refund == TransferRefund(refund.chain_id, refund.token, refund.address, amount)
        relayer.behave(refunding=True)
        _, answer = await harness.until(request, sent, "refunded")
        receipt = await harness.rpc("devnet", "eth_getTransactionReceipt", answer.refund_hash)
        assert receipt["status"] == "0x1"
        # The native coin is refunded in its wrapped form; a token is back in full.
        assert await harness.balance(back, SENDER) - held == (amount if sold == "ETH" else 0)
        relayer.behave(filling=True)
        await rounds_of(relayer)
        assert (await harness.track(request, sent)).status == "refunded"
        assert await harness.balance(request.token_out, RECIPIENT) == 0


@pytest.mark.parametrize("sold", ["USDC", "ETH"])
async def test_a_refund_goes_to_the_refund_address(own_devnet, make_harness, sold):
    """The sender pays and another account is the depositor: the settlement refunds the depositor."""
    with Relayer.running(own_devnet) as relayer:
        harness = await make_harness(own_devnet, relayer.port)
        relayer.behave(filling=False)
        amount = 10**9 if sold == "USDC" else 10**18
        request = harness.request(sold, amount, refund_to=KEEPER)
        back = harness.token("WETH" if sold == "ETH" else sold)
        held = await harness.balance(request.token_in, SENDER)
        wrapped = await harness.balance(back, SENDER)
        assert await harness.balance(back, KEEPER) == 0
        _, sent = await harness.deposit(request)
        await harness.until(request, sent, "fill_pending")
        for slug in ("devnet", "devnet-l2"):
            await mine(harness, slug, seconds=7_300)
        _, answer = await harness.until(request, sent, "refunded")
        assert answer.refund == TransferRefund(31337, back.address, KEEPER, amount)
        assert await harness.balance(back, KEEPER) == amount
        assert held - await harness.balance(request.token_in, SENDER) >= amount  # and gas, of the coin
        assert await harness.balance(back, SENDER) == (wrapped if sold == "ETH" else held - amount)


async def test_unmined_is_pending_and_unheard_of_is_unknown(harness):
    request = harness.request("ETH", 10**18)
    action = await harness.action(await harness.quote(request))
    await harness.rpc("devnet", "evm_setAutomine", False)
    try:
        sent = await harness.send(action, wait=False)
        assert (await harness.track(request, sent)).status == "origin_pending"
        await harness.rpc("devnet", "evm_mine")
    finally:
        await harness.rpc("devnet", "evm_setAutomine", True)
    await harness.until(request, sent, "filled")
    assert await harness.track(request, "0x" + "ab" * 32) == TransferState("unknown")


async def test_other_transactions_are_not_this_bridges(harness):
    transaction = {"from": SENDER, "to": RECIPIENT, "value": "0x1"}
    sent = await harness.rpc("devnet", "eth_sendTransaction", transaction)
    while await harness.rpc("devnet", "eth_getTransactionReceipt", sent) is None:
        await asyncio.sleep(0.01)
    assert await harness.bridge.track(31337, sent) is None
    assert await harness.bridge.track(1, sent) is None


async def test_a_reverted_deposit_requires_action(harness):
    request = harness.request("ETH", 10**18)
    (step,) = (await harness.action(await harness.quote(request))).steps
    transaction = {"from": SENDER, "to": step.to, "data": "0x" + step.data.hex(), "value": "0x1"}
    sent = await harness.rpc("devnet", "eth_sendTransaction", transaction | {"gas": hex(10**6)})
    _, answer = await harness.until(request, sent, "action_required")
    assert answer.reason == "origin_reverted"


@pytest.mark.slow
@pytest.mark.parametrize("depth", range(1, 11))
async def test_a_reorg_of_the_origin_between_deposit_and_fill(harness, relayer, depth):
    """The deposit is dropped with its blocks; sent again it has another id, and that one is filled."""
    relayer.behave(filling=False)
    request = harness.request("ETH", 10**18)
    other = harness.request("ETH", 3 * 10**18, recipient=SENDER, sender=ACCOUNTS[7].address)
    quoted, foreign = await harness.quote(request), await harness.quote(other)
    (step,), (first,) = (await harness.action(quoted)).steps, (await harness.action(foreign)).steps
    fixed = {"gas": hex(300_000), "maxFeePerGas": hex(10**11), "maxPriorityFeePerGas": hex(10**9)}

    async def send(step, sender):
        data = "0x" + step.data.hex()
        transaction = {"from": sender, "to": step.to, "data": data, "value": hex(step.value), **fixed}
        return await harness.rpc("devnet", "eth_sendTransaction", transaction)

    snapshot = await harness.rpc("devnet", "evm_snapshot")
    sent = await send(step, SENDER)
    await harness.until(request, sent, "origin_confirmed", "fill_pending")
    await mine(harness, "devnet", depth - 1)
    _, before = await harness.until(request, sent, "fill_pending")
    assert await harness.rpc("devnet", "evm_revert", snapshot)
    await mine(harness, "devnet", depth)
    assert (await harness.track(request, sent)).status == "unknown"

    await harness.until(other, await send(first, other.sender), "origin_confirmed", "fill_pending")
    again = await send(step, SENDER)
    _, after = await harness.until(request, again, "fill_pending")
    assert int(after.deposit_id) == int(before.deposit_id) + 1
    # The very same signed transaction, so its hash too: only the block and the deposit's id are new.
    assert again == sent
    relayer.behave(filling=True)
    await harness.until(request, again, "filled")
    assert await harness.balance(request.token_out, RECIPIENT) == quoted.quote.outputs[0].amount


async def test_a_fill_dropped_by_a_reorg_of_the_destination_is_not_reported(harness, relayer):
    request = harness.request()
    relayer.behave(filling=False)
    quoted, sent = await harness.deposit(request)
    await harness.until(request, sent, "fill_pending")
    snapshot = await harness.rpc("devnet-l2", "evm_snapshot")
    relayer.behave(filling=True)
    await harness.until(request, sent, "filled")
    relayer.behave(filling=False)
    assert await harness.rpc("devnet-l2", "evm_revert", snapshot)
    await mine(harness, "devnet-l2", 2)
    await harness.until(request, sent, "fill_pending")
    relayer.behave(filling=True)
    await harness.until(request, sent, "filled")
    assert await harness.balance(request.token_out, RECIPIENT) == quoted.quote.outputs[0].amount


async def test_the_relay_hash_is_the_contracts_own(harness, relayer):
    relayer.behave(filling=False, exclusivity_s=60)
    request = harness.request("ETH", 10**18)
    _, sent = await harness.deposit(request)
    receipt = await harness.rpc("devnet", "eth_getTransactionReceipt", sent)
    (log,) = [entry for entry in receipt["logs"] if len(entry["topics"]) == 4]
    data = bytes.fromhex(log["data"][2:])
    deposit = read_deposit(31337, log["topics"], data)
    relay = "(bytes32,bytes32,bytes32,bytes32,bytes32,uint256,uint256,uint256,uint256,uint32,uint32,bytes)"
    types = ["bytes32"] * 2 + ["uint256"] * 2 + ["uint32"] * 3 + ["bytes32"] * 2 + ["bytes"]
    *_, until, recipient, exclusive, message = decode(types, data)
    values = (
        *(deposit.depositor, recipient, exclusive, deposit.token_in, deposit.token_out),
        *(deposit.amount_in, deposit.amount_out, 31337, deposit.deposit_id, deposit.fill_deadline),
        *(until, message),
    )
    call = "0x" + encode_call(f"getV3RelayHash({relay})", [values]).hex()
    pool = harness.devnet.chains["devnet-l2"].contracts["SpokePool"]
    answer = await harness.rpc("devnet-l2", "eth_call", {"to": pool, "data": call}, "latest")
    assert bytes.fromhex(answer[2:]) == deposit.relay_hash
    relayer.behave(filling=True)
    await harness.until(request, sent, "filled")
