"""The prices of tokens in one hour from the pools between them: votes weighted by depth.

Prices are floats in US dollars. A pool votes with what it stood at on average over time, so that a push of a
few blocks moves its vote by their share of the hour.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

DEPTH_FLOOR_USD = 5_000.0
SINGLE_POOL_FLOOR_USD = 25_000.0
"""The depth below which a token has no price; the second for a token with a single pool."""
DEPEG = 0.02
"""How far two dollar tokens may be apart when no third one decides."""
SPREAD = 0.05
"""The mean deviation of the pools at which the confidence is zero."""
LONE_MOVE = 1.25
"""The move within an hour at which a single pool says nothing."""

_Q96 = 1 << 96
_BAND = 1 - 1 / math.sqrt(1.02)
_TICK = 1.0001


class Prices(NamedTuple):
    """A price over an hour; ``mean`` is weighted by time."""

    mean: float
    open: float
    high: float
    low: float
    close: float

    def inverse(self) -> Prices:
        """Returns those of the other token."""
        return Prices(1 / self.mean, 1 / self.open, 1 / self.low, 1 / self.high, 1 / self.close)

    def times(self, other: Prices) -> Prices:
        """Returns the prices in what the other ones are in; an extreme is taken at the other's mean."""
        return Prices(
            self.mean * other.mean,
            self.open * other.open,
            self.high * other.mean,
            self.low * other.mean,
            self.close * other.close,
        )

    def scaled(self, factor: float) -> Prices:
        """Returns the prices times a number."""
        return Prices(*(price * factor for price in self))

    @property
    def ordered(self) -> Prices:
        """Returns the prices with a high and a low that no other one exceeds."""
        others = self.mean, self.open, self.close
        return self._replace(high=max(self.high, *others), low=min(self.low, *others))


@dataclass(frozen=True, slots=True)
class PoolPrices:
    """What a pool says in an hour: base units of token1 per base unit of token0.

    ``depths`` are the base units of each token within two per cent of the price, and ``depths_at_end`` those
    at the end of the hour.
    """

    prices: Prices
    depths: tuple[float, float]
    depths_at_end: tuple[float, float]

    @property
    def carried(self) -> PoolPrices:
        """Returns what the pool says in later hours without events."""
        close = self.prices.close
        return PoolPrices(Prices(close, close, close, close, close), self.depths_at_end, self.depths_at_end)


@dataclass(frozen=True, slots=True)
class Vote:
    """A token's price in one pool against a token whose price is known, in US dollars."""

    prices: Prices
    depth_usd: float
    confidence: float


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """The price of a token in an hour; ``depth_usd`` None: a dollar token that no pool compares."""

    prices: Prices
    depth_usd: float | None
    confidence: float


@dataclass(frozen=True, slots=True)
class Rate:
    """A dollar token in another one: whole coins, and the depth in whole coins of the other."""

    token: str
    other: str
    prices: Prices
    depth: float


def pool_prices(
    sqrt_prices: tuple[int, int, int, int],
    tick_seconds: int,
    seconds: int,
    liquidity: int | None,
    principal: tuple[int, int],
    principal_seconds: tuple[int, int],
) -> PoolPrices | None:
    """Returns what a pool says in an hour; None when it has no price or no liquidity.

    ``sqrt_prices`` are open, high, low and close as Q64.96. The mean is that of the ticks, as in Uniswap's
    oracle, or the nearer one of open and close where it is not between them: a push that ends within the hour
    moves nothing. The depth is that of the liquidity at the end, at most what the
    pool held then and on average, so that liquidity of a moment or in a narrow range counts as what it is.
    """
    if min(sqrt_prices) <= 0:
        return None
    opened, high, low, close = ((root / _Q96) ** 2 for root in sqrt_prices)
    try:
        mean = sorted((opened, _TICK ** (tick_seconds / seconds), close))[1] if seconds else close
    except OverflowError:
        return None
    if liquidity is None:  # a pair of reserves
        liquidity = math.isqrt(principal[0] * principal[1])
    root = sqrt_prices[3]
    within = liquidity * _Q96 / root * _BAND, liquidity * root / _Q96 * _BAND
    at_end = min(within[0], float(principal[0])), min(within[1], float(principal[1]))
    depths = at_end
    if seconds:  # else the hour has just begun
        held0, held1 = (held / seconds for held in principal_seconds)
        depths = min(at_end[0], held0), min(at_end[1], held1)
    if low <= 0 or min(at_end) <= 0:
        return None
    return PoolPrices(Prices(mean, opened, high, low, close), depths, at_end)


