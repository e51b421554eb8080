"""Quotes taken through the real provider, built, approved exactly, sent to the devnet and measured in
balances.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
from quoteway import NATIVE, Build, Capability, Context, Quote, SealedQuote, SwapRequest, Token
from quoteway.config.model import Config
from quoteway.errors import RpcError
from quoteway.evm.abi import function
from quoteway.evm.chain import RpcChain
from quoteway.host.runtime import NoTokens, Runtime
from quoteway.networks import Networks
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_devnet.networks import devnet_networks
from quoteway_uniswap.provider import UniswapProvider

APPROVE = function("approve(address spender, uint256 amount)")
PERMIT2_APPROVE = function("approve(address token, address spender, uint160 amount, uint48 expiration)")
BALANCE_OF = function("balanceOf(address owner)")


class Reverted(Exception):  # noqa: N818
    """A transaction of an execution reverted."""


@dataclass(frozen=True)
class Execution:
    """What an execution did.

    ``received`` is the recipient's gain, gas aside; ``left`` what the router holds after.
    """

    quoted: int
    received: int
    gas_used: int
    left: dict[str, int]


class Desk:
    """One devnet chain with the provider in front of it.

    ``async with``; mines by itself, only when it executes.
    """

    def __init__(
        self, devnet: Devnet, slug: str = "devnet", settings: dict[str, Any] | None = None, **changes: Any
    ):
        self.manifest = devnet.chains[slug]
        network = next(n for n in devnet_networks(devnet.ports) if n.slug == slug)
        # No polling: heads are read when asked for, and requests can be counted.
        self.network = replace(network, head_poll_s=3600.0, **changes)
        self.rpc = devnet.rpc(slug)
        self.settings = settings or {}
        self.tokens = {
            token.symbol: Token(self.manifest.chain_id, token.address, token.decimals, token.symbol)
            for token in self.manifest.tokens
        }
        self.tokens["ETH"] = Token(self.manifest.chain_id, NATIVE, 18, "ETH")
        self.router = self.network.deployments["uniswap"][0]["router"]
        self.permit2 = self.manifest.contracts["Permit2"]
        self.sender = ACCOUNTS[0].address

    async def __aenter__(self) -> Desk:
        self.session = aiohttp.ClientSession()
        self.chain = RpcChain(self.network, self._forward)
        runtime = Runtime(Config())
        runtime.networks = Networks([self.network])
        runtime.chains = {self.network.chain_id: self.chain}
        runtime.tokens = DeskTokens(self)
        self.context = Context("uniswap", self.settings, logging.getLogger("uniswap"), runtime)
        self.provider = UniswapProvider(self.context)
        self.rpc("evm_setAutomine", False)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.rpc("evm_setAutomine", True)
        self.rpc.close()
        await self.chain.close()
        await self.session.close()

    async def _forward(self, method: str, params: Any, timeout_s: float) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        async with self.session.post(self.network.endpoints[0].url, json=body) as response:
            answer = await response.json(content_type=None)
        if "error" in answer:
            error = answer["error"]
            raise RpcError(error["code"], error["message"], error.get("data"))
        return answer["result"]

    def request(self, token_in: str, token_out: str, amount_in: int, **changes: Any) -> SwapRequest:
        """A request by token symbols; ``ETH`` is the native coin."""
        chain_id = self.network.chain_id
        made = SwapRequest(
            chain_id,
            chain_id,
            self.tokens[token_in],
            self.tokens[token_out],
            amount_in,
            self.sender,
            self.sender,
            50,
        )
        return replace(made, **changes)

    async def quote(self, request: SwapRequest) -> Quote | None:
        """The provider's quote at the newest block."""
        newest = self.rpc("eth_getBlockByNumber", "latest", False)["hash"]
        await self.chain.head(fresh=True)  # as the core does for each request
        quote = await self.provider.quote(request)
        assert quote is None or quote.block.hash == newest
        return quote

    def seal(self, request: SwapRequest, quote: Quote) -> SealedQuote:
        """The quote as the core seals it."""
        now = quote.block.timestamp
        return SealedQuote(
            Capability.SWAP,
            "uniswap",
            request,
            quote.inputs,
            quote.outputs,
            quote.slippage_bps,
            quote.plan,
            quote.block,
            now,
            now + 180,
        )

    async def swap(self, request: SwapRequest) -> Execution:
        """Quote, build and execute. Raises LookupError without a route, Reverted when a transaction does."""
        quote = await self.quote(request)
        if quote is None:
            raise LookupError("no route")
        build = await self.provider.build(self.seal(request, quote))
        return self.execute(request, quote, build)

    def execute(
        self, request: SwapRequest, quote: Quote, build: Build, data: bytes | None = None
    ) -> Execution:
        """Exact approvals, then the build's transaction (``data`` instead of its own, when signed), in one
        block.
        """
        (step,) = build.steps
        calls = [(step.to, data or step.data, step.value, 8_000_000)]
        for spend in build.spends:
            allow = [(spend.token, APPROVE.encode([spend.spender, spend.amount]), 0, 200_000)]
            if spend.permit2_spender is not None and not spend.permit2_signed:
                grant = [spend.token, spend.permit2_spender, spend.amount, build.deadline]
                allow.append((spend.spender, PERMIT2_APPROVE.encode(grant), 0, 200_000))
            calls = allow + calls
        watched = request.token_out.address
        before, nonce = self.rpc.batch(
            [
                self._balance(watched, request.recipient),
                ("eth_getTransactionCount", [request.sender, "latest"]),
            ]
        )
        hashes = self.rpc.batch(
            [
                (
                    "eth_sendTransaction",
                    [
                        {
                            "from": request.sender,
                            "to": to,
                            "data": "0x" + data.hex(),
                            "value": hex(value),
                            "gas": hex(gas),
                            "nonce": hex(int(nonce, 16) + index),
                        }
                    ],
                )
                for index, (to, data, value, gas) in enumerate(calls)
            ]
        )
        self.rpc("evm_mine")
        held = {token.address for token in (request.token_in, request.token_out)}
        held |= {t for hop in quote.route[0].hops for t in (hop.token_in, hop.token_out)}
        held |= {NATIVE, self.network.wrapped_native}
        tokens = sorted(held)
        after, *answers = self.rpc.batch(
            [
                self._balance(watched, request.recipient),
                *(("eth_getTransactionReceipt", [identity]) for identity in hashes),
                *(self._balance(token, self.router) for token in tokens),
            ]
        )
        receipts, balances = answers[: len(hashes)], answers[len(hashes) :]
        for receipt, call in zip(receipts, calls, strict=True):
            if receipt is None or receipt["status"] != "0x1":
                raise Reverted(
                    f"{request} through {quote.plan['hops']}: {call[0]} {receipt and receipt['status']}"
                )
        received = int(after, 16) - int(before, 16)
        if watched == NATIVE and request.recipient == request.sender:
            received += sum(int(r["gasUsed"], 16) * int(r["effectiveGasPrice"], 16) for r in receipts)
        left = {token: int(b, 16) for token, b in zip(tokens, balances, strict=True) if int(b, 16)}
        return Execution(quote.outputs[0].amount, received, int(receipts[-1]["gasUsed"], 16), left)

    def _balance(self, token: str, owner: str) -> tuple[str, list[Any]]:
        if token == NATIVE:
            return "eth_getBalance", [owner, "latest"]
        return "eth_call", [{"to": token, "data": "0x" + BALANCE_OF.encode([owner]).hex()}, "latest"]


class DeskTokens(NoTokens):
    """The token reader over the tokens of a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def find(self, chain_id: int, address: str) -> Token | None:
        return next((token for token in self._desk.tokens.values() if token.address == address), None)
