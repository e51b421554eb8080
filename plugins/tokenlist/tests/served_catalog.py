"""A catalog in a running gateway over the devnet, and lists in files."""

import asyncio
import time

import aiohttp
import orjson
import pytest
from quoteway import RpcError, RpcUpstream, UpstreamError, hookimpl

manifest = pytest.importorskip("quoteway_devnet.manifest", reason="needs the quoteway-devnet distribution")

DEVNET = manifest.chain_manifests()["devnet"]
USDC = DEVNET.token("USDC").address


class LoopbackRpc(RpcUpstream):
    """JSON-RPC to the devnet's nodes. ``down`` makes every call fail as an unreachable node does."""

    id = "loopback"
    title = "Loopback"

    def __init__(self, networks):
        self.networks = frozenset(network.chain_id for network in networks)
        self.down = False
        self._session = None

    async def forward(self, network, method, params, *, timeout_s):
        if self.down:
            raise UpstreamError("no node")
        self._session = self._session or aiohttp.ClientSession()
        payload = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        async with self._session.post(network.endpoints[0].url, json=payload) as response:
            answer = await response.json()
        if "error" in answer:
            error = answer["error"]
            raise RpcError(error["code"], error["message"], error.get("data"))
        return answer["result"]

    async def close(self):
        if self._session is not None:
            await self._session.close()


class Clock:
    """The time, moved by ``offset_s``."""

    offset_s = 0

    def __call__(self):
        return time.time() + self.offset_s


class Chains:
    """Networks and an upstream to them, as a plugin."""

    def __init__(self, described):
        self._networks = described
        self.rpc = LoopbackRpc(described)

    @hookimpl
    def quoteway_networks(self):
        return self._networks

    @hookimpl
    def quoteway_rpc_upstreams(self):
        return [self.rpc]


def write_list(path, *tokens):
    version = {"major": 1, "minor": 0, "patch": 0}
    body = {"name": "T", "timestamp": "2026-02-01T00:00:00Z", "version": version, "tokens": list(tokens)}
    path.write_bytes(orjson.dumps(body))
    return str(path)


def row(address, decimals, symbol="ODD", chain_id=31337):
    return {"chainId": chain_id, "address": address, "decimals": decimals, "symbol": symbol, "name": symbol}


def total_supply(devnet, address, slug="devnet"):
    with devnet.rpc(slug) as rpc:
        return int(rpc("eth_call", {"to": address, "data": "0x18160ddd"}, "latest"), 16)


async def eventually(condition):
    for _ in range(500):
        if found := await condition():
            return found
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen within 10 s")