def dollar_prices(tokens: Sequence[str], rates: Iterable[Rate]) -> dict[str, TokenPrice]:
    """Returns the prices of dollar tokens, each compared with the others.

    The price is the median of one dollar and of what the deepest pool with each other token says, so that a
    single token off its peg is outvoted. Two that differ by more than ``DEPEG`` without a third have none.
    """
    deepest: dict[tuple[str, str], Rate] = {}
    for rate in sorted(rates, key=lambda rate: rate.depth):
        if rate.depth >= DEPTH_FLOOR_USD:
            deepest[rate.token, rate.other] = rate
    known = {}
    for token in tokens:
        peers = [rate for (one, _), rate in deepest.items() if one == token]
        means = sorted([1.0, *(rate.prices.mean for rate in peers)])
        if len(means) == 2 and means[1] / means[0] - 1 > DEPEG:
            continue
        votes = [Prices(1.0, 1.0, 1.0, 1.0, 1.0), *(rate.prices for rate in peers)]
        columns = (sorted(column) for column in zip(*votes, strict=True))
        agreed = Prices(*(column[(len(column) - 1) // 2] for column in columns)).ordered
        confidence = (0.5, 0.75, 1.0)[min(len(peers), 2)]
        known[token] = TokenPrice(agreed, sum(rate.depth for rate in peers) or None, confidence)
    return known


def agreed_price(votes: Sequence[Vote]) -> TokenPrice | None:
    """Returns the median over pools, weighted by depth; None below the floor or without agreement.

    A large move of a single pool has no witness: it may be a push over the end of the hour.
    """
    depth = sum(vote.depth_usd for vote in votes)
    floor = DEPTH_FLOOR_USD if len(votes) > 1 else SINGLE_POOL_FLOOR_USD
    if depth < floor:
        return None
    prices = Prices(*(_median(votes, place, depth / 2) for place in range(len(Prices._fields)))).ordered
    spread = sum(abs(vote.prices.mean / prices.mean - 1) * vote.depth_usd for vote in votes) / depth
    backing = sum(vote.confidence * vote.depth_usd for vote in votes) / depth
    confidence = depth / (depth + SINGLE_POOL_FLOOR_USD) * max(0.0, 1 - spread / SPREAD) * backing
    if len(votes) == 1:
        confidence *= max(0.0, 1 - abs(math.log(prices.close / prices.open)) / math.log(LONE_MOVE))
    return TokenPrice(prices, depth, confidence) if confidence > 0 else None


def vote_of(prices: Prices, depth: float, other: TokenPrice) -> Vote:
    """Returns the vote of a pool: whole coins of another token, and the depth in whole coins of it."""
    return Vote(prices.times(other.prices), depth * other.prices.mean, other.confidence)


def quoted_in(
    pool: PoolPrices, is_token0: bool, decimals: Mapping[str, int], token: str, other: str
) -> Prices:
    """Returns whole coins of ``other`` per whole coin of ``token``."""
    factor = 10.0 ** (decimals[token] - decimals[other])
    return (pool.prices if is_token0 else pool.prices.inverse()).scaled(factor)


def _median(votes: Sequence[Vote], place: int, half: float) -> float:
    reached = 0.0
    ordered = sorted((vote.prices[place], vote.depth_usd) for vote in votes)
    for price, depth in ordered:
        reached += depth
        if reached >= half:
            return price
    return ordered[-1][0]
