"""v2 forks through the router of their own: SushiSwap's contracts, and the same with a fee of 0.25 %."""

import pytest
from fork_chain import MAKER, ForkChain, V2Fork, serving, settle
from public_networks import NATIVE

pytestmark = pytest.mark.slow
SUSHI, QUARTER = "sushiswap-v2", "quarter-v2"
ROUTER = "uniswap.v2-router"


@pytest.fixture
def chain(fresh_devnet):
    return ForkChain(fresh_devnet)


@pytest.fixture
def sushi(chain):
    fork = V2Fork(chain, "SushiSwap", (997, 1000))
    fork.add("WETH", "USDC", 40_000_000)
    fork.add("USDC", "DAI", 20_000_000)
    return fork


@pytest.fixture
def quarter(chain):
    fork = V2Fork(chain, "QuarterPercent", (9975, 10_000))
    fork.add("WETH", "USDC", 30_000_000)
    fork.add("WETH", "LINK", 5_000_000)
    return fork


def hops_of(quote):
    return [hop["protocol"] for path in quote["route"]["paths"] for hop in path["hops"]]


async def exact(place, provider, sold, bought, whole, hops):
    """Swaps by one provider: what is received is what was quoted, and the gas is near to it."""
    settle(place.chain)  # the first swap of a block writes the pair's price history
    quote, difference = await place.swap(sold, bought, whole, protocols=[f"{provider}-routes"])
    assert difference == 0
    assert quote["provider"] == f"{provider}-routes"
    assert quote["simulation"]["status"] == "success"
    assert hops_of(quote) == [provider] * hops
    told = int(quote["gas"]["units"])
    assert abs(told - place.gas_used) <= 0.15 * place.gas_used, (sold, bought, told, place.gas_used)


async def test_routers_of_forks_pay_what_was_quoted(fresh_devnet, chain, sushi, quarter):
    rows = [sushi.row(SUSHI, title="SushiSwap v2"), quarter.row(QUARTER)]
    async with serving(fresh_devnet, rows, {sushi.router: ROUTER, quarter.router: ROUTER}) as place:
        for provider, sold, bought, whole, hops in (
            (SUSHI, "ETH", "USDC", 3, 1),
            (SUSHI, "WETH", "USDC", 700, 1),
            (SUSHI, "USDC", "ETH", 20_000, 1),
            (SUSHI, "DAI", "ETH", 9_000, 2),
            (SUSHI, "ETH", "DAI", 2, 2),
            (SUSHI, "DAI", "USDC", 50_000, 1),
            (QUARTER, "ETH", "USDC", 5, 1),
            (QUARTER, "LINK", "USDC", 4_000, 2),
            (QUARTER, "USDC", "LINK", 4_000, 2),
            (QUARTER, "LINK", "ETH", 100, 1),
        ):
            await exact(place, provider, sold, bought, whole, hops)
        few = {"amount": "1000", "protocols": [f"{QUARTER}-routes"]}
        _, difference = await place.swap("WETH", "LINK", 1, **few)
        assert difference == 0
        rows = {row["id"]: row for row in (await place.api.get("/v2/providers?limit=200")).body["data"]}
        assert rows[SUSHI]["name"] == "SushiSwap v2"
        assert rows[SUSHI]["refusals"] == rows[QUARTER]["refusals"] == []
        assert rows[SUSHI]["missingContracts"] == []
        # The best of all providers is taken without a limit: their pools compete with ours.
        _, difference = await place.swap("ETH", "USDC", 1)
        assert difference == 0


async def test_a_row_with_another_fee_than_its_router_is_refused_by_name(fresh_devnet, chain, quarter):
    row = quarter.row(QUARTER)
    row["v2"]["fee"] = [997, 1000]
    async with serving(fresh_devnet, [row], {quarter.router: ROUTER}) as place:
        rows = {each["id"]: each for each in (await place.api.get("/v2/providers?limit=200")).body["data"]}
        (refusal,) = rows[QUARTER]["refusals"]
        assert refusal["chainId"] == 31337
        assert "correct v2.fee or router" in refusal["reason"]
        assert quarter.router in refusal["reason"]
        body = {
            "network": "devnet",
            "address": MAKER,
            "fromToken": NATIVE,
            "toToken": place.token("USDC"),
            "amount": str(10**18),
            "protocols": [f"{QUARTER}-routes"],
        }
        answer = await place.api.post("/v2/swaps/quote", body)
        answer.refused(502, "upstream_error")
