"""Executes liquidity operations on the devnet and compares what moved with what was quoted, to the unit."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from execution import SwapHarness, gas_cost_wei
from quoteway import NATIVE, Build, Capability, PoolRequest, Quote, UpstreamError
from quoteway.evm.abi import function
from quoteway.models import RoutingLimits
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.pool_provider import UniswapPools

ALLOWANCE = function("allowance(address owner, address spender) returns (uint256)")


def pool_of(chain: Any, kind: str, pair: str, fee: int | None = None) -> Any:
    """Returns the pool without hooks of a devnet chain."""
    return next(
        pool
        for pool in chain.pools
        if (pool.protocol, pool.pair, pool.hooks) == (f"uniswap-{kind}", pair, NATIVE)
        and fee in (None, pool.fee)
    )


@dataclass(frozen=True)
class Moved:
    """The result of an operation.

    ``differences``: (account, token) to units received minus units quoted, zeros included. ``allowances``:
    remaining allowances less those that the quote allows (``amount_max``). ``left``: changes of the
    contract's balances.
    """

    differences: dict[tuple[str, str], int]
    allowances: dict[str, int]
    left: dict[str, int]
    gas_used: int

    @property
    def exact(self) -> bool:
        return not any(self.differences.values()) and not any(self.allowances.values()) and not self.left


class LiquidityHarness(SwapHarness):
    """One devnet chain with the swap provider and the pool provider."""

    async def __aenter__(self) -> LiquidityHarness:
        await super().__aenter__()
        self.pools = UniswapPools(self.context)
        return self

    def pool_id(self, pool: Any) -> str:
        return f"{self.network.chain_id}:{pool.id}"

    def manager(self, pool: Any) -> str:
        names = {
            "uniswap-v2": "UniswapV2Router02",
            "uniswap-v3": "NonfungiblePositionManager",
            "uniswap-v4": "PositionManager",
        }
        return self.manifest.contracts[names[pool.protocol]]

    def of(
        self, pool: Any, action: str, asset: str = NATIVE, amount: int | None = None, **more: Any
    ) -> PoolRequest:
        """Returns a request for a pool of the manifest."""
        made = PoolRequest(
            self.pool_id(pool), self.network.chain_id, action, asset, amount, self.sender, self.sender, 50
        )
        return replace(made, **more)

    async def fresh(self) -> None:
        """The provider sees the newest block, as it does when the core asks it for a request."""
        await self.chain.head(fresh=True)

    async def terms(self, request: PoolRequest) -> Quote:
        await self.fresh()
        quote = await self.pools.quote(request)
        assert quote is not None
        return quote

    async def operate(self, request: PoolRequest, quote: Quote | None = None) -> tuple[Quote, Moved]:
        """Quotes, builds, executes and compares. Raises Reverted for a revert."""
        quote = quote or await self.terms(request)
        sealed = self.seal(request, quote, Capability.POOL)
        build = await self.pools.build(sealed)
        self.check(self.pools, sealed, build)
        return quote, self.run(request, quote, build)

    def run(self, request: PoolRequest, quote: Quote, build: Build) -> Moved:
        (step,) = build.steps
        tokens = {leg.token.address for leg in (*quote.inputs, *quote.outputs)}
        tokens |= set(quote.plan["tokens"]) | {NATIVE, self.network.wrapped_native}
        watched = [(account, t) for account in {request.sender, request.recipient} for t in sorted(tokens)]
        before = self.balances(watched)
        held = self.balances([(step.to, t) for t in sorted(tokens)])
        receipts = self.transact(request.sender, build)
        gas_wei = gas_cost_wei(receipts)
        after = self.balances(watched)
        expected: Counter[tuple[str, str]] = Counter()
        for leg in quote.inputs:
            expected[leg.account, leg.token.address] -= leg.amount
        for leg in quote.outputs:
            expected[leg.account, leg.token.address] += leg.amount
        differences = {}
        for place, was, is_now in zip(watched, before, after, strict=True):
            gas = gas_wei if place == (request.sender, NATIVE) else 0
            differences[place] = is_now - was + gas - expected[place]
        allowances = {}
        for spend in build.spends:
            data = "0x" + ALLOWANCE.encode([request.sender, spend.spender]).hex()
            rest = int(self.rpc("eth_call", {"to": spend.token, "data": data}, "latest"), 16)
            said = next(
                (leg.amount_max or leg.amount) - leg.amount
                for leg in quote.inputs
                if leg.token.address == spend.token
            )
            allowances[spend.token] = rest - (0 if spend.permit2_spender else said)
        now_held = self.balances([(step.to, t) for t in sorted(tokens)])
        left = {t: b - a for t, a, b in zip(sorted(tokens), held, now_held, strict=True) if b != a}
        return Moved(differences, allowances, left, int(receipts[-1]["gasUsed"], 16))

    async def trade(self, chance: random.Random, pool: Any, rounds: int = 3) -> None:
        """Swaps in both directions in this pool, so that its positions earn fees."""
        for _ in range(rounds):
            sold, bought = chance.sample((pool.token0, pool.token1), 2)
            address = self.network.wrapped_native if sold == NATIVE else sold
            info = next(token for token in self.manifest.tokens if token.address == address)
            usd = pool.depth_usd * 10 ** chance.uniform(-4, -1.5)
            amount = max(int(usd / float(info.price_usd) * 10**info.decimals), 1)
            try:
                await self.swap_in(pool, sold, bought, amount)
            except (LookupError, UpstreamError):
                continue

    async def swap_in(self, pool: Any, sold: str, bought: str, amount: int) -> None:
        """Swaps through this pool only."""
        symbols = {token.address: symbol for symbol, token in self.tokens.items()}
        trader = ACCOUNTS[9].address
        request = self.request(
            symbols[sold],
            symbols[bought],
            amount,
            sender=trader,
            recipient=trader,
            slippage_bps=5000,
            routing=RoutingLimits(pools=(self.pool_id(pool),)),
        )
        await self.swap(request)
