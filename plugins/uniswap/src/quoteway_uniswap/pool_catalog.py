"""Lists a chain's pools without an indexer: computed candidates that exist, with their value."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from itertools import islice

from cachetools import TTLCache
from quoteway import NATIVE, Address, Block, Chain, Context, GatewayError, Pool, Price
from quoteway.evm.single_flight import SingleFlight

from quoteway_uniswap.candidates import sorted_pair
from quoteway_uniswap.deployed_pools import DeployedPools
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.known_pools import KnownPool, PoolFinder
from quoteway_uniswap.pool_series import Day, PoolSeries
from quoteway_uniswap.pool_value import principals
from quoteway_uniswap.state import PoolStates

SEARCH_AGAIN_S = 600
"""How long the list of existing pools is kept while the same tokens are listed: new pools are rare."""
FRESH_S = 60
INCOMPLETE_FRESH_S = 5
"""How long a catalog is kept in which a price or a day was not read in time."""
DAY_AGAIN_S = 600
"""How long the 24-hour figures of a pool are kept."""
FAILED_AGAIN_S = 60
"""How soon a pool whose last 24 hours could not be read, or not in time, is tried again."""
DAYS_BUDGET_S = 1.0
"""How long a refresh reads logs for these, the most valuable pools first; the others wait for the next."""
PRICES_WAIT_S = 5.0
"""How long a refresh waits for the prices of all tokens of the catalog, asked for together."""
_MOST_DAYS = 10_000
MOST_TOKENS = 300
"""Maximum number of listed tokens that are paired with base tokens, most trusted lists first."""


class PoolCatalog:
    """The pools of listed tokens against base tokens, and configured ones."""

    def __init__(
        self,
        context: Context,
        chain: Chain,
        deployments: Sequence[Deployment],
        finder: PoolFinder,
        states: PoolStates,
        series: PoolSeries,
    ) -> None:
        self._context = context
        self._chain = chain
        self._deployments = deployments
        self._finder = finder
        self._states = states
        self._series = series
        self._days: TTLCache[str, Day] = TTLCache(_MOST_DAYS, DAY_AGAIN_S, timer=context.now)
        self._failed: TTLCache[str, None] = TTLCache(_MOST_DAYS, FAILED_AGAIN_S, timer=context.now)
        self._deployed = DeployedPools(chain, context.now)
        self._flights = SingleFlight()
        self._known: list[KnownPool] = []
        self._known_until = 0
        self._listed: tuple[Address, ...] | None = None
        self._values: dict[str, float | None] = {}
        self._values_at = self._values_until = 0
        self._rows: dict[str, Pool] = {}
        self._rows_until = 0

    async def known(self) -> list[KnownPool]:
        """Returns the existing pools, searched again after ``SEARCH_AGAIN_S`` seconds, or when other tokens
        are listed: a catalog may answer for the first time long after a start.
        """
        listed = await self._paired()
        if self._context.now() >= self._known_until or listed != self._listed:
            self._known = await self._flights.run(listed, lambda: self._search(listed))
            self._listed = listed
            self._known_until = self._context.now() + SEARCH_AGAIN_S
        return self._known

    async def rows(self) -> list[Pool]:
        """Returns the catalog, at most ``FRESH_S`` seconds old, of the tokens that are listed now."""
        if await self._paired() != self._listed:
            self._rows_until = self._values_until = 0
        if self._context.now() >= self._rows_until:
            try:
                await self._flights.run("rows", self._refresh)
            except GatewayError as error:
                if not self._rows:
                    raise
                # Rows carry the time of their values; the next call tries again.
                self._context.log.warning("the catalog could not be read anew: %s", error)
        return list(self._rows.values())

    async def row(self, pool: KnownPool) -> Pool:
        """Returns one pool, with the catalog's values when it is listed."""
        return self._rows.get(pool.id) or self._describe(pool, None, self._context.now())

    async def value(self, pool: KnownPool, block: Block) -> tuple[tuple[int, int] | None, float | None]:
        """Returns (principal in base units, US dollars) at ``block``, each None when unknown."""
        held = (await principals(self._states, block, [pool.ref]))[pool.ref.id]
        return held, _usd(pool, held, await self._prices([pool]))

    async def _refresh(self) -> None:
        if self._context.now() >= self._values_until:
            await self._read_values()
        pools, values, block = self._known, self._values, await self._chain.head()
        await self._read_days(sorted(pools, key=lambda pool: -(values.get(pool.id) or 0.0)), block)
        self._rows = {pool.id: self._describe(pool, values.get(pool.id), self._values_at) for pool in pools}
        self._rows_until = self._values_until
        if any(pool.id not in self._days for pool in pools):
            self._rows_until = min(self._rows_until, self._context.now() + INCOMPLETE_FRESH_S)

    async def _read_values(self) -> None:
        pools = await self.known()
        block = await self._chain.head()
        held, prices = await asyncio.gather(
            self._held(pools, block), self._prices(pools, wait_s=PRICES_WAIT_S)
        )
        self._values = {pool.id: _usd(pool, held.get(pool.ref.id), prices) for pool in pools}
        self._values_at = block.timestamp
        priced = None not in self._values.values()
        self._values_until = self._context.now() + (FRESH_S if priced else INCOMPLETE_FRESH_S)

    async def _read_days(self, pools: Sequence[KnownPool], block: Block) -> None:
        until = time.monotonic() + DAYS_BUDGET_S
        for pool in pools:
            if time.monotonic() >= until:
                return
            if pool.id not in self._days and pool.id not in self._failed:
                try:
                    async with asyncio.timeout(DAYS_BUDGET_S):
                        self._days[pool.id] = await self._series.day(pool, block)
                except (GatewayError, TimeoutError) as error:
                    self._context.log.info("the last 24 hours of %s could not be read: %s", pool.id, error)
                    self._failed[pool.id] = None

    async def _held(self, pools: Sequence[KnownPool], block: Block) -> Mapping[str, tuple[int, int] | None]:
        try:
            return await principals(self._states, block, [pool.ref for pool in pools])
        except GatewayError as error:
            self._context.log.warning("pools of %s could not be valued: %s", self._chain.network.slug, error)
            return {}

    async def _prices(
        self, pools: Sequence[KnownPool], wait_s: float | None = None
    ) -> Mapping[Address, Price]:
        tokens = {token.address: None for pool in pools for token in pool.tokens}
        return await self._context.prices(self._chain.network.chain_id, list(tokens), wait_s=wait_s)

    def _describe(self, pool: KnownPool, tvl_usd: float | None, read_at: int) -> Pool:
        network = self._chain.network
        day = self._days.get(pool.id) or Day(None, None, None)
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
            updated_at=read_at,
            fee_bps=pool.ref.fee / 100,
            tvl_usd=tvl_usd,
            apr=day.apr,
            volume_24h_usd=day.volume_usd,
            fees_24h_usd=day.fees_usd,
            hooks=pool.hooks if pool.ref.kind == "v4" and int(pool.hooks, 16) else None,
        )

    async def _search(self, listed: Sequence[Address]) -> list[KnownPool]:
        candidates = await self._finder.candidates(self._pairs(listed))
        existing = {ref.id for ref in await self._deployed.among(ref for _, ref in candidates)}
        found = await asyncio.gather(
            *(
                self._finder.adopt(deployment, ref, self._finder.hooks_of(ref.id))
                for deployment, ref in candidates
                if ref.id in existing
            )
        )
        return [pool for pool in found if pool is not None]

    async def _paired(self) -> tuple[Address, ...]:
        """Returns the listed tokens that are paired with base tokens. Sends no request."""
        listed = await self._context.listed_tokens(self._chain.network.chain_id)
        return tuple(islice((address for address in listed if address != NATIVE), MOST_TOKENS))

    def _pairs(self, listed: Sequence[Address]) -> list[tuple[Address, Address]]:
        """Returns the pairs of listed and base tokens with base tokens, each once."""
        pairs: dict[tuple[Address, Address], None] = {}
        for deployment in self._deployments:
            bases = deployment.pass_through
            for token in (*bases, *listed):
                for base in bases:
                    if token != base:
                        pairs[sorted_pair(token, base)] = None
        return list(pairs)


def _usd(pool: KnownPool, held: tuple[int, int] | None, prices: Mapping[Address, Price]) -> float | None:
    """What a pool holds in US dollars; None where an amount or a price is not known. Of a token that no
    catalog lists, liquidity far from the price is worth nothing."""
    if held is None:
        return None
    total = 0.0
    for token, amount in zip(pool.tokens, held, strict=True):
        price = prices.get(token.address)
        value = None if price is None else price.worth(token, amount)
        if value is None:
            return None
        total += value
    return total
