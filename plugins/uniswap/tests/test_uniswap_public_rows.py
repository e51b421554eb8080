"""The built-in rows, unchanged, on look-alikes of their networks: quoted = executed, over HTTP."""

import random
from fractions import Fraction

import pytest
from public_networks import NATIVE, NETWORKS, Place, gateway_on, look_alike

POOLS_ON_MAINNET = {
    ("uniswap-v2", "WETH/USDC", 3000): "0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc",
    ("uniswap-v2", "WETH/USDT", 3000): "0x0d4a11d5EEaaC28EC3F61d100daF4d40471f1852",
    ("uniswap-v2", "WETH/DAI", 3000): "0xA478c2975Ab1Ea89e8196811F51A7B7Ade33eB11",
    ("uniswap-v3", "USDC/USDT", 100): "0x3416cF6C708Da44DB2624D63ea0AAef7113527C6",
    ("uniswap-v3", "WETH/USDC", 500): "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640",
    ("uniswap-v3", "WETH/USDC", 3000): "0x8ad599c3A0ff1De082011EFDDc58f1908eb6e6D8",
    ("uniswap-v3", "WBTC/WETH", 3000): "0xCBCdF9626bC03E24f779434178A73a0B4bad62eD",
}
POOLS_ELSEWHERE = {
    10: ("uniswap-v3", "WETH/USDC", 500, "0x1fb3cf6e48F1E7B10213E7b6d87D4c073C7Fdb7b"),
    137: ("uniswap-v3", "WETH/USDC.e", 500, "0xA374094527e1673A86dE625aa59517c5dE346d32"),
    8453: ("uniswap-v3", "WETH/USDC", 500, "0xd0b53D9277642d899DF5C87A3966A349A798F224"),
    42161: ("uniswap-v3", "WETH/USDC", 500, "0xC6962004f452bE9203591991D15f6b388e09E8D0"),
}


@pytest.fixture(scope="module")
def ethereum():
    with look_alike(1) as chain:
        yield chain


def pools_of(chain, slug):
    return {(pool.protocol, pool.pair, pool.fee): pool.id for pool in chain.chains[slug].pools}


async def test_pools_of_the_look_alike_have_their_mainnet_addresses(ethereum):
    assert POOLS_ON_MAINNET.items() <= pools_of(ethereum, "ethereum").items()


async def test_the_row_of_ethereum_quotes_what_it_executes(ethereum):
    async with gateway_on(ethereum.urls) as api:
        place = Place(ethereum, api, "ethereum")
        quote, difference = await place.swap("ETH", "USDC", 50)
        assert difference == 0
        assert quote["simulation"]["status"] == "success"


SWAPS = [
    ("ETH", "USDC", 1),
    ("ETH", "USDC", 500),
    ("USDC", "ETH", 1_000_000),
    ("WETH", "USDC", 20),
    ("USDC", "WETH", 5_000),
    ("ETH", "WETH", 3),
    ("WETH", "ETH", 2),
    ("USDC", "DAI", 100_000),
    ("USDT", "ETH", 30_000),
    ("USDC", "USDT", 70_000),
    ("DAI", "USDT", 20_000),
    ("WBTC", "ETH", 2),
    ("cbBTC", "USDC", 2),
    ("USDC.e", "DAI", 9_000),
    ("ETH.b", "USDC", 4),
]


@pytest.mark.slow
@pytest.mark.parametrize("chain_id", NETWORKS, ids=NETWORKS.get)
async def test_every_built_in_row_quotes_what_it_executes(chain_id):
    slug = NETWORKS[chain_id]
    with look_alike(chain_id) as chain:
        if chain_id in POOLS_ELSEWHERE:
            *pool, address = POOLS_ELSEWHERE[chain_id]
            assert pools_of(chain, slug)[tuple(pool)] == address
        known = {"ETH", *(token.symbol for token in chain.chains[slug].tokens)}
        traded = set()
        async with gateway_on(chain.urls) as api:
            place = Place(chain, api, slug)
            for sold, bought, whole in SWAPS:
                if {sold, bought} <= known:
                    quote, difference = await place.swap(sold, bought, whole)
                    assert difference == 0, (sold, bought, whole)
                    hops = [hop for path in quote["route"]["paths"] for hop in path["hops"]]
                    traded |= {hop["protocol"] for hop in hops}
        assert {"uniswap-v2", "uniswap-v3", "uniswap-v4"} <= traded


@pytest.mark.slow
async def test_random_swaps_by_the_row_of_ethereum_pay_what_was_quoted(ethereum):
    chance = random.Random(11)
    prices = {token.symbol: Fraction(token.price_usd) for token in ethereum.chains["ethereum"].tokens}
    prices["ETH"] = prices["WETH"]
    async with gateway_on(ethereum.urls) as api:
        place = Place(ethereum, api, "ethereum")
        for _ in range(100):
            sold, bought = chance.sample(sorted(prices), 2)
            usd = Fraction(10 ** chance.uniform(0, 5.3))
            amount = {"amount": str(int(usd / prices[sold] * place.units(sold, 1)))}
            _, difference = await place.swap(sold, bought, 1, **amount)
            assert difference == 0, (sold, bought, amount)


@pytest.mark.slow
@pytest.mark.parametrize("chain_id", NETWORKS, ids=NETWORKS.get)
async def test_every_built_in_row_adds_and_removes_what_it_quotes(chain_id):
    """Through the v2 router and both position managers of the row."""
    slug = NETWORKS[chain_id]
    with look_alike(chain_id) as chain:
        async with gateway_on(chain.urls) as api:
            place = Place(chain, api, slug)
            for kind, fee in (("v2", 3000), ("v3", 3000), ("v4", 500)):
                pair = "ETH/USDC" if kind == "v4" else "WETH/USDC"
                pool = pools_of(chain, slug)[f"uniswap-{kind}", pair, fee]
                tokens = [NATIVE if kind == "v4" else place.token("WETH"), place.token("USDC")]
                add = {"asset": place.token("USDC"), "amount": str(place.units("USDC", 10_000))}
                assert await place.liquidity(pool, "add", tokens, **add) == [0, 0], kind
                out = {"asset": place.token("USDC"), "amount": "max"}
                assert await place.liquidity(pool, "remove", tokens, **out) == [0, 0], kind
