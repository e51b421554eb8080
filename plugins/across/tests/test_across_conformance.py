"""The framework's conformance suite, over the devnet's SpokePools and its relayer."""

import pytest
from quoteway import Capability
from quoteway.testing.conformance import BridgeConformance
from transfers import KEEPER


class TestAcrossBridge(BridgeConformance):
    provider_id = "across"

    @pytest.fixture
    def gateway(self, harness):
        return harness.gateway

    @pytest.fixture
    def cases(self, harness):
        contract = harness.devnet.chains["devnet-l2"].contracts["Multicall3"]
        return [
            harness.request("USDC", 10**9),
            harness.request("USDT", 10**9, origin="devnet-l2"),
            harness.request("ETH", 10**18),
            harness.request("WETH", 10**18, "ETH"),
            harness.request("USDC", 10**9, refund_to=KEEPER),
            harness.request("ETH", 10**18, "WETH", recipient=contract),
        ]

    @pytest.fixture
    def no_route(self, harness):
        return harness.request("USDC", 10**9, "DAI")


async def test_the_suite_fails_when_the_core_does_not_check_the_refund(harness, monkeypatch):
    monkeypatch.setattr("quoteway.guard.calls._check_refund", lambda *_: None)
    lie = "the guard let pass: calldata that refunds another account"
    with pytest.raises(pytest.fail.Exception, match=lie):
        await TestAcrossBridge().test_every_lie_of_a_build_is_refused_by_the_core(
            harness.gateway, harness.bridge, [harness.request()]
        )


class TestAcrossSwaps(TestAcrossBridge):
    capability = Capability.SWAP
