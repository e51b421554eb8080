"""Pools with unlisted fees are found by their creation logs, the deepest first."""

from dataclasses import replace

import pytest
from pool_traffic import TrafficHarness, differences
from quoteway import NATIVE
from quoteway.evm.abi import function
from quoteway_amm import Graph
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap import created_pools, routing
from quoteway_uniswap.candidates import candidate_pools, pool_id, v3_pool
from quoteway_uniswap.created_pools import CreatedPools
from quoteway_uniswap.deployments import PoolKey
from quoteway_uniswap.state import PoolStates

DONOR = ACCOUNTS[0].address
KEY = "(address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks) key"
INITIALIZE = function(f"initialize({KEY}, uint160 sqrtPriceX96)")
V3_INITIALIZE = function("initialize(uint160 sqrtPriceX96)")
CREATE_POOL = function("createPool(address tokenA, address tokenB, uint24 fee)")
ENABLE = function("enableFeeAmount(uint24 fee, int24 tickSpacing)")


@pytest.fixture
async def harness(fresh_devnet):
    async with TrafficHarness(fresh_devnet) as harness:
        yield harness


class Clock:
    now_s = 1000.0

    def __call__(self):
        return self.now_s


def row_of(harness, protocol, pair, fee):
    return next(
        p
        for p in harness.manifest.pools
        if (p.protocol, p.pair, p.fee, p.hooks) == (protocol, pair, fee, NATIVE)
    )


async def price_of(harness, row):
    """Returns the price of the pool."""
    refs = [ref for ref in harness.refs() if ref.id == row.id]
    (pool,) = await harness.states().load(await harness.chain.head(fresh=True), refs)
    return pool.sqrt_price_x96


async def create_v4(harness, row, fee, spacing, sqrt_price_x96, hooks=NATIVE):
    """Creates a v4 pool of the tokens of ``row`` and returns its row."""
    key = (row.token0, row.token1, fee, spacing, hooks)
    harness.send(DONOR, harness.manifest.contracts["PoolManager"], INITIALIZE.encode([key, sqrt_price_x96]))
    return replace(row, id=pool_id(PoolKey(*key)), fee=fee, tick_spacing=spacing, hooks=hooks)


async def create_v3(harness, row, fee, spacing, sqrt_price_x96):
    factory = harness.deployment.v3.factory
    owner = "0x" + harness.rpc("eth_call", {"to": factory, "data": "0x8da5cb5b"}, "latest")[-40:]
    harness.rpc("anvil_impersonateAccount", owner)
    harness.rpc("anvil_setBalance", owner, hex(10**20))
    harness.send(owner, factory, ENABLE.encode([fee, spacing]))
    harness.rpc("evm_mine")
    harness.send(DONOR, factory, CREATE_POOL.encode([row.token0, row.token1, fee]), gas=8_000_000)
    pool = v3_pool(harness.deployment.v3, row.token0, row.token1, fee, spacing)
    harness.send(DONOR, pool.id, V3_INITIALIZE.encode([sqrt_price_x96]))
    return replace(row, id=pool.id, fee=fee, tick_spacing=spacing)


async def fill(harness, row, amount):
    """Adds a position over the full range."""
    await harness.operate(harness.of(row, "add", row.token0, amount))


async def found(harness, created, row):
    """Returns what is known of the row's pair after the searches that its first use starts."""
    tokens = row.token0, row.token1
    await harness.chain.head(fresh=True)
    created.of(harness.deployment, *tokens)
    await created.finished()
    return created.of(harness.deployment, *tokens)


async def test_pools_with_other_fees_are_found_and_traded_to_the_wei(harness, monkeypatch):
    v4 = row_of(harness, "uniswap-v4", "ETH/USDC", 500)
    v3 = row_of(harness, "uniswap-v3", "WETH/USDC", 500)
    odd4 = await create_v4(harness, v4, 77, 13, await price_of(harness, v4))
    odd3 = await create_v3(harness, v3, 333, 7, await price_of(harness, v3))
    harness.rpc("evm_mine")
    await fill(harness, odd4, 300 * 10**18 if v4.token0 == NATIVE else 10**12)
    await fill(harness, odd3, 10**12)
    clock = Clock()
    created = CreatedPools(harness.chain, [harness.deployment], clock)
    weth, usdc = harness.network.wrapped_native, harness.tokens["USDC"].address
    await harness.chain.head(fresh=True)
    first = created.of(harness.deployment, weth, usdc)
    assert (first.refs, first.hooked) == ((), 0)
    assert set(first.partial) == set(harness.deployment.pass_through)
    known = await found(harness, created, odd3)
    assert {ref.id for ref in known.refs} == {odd4.id, odd3.id}
    assert known.partial == ()
    assert known.hooked == 1

    def candidates(deployment, *tokens):
        return (*candidate_pools(deployment, *tokens), *created.of(deployment, *tokens).refs)

    monkeypatch.setattr(routing, "candidate_pools", candidates)
    protocols = set()
    for sold, amount in (("ETH", 10**16), ("ETH", 10**18), ("WETH", 10**17), ("USDC", 10**8)):
        request = harness.request(sold, "USDC" if sold != "USDC" else "WETH", amount)
        quote = await harness.quote(request)
        build = await harness.build(request, quote)
        done = harness.execute(request, quote, build)
        assert done.received == done.quoted
        protocols |= {hop.pool for hop in quote.route[0].hops}
    assert protocols & {odd3.id, odd4.id}


