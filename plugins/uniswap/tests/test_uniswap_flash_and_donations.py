"""What flash loans of v3 and donations of v4 pay, compared with the fee growth and debts of the contracts."""

import random

import pytest
from eth_abi import encode
from eth_utils import keccak
from liquidity import LiquidityHarness
from quoteway import NATIVE
from quoteway_router.logs import Logs
from quoteway_uniswap.state import PoolStates
from quoteway_uniswap.trade_history import TradeHistory
from trading import owed_to_protocol, set_protocol_fees

PAYER = "0x00000000000000000000000000000000F1a5F1A5"
"""An account that pays for what it asks of a pool while the pool calls it back."""
_V4_POOLS_SLOT = 6
_KEY = "(address,address,uint24,int24,address)"


def call_of(signature, types, *values):
    return keccak(text=signature)[:4] + encode(types, values)


def code_of(calls):
    """Code that makes these calls, each (address, wei, calldata), and returns empty bytes."""
    code = b""
    for to, wei, data in calls:
        for at in range(0, len(data), 32):
            code += b"\x7f" + data[at : at + 32].ljust(32, b"\0") + b"\x61" + at.to_bytes(2) + b"\x52"
        code += bytes.fromhex("60006000") + b"\x61" + len(data).to_bytes(2) + bytes.fromhex("6000")
        code += b"\x7f" + wei.to_bytes(32) + b"\x73" + bytes.fromhex(to[2:]) + bytes.fromhex("5af150")
    return code + bytes.fromhex("6020600052600060205260406000f3")


def send(harness, sender, to, data):
    hash_ = harness.rpc("eth_sendTransaction", {"from": sender, "to": to, "data": "0x" + data.hex()})
    harness.rpc("evm_mine")
    receipt = harness.rpc("eth_getTransactionReceipt", hash_)
    assert receipt["status"] == "0x1"
    return int(receipt["blockNumber"], 16)


def give(harness, token, amount):
    data = call_of("transfer(address,uint256)", ["address", "uint256"], PAYER, amount)
    send(harness, harness.sender, token, data)


def act(harness, calls, to, data):
    """Calls a pool as the payer, which makes ``calls`` when it is called back. Returns the block."""
    harness.rpc("anvil_setCode", PAYER, "0x" + code_of(calls).hex())
    harness.rpc("anvil_impersonateAccount", PAYER)
    harness.rpc("anvil_setBalance", PAYER, hex(10**20))
    return send(harness, PAYER, to, data)


def flash(harness, pool, amounts):
    """Pays amounts of both tokens for a loan of nothing: all of them are fees."""
    tokens = (pool.token0, pool.token1)
    calls = [
        (token, 0, call_of("transfer(address,uint256)", ["address", "uint256"], pool.id, amount))
        for token, amount in zip(tokens, amounts, strict=True)
    ]
    for token, amount in zip(tokens, amounts, strict=True):
        give(harness, token, amount)
    types = ["address", "uint256", "uint256", "bytes"]
    signature = f"flash({','.join(types)})"
    return act(harness, calls, pool.id, call_of(signature, types, PAYER, 0, 0, b""))


def donate(harness, pool, amounts):
    """Donates the native coin and another currency."""
    assert pool.token0 == NATIVE
    manager = harness.manifest.contracts["PoolManager"]
    key = (pool.token0, pool.token1, pool.fee, pool.tick_spacing, pool.hooks)
    give(harness, pool.token1, amounts[1])
    donating = f"donate({_KEY},uint256,uint256,bytes)"
    calls = [
        (manager, 0, call_of(donating, [_KEY, "uint256", "uint256", "bytes"], key, *amounts, b"")),
        (manager, amounts[0], call_of("settle()", [])),
        (manager, 0, call_of("sync(address)", ["address"], pool.token1)),
        (pool.token1, 0, call_of("transfer(address,uint256)", ["address", "uint256"], manager, amounts[1])),
        (manager, 0, call_of("settle()", [])),
    ]
    return act(harness, calls, manager, call_of("unlock(bytes)", ["bytes"], b""))


def read(harness, to, data):
    return int(harness.rpc("eth_call", {"to": to, "data": "0x" + data.hex()}, "latest"), 16)


