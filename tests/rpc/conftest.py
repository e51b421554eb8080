"""A gateway over nodes that a test scripts, or over the devnet's."""

import asyncio
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from quoteway.errors import RpcError, UpstreamError
from quoteway.hookspecs import hookimpl
from quoteway.networks import Network
from quoteway.providers import RpcUpstream
from quoteway.testing.fakes import FakePlugin, HttpRpc
from reorganised_chain import ChainModel, Clock

CONFIG = """
plugins.load = ["rpc"]
quotes.keys = [{{id = "a", secret = {{env = "KEY"}}}}]
limits.rpc = "1000000/minute"

[networks.devnet]
chain_id = 31337
name = "Devnet"
native_symbol = "ETH"
rpc = ["{url}"]
"""


class ScriptedNode:
    """A node of chain 1 in this process. ``answers`` has a result, an exception or a function by method."""

    def __init__(self, **answers):
        self.answers = {"eth_chainId": "0x1", **answers}
        self.asked = []
        self.at_once = self.most_at_once = 0

    @hookimpl
    def quoteway_networks(self):
        return [Network("ethereum", 1, "Ethereum")]

    @hookimpl
    def quoteway_rpc_upstreams(self, context):
        script = self

        class Node(RpcUpstream):
            id, title, networks = "node", "Node", frozenset({1})

            async def forward(self, network, method, params, *, timeout_s):
                return await script.answer(method, params)

        return [Node()]

    async def answer(self, method, params):
        self.asked.append((method, params))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)
            found = self.answers.get(method, "0x1")
            if callable(found):
                found = found(*params)
            if asyncio.iscoroutine(found):
                found = await found
        finally:
            self.at_once -= 1
        if isinstance(found, Exception):
            raise found
        return found

    @property
    def methods(self):
        """Without those that the core reads at its start."""
        return [method for method, _ in self.asked if method not in ("eth_chainId", "eth_getBlockByNumber")]


@pytest.fixture
def scripted():
    return ScriptedNode


@pytest.fixture
def broken():
    """What nodes raise: none answered, or one refused."""
    return {
        "down": UpstreamError("No node answered.", retryable=True),
        "reverted": RpcError(3, "execution reverted", "0x08c379a0"),
    }


@pytest.fixture
async def node_api(serve_app):
    """``await node_api(node)``: an app over a scripted node."""

    async def serve(node, config=None):
        return await serve_app({"node": node}, config=config)

    return serve


@pytest.fixture
def devnet_plugin(devnet):
    networks = pytest.importorskip("quoteway_devnet.networks")
    return FakePlugin([HttpRpc], networks=networks.devnet_networks(devnet.ports))


@pytest.fixture
async def proxy(serve_app, devnet_plugin):
    """An app that forwards to the devnet's nodes."""
    return await serve_app({"devnet": devnet_plugin})


@pytest.fixture(scope="module")
def two_workers(devnet, tmp_path_factory):
    """The URL of ``quoteway serve --workers 2`` with the rpc plugin over the devnet's node."""
    pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    folder = tmp_path_factory.mktemp("two-workers")
    (folder / "quoteway.toml").write_text(CONFIG.format(url=devnet.urls["devnet"]))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
    environment["KEY"] = "4f1c9a07e2d85b36c0a7914ed3f8625b"
    log = folder / "serve.log"
    with log.open("wb") as stream:
        command = [sys.executable, "-m", "quoteway", "serve", "--port", "0", "--workers", "2"]
        process = subprocess.Popen(command, cwd=folder, env=environment, stderr=stream)
    try:
        deadline = time.monotonic() + 120
        while len(listening := re.findall(r"listening on (http://[\d.:]+)", log.read_text())) < 2:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        for _ in range(20):  # connections go to either worker
            while not ready(listening[0]):
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
        yield listening[0]
    finally:
        process.terminate()
        process.wait(60)


def ready(url):
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=60) as answer:
            return answer.status == 200
    except (urllib.error.HTTPError, OSError):
        return False


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def chain():
    model = ChainModel()
    for _ in range(5):
        model.mine(1)
    return model
