"""The trades of pools that are kept and extended from block to block: requests, reorganisations, sums."""

import random

import pytest
from liquidity import LiquidityHarness
from quoteway import NATIVE
from quoteway_router.logs import Logs
from quoteway_uniswap import trade_history
from quoteway_uniswap.pool_activity import Trade
from quoteway_uniswap.state import PoolStates
from quoteway_uniswap.trade_history import TradeHistory, TradeSums


@pytest.fixture
async def harness(fresh_devnet, monkeypatch):
    monkeypatch.setattr(trade_history, "SETTLED_BLOCKS", 3)
    monkeypatch.setattr(trade_history, "EXTEND_BLOCKS", 2)
    async with LiquidityHarness(fresh_devnet) as harness:
        yield harness


def history_of(harness):
    return TradeHistory(harness.chain, Logs(harness.chain), PoolStates(harness.chain))


async def pools_of(harness):
    """One traded pool of each version, with its description."""
    chosen = {}
    for pool in harness.manifest.pools:
        if pool.pair in ("WETH/USDC", "ETH/USDC"):
            chosen.setdefault(pool.protocol, pool)
    return [(pool, await harness.pools._find(harness.pool_id(pool))) for pool in chosen.values()]


async def sell_dollars(harness, pool, amount):
    tokens = (pool.token0, pool.token1)
    await harness.swap_in(pool, *(tokens if NATIVE not in tokens else reversed(tokens)), amount)


def by_block(found, first):
    """What was traded in each block, by part and side."""
    return [
        found.total(part, block, block + 1)
        for part in ("volume", "lp", "protocol", "donated", "fees")
        for block in range(first, found.last.number + 1)
    ]


async def test_each_new_block_costs_a_request_and_a_known_one_none(harness):
    pools, kept = await pools_of(harness), history_of(harness)
    assert len(pools) == 3
    first = (await harness.chain.head()).number + 1
    for turn in range(12):
        for pool, _ in pools:
            await sell_dollars(harness, pool, 10**8 + turn)
        await harness.fresh()
        head = await harness.chain.head()
        for _, known in pools:
            found = await kept.since(known, first, head)
            requests = harness.chain.requests
            assert await kept.since(known, first, head) == found
            assert harness.chain.requests == requests
            assert by_block(found, first) == by_block(
                await history_of(harness).since(known, first, head), first
            )
            assert (
                sum(any(volume) for volume in by_block(found, first)[: head.number - first + 1]) == turn + 1
            )
    await sell_dollars(harness, pools[0][0], 10**8)
    await harness.fresh()
    head = await harness.chain.head()
    for _, known in pools:
        requests = harness.chain.requests
        await kept.since(known, first, head)
        # The new logs, the block up to which trades are kept, and for a pair whether its fee is on.
        assert harness.chain.requests - requests <= 3


async def test_a_later_window_leaves_out_what_was_before_it(harness):
    ((pool, known), *_), kept = await pools_of(harness), history_of(harness)
    first = (await harness.chain.head()).number + 1
    for turn in range(10):
        await harness.swap_in(pool, pool.token0, pool.token1, 10**8 + turn)
        await harness.fresh()
        head = await harness.chain.head()
        start = max(first, head.number - 5)
        found = await kept.since(known, start, head)
        assert found.first == start
        assert found.total("volume") == (sum(10**8 + turn - back for back in range(min(6, turn + 1))), 0)
    whole = await kept.since(known, first, head)
    assert whole.total("volume") == (sum(10**8 + turn for turn in range(10)), 0)


async def test_trades_that_left_the_chain_are_not_counted(harness):
    ((pool, known), *_), kept = await pools_of(harness), history_of(harness)
    first = (await harness.chain.head()).number + 1
    for depth in (1, 2, 8):
        snapshot = harness.rpc("evm_snapshot")
        for _ in range(depth):
            await harness.swap_in(pool, pool.token0, pool.token1, 10**9)
        await harness.fresh()
        await kept.since(known, first, await harness.chain.head())
        harness.rewind(snapshot)
        for _ in range(depth + 1):
            await harness.swap_in(pool, pool.token0, pool.token1, 10**8)
        await harness.fresh()
        head = await harness.chain.head()
        found = await kept.since(known, first, head)
        assert by_block(found, first) == by_block(await history_of(harness).since(known, first, head), first)
        assert found.total("volume", head.number - depth)[0] == (depth + 1) * 10**8


async def test_a_pool_with_too_many_trades_to_keep_is_read_anew(harness, monkeypatch):
    monkeypatch.setattr(trade_history, "_BLOCKS_KEPT", 4)
    ((pool, known), *_), kept = await pools_of(harness), history_of(harness)
    first = (await harness.chain.head()).number + 1
    for turn in range(12):
        await sell_dollars(harness, pool, 10**8)
        await harness.fresh()
        found = await kept.since(known, first, await harness.chain.head())
        assert sum(found.total("volume")) == (turn + 1) * 10**8


def test_sums_of_blocks_are_those_of_their_trades():
    chance = random.Random(3)
    for _ in range(200):
        sums, trades, block = TradeSums(), [], 0
        for _ in range(chance.randrange(30)):
            block += chance.choice((0, 0, 1, 5))
            amounts = (chance.getrandbits(120), chance.getrandbits(90), chance.getrandbits(80))
            exact, donated = chance.random() < 0.5, chance.getrandbits(70)
            trades.append(Trade(block, chance.randrange(2), *amounts, exact, donated))
            sums.add(trades[-1])
        cut = chance.randrange(40)
        for kept, least in ((sums, 0), (sums.since(cut), cut)):
            first = least + chance.randrange(40)
            before = chance.choice((None, first + chance.randrange(40)))
            among = [t for t in trades if t.block >= first and (before is None or t.block < before)]
            expected = [
                sum(getattr(trade, part) for trade in among if trade.side == side)
                for part in ("amount_in", "lp_fee", "protocol_fee", "donated")
                for side in (0, 1)
            ]
            assert list(kept.between(first, before)) == [*expected, sum(not t.exact for t in among)]
