"""The exchange on a devnet of the test's own."""

import sys
from pathlib import Path

import pytest
from solidly_exchange import Exchange

# What an index keeps of logs, where that distribution is installed.
sys.path.append(str(Path(__file__).parents[2] / "indexer" / "tests"))


@pytest.fixture
def exchange(fresh_devnet):
    made = Exchange(fresh_devnet)
    made.add("USDC", "DAI", 5_000_000, True, 5)
    made.add("USDC", "DAI", 300_000, False, 30)
    made.add("WETH", "USDC", 8_000_000, False, 30)
    made.add("USDC", "MKR", 3_000_000, False, 100)
    return made
