"""The exchange on a devnet of the test's own."""

import pytest
from solidly_exchange import Exchange


@pytest.fixture
def exchange(fresh_devnet):
    made = Exchange(fresh_devnet)
    made.add("USDC", "DAI", 5_000_000, True, 5)
    made.add("USDC", "DAI", 300_000, False, 30)
    made.add("WETH", "USDC", 8_000_000, False, 30)
    made.add("USDC", "MKR", 3_000_000, False, 100)
    return made
