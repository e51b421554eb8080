"""A gateway on a look-alike of a public network, by the built-in row alone, and its transactions executed."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
import quoteway_router
import quoteway_uniswap
from quoteway.config.model import Config, LimitsConfig, QuotesConfig, ServerConfig
from quoteway.config.network import NetworkConfig
from quoteway.networks import Endpoint
from quoteway.testing.serving import Served, served
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_devnet.public_chains import public_chain
from quoteway_uniswap.public_networks import ROWS

NATIVE = "0x0000000000000000000000000000000000000000"
SENDER = ACCOUNTS[2].address
NETWORKS = {
    1: "ethereum",
    10: "optimism",
    56: "bnb",
    130: "unichain",
    137: "polygon",
    8453: "base",
    42161: "arbitrum",
}


@contextlib.contextmanager
def look_alike(chain_id: int) -> Iterator[Devnet]:
    """Runs the chain of the built-in row of a network."""
    (row,) = ROWS[chain_id]
    with public_chain(NETWORKS[chain_id], chain_id, row) as chain:
        yield chain


@contextlib.asynccontextmanager
async def gateway_on(urls: Mapping[str, str]) -> AsyncIterator[Served]:
    """Serves a gateway whose configuration names nothing but the endpoints of these networks by slug."""
    rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    networks = {
        # anvil mines each transaction at once, whatever the network's own block time is.
        slug: NetworkConfig(rpc=(Endpoint(url),), block_time_s=1.0, head_poll_s=0.25)
        for slug, url in urls.items()
    }
    much = "100000/minute"
    config = Config(
        server=replace(ServerConfig(), port=0),
        networks=networks,
        limits=LimitsConfig(quotes=much, catalog=much, rpc=much),
        quotes=QuotesConfig(competition_timeout_s=30.0),
    )
    plugins = {"rpc": rpc, "router": quoteway_router, "uniswap": quoteway_uniswap}
    async with served(plugins, config) as api:
        yield api


@dataclass
class Place:
    """A look-alike and the gateway over it. Amounts are base units; ``gas_used`` is that of the last step."""

    chain: Devnet
    api: Served
    slug: str
    gas_used: int = 0

    def token(self, symbol: str) -> str:
        """Returns a token's address; ``ETH`` is the native coin."""
        return NATIVE if symbol == "ETH" else self.chain.chains[self.slug].token(symbol).address

    def units(self, symbol: str, whole: int) -> int:
        return whole * 10 ** self.chain.token(symbol, self.slug).decimals

    async def swap(self, sold: str, bought: str, whole: int, **more: Any) -> tuple[dict[str, Any], int]:
        """Quotes a swap over HTTP and executes its action. Returns the quote and received minus quoted."""
        body = {
            "network": self.slug,
            "address": SENDER,
            "fromToken": self.token(sold),
            "toToken": self.token(bought),
            "amount": str(self.units(sold, whole)),
            "slippageBps": 50,
        }
        quote = await self.api.post("/v2/swaps/quote", body | more)
        assert quote.status == 200, quote.body
        action = await self.api.post(f"/v2/swaps/{quote.body['quoteId']}/action")
        assert action.status == 201, action.body
        (change,) = self.execute(action.body, [self.token(bought)])
        (output,) = quote.body["outputs"]
        return quote.body, change - int(output["amount"])

    async def liquidity(self, pool_id: str, action: str, tokens: list[str], **more: Any) -> list[int]:
        """Executes a liquidity operation. Returns what the wallet's balances changed by, less the quote."""
        path = f"/v2/pools/{self.chain.chains[self.slug].chain_id}:{pool_id}"
        body = {"action": action, "address": SENDER, "slippageBps": 50} | more
        quote = await self.api.post(f"{path}/quote", body)
        assert quote.status == 200, quote.body
        done = await self.api.post(f"{path}/action", body | {"quoteId": quote.body["quoteId"]})
        assert done.status == 201, done.body
        quoted = dict.fromkeys(tokens, 0)
        for sign, legs in ((-1, quote.body["inputs"]), (1, quote.body["outputs"])):
            for leg in legs:
                if leg["token"]["address"] in quoted:
                    quoted[leg["token"]["address"]] += sign * int(leg["amount"])
        changes = self.execute(done.body, tokens)
        return [change - quoted[token] for token, change in zip(tokens, changes, strict=True)]

    def execute(self, action: Mapping[str, Any], tokens: list[str]) -> list[int]:
        """Sends an action's transactions. Returns the changes of the sender's balances, gas left out."""
        with self.chain.rpc(self.slug) as rpc:

            def balances() -> list[int]:
                return [int(word, 16) for word in rpc.batch([_balance(token) for token in tokens])]

            before, spent = balances(), 0
            rpc("anvil_impersonateAccount", SENDER)
            for call, step in zip(action["transactions"], action["steps"], strict=True):
                sent = {name: call[name] for name in ("to", "data", "value")}
                receipt = rpc.send(sent | {"from": SENDER, "gas": step["gasLimit"]})
                assert receipt["status"] == "0x1", call
                self.gas_used = int(receipt["gasUsed"], 16)
                spent += self.gas_used * int(receipt["effectiveGasPrice"], 16)
            pairs = zip(tokens, before, balances(), strict=True)
            return [now - was + (spent if token == NATIVE else 0) for token, was, now in pairs]


def _balance(token: str) -> tuple[str, list[Any]]:
    if token == NATIVE:
        return "eth_getBalance", [SENDER, "latest"]
    data = "0x70a08231" + SENDER[2:].lower().rjust(64, "0")
    return "eth_call", [{"to": token, "data": data}, "latest"]
