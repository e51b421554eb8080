"""The suites that ship with the framework, over the devnet's SpokePools and its honest relayer."""

import pytest
from quoteway import Capability
from quoteway.testing.bridge_conformance import BridgeConformance

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
            desk.request("ETH", 10**18, "WETH", recipient=contract),
        ]

    @pytest.fixture
    def no_route(self, desk):
        return desk.request("USDC", 10**9, "DAI")


class TestAcrossSwaps(TestAcrossBridge):
    capability = Capability.SWAP
