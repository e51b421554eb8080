"""Executes quotes on the devnet: quote, build, exact approvals, transaction, balances."""

from __future__ import annotations

import argparse
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
from quoteway import (
    NATIVE,
    Build,
    Capability,
    Context,
    PoolRequest,
    Price,
    Provider,
    Quote,
    SealedQuote,
    SwapRequest,
    Token,
)
from quoteway.config.model import Config
from quoteway.errors import RpcError
from quoteway.evm.abi import function
from quoteway.evm.calls.meaning import Reading
from quoteway.evm.calls.registry import CallRegistry
from quoteway.evm.chain import RpcChain
from quoteway.guard.calldata import check_build
from quoteway.host.runtime import Runtime
from quoteway.networks import Networks
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_devnet.networks import devnet_networks
from quoteway_uniswap.provider import UniswapProvider
from quoteway_uniswap.shared import ChainState, Shared, shared_by

APPROVE = function("approve(address spender, uint256 amount)")
PERMIT2_APPROVE = function("approve(address token, address spender, uint160 amount, uint48 expiration)")
BALANCE_OF = function("balanceOf(address owner)")


class Reverted(Exception):  # noqa: N818
    """A transaction of an execution reverted."""


@dataclass(frozen=True)
class Execution:
    """The result of a swap.

    ``received`` is the recipient's gain without gas costs, ``fee`` that of the fee's recipient, ``left`` the
    router's balances afterwards.
    """

    quoted: int
    received: int
    gas_used: int
    left: dict[str, int]
    fee: int = 0


@asynccontextmanager
async def started(devnet: Devnet | None) -> AsyncIterator[Devnet]:
    """Yields ``devnet``, or a new one when it is None."""
    if devnet is not None:
        yield devnet
        return
    async with Devnet.start() as new:
        yield new


def command_line(description: str | None, **defaults: int) -> argparse.Namespace:
    """Returns the options of a script: whole numbers with these names and defaults."""
    parser = argparse.ArgumentParser(description=description)
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


