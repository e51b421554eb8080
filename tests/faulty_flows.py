"""A gateway over three nodes of one chain, two of them faulty, and what clients ask of it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from dataclasses import dataclass, field, replace

import quoteway_erc4626
import quoteway_rpc
import quoteway_tokenlist
import quoteway_uniswap
from quoteway.networks import Endpoint
from quoteway.testing.fakes import FakePlugin
from quoteway.testing.node_faults import SECRET, faulty_node
from quoteway.testing.serving import served
from quoteway_devnet.networks import devnet_networks

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
COUNTED = ("eth_gasPrice", "eth_getBalance", "eth_getStorageAt", "eth_getTransactionCount")
"""The methods of the RPC flow by which requests are counted: the gateway asks for none of them itself."""


@dataclass
class Outcomes:
    """What the calls of one flow came to."""

    took_s: list[float] = field(default_factory=list)
    errors: list[object] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        ordered = sorted(self.took_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Flows:
    """``await flows.rpc(100)`` and the like make so many calls, one after the other."""

    def __init__(self, api, devnet, nodes):
        self.api = api
        self.chain = devnet.chains["devnet"]
        self.nodes = nodes
        self._number = itertools.count(1)

    async def _timed(self, outcomes, call):
        began = time.perf_counter()
        answer = await call
        outcomes.took_s.append(time.perf_counter() - began)
        if answer.status not in (200, 201) or "error" in answer.body or SECRET in str(answer.body):
            outcomes.errors.append((answer.status, answer.body))
        return answer.body

    async def rpc(self, times):
        outcomes, weth = Outcomes(), self.chain.contracts["WETH9"]
        calls = itertools.cycle(
            [
                ("eth_gasPrice", []),
                ("eth_getBalance", [WALLET, "latest"]),
                ("eth_call", [{"to": weth, "data": "0x18160ddd"}, "latest"]),
                ("eth_getStorageAt", [weth, "0x0", "latest"]),
                ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x2", "address": weth}]),
                ("eth_getTransactionCount", [WALLET, "latest"]),
            ]
        )
        for method, params in itertools.islice(calls, times):
            body = {"jsonrpc": "2.0", "id": next(self._number), "method": method, "params": params}
            await self._timed(outcomes, self.api.post(f"/v2/rpc/{self.chain.chain_id}", body))
        return outcomes

    async def swap(self, times):
        """Quotes, each with its action."""
        outcomes = Outcomes()
        for _ in range(times):
            quote = {
                "network": "devnet",
                "fromToken": "native",
                "toToken": self.chain.token("USDC").address,
                "amount": str(10**16 + next(self._number)),
                "address": WALLET,
            }
            quoted = await self._timed(outcomes, self.api.post("/v2/swaps/quote", quote))
            if "quoteId" in quoted:
                await self._timed(outcomes, self.api.post(f"/v2/swaps/{quoted['quoteId']}/action"))
        return outcomes

    async def catalog(self, times):
        outcomes = Outcomes()
        for number in range(times):
            path = ("/v2/pools?limit=100", "/v2/vaults?limit=100", "/v2/tokens?limit=100")[number % 3]
            body = await self._timed(outcomes, self.api.get(f"{path}&network=devnet"))
            if body.get("partial") or not body.get("data"):
                outcomes.errors.append((path, "incomplete", body.get("partial")))
        return outcomes

    async def portfolio(self, times):
        outcomes = Outcomes()
        tokens = ",".join(self.chain.token(symbol).address for symbol in ("WETH", "USDC", "DAI"))
        for _ in range(times):
            path = f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&tokens={tokens}"
            body = await self._timed(outcomes, self.api.get(path))
            if len(body.get("data", ())) < 3:
                outcomes.errors.append((path, "incomplete"))
        return outcomes

    def requests(self):
        """How many requests the nodes got of those that are counted."""
        return sum(node.calls[method] for node in self.nodes for method in COUNTED)


FLOWS = ("rpc", "swap", "catalog", "portfolio")


@contextlib.asynccontextmanager
async def flows_over(devnet, *faults):
    """Serves the plugins over nodes with these faults (None: healthy), once lists and prices are there."""
    async with contextlib.AsyncExitStack() as stack:
        url = devnet.urls["devnet"]
        nodes = [await stack.enter_async_context(faulty_node(url, fault)) for fault in faults]
        networks = [
            replace(network, endpoints=tuple(Endpoint(node.address) for node in nodes))
            for network in devnet_networks(devnet.ports)
            if network.slug == "devnet"
        ]
        plugins = {
            "chains": FakePlugin(networks=networks),
            "rpc": quoteway_rpc,
            "uniswap": quoteway_uniswap,
            "erc4626": quoteway_erc4626,
            "tokenlist": quoteway_tokenlist,
        }
        api = await stack.enter_async_context(served(plugins))
        await _ready(api)
        yield Flows(api, devnet, nodes)


async def _ready(api):
    async with asyncio.timeout(60):
        while (await api.get("/readyz")).status != 200:
            await asyncio.sleep(0.01)
        for path in ("/v2/pools", "/v2/vaults", "/v2/tokens"):
            while True:
                answer = await api.get(f"{path}?limit=100&network=devnet")
                if answer.status == 200 and answer.body["partial"] == [] and answer.body["data"]:
                    break
                await asyncio.sleep(0.05)
