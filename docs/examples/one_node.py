"""A network that no other plugin describes, and the one node through which everybody reads it.

[plugin.one-node]
url = {env = "NODE_URL"}
chain_id = 424242
"""

import aiohttp
import orjson
import quoteway
from marshmallow import Schema, fields
from quoteway import Network, RpcError, RpcUpstream, SecretField, UpstreamError


class Settings(Schema):
    url = SecretField(required=True)  # it may hold a key
    chain_id = fields.Integer(required=True, strict=True)


class OneNode(RpcUpstream):
    id = "one-node"
    title = "One node"

    def __init__(self, context):
        self.context = context
        self.networks = frozenset({context.settings["chain_id"]})

    async def forward(self, network, method, params, *, timeout_s):
        url = self.context.settings["url"].reveal()
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        limit = aiohttp.ClientTimeout(total=timeout_s)
        try:
            async with self.context.http.post(url, json=body, timeout=limit) as response:
                answer = await response.json(loads=orjson.loads)
            if "result" in answer:
                return answer["result"]
            error = answer["error"]
            refusal = RpcError(int(error["code"]), str(error["message"]), error.get("data"))
        except (aiohttp.ClientError, TimeoutError, ValueError, TypeError, KeyError):
            raise UpstreamError(f"The node of {network.name} gave no answer.", retryable=True) from None
        raise refusal


@quoteway.hookimpl
def quoteway_settings():
    return Settings


@quoteway.hookimpl
def quoteway_networks(context):
    return [Network("my-chain", context.settings["chain_id"], "My chain", native_symbol="COIN")]


@quoteway.hookimpl
def quoteway_rpc_upstreams(context):
    return [OneNode(context)]