async def test_the_deepest_pools_are_given_however_many_are_created(harness, monkeypatch):
    monkeypatch.setattr(created_pools, "MOST_PER_PAIR", 2)
    row = row_of(harness, "uniswap-v4", "USDC/DAI", 100)
    price = await price_of(harness, row)
    deep = await create_v4(harness, row, 60, 3, price)
    for fee in range(200, 250):  # empty
        await create_v4(harness, row, fee, 1, price)
    narrow = await create_v4(harness, row, 61, 1, price)
    spoofed = await create_v4(harness, row, 62, 1, price // 1000)
    harness.rpc("evm_mine")
    decimals = next(token.decimals for token in harness.manifest.tokens if token.address == row.token0)
    amount = 1000 * 10**decimals
    await fill(harness, deep, amount)
    (near,) = await harness.states().load(
        await harness.chain.head(fresh=True), [ref for ref in harness.refs() if ref.id == row.id]
    )
    ends = {"tick_lower": near.tick, "tick_upper": near.tick + 1}
    await harness.operate(harness.of(narrow, "add", row.token0, amount // 10**4, **ends))
    await fill(harness, spoofed, amount)
    created = CreatedPools(harness.chain, [harness.deployment], Clock())
    known = await found(harness, created, row)
    assert known.refs[0].id == deep.id
    assert len(known.refs) == 2
    assert known.partial == ()


async def test_a_pool_that_a_block_tells_is_compared_without_a_search_of_all_blocks(harness):
    row = row_of(harness, "uniswap-v4", "ETH/LINK", 3000)
    clock = Clock()
    created = CreatedPools(harness.chain, [harness.deployment], clock)
    states = PoolStates(harness.chain, [harness.deployment], created.add)
    block = await harness.chain.head(fresh=True)
    await states.load(block, harness.refs())
    assert (await found(harness, created, row)).refs == ()
    made = await create_v4(harness, row, 2999, 11, await price_of(harness, row))
    harness.rpc("evm_mine")
    await fill(harness, made, 10**18)
    block = await harness.chain.head(fresh=True)
    await states.load(block, harness.refs())
    assert created.of(harness.deployment, row.token0, row.token1).refs == ()
    clock.now_s += created_pools.NEW_AFTER_S
    known = await found(harness, created, row)
    assert [ref.id for ref in known.refs] == [made.id]
    graph = Graph(await states.load(block, known.refs), harness.network.wrapped_native)
    assert len(graph.pools) == 1
    assert await differences(harness, dict((await states.store.at(block)).states), block) == []


async def test_more_pools_than_can_be_compared_are_told(harness, monkeypatch):
    monkeypatch.setattr(created_pools, "MOST_COMPARED", 3)
    row = row_of(harness, "uniswap-v4", "ETH/LINK", 3000)
    price = await price_of(harness, row)
    for fee in range(100, 105):
        await create_v4(harness, row, fee, 1, price)
    harness.rpc("evm_mine")
    created = CreatedPools(harness.chain, [harness.deployment], Clock())
    known = await found(harness, created, row)
    assert known.refs == ()
    assert known.partial == (harness.tokens["LINK"].address,)


@pytest.mark.slow
async def test_a_search_in_small_ranges_goes_on_where_it_ended(harness, monkeypatch):
    from quoteway_router.logs import Logs

    monkeypatch.setattr(created_pools, "_REQUESTS_AT_ONCE", 1)
    row = row_of(harness, "uniswap-v4", "ETH/LINK", 3000)
    made = await create_v4(harness, row, 123, 1, await price_of(harness, row))
    harness.rpc("evm_mine")
    await fill(harness, made, 10**18)
    harness.rpc("anvil_mine", hex(120))
    clock = Clock()
    created = CreatedPools(harness.chain, [harness.deployment], clock, Logs(harness.chain, 50))
    await harness.chain.head(fresh=True)
    known = await found(harness, created, row)
    assert known.refs == ()
    runs = 0
    while known.partial:
        assert harness.tokens["LINK"].address in known.partial
        clock.now_s += created_pools.RETRY_S
        known = await found(harness, created, row)
        runs += 1
    assert runs > 1
    assert [ref.id for ref in known.refs] == [made.id]


async def test_a_search_that_fails_is_tried_again_later(harness):
    from quoteway.errors import RpcError

    row = row_of(harness, "uniswap-v4", "ETH/LINK", 3000)
    clock, forward = Clock(), harness.chain.forward

    async def refusing(method, params, timeout_s):
        if method == "eth_getLogs":
            raise RpcError(-32005, "limit exceeded")
        return await forward(method, params, timeout_s)

    harness.chain.forward = refusing
    created = CreatedPools(harness.chain, [harness.deployment], clock)
    assert (await found(harness, created, row)).partial
    harness.chain.forward = forward
    assert (await found(harness, created, row)).partial
    for _ in range(8):  # the range that failed is doubled each time
        clock.now_s += created_pools.RETRY_S
        await found(harness, created, row)
    assert not (await found(harness, created, row)).partial
    await created.close()
