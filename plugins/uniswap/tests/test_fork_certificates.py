"""How near routes through forks' routers are to the best, and what proves it: checked from the chain."""

import pytest
from fork_chain import MAKER, AlgebraFork, ForkChain, PancakeFork, V2Fork, config_of, serving
from quoteway.testing.certificates import certified_quote, check_verified

pytestmark = pytest.mark.slow
SOLVER = {"router": {"solver_processes": 1}}


def v2_fork(chain):
    fork = V2Fork(chain, "SushiSwap", (997, 1000))
    fork.add("WETH", "USDC", 40_000_000)
    fork.add("USDC", "DAI", 20_000_000)
    fork.add("WETH", "DAI", 2_000_000)
    return fork, "uniswap.v2-router"


def v3_fork(chain):
    fork = PancakeFork(chain)
    for first, second, fee, dollars, ticks in (
        ("WETH", "USDC", 500, 3_000_000, 6_000),
        ("WETH", "USDC", 2500, 1_000_000, 10_000),
        ("USDC", "DAI", 100, 5_000_000, 500),
    ):
        fork.create(first, second, fee)
        fork.mint(first, second, fee, dollars, ticks)
    return fork, "uniswap.v3-router"


def algebra_fork(chain):
    fork = AlgebraFork(chain)
    for first, second, fee, dollars, ticks in (
        ("WETH", "USDC", 450, 2_000_000, 5_000),
        ("USDC", "DAI", 100, 5_000_000, 600),
    ):
        fork.create(first, second, fee)
        fork.mint(first, second, dollars, ticks)
    return fork, "algebra.router"


@pytest.mark.parametrize("make", [v2_fork, v3_fork, algebra_fork])
async def test_a_route_is_verified_from_the_chain(fresh_devnet, monkeypatch, tmp_path, make):
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    fork, kind = make(ForkChain(fresh_devnet))
    given = fresh_devnet, [fork.row("someswap")], {fork.router: kind}
    only = {"protocols": ["someswap-routes"], "acknowledge": ["high_price_impact"]}
    async with serving(*given, **SOLVER) as place:
        for sold, bought, whole in (("ETH", "USDC", 40), ("USDC", "WETH", 200_000), ("ETH", "DAI", 20)):
            body = {
                "network": "devnet",
                "address": MAKER,
                "fromToken": place.token(sold),
                "toToken": place.token(bought),
                "amount": str(place.units(sold, whole)),
            }
            answer = await certified_quote(place.api, body | only)
            told = answer["optimality"]
            assert (told["method"], told["families"]) == ("single_path", ["someswap"])
            assert int(told["bound"]) >= int(answer["toAmount"])
            assert len(told["certificate"]["pools"]) == told["pools"] >= len(answer["route"]["legs"])
            # The chain moves on, and the next quote is on states that logs have carried there.
            await place.swap(sold, bought, whole, **only)
            url = fresh_devnet.urls["devnet"]
            await check_verified(config_of(*given, **SOLVER), answer, url, tmp_path)
