"""An API client whose wallet is connected to the node itself, and proxies before that node."""

import asyncio
import contextlib
import json
import socket
import time
from collections import Counter
from dataclasses import dataclass, replace

import aiohttp
import pytest
from aiohttp import web

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

import quoteway_erc4626  # noqa: E402
from crossings import PLUGINS, plugin_sections, read_lists  # noqa: E402
from quoteway import NATIVE  # noqa: E402
from quoteway.config.model import ActionsConfig, Config, LimitsConfig, QuotesConfig, ServerConfig  # noqa: E402
from quoteway.config.network import NetworkConfig  # noqa: E402
from quoteway.evm import erc20  # noqa: E402
from quoteway.networks import Endpoint  # noqa: E402
from quoteway.testing.serving import served  # noqa: E402
from quoteway_devnet.accounts import ACCOUNTS  # noqa: E402

USER = ACCOUNTS[0].address
OTHER = ACCOUNTS[1].address


class FarNode:
    """A proxy before a node that holds every request for a while and counts the methods asked."""

    def __init__(self, url, latency_s=0.0):
        self.asked = Counter()
        self.bodies = []
        self.url = url
        self._latency_s = latency_s

    @contextlib.asynccontextmanager
    async def running(self):
        async with aiohttp.ClientSession() as session:

            async def forward(request):
                body = await request.json()
                self.asked[body["method"]] += 1
                self.bodies.append(body)
                await asyncio.sleep(self._latency_s / 2)
                answer = await self.answer(body, session)
                await asyncio.sleep(self._latency_s / 2)
                return web.Response(body=answer, content_type="application/json")

            app = web.Application(client_max_size=1 << 24)
            app.router.add_post("/", forward)
            runner = web.AppRunner(app)
            await runner.setup()
            listening = socket.create_server(("127.0.0.1", 0))
            await web.SockSite(runner, listening).start()
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}"
            finally:
                await runner.cleanup()

    async def answer(self, body, session):
        async with session.post(self.url, json=body) as answer:
            return await answer.read()


class LaggingNode(FarNode):
    """A proxy that knows no block after ``held`` until it was asked ``patience`` times for news."""

    held, patience = None, 0

    def lag(self, block, patience=10**9):
        self.held, self.patience = block, patience

    async def answer(self, body, session):
        method, params = body["method"], body["params"]
        asks_for_news = method == "eth_getTransactionReceipt" or params[:1] == ["latest"]
        if self.held is not None and asks_for_news:
            self.patience -= 1
            if self.patience <= 0:
                self.held = None
            elif method == "eth_getTransactionReceipt":
                return json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": None}).encode()
            else:
                body = {**body, "params": [hex(self.held), *params[1:]]}
        return await super().answer(body, session)


@dataclass
class Client:
    """An API client with a wallet that is connected to the node itself."""

    api: object
    devnet: object
    node: FarNode

    def token(self, symbol, slug="devnet"):
        return NATIVE if symbol == "ETH" else self.devnet.chains[slug].token(symbol).address

    def pool(self, kind, pair):
        return next(
            pool
            for pool in self.devnet.chains["devnet"].pools
            if (pool.protocol, pool.pair, pool.hooks) == (f"uniswap-{kind}", pair, NATIVE)
        )

    async def ask(self, path, body):
        answer = await self.api.post(path, body)
        assert answer.status in (200, 201), answer.body
        return answer.body

    async def quote_swap(self, sold="USDC", got="WETH", amount=10**9, **more):
        body = {"network": "devnet", "fromToken": self.token(sold), "toToken": self.token(got)}
        return await self.ask("/v2/swaps/quote", {**body, "amount": str(amount), "address": USER, **more})

    async def act(self, quote):
        return await self.ask(f"/v2/swaps/{quote['quoteId']}/action", None)

    async def send(self, *transactions):
        """Sends to the node, each after the receipt of the one before; the last receipt's block."""

        def mined():
            with self.devnet.rpc() as rpc:
                for transaction in transactions:
                    members = {name: transaction[name] for name in ("to", "data", "value")}
                    identity = rpc("eth_sendTransaction", {**members, "from": USER, "gas": hex(3_000_000)})
                    while (receipt := rpc("eth_getTransactionReceipt", identity)) is None:
                        pass
                    assert receipt["status"] == "0x1", transaction
                return int(receipt["blockNumber"], 16)

        return await asyncio.to_thread(mined)

    async def approve(self, token, spender, amount):
        data = "0x" + erc20.APPROVE.encode([spender, amount]).hex()
        return await self.send({"to": token, "data": data, "value": "0x0"})

    async def balances(self, tokens):
        """The user's, by the node's newest state."""
        data = "0x" + erc20.BALANCE_OF.encode([USER]).hex()
        calls = [("eth_call", [{"to": token, "data": data}, "latest"]) for token in tokens]

        def read():
            with self.devnet.rpc() as rpc:
                return [int(word, 16) for word in rpc.batch(calls)]

        return dict(zip(tokens, await asyncio.to_thread(read), strict=True))

    async def carry_out(self, quote, action):
        """Sends an action that was asked for with a quote, and compares what it did to the wei."""
        assert action["simulation"]["status"] == "success", action["simulation"]
        legs = Counter()
        for sign, side in ((-1, "inputs"), (1, "outputs")):
            for leg in quote[side]:
                legs[leg["token"]["address"]] += sign * int(leg["amount"])
        legs.pop(NATIVE, None)
        before = await self.balances(list(legs))
        block = await self.send(*action["transactions"])
        after = await self.balances(list(legs))
        assert {token: after[token] - before[token] for token in legs} == legs
        return block


def kinds(action):
    return [step["kind"] for step in action["steps"]]


@contextlib.asynccontextmanager
async def client_of(
    devnet,
    latency_s,
    relayer_port=1,
    node=None,
    plugins=None,
    settings=None,
    quotes=None,
    actions=None,
    clock=time.time,
    **network,
):
    node = node or FarNode(devnet.urls["devnet"], latency_s)
    async with node.running() as url:
        config = Config(
            server=replace(ServerConfig(), port=0),
            limits=LimitsConfig(enabled=False),
            quotes=quotes or QuotesConfig(competition_timeout_s=30.0),
            actions=actions or ActionsConfig(),
            networks={"devnet": NetworkConfig(rpc=(Endpoint(url),), **network)},
            plugin_sections=plugin_sections(devnet, relayer_port) | (settings or {}),
        )
        plugins = PLUGINS | {"erc4626": quoteway_erc4626} | (plugins or {})
        async with served(plugins, config, clock=clock) as api:
            await read_lists(api.gateway)
            yield Client(api, devnet, node)
