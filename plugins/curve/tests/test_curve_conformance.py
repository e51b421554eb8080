"""The source passes the framework's suite."""

import pytest
from quoteway.testing.conformance import LiquidityConformance


@pytest.mark.slow
class TestLiquidity(LiquidityConformance):
    provider_id = "curve"

    @pytest.fixture
    async def gateway(self, exchange, make_gateway):
        return await exchange.gateway(make_gateway)

    @pytest.fixture
    def pairs(self, exchange):
        symbols = (("DAI", "USDC"), ("USDC", "GHO"), ("WETH", "wstETH"))
        return [(31337, *(exchange.address(each) for each in pair)) for pair in symbols]
