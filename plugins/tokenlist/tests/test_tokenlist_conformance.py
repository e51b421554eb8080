"""The conformance suite of the product, on this plugin."""

import pytest
import quoteway_tokenlist
from quoteway.testing.conformance import CatalogConformance
from quoteway.testing.fakes import FakePlugin, HttpRpc

networks = pytest.importorskip("quoteway_devnet.networks", reason="needs the quoteway-devnet distribution")


class TestTokenList(CatalogConformance):
    provider_id = "tokenlist"

    @pytest.fixture
    async def gateway(self, fresh_devnet, make_gateway):
        chains = FakePlugin([HttpRpc], networks=networks.devnet_networks(fresh_devnet.ports))
        return await make_gateway({"chains": chains, "tokenlist": quoteway_tokenlist})

    @pytest.fixture
    def unlisted(self, fresh_devnet):
        """A token that no list names: six decimals, no symbol."""
        address = "0xABcd000000000000000000000000000000000777"
        from quoteway.evm.address import checksum

        address = checksum(address.lower())
        with fresh_devnet.rpc() as rpc:
            rpc("anvil_setCode", address, "0x600660005260206000f3")
        return 31337, address
