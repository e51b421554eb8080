"""USD prices of tokens from the chain's own pools.

A price is the median over a token's pools with base tokens, weighted by the depth that they had all along,
and within what it was over the half hour before: ``aged_prices`` has the formula, ``price_moments`` the past.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from cachetools import LRUCache
from quoteway import NATIVE, Address, Block, Chain, Context, Price, PriceSource
from quoteway.evm.single_flight import SingleFlight
from quoteway_amm import Pool

from quoteway_uniswap.aged_prices import BasePrices, Moment, Spot, aged_pools, weighed
from quoteway_uniswap.candidates import PoolRef, pools_of_pair, sorted_pair
from quoteway_uniswap.deployed_pools import DeployedPools
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.pool_memory import pools_before
from quoteway_uniswap.price_looks import Look, looks_of
from quoteway_uniswap.price_moments import STEP_S, PriceMoments
from quoteway_uniswap.provider import configured_deployments
from quoteway_uniswap.sales import Sales, sale_order
from quoteway_uniswap.shared import shared_by

_BLOCKS_KEPT = 10
_TOKENS_KEPT = 4_096
"""Of one block."""


class UniswapPrices(PriceSource):
    """The prices on all chains whose deployment rows have dollar tokens."""

    id = "uniswap"
    title = "Uniswap pools"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._deployments = {
            chain_id: rows
            for chain_id, rows in configured_deployments(context).items()
            if any(row.usd_tokens for row in rows)
        }
        self.networks = frozenset(self._deployments)
        self._chains: dict[int, ChainPrices] = {}

    async def prices(
        self, chain_id: int, addresses: Sequence[Address], block: Block
    ) -> Mapping[Address, Price]:
        """See ``PriceSource``."""
        prices = self._on_chain(chain_id)
        return {} if prices is None else await prices.at(addresses, block)

    async def payouts(
        self, chain_id: int, amounts: Mapping[Address, int], block: Block
    ) -> Mapping[Address, float]:
        """See ``PriceSource``."""
        prices = self._on_chain(chain_id)
        return {} if prices is None else await prices.payouts(amounts, block)

    def _on_chain(self, chain_id: int) -> ChainPrices | None:
        if chain_id in self._deployments and chain_id not in self._chains:
            chain = self._context.chain(chain_id)
            self._chains[chain_id] = ChainPrices(self._context, chain, self._deployments[chain_id])
        return self._chains.get(chain_id)


class _AtBlock:
    """What is known at one block."""

    def __init__(self) -> None:
        self.looks: LRUCache[Address, Look] = LRUCache(_TOKENS_KEPT)
        self.prices: LRUCache[Address, Price | None] = LRUCache(_TOKENS_KEPT)
        self.bases: dict[bool, BasePrices] = {}


class ChainPrices:
    """The prices of one chain."""

    def __init__(self, context: Context, chain: Chain, deployments: Sequence[Deployment]) -> None:
        self._context = context
        self._chain = chain
        self._deployments = deployments
        self._usd = tuple(dict.fromkeys(token for row in deployments for token in row.usd_tokens))
        self._bases = tuple(
            dict.fromkeys((*self._usd, *(token for row in deployments for token in row.pass_through)))
        )
        self._wrapped = deployments[0].wrapped_native
        self._deployed = DeployedPools(chain, context.now)
        self._states = shared_by(context).chain(chain.network.chain_id, deployments).states
        self._moments = PriceMoments(chain, self._read, self._recall, context.now)
        self._blocks: LRUCache[str, _AtBlock] = LRUCache(_BLOCKS_KEPT)
        self._flights = SingleFlight()

    async def at(self, addresses: Sequence[Address], block: Block) -> dict[Address, Price]:
        """Returns the prices at ``block``, without tokens that have no price.

        Raises UpstreamError when the chain cannot be read at ``block``; earlier moments that cannot be read
        lower the confidence.
        """
        tokens = {address: self._erc20(address) for address in addresses}
        prices = await self._priced(list(dict.fromkeys(tokens.values())), block)
        return {address: price for address, token in tokens.items() if (price := prices[token]) is not None}

    async def payouts(self, amounts: Mapping[Address, int], block: Block) -> dict[Address, float]:
        """Returns the US dollars that the pools with base tokens pay at least for each amount at ``block``.

        An amount is sold for dollar tokens, see ``Sales``; these are worth their price, now and over time.
        """
        tokens = {address: self._erc20(address) for address in amounts}
        wanted = list(dict.fromkeys(tokens.values()))
        bases, prices, decimals = await asyncio.gather(
            self._base_prices(block), self._priced(self._usd, block), self._decimals((*wanted, *self._usd))
        )
        pairs = {sorted_pair(token, base) for token in (*wanted, *self._bases) for base in self._bases}
        pools = await self._load(block, pairs)
        looks = {base: self._at(block).looks[base] for base in bases.now}
        dollars = {
            token: min(price.usd, bases.now[token].usd) / 10 ** decimals[token]
            for token, price in prices.items()
            if price is not None and price.usd is not None and token in decimals
        }
        order = sale_order(list(dollars), bases.now, looks)
        sales = Sales(pools, order, len(dollars), self._wrapped)
        found = {}
        for address, token in tokens.items():
            await asyncio.sleep(0)
            if token in dollars:
                found[address] = amounts[address] * dollars[token]
            elif (paid := sales.paid(token, amounts[address])) is not None:
                found[address] = sum(amount * dollars[dollar] for dollar, amount in paid.items())
        return found

    async def spot(self, address: Address, block: Block) -> Spot | None:
        """Returns the price at one block only, which a single block's trades can manipulate."""
        token = self._erc20(address)
        looks = await self._looks(block, [*self._bases, token])
        known = BasePrices.of(self._usd, self._bases, looks, ()).now
        return known.get(token) or weighed(aged_pools(looks[token], ()), looks[token], known)

    def _erc20(self, address: Address) -> Address:
        return self._wrapped if address == NATIVE else address

    def _at(self, block: Block) -> _AtBlock:
        known: _AtBlock | None = self._blocks.get(block.hash)
        if known is None:
            known = self._blocks[block.hash] = _AtBlock()
        return known

    async def _priced(self, tokens: Sequence[Address], block: Block) -> dict[Address, Price | None]:
        known = self._at(block)
        found = {token: known.prices[token] for token in tokens if token in known.prices}
        missing = tuple(sorted(set(tokens) - found.keys()))
        if missing:
            found |= await self._flights.run((block.hash, missing), lambda: self._price(missing, block))
        return found

    async def _price(self, tokens: Sequence[Address], block: Block) -> dict[Address, Price | None]:
        others = [token for token in tokens if token not in self._bases]
        bases, looks, moments = await asyncio.gather(
            self._base_prices(block), self._looks(block, others), self._moments.before(block, others)
        )
        unseen = [token for token in others if not self._is_seen(token, moments)]
        recent = await self._moments.recent(block, unseen) if unseen else Moment(0, 1, {})
        if unseen:
            bases = await self._base_prices(block, recent=True)
        moments.insert(0, recent)
        found: dict[Address, Price | None] = {}
        for token in tokens:
            if token in self._bases:
                price = bases.price(token, Look(), (), block)
                # The deployment's own base tokens need no limit: nobody else can name one.
                found[token] = None if price is None else replace(price, depth_usd=None)
            else:
                found[token] = bases.price(token, looks[token], moments, block)
        self._at(block).prices.update(found)
        return found

    @staticmethod
    def _is_seen(token: Address, moments: Sequence[Moment]) -> bool:
        """Returns whether a token is known of the two newest moments. Else a block's trades may decide."""
        return all(moment.tells(token) for moment in moments[:2])

    async def _base_prices(self, block: Block, *, recent: bool = False) -> BasePrices:
        """Returns the prices of the base tokens, which all who ask for tokens share.

        Their first moment is ``PriceMoments.recent``, seen only with ``recent`` or where they need it.
        """
        known = self._at(block).bases
        if recent not in known:
            known[recent] = await self._flights.run(
                (block.hash, recent), lambda: self._price_bases(block, recent)
            )
        return known[recent]

    async def _price_bases(self, block: Block, recent: bool) -> BasePrices:
        looks, moments = await asyncio.gather(
            self._looks(block, self._bases), self._moments.before(block, self._bases)
        )
        unseen = not all(self._is_seen(base, moments) for base in self._bases)
        first = await self._moments.recent(block, self._bases) if recent or unseen else Moment(0, 1, {})
        return BasePrices.of(self._usd, self._bases, looks, [first, *moments])

    async def _looks(self, block: Block, tokens: Sequence[Address]) -> dict[Address, Look]:
        """Returns the looks at tokens at a head, and remembers them."""
        known = self._at(block).looks
        found = {token: known[token] for token in tokens if token in known}
        if len(found) < len(tokens):
            found |= await self._read(block, [token for token in tokens if token not in found])
            known.update(found)
            self._moments.remember(block, found)
        return found

    async def _read(self, block: Block, tokens: Sequence[Address]) -> dict[Address, Look]:
        pools = await self._load(block, self._pairs(tokens))
        decimals = await self._decimals((*tokens, *self._bases))
        return looks_of(pools, tokens, decimals, self._wrapped)

    async def _recall(
        self, block: Block, wanted: Mapping[int, Sequence[Address]]
    ) -> dict[int, dict[Address, Look]]:
        """Returns looks at moments whose state is gone, by the pools that record them."""
        pools = {moment: await self._load(block, self._pairs(tokens)) for moment, tokens in wanted.items()}
        every = {token for tokens in wanted.values() for token in tokens}
        before, decimals = await asyncio.gather(
            pools_before(self._chain, block, pools, STEP_S), self._decimals((*every, *self._bases))
        )
        return {
            moment: looks_of(before.get(moment, ()), tokens, decimals, self._wrapped, whole=False)
            for moment, tokens in wanted.items()
        }

    def _pairs(self, tokens: Sequence[Address]) -> set[tuple[Address, Address]]:
        return {sorted_pair(token, base) for token in tokens for base in self._bases if token != base}

    async def _load(self, block: Block, pairs: Iterable[tuple[Address, Address]]) -> list[Pool]:
        refs: list[PoolRef] = []
        for row in self._deployments:
            for pair in pairs:
                refs += (ref for ref in pools_of_pair(row, *pair) if ref.hooks == NATIVE)
                await asyncio.sleep(0)  # hashing a new pair's addresses takes a millisecond
        pools = await self._states.load(block, await self._deployed.among(refs))
        return [pool for pool in pools if pool.has_liquidity]

    async def _decimals(self, tokens: Iterable[Address]) -> dict[Address, int]:
        chain_id = self._chain.network.chain_id
        wanted = list(dict.fromkeys(tokens))
        found = await asyncio.gather(*(self._context.token(chain_id, token) for token in wanted))
        return {token.address: token.decimals for token in found if token is not None}
