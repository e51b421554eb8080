"""Gateways over the devnet that join a swap with a transfer."""

import time

import pytest


@pytest.fixture
def relayer(fresh_devnet):
    from quoteway_devnet.relayer import Relayer

    with Relayer.running(fresh_devnet) as relayer:
        yield relayer


@pytest.fixture
async def make_harness(fresh_devnet, relayer, make_gateway):
    from crossings import PLUGINS, Harness, plugin_sections, read_lists

    async def make(clock=time.time, without=(), more=None, **sections):
        plugins = {name: plugin for name, plugin in PLUGINS.items() if name not in without} | (more or {})
        settings = plugin_sections(fresh_devnet, relayer.port)
        gateway = await make_gateway(
            plugins,
            plugin_sections={name: each for name, each in settings.items() if name in plugins},
            clock=clock,
            **sections,
        )
        await read_lists(gateway)
        return Harness(fresh_devnet, gateway)

    return make


@pytest.fixture
async def harness(make_harness):
    return await make_harness()
