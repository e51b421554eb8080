"""Fixtures: a gateway over a fake LI.FI."""

import asyncio

import pytest
import quoteway_lifi
from lifi_cases import KEY, TIMEOUT_S
from quoteway import Network, Secret
from quoteway.config.model import ProviderConfig
from quoteway.testing.fakes import FakePlugin, MemoryRpc


class Clock:
    def __init__(self):
        self.at = 1_800_000_000.0

    def __call__(self):
        return self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def start(make_gateway, clock):
    """``await start(fake)``: a gateway of two chains without contracts that asks ``fake``.

    ``await start.mine(gateway)`` gives them a new block.
    """
    rpc = MemoryRpc({1, 10})

    async def make(fake, opaque="refused", **settings):
        networks = [Network("ethereum", 1, "Ethereum"), Network("optimism", 10, "Optimism")]
        section = {
            "enabled": True,
            "base_url": fake.url,
            "api_key": Secret(KEY),
            "timeout_s": TIMEOUT_S,
            "max_response_bytes": 65_536,
            **settings,
        }
        plugins = {"toy": FakePlugin([rpc], networks=networks), "lifi": quoteway_lifi}
        providers = {"lifi": ProviderConfig(opaque=opaque)}
        sections = {"plugin_sections": {"lifi": section}, "providers": providers}
        return await make_gateway(plugins, clock=clock, **sections)

    async def mine(gateway):
        rpc.number += 1
        await asyncio.gather(*(chain.head(fresh=True) for chain in gateway.runtime.chains.values()))

    make.mine = mine
    return make
