"""USD prices of tokens from the chain's own pools.

The price at one block is the median over a token's pools against base tokens, weighted by depth: the dollars
that move a pool's price by two per cent, on its thinner side. Dollar tokens are checked against each other.
The price is the median over this and a few earlier blocks, so that moving pools for a few blocks does not
change it. Below the depth floor there is no price.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cachetools import LRUCache
from quoteway import NATIVE, Address, Block, Chain, Context, GatewayError, Price, PriceSource
from quoteway.evm.single_flight import SingleFlight
from quoteway_amm import BandExceeded, ConcentratedPool, Pool, V2Pool, swap_exact_in

from quoteway_uniswap.candidates import PoolRef, pools_of_pair, sorted_pair
from quoteway_uniswap.deployed_pools import DeployedPools
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.provider import configured_deployments
from quoteway_uniswap.shared import shared_by

DEPTH_FLOOR_USD = 5_000.0
SINGLE_POOL_FLOOR_USD = 25_000.0
"""The depth floor for a token with a single pool."""

_SAMPLE_EVERY_BLOCKS = 20
_SAMPLES = 5
"""Earlier blocks, as far back as nodes without an archive keep state (128 blocks)."""
_ENOUGH = 4
_STEADY = 0.01
"""With fewer prices than ``_ENOUGH``, how far apart they may be."""
_BAND = 0.02
_UP, _DOWN = math.sqrt(1 + _BAND), math.sqrt(1 / (1 + _BAND))
_AMOUNT = 1 << 126
_DEPEG = 0.02


@dataclass(frozen=True, slots=True)
class Spot:
    """A price at one block: US dollars per whole token, depth in dollars, number of pools, and their weighted
    mean deviation as a fraction.
    """

    usd: float
    depth_usd: float
    pools: int
    spread: float


@dataclass(slots=True)
class _Sample:
    """The prices at one block; None: there is no price."""

    spots: dict[Address, Spot | None] = field(default_factory=dict)


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
        self._samples: LRUCache[str, _Sample] = LRUCache(2 * _SAMPLES)
        self._blocks: LRUCache[int, Block] = LRUCache(4 * _SAMPLES)
        self._flights = SingleFlight()

    async def at(self, addresses: Sequence[Address], block: Block) -> dict[Address, Price]:
        """Returns the prices at ``block``, without tokens that have no price.

        Raises UpstreamError when the chain cannot be read at ``block``; earlier blocks that cannot be
        read lower the confidence.
        """
        tokens = [self._erc20(address) for address in addresses]
        now = await self._sample(block, tokens)
        earlier = await asyncio.gather(*(self._earlier(number, tokens) for number in self._numbers(block)))
        found = {}
        for address, token in zip(addresses, tokens, strict=True):
            history = [spots[token] for spots in earlier if spots is not None and token in spots]
            price = price_over_time(now.get(token), history, block)
            if price is not None:
                # The deployment's own base tokens need no limit: nobody else can name one.
                found[address] = replace(price, depth_usd=None) if token in self._bases else price
        return found

    async def payouts(self, amounts: Mapping[Address, int], block: Block) -> dict[Address, float]:
        """Returns the US dollars that the pools with base tokens pay at least for each amount at ``block``.

        An amount is divided by the depth of the pools, and what they pay is worth its price. So are dollar
        tokens.
        """
        tokens = {address: self._erc20(address) for address in amounts}
        spots = await self._sample(block, [*tokens.values(), *self._bases])
        pairs = {
            sorted_pair(token, base) for token in tokens.values() for base in self._bases if token != base
        }
        pools = await self._load(block, pairs)
        decimals = await self._decimals((*tokens.values(), *self._bases))
        known = {base: spot for base in self._bases if (spot := spots.get(base)) is not None}
        found = {}
        for address, token in tokens.items():
            await asyncio.sleep(0)
            spot = spots.get(token)
            if token in self._usd:
                if spot is not None:
                    found[address] = amounts[address] / 10 ** decimals[token] * spot.usd
                continue
            sales = _sales(pools, token, amounts[address], known, self._wrapped)
            if sales:
                found[address] = sum(paid / 10 ** decimals[other] * known[other].usd for other, paid in sales)
        return found

    async def spot(self, address: Address, block: Block) -> Spot | None:
        """Returns the price at one block only, which a single block's trades can manipulate."""
        token = self._erc20(address)
        return (await self._sample(block, [token])).get(token)

    def _erc20(self, address: Address) -> Address:
        return self._wrapped if address == NATIVE else address

    def _numbers(self, block: Block) -> list[int]:
        """Returns earlier blocks on a grid, so that later heads use the same ones."""
        last = (block.number - 1) // _SAMPLE_EVERY_BLOCKS * _SAMPLE_EVERY_BLOCKS
        numbers = (last - step * _SAMPLE_EVERY_BLOCKS for step in range(_SAMPLES))
        return [number for number in numbers if number > 0]

    async def _earlier(self, number: int, tokens: Sequence[Address]) -> dict[Address, Spot | None] | None:
        try:
            block = self._blocks.get(number)
            if block is None:
                block = self._blocks[number] = await self._chain.block(number)
            return await self._sample(block, tokens)
        except GatewayError:
            return None

    async def _sample(self, block: Block, tokens: Sequence[Address]) -> dict[Address, Spot | None]:
        sample = self._samples.get(block.hash)
        if sample is None:
            sample = self._samples[block.hash] = _Sample()
        if any(base not in sample.spots for base in self._bases):
            # Apart from the others, so that all who ask for other tokens share them.
            await self._flights.run(block.hash, lambda: self._fill_bases(sample, block))
        missing = tuple(sorted(set(tokens) - sample.spots.keys()))
        if missing:
            await self._flights.run((block.hash, missing), lambda: self._fill(sample, block, missing))
        return sample.spots

    async def _fill_bases(self, sample: _Sample, block: Block) -> None:
        pairs = {sorted_pair(one, other) for one in self._bases for other in self._bases if one != other}
        pools = await self._load(block, pairs)
        decimals = await self._decimals(self._bases)
        sample.spots |= _base_prices(self._usd, self._bases, pools, decimals, self._wrapped)

    async def _fill(self, sample: _Sample, block: Block, tokens: Sequence[Address]) -> None:
        pairs = {sorted_pair(token, base) for token in tokens for base in self._bases}
        pools = await self._load(block, pairs)
        decimals = await self._decimals((*tokens, *self._bases))
        known = {base: spot for base in self._bases if (spot := sample.spots.get(base)) is not None}
        edges = _edges(pools, decimals, self._wrapped)
        for token in tokens:
            sample.spots[token] = _weighed(token, edges, known)

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


