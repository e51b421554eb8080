"""Fixtures: a served token catalog, and contracts on the devnet."""

import secrets

import pytest
import quoteway_tokenlist
from quoteway.config.model import Config, QuotesConfig
from quoteway.evm.address import checksum
from served_catalog import Chains, Clock

networks = pytest.importorskip("quoteway_devnet.networks")


@pytest.fixture
async def start(devnet, make_gateway):
    """Starts a gateway with the given ``[plugin.tokenlist]`` section; gives its catalog."""
    upstreams = []

    async def start(**section):
        chains = Chains(networks.devnet_networks(devnet.ports))
        upstreams.append(chains.rpc)
        quotes = QuotesConfig(competition_timeout_s=30.0)
        config = Config(quotes=quotes, plugin_sections={"tokenlist": section})
        plugins = {"chains": chains, "tokenlist": quoteway_tokenlist}
        clock = Clock()
        gateway = await make_gateway(plugins, config=config, clock=clock)
        (entry,) = [entry for entry in gateway.registry.providers if entry.provider.id == "tokenlist"]
        assert entry.enabled, entry.plugin
        catalog = entry.provider
        catalog.rpc, catalog.clock = chains.rpc, clock
        return catalog

    yield start
    for upstream in upstreams:
        await upstream.close()


@pytest.fixture
def place(devnet):
    """Puts code at a new address of the devnet."""

    def place(code, slug="devnet"):
        address = checksum("0x" + secrets.token_hex(20))
        with devnet.rpc(slug) as rpc:
            rpc("anvil_setCode", address, "0x" + code.hex())
            rpc("evm_mine")  # reads are pinned to a block, and the last one does not have the code
        return address

    return place
