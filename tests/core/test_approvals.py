"""Approvals on the devnet: exact, ended with the deadline, and only where the allowance requires one."""

from dataclasses import replace

import pytest
from devnet_gateway import THIEF, USER
from quoteway.engine.approvals import BLOCKS_KEPT, WalletReader, approval_steps
from quoteway.evm import erc20, permit2
from quoteway.models import NATIVE, Spend

DEADLINE_S = 1200


async def steps_for(here, symbol, amount, spender, *, lasting_s=DEADLINE_S, **spend):
    token = here.token(symbol)
    block = await here.chain.head(fresh=True)
    spends = [Spend(token.address, amount, spender, **spend)]
    grants = [(s.token, s.spender, s.permit2_spender) for s in spends]
    wallet = await WalletReader().read(here.chain, block, USER, [token.address], grants)
    deadline = block.timestamp + lasting_s
    return await approval_steps(here.chain, wallet, spends, {token.address: token}, deadline), deadline


@pytest.mark.parametrize("symbol", ["USDC", "USDT", "DAI", "WETH"])
async def test_approvals_are_exact_and_only_as_the_allowance_requires(open_gateway, router, symbol):
    here = await open_gateway()
    token = here.token(symbol)
    amount = 123_456
    (approve,), _ = await steps_for(here, symbol, amount, router)
    assert (approve.kind, approve.to, approve.value) == ("approval", token.address, 0)
    assert erc20.APPROVE.decode(approve.data) == (router, amount)
    assert approve.decoded.signature == "approve(address,uint256)"
    assert symbol in approve.intent
    again, _ = await steps_for(here, symbol, amount, router)
    assert again == [approve]
    await here.send(approve.to, approve.data)
    assert await here.allowance(token, router) == amount
    for enough in (amount, amount - 1):
        assert (await steps_for(here, symbol, enough, router))[0] == []
    # Granted, but too little: only the token that wants it is reset first, as the chain itself confirms.
    more, _ = await steps_for(here, symbol, amount + 1, router)
    assert [step.kind for step in more] == (
        ["approval_reset", "approval"] if symbol == "USDT" else ["approval"]
    )
    for step in more:
        await here.send(step.to, step.data)
    assert await here.allowance(token, router) == amount + 1


async def test_usdt_with_a_small_leftover_is_swapped_through_a_reset(open_gateway, router):
    here = await open_gateway()
    usdt = here.token("USDT")
    await here.approve(usdt, router, 1)
    action = await here.action(here.request("USDT", "USDC", 10**6))
    assert [step.kind for step in action.steps] == ["approval_reset", "approval", "swap"]
    assert "allowance_reset_needed" in [issue.code for issue in action.issues]
    for step in action.steps:
        await here.send(step.to, step.data, step.value)
    assert await here.allowance(usdt, router) == 0


async def test_permit2_grants_are_exact_expire_with_the_deadline_and_are_not_repeated(open_gateway):
    here = await open_gateway()
    usdc, puller, amount = here.token("USDC"), here.manifest.contracts["UniversalRouter"], 5_000_000

    async def steps(amount=amount, **spend):
        return await steps_for(here, "USDC", amount, permit2.ADDRESS, permit2_spender=puller, **spend)

    (approve, grant), deadline = await steps()
    assert erc20.APPROVE.decode(approve.data) == (permit2.ADDRESS, amount)
    assert (grant.kind, grant.to) == ("permit2_approval", permit2.ADDRESS)
    assert permit2.APPROVE.decode(grant.data) == (usdc.address, puller, amount, deadline)
    (signed,), _ = await steps(permit2_signed=True)
    assert signed.to == usdc.address
    for step in (approve, grant):
        await here.send(step.to, step.data)
    assert (await steps(lasting_s=DEADLINE_S - 600))[0] == []
    # Granted to an earlier end than this one needs: granted anew, to the same amount.
    (later,), later_deadline = await steps(lasting_s=DEADLINE_S + 600)
    assert permit2.APPROVE.decode(later.data) == (usdc.address, puller, amount, later_deadline)
    await here.send(later.to, later.data)
    assert (await steps())[0] == []
    raised, _ = await steps(amount + 1)
    assert [step.kind for step in raised] == ["approval", "permit2_approval"]


async def test_two_spends_through_one_spender_are_one_approval_of_their_sum(open_gateway, router):
    here = await open_gateway()
    usdc = here.token("USDC")
    block = await here.chain.head()
    spends = [
        Spend(usdc.address, 5, permit2.ADDRESS, router),
        Spend(usdc.address, 7, permit2.ADDRESS, router),
    ]
    wallet = await WalletReader().read(here.chain, block, USER, [], [(usdc.address, permit2.ADDRESS, router)])
    approve, grant = await approval_steps(here.chain, wallet, spends, {usdc.address: usdc}, 2**31)
    assert erc20.APPROVE.decode(approve.data)[1] == 12
    assert permit2.APPROVE.decode(grant.data)[2] == 12


async def test_wallets_are_read_once_per_block_and_what_is_no_token_is_absent(open_gateway, router):
    here = await open_gateway()
    reader, block, usdc = WalletReader(), await here.chain.head(), here.token("USDC")
    tokens = [usdc.address, NATIVE, THIEF]
    first = await reader.read(here.chain, block, USER, tokens, [(usdc.address, router, None)])
    assert first.balances[usdc.address] == await here.balance(usdc)
    assert first.balances[NATIVE] == int(await here.rpc("eth_getBalance", USER, hex(block.number)), 16)
    assert THIEF not in first.balances
    asked = here.chain.requests
    assert await reader.read(here.chain, block, USER, tokens, [(usdc.address, router, None)]) == first
    assert here.chain.requests == asked


async def test_what_was_read_at_blocks_that_have_passed_leaves_memory(open_gateway):
    here = await open_gateway()
    reader, block, usdc = WalletReader(), await here.chain.head(), here.token("USDC")
    blocks = [replace(block, hash=f"0x{number:064x}") for number in range(1, 3 * BLOCKS_KEPT)]
    reads = []

    class Chain:
        network = here.chain.network

        async def call_many(self, calls, block):
            reads.append(block)
            return [bytes(32) for _ in calls]

    for each in (*blocks, *blocks[-BLOCKS_KEPT:]):
        await reader.read(Chain(), each, USER, [usdc.address], [])
    assert reads == blocks, "those of the last blocks are kept"
    await reader.read(Chain(), blocks[0], USER, [usdc.address], [])
    assert reads == [*blocks, blocks[0]]


async def test_a_symbol_that_rewrites_its_sentence_is_not_shown(open_gateway, router):
    here = await open_gateway()
    usdc = replace(here.token("USDC"), symbol="USDC\u202e evil")
    block = await here.chain.head()
    wallet = await WalletReader().read(here.chain, block, USER, [], [(usdc.address, router, None)])
    spends = [Spend(usdc.address, 5, router)]
    (step,) = await approval_steps(here.chain, wallet, spends, {usdc.address: usdc}, 0)
    assert "\u202e" not in step.intent
    assert usdc.address in step.intent
