"""A dispatcher over nodes on loopback sockets, with credentials that no text may show."""

import contextlib
import logging

import aiohttp
import pytest
from faults import CANARY, MAX_BYTES
from quoteway import Context, Endpoint, Network, Networks
from quoteway.config.model import Config
from quoteway.host.runtime import Runtime
from quoteway_rpc.dispatch import Dispatcher
from quoteway_rpc.settings import RpcSettings


@pytest.fixture
async def http():
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def dispatcher(http):
    def make(*nodes, endpoints=None, clock=None, **settings):
        endpoints = endpoints or [
            Endpoint(
                f"http://user:{CANARY}@127.0.0.1:{node.port}/v3/{CANARY}?key={CANARY}", {"X-Api-Key": CANARY}
            )
            for node in nodes
        ]
        network = Network("ethereum", 1, "Ethereum", endpoints=tuple(endpoints))
        runtime = Runtime(Config())
        runtime.networks, runtime.session = Networks([network]), http
        loaded = RpcSettings().load({"attempt_timeout_s": 2.0, "max_response_bytes": MAX_BYTES, **settings})
        context = Context("rpc", loaded, logging.getLogger("quoteway.plugin.rpc"), runtime)
        made = Dispatcher(context, **({"clock": clock} if clock else {}))
        made.ask = lambda method="eth_gasPrice", params=(), timeout_s=5.0: made.forward(
            network, method, list(params), timeout_s=timeout_s
        )
        return made

    return make


@pytest.fixture
def over(http):
    """``over([nodes of chain 1], [nodes of chain 2], **settings)`` gives a dispatcher over nodes or URLs. Its
    ``ask(method, params, chain=1, public=False, timeout_s=10)`` sends a call."""

    def make(*chains, **settings):
        networks = [
            Network(
                f"chain{chain_id}",
                chain_id,
                f"Chain {chain_id}",
                endpoints=tuple(
                    Endpoint(node if isinstance(node, str) else f"http://127.0.0.1:{node.port}/")
                    for node in nodes
                ),
            )
            for chain_id, nodes in enumerate(chains, 1)
        ]
        runtime = Runtime(Config())
        runtime.networks, runtime.session = Networks(networks), http
        context = Context("rpc", RpcSettings().load(settings), logging.getLogger("quoteway.rpc"), runtime)
        made = Dispatcher(context)

        async def ask(method="eth_gasPrice", params=(), chain=1, public=False, timeout_s=10.0):
            forward = made.forward_public if public else made.forward
            return await forward(networks[chain - 1], method, list(params), timeout_s=timeout_s)

        made.ask = ask
        return made

    return make


@pytest.fixture
async def gateway_of():
    """``gateway_of(*nodes, ws=(), settings={}, **network)``: a dispatcher over nodes; those in ``ws`` by
    WebSocket too.

    ``await it.ask(method, *params)`` is a call of a client, ``it.read`` one of the core.
    """
    made = []
    async with aiohttp.ClientSession() as http:

        def make(*nodes, ws=(), chain_id=1, clock=None, settings=None, **facts):
            endpoints = tuple(
                Endpoint(
                    f"http://127.0.0.1:{node.port}/",
                    ws=f"ws://127.0.0.1:{node.port}/" if node in ws else "",
                )
                for node in nodes
            )
            network = Network("ethereum", chain_id, "Ethereum", endpoints=endpoints, **facts)
            runtime = Runtime(Config())
            runtime.networks, runtime.session = Networks([network]), http
            context = Context(
                "rpc", RpcSettings().load(settings or {}), logging.getLogger("quoteway.plugin.rpc"), runtime
            )
            rpc = Dispatcher(context, **({"clock": clock} if clock else {}))

            async def ask(method, *params, timeout_s=5.0):
                return await rpc.forward_public(network, method, list(params), timeout_s=timeout_s)

            async def read(method, *params, timeout_s=5.0):
                return await rpc.forward(network, method, list(params), timeout_s=timeout_s)

            rpc.ask, rpc.read, rpc.network = ask, read, network
            rpc.seen = rpc.heads_of[chain_id]
            made.append(rpc)
            return rpc

        yield make
        for rpc in made:
            await rpc.seen.close()


class Asked:
    """A dispatcher over the given nodes, asked as the core asks or, with ``public``, as a client does."""

    def __init__(self, session, nodes, quorum, settings):
        endpoints = tuple(
            Endpoint(f"http://127.0.0.1:{node.port}/", name=f"node {at}") for at, node in enumerate(nodes)
        )
        self.network = Network("ethereum", 1, "Ethereum", endpoints=endpoints, quorum=quorum)
        self.runtime = Runtime(Config(embedded=False))
        self.runtime.networks, self.runtime.session = Networks([self.network]), session
        loaded = RpcSettings().load(settings)
        context = Context("rpc", loaded, logging.getLogger("quoteway.plugin.rpc"), self.runtime)
        self.dispatcher = Dispatcher(context)

    async def __call__(self, method, *params, timeout_s=10.0, public=False):
        send = self.dispatcher.forward_public if public else self.dispatcher.forward
        return await send(self.network, method, list(params), timeout_s=timeout_s)

    def counts(self, event):
        return self.runtime.counts["rpc", event, "ethereum"]


@pytest.fixture
async def asking():
    """``await asking(*nodes, quorum=1, **settings)``: starts the nodes too."""
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())

        async def make(*nodes, quorum=1, **settings):
            for node in nodes:
                if not node.port:
                    await stack.enter_async_context(node)
            return Asked(session, nodes, quorum, settings)

        yield make
