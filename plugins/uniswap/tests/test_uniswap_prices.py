"""USD prices from pools."""

import pytest
from liquidity import LiquidityHarness
from quoteway import NATIVE
from quoteway_amm import swap_exact_in
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.prices import ChainPrices
from quoteway_uniswap.state import PoolStates


@pytest.fixture
async def harness(fresh_devnet):
    async with LiquidityHarness(fresh_devnet) as harness:
        yield harness


@pytest.mark.slow
async def test_prices_are_those_of_the_devnet_and_resist_manipulation_in_one_block(harness, fresh_devnet):
    chain = fresh_devnet.chains["devnet"]
    harness.rpc("anvil_mine", hex(90))
    await harness.fresh()
    rows = harness.pools._deployments[31337]
    tokens = [token.address for token in chain.tokens]

    async def read():
        await harness.fresh()
        return await ChainPrices(harness.context, harness.chain, rows).at(tokens, await harness.chain.head())

    before = await read()
    for token in chain.tokens:
        assert before[token.address].usd == pytest.approx(float(token.price_usd), rel=1e-6), token.symbol
        assert 0 < before[token.address].confidence <= 1
    manipulated = [
        p for p in chain.pools if p.pair in ("LDO/WETH", "WETH/USDC", "ETH/USDC") and p.hooks == NATIVE
    ]
    for pool in manipulated:
        known = await harness.pools._find(harness.pool_id(pool))
        (state,) = await PoolStates(harness.chain).load(await harness.chain.head(), [known.ref])
        reserve = getattr(state, "reserve0", None)
        amount = (
            reserve
            if reserve
            else swap_exact_in(state, True, 2**127, state.sqrt_price_x96 * 3 // 4).amount_in
        )
        await harness.swap_in(pool, pool.token0, pool.token1, amount)
    spot = await ChainPrices(harness.context, harness.chain, rows).spot(
        chain.token("LDO").address, await harness.chain.head()
    )
    after = await read()
    for token in chain.tokens:
        now = after.get(token.address)
        assert now is None or now.usd == pytest.approx(float(token.price_usd), rel=0.005), token.symbol
    assert spot is None or spot.usd != pytest.approx(1.1, rel=0.05)
    assert after[chain.token("WETH").address].confidence < before[chain.token("WETH").address].confidence


async def test_a_token_without_pools_has_no_price(harness):
    prices = ChainPrices(harness.context, harness.chain, harness.pools._deployments[31337])
    assert await prices.at([ACCOUNTS[5].address], await harness.chain.head()) == {}


@pytest.mark.slow
async def test_a_sale_pays_about_what_a_swap_of_the_amount_into_dollars_pays(harness, fresh_devnet):
    chain = fresh_devnet.chains["devnet"]
    harness.rpc("anvil_mine", hex(90))
    await harness.fresh()
    block = await harness.chain.head()
    prices = ChainPrices(harness.context, harness.chain, harness.pools._deployments[31337])
    usdc = chain.token("USDC")
    compared = 0
    for usd, most in ((100, 1.004), (10_000, 1.004), (1_000_000, 1.1)):
        amounts = {
            token.address: int(usd / float(token.price_usd) * 10**token.decimals)
            for token in chain.tokens
            if token.symbol not in ("USDC", "USDT", "DAI", "TAX")
        }
        paid = await prices.payouts(amounts, block)
        assert paid.keys() == amounts.keys()
        for token in chain.tokens:
            if token.address in amounts:
                quote = await harness.provider.quote(
                    harness.request(token.symbol, "USDC", amounts[token.address])
                )
                (leg,) = quote.outputs
                swapped = leg.amount / 10**usdc.decimals
                # The swap chooses its parts, where a sale divides by depth; and it goes on to the dollars,
                # where a sale ends with base tokens at their price.
                assert 0.8 * swapped <= paid[token.address] <= most * swapped, (token.symbol, usd)
                compared += 1
    assert compared > 10
    assert await prices.payouts({usdc.address: 5 * 10**6}, block) == {
        usdc.address: pytest.approx(5, rel=0.001)
    }
    (nobody,) = {ACCOUNTS[3].address}
    assert await prices.payouts({nobody: 10**18}, block) == {}
