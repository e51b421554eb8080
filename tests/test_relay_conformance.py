"""The conformance suite of relays, on one that broadcasts through the devnet's nodes."""

import pytest
from quoteway.testing.conformance import RelayConformance
from quoteway.testing.fakes import FakePlugin, HttpRpc, NodeRelay
from quoteway_devnet.networks import devnet_networks

pytestmark = pytest.mark.slow


class TestNodeRelay(RelayConformance):
    provider_id = "node-relay"

    @pytest.fixture
    async def gateway(self, fresh_devnet, make_gateway):
        plugin = FakePlugin([HttpRpc, NodeRelay], networks=devnet_networks(fresh_devnet.ports))
        return await make_gateway({"fake": plugin})
