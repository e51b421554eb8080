"""The suites that ship with the framework, over the devnet's SpokePools and its honest relayer."""

import pytest
from quoteway import Capability
from quoteway.testing.conformance.bridges import BridgeConformance
from transfers import KEEPER

pytestmark = pytest.mark.xdist_group("devnet")


class TestAcrossBridge(BridgeConformance):
    provider_id = "across"

    @pytest.fixture
    def gateway(self, desk):
        return desk.gateway

    @pytest.fixture
    def cases(self, desk):
        contract = desk.devnet.chains["devnet-l2"].contracts["Multicall3"]
        return [
            desk.request("USDC", 10**9),
            desk.request("USDT", 10**9, origin="devnet-l2"),
            desk.request("ETH", 10**18),
            desk.request("WETH", 10**18, "ETH"),
            desk.request("USDC", 10**9, refund_to=KEEPER),
            desk.request("ETH", 10**18, "WETH", recipient=contract),
        ]

    @pytest.fixture
    def no_route(self, desk):
        return desk.request("USDC", 10**9, "DAI")


async def test_the_suite_finds_a_core_that_does_not_look_at_the_refund(desk, monkeypatch):
    monkeypatch.setattr("quoteway.guard.calldata.check_refund", lambda *_: None)
    lie = "the guard let pass: calldata that refunds another account"
    with pytest.raises(pytest.fail.Exception, match=lie):
        await TestAcrossBridge().test_every_lie_of_a_build_is_refused_by_the_core(
            desk.gateway, desk.bridge, [desk.request()]
        )


class TestAcrossSwaps(TestAcrossBridge):
    capability = Capability.SWAP
