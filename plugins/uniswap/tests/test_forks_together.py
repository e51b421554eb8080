"""All kinds of forks on one chain: random swaps, each by whoever pays most, pay what was quoted."""

import random
from collections import Counter
from fractions import Fraction

import pytest
from fork_chain import AlgebraFork, ForkChain, PancakeFork, V2Fork, serving, settle

FORKS = ("sushiswap-v2", "quarter-v2", "pancakeswap-v3", "someswap")
SWAPS = 40


@pytest.fixture
def forks(fresh_devnet):
    chain = ForkChain(fresh_devnet)
    sushi, quarter = V2Fork(chain, "SushiSwap", (997, 1000)), V2Fork(chain, "QuarterPercent", (9975, 10_000))
    pancake, algebra = PancakeFork(chain), AlgebraFork(chain)
    for fork, dollars in ((sushi, 20_000_000), (quarter, 15_000_000)):
        fork.add("WETH", "USDC", dollars)
        fork.add("WETH", "LINK", dollars / 10)
    for fee, ticks in ((500, 900), (2500, 6_000)):
        pancake.create("WETH", "USDC", fee)
        pancake.mint("WETH", "USDC", fee, 800_000, ticks)
    algebra.create("WETH", "USDC", 400)
    algebra.mint("WETH", "USDC", 300_000, 1_200)
    algebra.create("USDC", "DAI", 100)
    algebra.mint("USDC", "DAI", 900_000, 120)
    made = dict(zip(FORKS, (sushi, quarter, pancake, algebra), strict=True))
    kinds = {sushi.router: "uniswap.v2-router", quarter.router: "uniswap.v2-router"}
    kinds |= {pancake.router: "uniswap.v3-router", algebra.router: "algebra.router"}
    return [fork.row(protocol) for protocol, fork in made.items()], kinds


@pytest.mark.slow
async def test_random_swaps_pay_what_was_quoted(fresh_devnet, forks):
    chance, manifest, won = random.Random(5), fresh_devnet.chains["devnet"], Counter()
    prices = {
        symbol: Fraction(manifest.token(symbol).price_usd) for symbol in ("WETH", "USDC", "LINK", "DAI")
    }
    prices["ETH"] = prices["WETH"]
    only = {"protocols": [f"{fork}-routes" for fork in FORKS]}
    async with serving(fresh_devnet, *forks) as place:
        for _ in range(SWAPS):
            sold, bought = chance.sample(sorted(prices), 2)
            if {sold, bought} in ({"ETH", "WETH"}, {"LINK", "DAI"}):
                continue  # no swap, and no fork that has both
            settle(fresh_devnet)
            usd = Fraction(10 ** chance.uniform(0, 5.5))
            amount = str(int(usd / prices[sold] * place.units(sold, 1)))
            quote, difference = await place.swap(sold, bought, 1, amount=amount, slippageBps=100, **only)
            assert difference == 0, (sold, bought, amount, quote["provider"])
            won[quote["provider"]] += 1
    assert len(won) >= 3, won
