import contextlib
from dataclasses import replace

import pytest
from quoteway.config.model import SocketsConfig
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin


@pytest.fixture
def portfolio(fresh_devnet):
    from portfolio_gateway import PortfolioGateway

    return PortfolioGateway(fresh_devnet)


@pytest.fixture
async def serve_sockets(fresh_devnet, serve_app, make_config):
    """``await serve(sockets={...}, **sections)`` gives a ``Room``."""
    from socket_room import Node, Room

    async with contextlib.AsyncExitStack() as stack:

        async def start(sockets=None, server=None, **sections):
            nodes = []

            def make(context):
                nodes.append(Node(context))
                return nodes[0]

            url = fresh_devnet.urls["devnet"]
            network = Network("devnet", 31337, "Devnet", head_poll_s=0.05, endpoints=(Endpoint(url),))
            config = make_config()
            config = replace(
                config,
                server=replace(config.server, **(server or {})),
                sockets=SocketsConfig(**(sockets or {})),
                **sections,
            )
            api = await serve_app({"node": FakePlugin([make], networks=[network])}, config=config)
            return Room(fresh_devnet, api, nodes[0], stack)

        yield start


@pytest.fixture
def place():
    """Markets at prices that a test sets, whose head is polled often."""
    from drifting_market import Place

    return Place(head_poll_s=0.05)


@pytest.fixture
async def open_room(serve_app, make_config, place):
    from stream_room import rooms

    async with rooms(serve_app, make_config(), place) as make:
        yield make


@pytest.fixture
def transfer_place():
    from followed_transfers import TransferPlace

    return TransferPlace()


@pytest.fixture
async def receiver():
    """A receiver of webhooks."""
    from webhook_room import receiving

    async with receiving() as made:
        yield made


@pytest.fixture
def open_hooks(serve_app, make_config, transfer_place, receiver):
    """``await open_hooks(**webhooks)`` gives a gateway that sends to ``receiver``."""
    from webhook_room import Hooks, with_webhooks

    async def make(store=None, **changes):
        config = with_webhooks(make_config(), receiver.port, store, **changes)
        api = await serve_app(transfer_place.plugins(), config=config, clock=transfer_place.clock)
        return Hooks(api, transfer_place, receiver.url)

    return make
