"""A node's own error is passed on, but not where the node lives nor what opens it."""

from dataclasses import replace

import pytest
from quoteway.config.network import NetworkConfig
from quoteway.errors import RpcError
from quoteway.hookspecs import hookimpl
from quoteway.networks import Endpoint, Network
from quoteway.providers import RpcUpstream

CANARY = "canary0123456789abcdef"
ENDPOINTS = [
    Endpoint(f"https://node.example/v3/{CANARY}"),
    Endpoint(f"https://node.example/v3?chain=1&apikey={CANARY}"),
    Endpoint("https://node.example/v3", {"Authorization": f"Bearer {CANARY}"}),
]
DATA = "0x08c379a0" + "00" * 64


class Talkative:
    """A node that names itself in its errors, as several do."""

    def __init__(self, endpoint):
        self.endpoint = endpoint

    @hookimpl
    def quoteway_networks(self):
        return [Network("ethereum", 1, "Ethereum", endpoints=(self.endpoint,))]

    @hookimpl
    def quoteway_rpc_upstreams(self, context):
        url = self.endpoint.url

        class Node(RpcUpstream):
            id, title, networks = "node", "Node", frozenset({1})

            async def forward(self, network, method, params, *, timeout_s):
                if method == "eth_chainId":
                    return "0x1"
                data = {"revert": DATA, "see": [f"docs at {url}?key=1", 5, None]}
                raise RpcError(3, f"reverted at {url} with key {CANARY}", data)

        return [Node()]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_errors_are_passed_on_scrubbed(serve_app, make_config, endpoint):
    config = replace(make_config(), networks={"ethereum": NetworkConfig(rpc=(endpoint,))})
    api = await serve_app({"node": Talkative(endpoint)}, config=config)
    call = {"jsonrpc": "2.0", "id": 77, "method": "eth_gasPrice", "params": []}
    answer = await api.post("/v2/rpc/1", call)
    assert answer.status == 200
    error = answer.body["error"]
    assert (answer.body["id"], error["code"]) == (77, 3)
    assert error["message"].startswith("reverted at ")
    assert error["data"]["revert"] == DATA, "revert data is the caller's to decode"
    assert error["data"]["see"][1:] == [5, None]
    assert CANARY.encode() not in answer.raw
    assert b"node.example" not in answer.raw
