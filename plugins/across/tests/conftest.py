"""Fixtures: a gateway over the devnet with its relayer."""

import time

import pytest
import quoteway_across
import quoteway_across.route_limits
import quoteway_devnet.plugin
import quoteway_rpc
from quoteway_devnet.chains import Devnet
from quoteway_devnet.relayer import Relayer
from transfers import TransferHarness

PLUGINS = {"devnet": quoteway_devnet.plugin, "rpc": quoteway_rpc, "across": quoteway_across}


@pytest.fixture
def relayer(fresh_devnet):
    """A well-behaved relayer over the session's chains."""
    with Relayer.running(fresh_devnet) as relayer:
        yield relayer


@pytest.fixture
def own_devnet():
    """Chains whose clock a test may move."""
    with Devnet.running() as devnet:
        yield devnet


@pytest.fixture
async def make_harness(make_gateway):
    """``await make_harness(devnet, relayer_port)`` returns a TransferHarness."""

    async def make(devnet, relayer_port, *, clock=time.time, across=None, **sections):
        section = {
            "enabled": True,
            "start": False,
            "port": devnet.ports["devnet"],
            "l2_port": devnet.ports["devnet-l2"],
            "relayer_port": relayer_port,
        }
        # A busy machine is slow, not wrong. Tests of slow services give their own time.
        plugin_sections = {"devnet": section, "across": {"api_timeout_s": 10.0} | (across or {})}
        gateway = await make_gateway(PLUGINS, plugin_sections=plugin_sections, clock=clock, **sections)
        return TransferHarness(devnet, gateway)

    return make


@pytest.fixture
async def harness(fresh_devnet, relayer, make_harness, monkeypatch):
    """A gateway over chains with an honest relayer. Its lists wait for the limits of routes."""
    monkeypatch.setattr(quoteway_across.route_limits, "PATIENCE_S", 30.0)
    return await make_harness(fresh_devnet, relayer.port)