class SwapHarness:
    """One devnet chain with the swap provider. Blocks are mined only by ``execute``."""

    def __init__(
        self, devnet: Devnet, slug: str = "devnet", settings: dict[str, Any] | None = None, **changes: Any
    ):
        self.manifest = devnet.chains[slug]
        network = next(n for n in devnet_networks(devnet.ports) if n.slug == slug)
        # No polling, so that requests can be counted.
        self.network = replace(network, head_poll_s=3600.0, **changes)
        self.rpc = devnet.rpc(slug)
        self.settings = {"solver_processes": 0} | (settings or {})
        self.tokens = {
            token.symbol: Token(self.manifest.chain_id, token.address, token.decimals, token.symbol)
            for token in self.manifest.tokens
        }
        self.tokens["ETH"] = Token(self.manifest.chain_id, NATIVE, 18, "ETH")
        self.calls = CallRegistry([self.network])
        self.router = self.network.deployments["uniswap"][0]["router"]
        self.permit2 = self.manifest.contracts["Permit2"]
        self.sender = ACCOUNTS[0].address

    async def __aenter__(self) -> SwapHarness:
        self.session = aiohttp.ClientSession()
        self.chain = RpcChain(self.network, self._forward)
        runtime = Runtime(Config())
        runtime.networks = Networks([self.network])
        runtime.calls = self.calls
        runtime.chains = {self.network.chain_id: self.chain}
        runtime.tokens, runtime.prices = HarnessTokens(self), NoPrices()
        self.context = Context("uniswap", self.settings, logging.getLogger("uniswap"), runtime)
        self.provider = UniswapProvider(self.context)
        self.rpc("evm_setAutomine", False)
        return self

    @property
    def shared(self) -> Shared:
        """What the plugin's providers share."""
        return shared_by(self.context)

    @property
    def state(self) -> ChainState:
        """The plugin's state of the chain."""
        chain_id = self.network.chain_id
        return self.shared.chain(chain_id, self.provider._deployments[chain_id])

    async def discover(self, request: SwapRequest) -> None:
        """Waits until the pools of a request were looked for, so that nothing runs beside its quotes."""
        for deployment in self.provider._deployments[self.network.chain_id]:
            self.state.created.of(deployment, request.token_in.address, request.token_out.address)
        await self.state.created.finished()

    def forget_pools(self) -> None:
        """Forgets the pools' states and taxes, as a new process would begin."""
        fresh = Shared(self.context).chain(
            self.network.chain_id, self.provider._deployments[self.network.chain_id]
        )
        chains = self.shared._chains
        chains[self.network.chain_id] = replace(fresh, created=self.state.created)

    async def __aexit__(self, *_: object) -> None:
        await self.shared.__aexit__(None, None, None)
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
        """Returns a request by token symbols; ``ETH`` is the native coin."""
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
        """Returns the provider's quote at the newest block."""
        newest = self.rpc("eth_getBlockByNumber", "latest", False)["hash"]
        await self.chain.head(fresh=True)  # as the core does for each request
        quote = await self.provider.quote(request)
        assert quote is None or quote.block.hash == newest
        return quote

    async def build(self, request: SwapRequest, quote: Quote) -> Build:
        """Returns the provider's build, which the core's guard has accepted."""
        sealed = self.seal(request, quote)
        build = await self.provider.build(sealed)
        self.check(self.provider, sealed, build)
        return build

    def check(self, provider: Provider, sealed: SealedQuote, build: Build) -> tuple[Reading, ...]:
        """Returns what the build's calls mean, as the core reads and compares them."""
        return check_build(provider, sealed, build, self.calls, now=sealed.created_at)

    def seal(
        self, request: SwapRequest | PoolRequest, quote: Quote, capability: Capability = Capability.SWAP
    ) -> SealedQuote:
        """Returns the quote as the core seals it."""
        now = quote.block.timestamp
        return SealedQuote(
            capability,
            "uniswap",
            request,
            quote.inputs,
            quote.outputs,
            quote.slippage_bps,
            quote.plan,
            quote.block,
            now,
            now + 180,
            fee_amount=quote.fee_amount,
        )

    async def swap(self, request: SwapRequest) -> Execution:
        """Quotes, builds and executes. Raises LookupError without a route, Reverted for a revert."""
        quote = await self.quote(request)
        if quote is None:
            raise LookupError("no route")
        build = await self.build(request, quote)
        return self.execute(request, quote, build)

    def execute(
        self, request: SwapRequest, quote: Quote, build: Build, data: bytes | None = None
    ) -> Execution:
        """Sends exact approvals and the transaction in one block; ``data`` is the signed calldata, if any."""
        watched = [(request.recipient, request.token_out.address)]
        if request.fee is not None:
            watched.append((request.fee.recipient, request.token_out.address))
        before = self.balances(watched)
        receipts = self.transact(request.sender, build, data)
        held = {token.address for token in (request.token_in, request.token_out)}
        held |= {t for path in quote.route for hop in path.hops for t in (hop.token_in, hop.token_out)}
        places = [(self.router, token) for token in sorted(held | {NATIVE, self.network.wrapped_native})]
        after = self.balances([*watched, *places])
        left = after[len(watched) :]
        received, *fees = [now - then for now, then in zip(after, before, strict=False)]
        if watched[0] == (request.sender, NATIVE):
            received += gas_cost_wei(receipts)
        return Execution(
            quote.outputs[0].amount,
            received,
            int(receipts[-1]["gasUsed"], 16),
            {token: amount for (_, token), amount in zip(places, left, strict=True) if amount},
            *fees,
        )

    def transact(self, sender: str, build: Build, data: bytes | None = None) -> list[dict[str, Any]]:
        """Sends exact approvals and the transaction in one block and returns the receipts.

        Raises Reverted when one of them reverts.
        """
        (step,) = build.steps
        calls = []
        for spend in build.spends:
            calls.append((spend.token, APPROVE.encode([spend.spender, spend.amount]), 0, 200_000))
            if spend.permit2_spender is not None and not spend.permit2_signed:
                grant = [spend.token, spend.permit2_spender, spend.amount, build.deadline]
                calls.append((spend.spender, PERMIT2_APPROVE.encode(grant), 0, 200_000))
        calls.append((step.to, data or step.data, step.value, 8_000_000))
        nonce = int(self.rpc("eth_getTransactionCount", sender, "latest"), 16)
        transactions = [
            {
                "from": sender,
                "to": to,
                "data": "0x" + calldata.hex(),
                "value": hex(value),
                "gas": hex(gas),
                "nonce": hex(nonce + index),
            }
            for index, (to, calldata, value, gas) in enumerate(calls)
        ]
        hashes = self.rpc.batch([("eth_sendTransaction", [each]) for each in transactions])
        self.rpc("evm_mine")
        receipts = self.rpc.batch([("eth_getTransactionReceipt", [identity]) for identity in hashes])
        for receipt, call in zip(receipts, calls, strict=True):
            if receipt is None or receipt["status"] != "0x1":
                raise Reverted(f"{call[0]} {receipt and receipt['status']}")
        return list(receipts)

    def rewind(self, snapshot: str) -> str:
        """Goes back to the state of a snapshot and returns a new one of it.

        Empty blocks follow up to a new number: a chain client takes no older head.
        """
        reached = int(self.rpc("eth_blockNumber"), 16)
        self.rpc("evm_revert", snapshot)
        self.rpc("anvil_mine", hex(reached + 1 - int(self.rpc("eth_blockNumber"), 16)))
        return str(self.rpc("evm_snapshot"))

    def balances(self, places: Iterable[tuple[str, str]]) -> list[int]:
        """Returns the balances of (account, token) pairs."""
        return [int(word, 16) for word in self.rpc.batch([self._balance(t, a) for a, t in places])]

    def _balance(self, token: str, owner: str) -> tuple[str, list[Any]]:
        if token == NATIVE:
            return "eth_getBalance", [owner, "latest"]
        return "eth_call", [{"to": token, "data": "0x" + BALANCE_OF.encode([owner]).hex()}, "latest"]


class HarnessTokens:
    """The token reader over the tokens of a harness."""

    def __init__(self, harness: SwapHarness) -> None:
        self._harness = harness

    async def find(self, chain_id: int, address: str) -> Token | None:
        return next((token for token in self._harness.tokens.values() if token.address == address), None)

    async def listed(self, chain_id: int) -> Mapping[str, Token]:
        return {}


class NoPrices:
    """The price reader of a harness: no token has a price."""

    async def get(self, chain_id: int, addresses: Sequence[str], *, wait_s: float = 0) -> Mapping[str, Price]:
        return {}


def gas_cost_wei(receipts: Sequence[dict[str, Any]]) -> int:
    return sum(int(r["gasUsed"], 16) * int(r["effectiveGasPrice"], 16) for r in receipts)
