"""A gateway with its cache before a node on a socket."""

import asyncio
import logging
import time

import aiohttp
import pytest
from fake_node import FakeNode, ok, send
from quoteway import Context, Endpoint, Network, Networks, RawJson
from quoteway.config.model import Config
from quoteway.host.runtime import Runtime
from quoteway_rpc.cache import Cache
from quoteway_rpc.dispatch import Dispatcher
from quoteway_rpc.settings import RpcSettings

NETWORK = Network("ethereum", 1, "Ethereum")
A, H, T = "0x" + "ab" * 20, "0x" + "cd" * 32, "0x" + "12" * 32
OLD = "0x5"
FINALIZED = 1000
PLACE = {"transactionHash": T, "transactionIndex": "0x0", "blockHash": H, "blockNumber": OLD}
LOG = {"address": A, "topics": [], "data": "0x", "logIndex": "0x0", "removed": False, **PLACE}
RECEIPT = {"status": "0x1", "logs": [LOG], **PLACE}
BLOCK = {"number": OLD, "hash": H, "parentHash": T, "timestamp": "0x5", "transactions": []}


class Node:
    """A chain of blocks whose hash is their number; ``held`` methods wait until ``let_go``."""

    def __init__(self):
        self.head, self.finalized, self.fork = 1100, FINALIZED, 0
        self.version = "Geth/v1.16.0"
        self.results = {}
        self.held, self.waiting, self.let_go = set(), asyncio.Event(), asyncio.Event()
        self.fails = 0

    def block_hash(self, number):
        return f"0x{self.fork:032x}{number:032x}"

    def block(self, number):
        return {
            "number": hex(number),
            "hash": self.block_hash(number),
            "parentHash": self.block_hash(number - 1) if number else "0x" + "00" * 32,
            "timestamp": hex(number),
            "transactions": [],
        }

    def result(self, method, params):
        if method in self.results:
            return self.results[method]
        if method == "eth_getBlockByNumber":
            tags = {"latest": self.head, "finalized": self.finalized}
            number = tags[params[0]] if params[0] in tags else int(params[0], 16)
            return self.block(number) if number <= self.head else None
        if method == "eth_getBlockByHash":
            return {**self.block(int(params[0], 16) & 0xFFFF), "hash": params[0]}
        return {"eth_blockNumber": hex(self.head), "web3_clientVersion": self.version}.get(method, "0x2a")

    async def __call__(self, node, request, writer):
        result = self.result(request["method"], request["params"])
        if request["method"] in self.held:
            self.waiting.set()
            await self.let_go.wait()
        if self.fails and request["method"] not in ("web3_clientVersion",):
            self.fails -= 1
            send(writer, b"oops", "500 Internal Server Error")
        else:
            ok(writer, request, result)


class Gateway:
    def __init__(self, node, http, clock=time.monotonic, **settings):
        self.chain = node.behaviour
        self.node = node
        self.network = Network(
            "ethereum", 1, "Ethereum", endpoints=(Endpoint(f"http://127.0.0.1:{node.port}"),)
        )
        self.runtime = Runtime(Config())
        self.runtime.networks, self.runtime.session = Networks([self.network]), http
        loaded = RpcSettings().load({"cooldown_s": 0, **settings})
        self.rpc = Dispatcher(Context("rpc", loaded, logging.getLogger("rpc"), self.runtime), clock)

    async def public(self, method, *params, timeout_s=60.0):
        answer = await self.rpc.forward_public(self.network, method, list(params), timeout_s=timeout_s)
        return answer.parsed() if isinstance(answer, RawJson) else answer

    async def core(self, method, *params, timeout_s=60.0):
        return await self.rpc.forward(self.network, method, list(params), timeout_s=timeout_s)

    def asked(self, method, *params):
        calls = [call for call in self.node.calls if call["method"] == method]
        return sum(not params or call["params"][: len(params)] == list(params) for call in calls)

    async def settle(self):
        """Waits for what is asked in the background."""
        facts = self.rpc._send._facts.known(self.network)
        for task in (facts.refreshing, facts.identifying):
            if task is not None:
                await asyncio.wait([task])

    def counted(self, event):
        return self.runtime.counts["rpc", event, "ethereum"]


@pytest.fixture
async def gateway():
    made = []

    async with aiohttp.ClientSession() as http:

        async def make(**settings):
            node = await FakeNode(Node()).__aenter__()
            made.append(node)
            return Gateway(node, http, **settings)

        yield make
        for node in made:
            node.behaviour.let_go.set()
            await node.__aexit__()


@pytest.fixture(params=["public", "core"])
def caller(request):
    return lambda gateway: getattr(gateway, request.param)


def made(send, clock=lambda: 0.0, **members):
    return Cache(send, capacity_bytes=1 << 20, clock=clock, count=lambda *_: None, **members)
