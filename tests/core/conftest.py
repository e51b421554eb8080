import asyncio
import gc
import sys

import pytest
from devnet_gateway import DevnetGateway
from devnet_nodes import DEVNET, Node
from distributions import install
from quoteway.config.model import Config, PluginsConfig
from quoteway.engine.gateway import Gateway
from quoteway.evm.chain import RpcChain
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin, HttpRpc, RouterSwap


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """``installed(plugin, source, **options)`` installs one; its module is forgotten after."""
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = []

    def add(plugin, source, **options):
        modules.append(install(tmp_path, plugin, source, **options))
        return modules[-1]

    add.folder = tmp_path
    yield add
    for module in [m for m in sys.modules if m.startswith("fake_")]:
        del sys.modules[module]


@pytest.fixture
def load(installed):
    """Loads a gateway with the named plugins selected and nothing started; the plugins by name."""

    def run(*selected, **sections):
        gateway = Gateway(Config(plugins=PluginsConfig(load=selected), **sections))
        gateway.load()
        return {entry.name: entry for entry in gateway.registry.plugins}, gateway

    return run


@pytest.fixture
def no_unretrieved(caplog):
    """Fails the test when asyncio complains of a task or an exception that nobody looked at."""
    yield
    gc.collect()
    complaints = [r.getMessage() for r in caplog.get_records("call") if r.name == "asyncio"]
    assert not [text for text in complaints if "never retrieved" in text or "destroyed" in text]


@pytest.fixture
async def make_chain():
    """``make_chain(node, **options)``: a chain client that asks the node; it leaves no task behind."""
    chains = []

    def make(node, **options):
        chains.append(RpcChain(options.pop("network", DEVNET), node, **options))
        return chains[-1]

    yield make
    for chain in chains:
        await chain.close()
    await asyncio.sleep(0)
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert not left, "a closed chain leaves no task behind"


@pytest.fixture
def node(devnet):
    return Node(devnet.urls["devnet"])


@pytest.fixture
def chain(make_chain, node):
    return make_chain(node)


@pytest.fixture
def open_chain(make_chain, devnet):
    """``open_chain(rewrite)``: a chain client of the devnet, whose answers ``rewrite`` changes."""
    return lambda rewrite: make_chain(Node(devnet.urls["devnet"], rewrite))


@pytest.fixture
def router(devnet):
    return devnet.chains["devnet"].contracts["UniswapV2Router02"]


@pytest.fixture
def open_gateway(fresh_devnet, make_gateway, router):
    """``await open_gateway(provider class)``: a started gateway over the devnet with that provider."""

    async def make(cls=RouterSwap, **sections):
        network = Network(
            "devnet",
            31337,
            "Devnet",
            head_poll_s=0.2,
            endpoints=(Endpoint(fresh_devnet.urls["devnet"]),),
            contracts={router: "uniswap.v2-router"},
        )
        plugin = FakePlugin([HttpRpc, lambda context: cls(context, 31337, router)], networks=[network])
        return DevnetGateway(fresh_devnet, await make_gateway({"fake": plugin}, **sections))

    return make
