"""Fixtures: an app with a list of tokens and CoinMarketCap on loopback."""

import asyncio
import contextlib
from dataclasses import replace

import pytest
import quoteway_coinmarketcap
from coinmarketcap_cases import LISTED
from fake_coinmarketcap import KEY, fake_coinmarketcap
from quoteway import Network, Secret
from quoteway.config.model import Config, LimitsConfig, ServerConfig
from quoteway.testing.fakes import FakePlugin, ListedTokens, MemoryRpc
from quoteway.testing.serving import served


@pytest.fixture
async def fake():
    async with fake_coinmarketcap() as fake:
        yield fake


@pytest.fixture
async def start(fake):
    """``api = await start(**settings)`` serves a list of tokens and the plugin."""
    async with contextlib.AsyncExitStack() as stack:

        async def serve(**settings):
            networks = [Network("ethereum", 1, "Ethereum"), Network("base", 8453, "Base")]
            rpc = MemoryRpc({1, 8453}, tokens=LISTED)
            section = {
                "api_key": Secret(KEY),
                "base_url": fake.url,
                "requests_per_minute": 600,
                "timeout_s": 5.0,
                **settings,
            }
            config = Config(
                server=replace(ServerConfig(), port=0),
                limits=LimitsConfig(catalog="100000/minute"),
                plugin_sections={"coinmarketcap": section},
            )
            plugins = {
                "toy": FakePlugin([rpc, ListedTokens(LISTED)], networks=networks),
                "coinmarketcap": quoteway_coinmarketcap,
            }
            return await stack.enter_async_context(served(plugins, config))

        yield serve


@pytest.fixture
def until():
    async def wait(look, timeout_s=20):
        async with asyncio.timeout(timeout_s):
            while not (found := await look()):
                await asyncio.sleep(0.02)
        return found

    return wait
