"""Pools and a router on a devnet of the test's own."""

import sys
from pathlib import Path

import pytest
from curve_exchange import Exchange
from quoteway.evm.abi import encode_call

# What an index keeps of logs, where that distribution is installed.
sys.path.append(str(Path(__file__).parents[2] / "indexer" / "tests"))


@pytest.fixture
def exchange(fresh_devnet):
    made = Exchange(fresh_devnet)
    made.add("three", "3pool", ("DAI", "USDC", "USDT"), (900_000, 1_400_000, 700_000), 2000, 10**6)
    made.add("ng", "ng", ("USDC", "GHO"), (500_000, 900_000), 300, 4 * 10**6, 5 * 10**10)
    made.add("eth", "ng", ("WETH", "wstETH"), (4_000_000, 3_000_000), 500, 4 * 10**6, 2 * 10**10)
    made.add("plain", "template", ("GHO", "DAI"), (600_000, 200_000), 150, 3 * 10**6)
    # What a unit of wstETH is worth, as the pool's oracle would tell it.
    made.send(made.pools["eth"], encode_call("setRate(uint256,uint256)", [1, 1_187_654_321_098_765_432]))
    return made
