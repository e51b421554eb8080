"""The catalog of a chain's pools, without an indexer: computed candidates, and those of them that stand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from quoteway import Address, Context, Pool
from quoteway.evm.abi import function
from quoteway.evm.chain import Call, Chain
from quoteway.evm.single_flight import SingleFlight

from quoteway_uniswap.candidates import PoolRef, sorted_pair
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.known_pools import KnownPool, PoolFinder
from quoteway_uniswap.liquidity_state import v4_pool_slot

_RESERVES = function("getReserves() returns (uint112, uint112, uint32)")
_SLOT0 = function("slot0() returns (uint160)")
_EXTSLOAD = function("extsload(bytes32 slot) returns (bytes32)")

SEARCH_AGAIN_S = 600
"""How long a list of pools that stand is kept: new ones are seldom."""
FRESH_S = 15


class PoolCatalog:
    """The pools of listed tokens against base tokens, and configured ones."""

    def __init__(
        self, context: Context, chain: Chain, deployments: Sequence[Deployment], finder: PoolFinder
    ) -> None:
        self._context = context
        self._chain = chain
        self._deployments = deployments
        self._finder = finder
        self._flights = SingleFlight()
        self._known: list[KnownPool] = []
        self._known_at: float | None = None
        self._rows: list[Pool] = []
        self._rows_at: float | None = None

    async def known(self) -> list[KnownPool]:
        """The pools that stand. Searched anew after ``SEARCH_AGAIN_S`` seconds."""
        now = self._context.now()
        if self._known_at is None or not 0 <= now - self._known_at < SEARCH_AGAIN_S:
            self._known = await self._flights.run("search", self._search)
            self._known_at = now
        return self._known

    async def rows(self) -> list[Pool]:
        """The catalog, at most ``FRESH_S`` seconds old."""
        now = self._context.now()
        if self._rows_at is None or not 0 <= now - self._rows_at < FRESH_S:
            self._rows = await self._flights.run("rows", self._describe_all)
            self._rows_at = now
        return self._rows

    async def row(self, pool: KnownPool) -> Pool:
        """One pool, listed or not."""
        return self._describe(pool)

    async def _describe_all(self) -> list[Pool]:
        return [self._describe(pool) for pool in await self.known()]

    def _describe(self, pool: KnownPool) -> Pool:
        network = self._chain.network
        return Pool(
            id=pool.id,
            network=network.slug,
            chain_id=network.chain_id,
            protocol=f"{pool.deployment.protocol}-{pool.ref.kind}",
            kind=pool.ref.kind,
            address=pool.ref.id,
            tokens=pool.tokens,
            actions=pool.actions,
            source="chain",
            updated_at=self._context.now(),
            fee_bps=pool.ref.fee / 100,
            hooks=pool.hooks if pool.ref.kind == "v4" and int(pool.hooks, 16) else None,
        )

    async def _search(self) -> list[KnownPool]:
        candidates = await self._finder.candidates(await self._pairs())
        reads = [_existence(ref) for _, ref in candidates]
        answers = await self._chain.call_many(reads)
        standing = [
            (deployment, ref)
            for (deployment, ref), answer in zip(candidates, answers, strict=True)
            if isinstance(answer, bytes) and len(answer) >= 32 and int.from_bytes(answer[:32])
        ]
        found = await asyncio.gather(
            *(self._finder.adopt(d, ref, self._finder.hooks_of(ref.id)) for d, ref in standing)
        )
        return [pool for pool in found if pool is not None]

    async def _pairs(self) -> list[tuple[Address, Address]]:
        """Listed tokens against base tokens, each pair once."""
        pairs: dict[tuple[Address, Address], None] = {}
        for deployment in self._deployments:
            bases = deployment.pass_through
            for token in bases:
                for base in bases:
                    if token != base:
                        pairs[sorted_pair(token, base)] = None
        return list(pairs)


def _existence(ref: PoolRef) -> Call:
    """A read whose first word is zero or absent where there is no pool."""
    if ref.kind == "v2":
        return Call(ref.target, _RESERVES.encode([]), gas=30_000, max_output=96)
    if ref.kind == "v3":
        return Call(ref.target, _SLOT0.encode([]), gas=30_000, max_output=224)
    return Call(ref.target, _EXTSLOAD.encode([v4_pool_slot(ref.id).to_bytes(32)]), gas=30_000, max_output=32)