@dataclass(frozen=True, slots=True)
class _Edge:
    """A token's price in one pool: whole ``other`` coins per coin, and the depth in such coins."""

    token: Address
    other: Address
    ratio: float
    depth: float


def _edges(pools: Iterable[Pool], decimals: Mapping[Address, int], native_as: Address) -> list[_Edge]:
    """Returns both directions of every pool."""
    edges = []
    for pool in pools:
        token0, token1 = (native_as if t == NATIVE else t for t in (pool.token0, pool.token1))
        if token0 not in decimals or token1 not in decimals:
            continue
        numerator, denominator = pool.mid_price(True)
        if not numerator or not denominator:
            continue
        try:
            ratio = numerator / denominator * 10.0 ** (decimals[token0] - decimals[token1])
            depth0, depth1 = (
                amount / 10.0 ** decimals[token]
                for amount, token in zip(depth_of(pool), (token0, token1), strict=True)
            )
        except OverflowError:
            continue
        if ratio > 0 and math.isfinite(ratio):
            edges.append(_Edge(token0, token1, ratio, depth1))
            edges.append(_Edge(token1, token0, 1 / ratio, depth0))
    return edges


def _sales(
    pools: Iterable[Pool], token: Address, amount: int, bases: Container[Address], native_as: Address
) -> list[tuple[Address, int]]:
    """Returns what pools with base tokens pay for an amount that is divided by their depth."""
    offers = []
    for pool in pools:
        pair = [native_as if each == NATIVE else each for each in (pool.token0, pool.token1)]
        if token not in pair:
            continue
        side = pair.index(token)
        if pair[1 - side] in bases:
            offers.append((pool, side == 0, pair[1 - side], depth_of(pool)[side]))
    whole = sum(depth for *_, depth in offers)
    return [
        (other, _paid(pool, zero_for_one, amount * depth // whole))
        for pool, zero_for_one, other, depth in offers
        if depth
    ]


def _paid(pool: Pool, zero_for_one: bool, amount: int) -> int:
    """Returns what a pool pays for an amount, or for the part of it that it is known to take."""
    try:
        if isinstance(pool, ConcentratedPool):
            return swap_exact_in(pool, zero_for_one, amount).amount_out
        paid = pool.exact_in(zero_for_one, amount)
    except BandExceeded as edge:
        return edge.amount_out
    except ValueError:
        return 0
    return 0 if paid is None else paid[0]


def depth_of(pool: Pool) -> tuple[int, int]:
    """Returns (token0, token1) that move the price by two per cent in the thinner direction."""
    if isinstance(pool, V2Pool):
        # Each reserve grows by a factor of sqrt(1.02).
        share = _UP - 1
        return int(pool.reserve0 * share), int(pool.reserve1 * share)
    if not isinstance(pool, ConcentratedPool):
        return 0, 0
    try:
        down = swap_exact_in(pool, True, _AMOUNT, int(pool.sqrt_price_x96 * _DOWN))
        up = swap_exact_in(pool, False, _AMOUNT, int(pool.sqrt_price_x96 * _UP))
    except (BandExceeded, ValueError):
        return 0, 0
    return min(down.amount_in, up.amount_out), min(down.amount_out, up.amount_in)


def _base_prices(
    usd: Sequence[Address],
    bases: Sequence[Address],
    pools: Sequence[Pool],
    decimals: Mapping[Address, int],
    wrapped: Address,
) -> dict[Address, Spot | None]:
    """Returns the prices of base tokens: dollar tokens first, then the others from known prices."""
    edges = _edges(pools, decimals, wrapped)
    known: dict[Address, Spot] = {}
    for token in usd:
        peers = [edge for edge in edges if edge.token == token and edge.other in usd and edge.depth > 0]
        # The median over itself and each peer's deepest pool: a single token off its peg is outvoted.
        best = {edge.other: edge for edge in sorted(peers, key=lambda edge: edge.depth)}
        votes = sorted([1.0, *(edge.ratio for edge in best.values())])
        agreed = votes[(len(votes) - 1) // 2]
        depth = sum(edge.depth for edge in peers)
        off = abs(agreed - 1)
        if len(votes) < 3 and votes[-1] / votes[0] - 1 > _DEPEG:
            continue  # two tokens disagree: either may be off its peg
        known[token] = Spot(agreed, depth, len(peers), off)
    for _ in range(2):
        for base in bases:
            if base not in known and (spot := _weighed(base, edges, known)) is not None:
                known[base] = spot
    return {base: known.get(base) for base in bases}


def _weighed(token: Address, edges: Sequence[_Edge], known: Mapping[Address, Spot]) -> Spot | None:
    """Returns the median price over pools, weighted by depth in dollars; None below the floor."""
    said = sorted(
        (edge.ratio * known[edge.other].usd, edge.depth * known[edge.other].usd)
        for edge in edges
        if edge.token == token and edge.other in known and edge.depth > 0
    )
    depth = sum(weight for _, weight in said)
    floor = DEPTH_FLOOR_USD if len(said) > 1 else SINGLE_POOL_FLOOR_USD
    if not said or depth < floor:
        return None
    reached, usd = 0.0, said[-1][0]
    for price, weight in said:
        reached += weight
        if reached >= depth / 2:
            usd = price
            break
    spread = sum(abs(price / usd - 1) * weight for price, weight in said) / depth
    return Spot(usd, depth, len(said), spread)


def price_over_time(now: Spot | None, history: Sequence[Spot | None], block: Block) -> Price | None:
    """Returns the median of the prices at ``block`` and at earlier blocks; None when too few are known.

    Without earlier blocks (some nodes have no state for them) it is the present price with low confidence.
    """
    spots = [spot for spot in (now, *history) if spot is not None]
    if now is None or 2 * len(spots) <= len(history):
        return None
    ordered = sorted(spot.usd for spot in spots)
    if len(spots) < _ENOUGH and ordered[-1] / ordered[0] - 1 > _STEADY:
        return None  # too few prices to outvote a manipulated one
    usd = ordered[(len(ordered) - 1) // 2]
    depth = min(spot.depth_usd for spot in spots)
    agreement = max(0.0, 1 - max(now.spread, abs(now.usd / usd - 1)) / 0.05)
    witnesses = len(spots) / (_SAMPLES + 1)
    confidence = depth / (depth + SINGLE_POOL_FLOOR_USD) * agreement * (0.5 + 0.5 * min(1.0, witnesses))
    return Price(usd, "uniswap", block, round(confidence, 4), depth)
