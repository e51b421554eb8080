"""How the liquidity of v3 and v4 pools lies around their price, compared with their contracts."""

from dataclasses import replace

import pytest
from liquidity import LiquidityHarness
from quoteway import NATIVE
from quoteway.evm.abi import function
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.pool_ranges import liquidity_at
from quoteway_uniswap.pool_value import whole_pool
from quoteway_uniswap.state import PoolStates

LIQUIDITY = function("liquidity() returns (uint128)")
SPACING = function("tickSpacing() returns (int24)")
TICKS = function("ticks(int24 tick) returns (uint128, int128)")


@pytest.fixture
async def harness(fresh_devnet):
    async with LiquidityHarness(fresh_devnet) as harness:
        yield harness


def nets(found):
    """The change of liquidity at each tick that is told."""
    return {each.tick: each.liquidity_net for each in found.ticks}


def read(harness, pool, call, *args):
    data = "0x" + call.encode(args).hex()
    answer = harness.rpc("eth_call", {"to": pool.id, "data": data}, "latest")
    return [int(answer[at : at + 64], 16) for at in range(2, len(answer), 64)]


async def test_the_ticks_of_every_pool_are_those_of_its_contract(harness, fresh_devnet):
    states, shown = PoolStates(harness.chain), []
    for pool in fresh_devnet.chains["devnet"].pools:
        found = await harness.pools.liquidity(harness.pool_id(pool))
        if pool.protocol == "uniswap-v2":
            assert found is None
            continue
        if found is None:
            continue
        shown.append(pool.protocol)
        known = await harness.pools._find(harness.pool_id(pool))
        whole = await whole_pool(states, found.block, known.ref)
        near = [each for each in whole.ticks if found.known[0] <= each[0] <= found.known[1]]
        assert nets(found) == dict(near)
        assert (found.tick, found.liquidity, found.tick_spacing) == (
            whole.tick,
            whole.liquidity,
            whole.tick_spacing,
        )
        below = sum(net for tick, net in whole.ticks if tick <= found.tick)
        assert found.liquidity == below
        if pool.protocol == "uniswap-v3":
            assert read(harness, pool, LIQUIDITY) == [found.liquidity]
            assert read(harness, pool, SPACING) == [found.tick_spacing]
            for tick, net in nets(found).items():
                assert read(harness, pool, TICKS, tick)[1] == net % (1 << 256)
    assert {"uniswap-v3", "uniswap-v4"} <= set(shown)
    assert await harness.pools.liquidity("31337:" + ACCOUNTS[0].address) is None
    assert await harness.pools.liquidity("1:" + NATIVE) is None


async def test_of_many_ticks_the_nearest_are_told_and_the_span_says_so(harness, fresh_devnet, monkeypatch):
    pool = next(
        pool
        for pool in fresh_devnet.chains["devnet"].pools
        if pool.protocol == "uniswap-v3" and pool.fee == 500
    )
    known = await harness.pools._find(harness.pool_id(pool))
    states, block = PoolStates(harness.chain), await harness.chain.head()
    (state,) = await states.load(block, [known.ref])
    base = state.tick // state.tick_spacing * state.tick_spacing
    around = [base + step * state.tick_spacing for step in range(-8, 9)]
    snapshot = await states.store.at(block)
    snapshot.states[known.ref] = replace(state, ticks=tuple((tick, 1) for tick in around))
    monkeypatch.setattr("quoteway_uniswap.pool_ranges._MAX_TICKS_A_SIDE", 3)
    found = await liquidity_at(states, block, known)
    assert list(nets(found)) == around[6:12]
    assert found.known == (around[6], around[11])


async def test_a_new_position_and_a_trade_are_told_at_the_next_block(harness, fresh_devnet):
    pool = next(
        pool
        for pool in fresh_devnet.chains["devnet"].pools
        if pool.protocol == "uniswap-v3" and pool.pair == "WETH/USDC" and pool.fee == 3000
    )
    before = await harness.pools.liquidity(harness.pool_id(pool))
    spacing, user = before.tick_spacing, ACCOUNTS[2].address
    lower = before.tick // spacing * spacing - 7 * spacing
    upper = lower + 14 * spacing
    usdc = harness.manifest.token("USDC").address
    quote, moved = await harness.operate(
        harness.of(pool, "add", usdc, 10**9, sender=user, recipient=user, tick_lower=lower, tick_upper=upper)
    )
    assert moved.exact
    await harness.fresh()
    after = await harness.pools.liquidity(harness.pool_id(pool))
    added = quote.terms.liquidity_delta
    assert after.liquidity == before.liquidity + added
    changes = nets(after)
    for tick, net in nets(before).items():
        changes[tick] -= net
    assert {tick: net for tick, net in changes.items() if net} == {lower: added, upper: -added}


async def test_a_price_that_left_the_ticks_read_first_is_followed(harness, fresh_devnet, monkeypatch):
    """A look at few words, then a price far above them."""
    pool = next(
        pool
        for pool in fresh_devnet.chains["devnet"].pools
        if pool.protocol == "uniswap-v3" and pool.pair == "WETH/USDC" and pool.fee == 3000
    )
    known = await harness.pools._find(harness.pool_id(pool))
    states = PoolStates(harness.chain)
    monkeypatch.setattr("quoteway_uniswap.lens._BAND_TICKS", 1)
    block = await harness.chain.head()
    first = await liquidity_at(states, block, known)
    (state,) = await states.load(block, [known.ref])
    low, spacing = state.word_lo, state.tick_spacing
    ticks = tuple(each for each in state.ticks if each[0] // spacing >> 8 == low)
    snapshot = await states.store.at(block)
    # As if the price had risen out of the words that were read.
    snapshot.states[known.ref] = replace(state, word_hi=low, ticks=ticks)
    again = await liquidity_at(states, block, known)
    assert again.known[0] <= again.tick <= again.known[1]
    assert nets(first).items() <= nets(again).items()
