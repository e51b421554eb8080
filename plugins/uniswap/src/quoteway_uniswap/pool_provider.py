"""The pool provider: pools, positions and series, and adding, removing and collecting liquidity."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar, cast

from quoteway import (
    Address,
    Block,
    Build,
    Context,
    GatewayError,
    Incomplete,
    InvalidRequest,
    Pool,
    PoolLiquidity,
    PoolPosition,
    PoolProvider,
    PoolRequest,
    PoolState,
    PoolTerms,
    Quote,
    Reason,
    SealedQuote,
    Series,
    Step,
    UpstreamError,
)
from quoteway.evm import permit2
from quoteway_router.amounts import gas_of
from quoteway_router.venue import deadline_of

from quoteway_uniswap.chain_pools import ChainPools
from quoteway_uniswap.deployments import contracts_of
from quoteway_uniswap.known_pools import KnownPool, manager_of
from quoteway_uniswap.liquidity_calls import make_call, spends_of
from quoteway_uniswap.liquidity_quoting import check_request, terms_at
from quoteway_uniswap.liquidity_terms import Sides, Terms, sides_of
from quoteway_uniswap.pool_ranges import liquidity_at
from quoteway_uniswap.pool_series import INTERVALS_S, Interval
from quoteway_uniswap.positions import nft_position, pair_positions
from quoteway_uniswap.prices import UniswapPrices
from quoteway_uniswap.provider import configured_deployments
from quoteway_uniswap.received_tokens import received_pairs

_Item = TypeVar("_Item")

_LABELS = {"v2": "v2 router", "v3": "v3 position manager", "v4": "v4 position manager"}

_GAS_UNITS: Mapping[tuple[str, str], int] = {
    ("v2", "add"): 135_000,
    ("v2", "remove"): 135_000,
    ("v3", "add"): 385_000,
    ("v3", "remove"): 225_000,
    ("v3", "collect"): 150_000,
    ("v4", "add"): 295_000,
    ("v4", "remove"): 145_000,
    ("v4", "collect"): 115_000,
}
"""Means of 1,000 random operations on the devnet, rounded up. An action's gas limits are simulated."""


