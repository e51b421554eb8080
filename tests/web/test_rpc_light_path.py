"""Long results pass unchanged through `/v2/rpc`."""

import orjson
from quoteway.hookspecs import hookimpl
from quoteway.models import RawJson
from quoteway.networks import Network
from quoteway.providers import RpcUpstream


class Long:
    """A node with a long result."""

    text = b'["' + b"ab" * 1_000_000 + b'"]'

    @hookimpl
    def quoteway_networks(self):
        return [Network("ethereum", 1, "Ethereum")]

    @hookimpl
    def quoteway_rpc_upstreams(self, context):
        class Node(RpcUpstream):
            id, title, networks = "node", "Node", frozenset({1})

            async def forward(self, network, method, params, *, timeout_s):
                return "0x1" if method == "eth_chainId" else RawJson(Long.text)

        return [Node()]


async def test_a_long_result_is_passed_on_as_it_is(serve_app):
    api = await serve_app({"node": Long()})
    for call_id in (7, 'a"b'):
        body = {"jsonrpc": "2.0", "id": call_id, "method": "eth_gasPrice"}
        answer = await api.post("/v2/rpc/1", body)
        assert answer.status == 200
        assert answer.raw == b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(call_id), Long.text)
        assert answer.headers["Content-Length"] == str(len(answer.raw))
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["X-Request-ID"]
