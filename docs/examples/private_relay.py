"""Broadcasts signed transactions through endpoints that keep them from the public mempool.

[plugin.private-relay]
endpoints = {ethereum = "https://relay.example.org/fast"}
"""

import aiohttp
import orjson
import quoteway
from marshmallow import Schema, fields
from quoteway import Relay, UpstreamError, check_api_url


class Settings(Schema):
    endpoints = fields.Dict(fields.String(), fields.String(validate=check_api_url), required=True)


class PrivateRelay(Relay):
    id = "private-relay"
    title = "Private relay"

    def __init__(self, context):
        self.context = context
        urls = context.settings["endpoints"]
        self.urls = {context.networks.configured(slug, "endpoints").chain_id: urls[slug] for slug in urls}
        self.networks = frozenset(self.urls)

    async def submit(self, chain_id, signed_payload):
        raw = "0x" + signed_payload.hex()
        body = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [raw]}
        try:
            async with self.context.http.post(self.urls[chain_id], json=body) as response:
                return (await response.json(loads=orjson.loads))[
                    "result"
                ]  # the core compares it with the transaction's hash
        except (aiohttp.ClientError, TimeoutError, ValueError, TypeError, KeyError):
            raise UpstreamError("The relay did not accept the transaction.", retryable=False) from None


@quoteway.hookimpl
def quoteway_settings():
    return Settings


@quoteway.hookimpl
def quoteway_relays(context):
    return [PrivateRelay(context)]