class UniswapPools(PoolProvider):
    """Quotes liquidity operations in v2, v3 and v4 pools, exact at their block."""

    id = "uniswap"
    title = "Uniswap"
    actions = ("add", "remove", "collect")
    docs = "https://docs.uniswap.org/contracts/v4/guides/position-manager"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lifetime_s: int | None = context.settings.get("lifetime_s")
        self._deployments = configured_deployments(context)
        self.networks = frozenset(self._deployments)
        self._prices = UniswapPrices(context)
        self._chains: dict[int, ChainPools] = {}

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns the v2 routers and the position managers."""
        return {
            manager: f"{deployment.protocol.title()} {label}"
            for deployment in self._deployments.get(chain_id, ())
            for kind, label in _LABELS.items()
            if (manager := manager_of(deployment, kind)) is not None
        }

    def expected_contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns every contract of the network's rows."""
        return contracts_of(self._deployments.get(chain_id, ()))

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """Returns the same contracts and Permit2, which the v4 position manager uses."""
        contracts = self.contracts(chain_id)
        return (permit2.ADDRESS, *contracts) if contracts else ()

    # --- catalog --------------------------------------------------------------------------------------------

    async def pools(self, chain_id: int | None) -> Sequence[Pool]:
        """See ``PoolProvider``. Served from memory while the catalog is fresh."""
        chains = [each for each in self._deployments if chain_id in (None, each)]
        return await self._of_chains([self._on_chain(each).catalog.rows() for each in chains])

    async def _of_chains(self, parts: Sequence[Awaitable[list[_Item]]]) -> list[_Item]:
        """Returns the items of all chains. Skips chains that fail; raises when all fail."""
        outcomes = await asyncio.gather(*parts, return_exceptions=True)
        found = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        for outcome in outcomes:
            if not isinstance(outcome, BaseException):
                continue
            if not found or not isinstance(outcome, GatewayError):
                raise outcome
            self._context.log.warning("a chain is skipped because it could not be read: %s", outcome)
        return [item for part in found for item in part]

    async def pool(self, pool_id: str) -> Pool | None:
        """See ``PoolProvider``."""
        known = await self._find(pool_id)
        return None if known is None else await self._on_chain(known.deployment.chain_id).catalog.row(known)

    async def _find(self, pool_id: str) -> KnownPool | None:
        chain_id, _, own_id = pool_id.partition(":")
        if not chain_id.isdecimal() or int(chain_id) not in self._deployments:
            return None
        return await self._on_chain(int(chain_id)).finder.find(own_id)

    # --- operations -----------------------------------------------------------------------------------------

    async def quote(self, request: PoolRequest) -> Quote | None:
        """See ``PoolProvider``. Raises InvalidRequest when pool or position do not allow the request."""
        pool = await self._find(request.pool_id)
        if pool is None or pool.deployment.chain_id != request.chain_id:
            return None
        pools = self._on_chain(request.chain_id)
        check_request(request, pool)
        sides = sides_of(pool, request)
        block = await pools.chain.head()
        terms, state = await terms_at(pools, block, sides)
        return self._quote(sides, terms, block, state)

    async def build(self, sealed: SealedQuote) -> Build:
        """See ``PoolProvider``. Raises UpstreamError when the quote's deployment is no longer configured."""
        request, plan = sealed.request, sealed.plan
        if not isinstance(request, PoolRequest):
            raise InvalidRequest("This quote is not a pool quote.", reason=Reason.QUOTE_INVALID)
        manager = self._manager(request.chain_id, plan)
        block = await self._context.chain(request.chain_id).head()
        latest = deadline_of(self._context, block, sealed)
        made = make_call(plan, request.sender, request.recipient, latest)
        step = Step(manager, made.data, made.value, request.chain_id)
        return Build((step,), spends_of(plan, manager), sealed.inputs, sealed.outputs, made.deadline)

    def _manager(self, chain_id: int, plan: Mapping[str, Any]) -> Address:
        for deployment in self._deployments.get(chain_id, ()):
            manager = manager_of(deployment, plan["kind"])
            if (deployment.protocol, manager) == (plan["protocol"], plan["manager"]) and manager is not None:
                return manager
        raise UpstreamError(
            "The contract of this quote is no longer configured: request a new quote.",
            reason=Reason.PROVIDER_ERROR,
        )

    def _quote(self, sides: Sides, terms: Terms, block: Block, state: PoolState) -> Quote:
        pool, request = sides.pool, sides.request
        manager = pool.manager
        assert manager is not None
        plan = {**terms.plan, "manager": manager}
        return Quote(
            inputs=terms.inputs,
            outputs=terms.outputs,
            block=block,
            plan=plan,
            spends=spends_of(plan, manager),
            slippage_bps=request.slippage_bps,
            gas=gas_of(pool.deployment, _GAS_UNITS[pool.ref.kind, request.action], block),
            warnings=terms.warnings,
            lifetime_s=self._lifetime_s,
            terms=PoolTerms(
                pool_state=state,
                liquidity_delta=terms.liquidity_delta,
                dependent=terms.dependent,
                tick_range=terms.tick_range,
                share_of_pool=terms.share_of_pool,
            ),
        )

    # --- positions and series -------------------------------------------------------------------------------

    async def positions(self, wallet: Address, pool_id: str | None) -> Sequence[PoolPosition]:
        """See ``PoolProvider``. v2 shares are looked for in the catalog's pairs and those of an index."""
        if pool_id is not None:
            pool = await self._find(pool_id)
            return [] if pool is None else await self._positions(pool.deployment.chain_id, wallet, pool)
        parts = await asyncio.gather(
            *(self._positions(chain_id, wallet, None) for chain_id in self.networks), return_exceptions=True
        )
        found = [part for part in parts if not isinstance(part, BaseException)]
        unread: list[Reason] = []
        for part in parts:
            if isinstance(part, BaseException):
                if not found or not isinstance(part, GatewayError):
                    raise part
                unread.append(part.reason or Reason.RPC_ERROR)
        reasons = [*unread, *(part.reason for part in found if isinstance(part, Incomplete))]
        rows = [position for part in found for position in part]
        return Incomplete(rows, reasons[0]) if reasons else rows

    async def _positions(
        self, chain_id: int, wallet: Address, pool: KnownPool | None
    ) -> Sequence[PoolPosition]:
        pools = self._on_chain(chain_id)
        block = await pools.chain.head()
        pairs = [pool] if pool is not None else await self._pairs(pools, wallet)
        found = await pair_positions(pools.chain, block, wallet, [p for p in pairs if p.ref.kind == "v2"])
        if pool is not None and pool.ref.kind == "v2":
            return found
        owned = await pools.wallets.nfts(block, wallet, pool=pool)
        holdings = await pools.wallets.holdings(block, owned.found)
        for holding in holdings:
            if holding.nft.kind == "v4":
                pools.finder.learn(holding.nft.deployment, holding.nft.key)
        owners = await asyncio.gather(*(pools.finder.find(holding.nft.pool) for holding in holdings))
        for holding, known in zip(holdings, owners, strict=True):
            if known is not None and (holding.nft.liquidity or any(holding.fees)):
                found.append(nft_position(known, holding, block))
        return found if owned.unsearched is None else Incomplete(found, owned.unsearched)

    async def _pairs(self, pools: ChainPools, wallet: Address) -> list[KnownPool]:
        """Returns the pools of the catalog, and the pairs whose shares the wallet received by an index."""
        known, received = await asyncio.gather(
            pools.catalog.known(), received_pairs(self._context.history, pools.chain, wallet)
        )
        listed = {pool.ref.id for pool in known}
        more = await asyncio.gather(*(pools.finder.find(each) for each in received if each not in listed))
        return [*known, *(pool for pool in more if pool is not None)]

    async def series(self, pool_id: str, metric: str, start: int, end: int, interval: str) -> Series | None:
        """See ``PoolProvider``."""
        pool = await self._find(pool_id)
        if pool is None or interval not in INTERVALS_S:
            return None
        pools = self._on_chain(pool.deployment.chain_id)
        return await pools.series.of(pool, metric, start, end, cast(Interval, interval))

    async def liquidity(self, pool_id: str) -> PoolLiquidity | None:
        """See ``PoolProvider``. None for v2 pools, and for a pool without a price."""
        pool = await self._find(pool_id)
        if pool is None:
            return None
        pools = self._on_chain(pool.deployment.chain_id)
        return await liquidity_at(pools.states, await pools.chain.head(), pool)

    def _on_chain(self, chain_id: int) -> ChainPools:
        found = self._chains.get(chain_id)
        if found is None:
            chain, deployments = self._context.chain(chain_id), self._deployments[chain_id]
            found = ChainPools.of(self._context, chain, deployments, self._prices)
            self._chains[chain_id] = found
        return found