def fee_growth(harness, pool):
    """feeGrowthGlobal0X128 and 1, and the liquidity in range."""
    if pool.protocol == "uniswap-v3":
        getters = ("feeGrowthGlobal0X128()", "feeGrowthGlobal1X128()", "liquidity()")
        return [read(harness, pool.id, call_of(getter, [])) for getter in getters]
    manager, types = harness.manifest.contracts["PoolManager"], ["bytes32"]
    slot = int.from_bytes(keccak(bytes.fromhex(pool.id[2:]) + _V4_POOLS_SLOT.to_bytes(32)))
    slots = [(slot + at).to_bytes(32) for at in (1, 2, 3)]
    return [read(harness, manager, call_of("extsload(bytes32)", types, each)) for each in slots]


def pool_of(harness, protocol, pair):
    return next(p for p in harness.manifest.pools if (p.protocol, p.pair) == (protocol, pair))


@pytest.fixture
async def harness(fresh_devnet):
    async with LiquidityHarness(fresh_devnet) as harness:
        yield harness


@pytest.mark.parametrize("switched_on", [False, True])
@pytest.mark.parametrize(
    ("protocol", "pair", "pay"), [("uniswap-v3", "WETH/USDC", flash), ("uniswap-v4", "ETH/USDC", donate)]
)
async def test_what_is_paid_is_what_the_contract_shares_out(harness, protocol, pair, pay, switched_on):
    chance, pool = random.Random(5), pool_of(harness, protocol, pair)
    set_protocol_fees(harness, chance, switched_on)
    await harness.fresh()
    first = (await harness.chain.head()).number + 1
    known = await harness.pools._find(harness.pool_id(pool))
    kept = TradeHistory(harness.chain, Logs(harness.chain), PoolStates(harness.chain))
    debts_before = owed_to_protocol(harness)
    paid_to_protocol = [0, 0]
    for turn in range(4):
        amounts = chance.randrange(1, 10**8), chance.randrange(1, 10**8)
        before = fee_growth(harness, pool)
        block = pay(harness, pool, amounts)
        after = fee_growth(harness, pool)
        await harness.fresh()
        head = await harness.chain.head()
        once = TradeHistory(harness.chain, Logs(harness.chain), PoolStates(harness.chain))
        for history in (kept, once):
            found = await history.since(known, first, head)
            parts = {
                part: found.total(part, block, block + 1)
                for part in ("volume", "lp", "protocol", "donated", "fees")
            }
            assert parts["volume"] == (0, 0)
            assert parts["fees"] == amounts
            assert found.inexact == 0
            assert any(parts["protocol"]) == (switched_on and protocol == "uniswap-v3")
            assert any(parts["donated"]) == (protocol == "uniswap-v4")
            shared = [lp + donated for lp, donated in zip(parts["lp"], parts["donated"], strict=True)]
            for side in (0, 1):
                assert after[side] - before[side] == (shared[side] << 128) // after[2]
        paid_to_protocol = [all_ + new for all_, new in zip(paid_to_protocol, parts["protocol"], strict=True)]
        if turn == 1:  # they go through the same state as swaps
            await harness.trade(chance, pool, 1)
    if protocol == "uniswap-v3":
        owed = owed_to_protocol(harness)
        found = await kept.since(known, first, await harness.chain.head())
        for side, token in enumerate((pool.token0, pool.token1)):
            place = (pool.id, token)
            assert owed[place] - debts_before[place] == found.total("protocol", first)[side]
            assert paid_to_protocol[side] <= found.total("protocol", first)[side]


async def test_donations_are_shown_apart_and_not_in_the_apr(harness):
    pool = pool_of(harness, "uniswap-v4", "ETH/USDC")
    identity = harness.pool_id(pool)

    async def shown(metric):
        await harness.fresh()
        now = (await harness.chain.head()).timestamp + 1
        return await harness.pools.series(identity, metric, now - 86_400, now, "1d")

    apr = (await shown("apr")).current
    fees = await shown("fees")
    donate(harness, pool, (10**15, 25 * 10**6))
    after = await shown("fees")
    assert after.components["donated0"] - fees.components["donated0"] == pytest.approx(1e-3)
    assert after.components["donated1"] - fees.components["donated1"] == pytest.approx(25)
    assert after.components["lp1"] == fees.components["lp1"]
    assert after.current > fees.current + 25
    assert (await shown("apr")).current == pytest.approx(apr)
