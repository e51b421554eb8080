"""Makes a price of what pools said at a block and at earlier moments, so that no pool can make one by itself.

The moments are those of ``price_moments``: the block, and every six minutes of the half hour before it. Each
counts for the seconds until the next one, whatever number of blocks that is.

1. **Aged depth.** A pool weighs what it had of depth at *every* moment: the least of its depths (what moves
   its price by two per cent, on the thinner side, in dollars). What came lately or leaves at times weighs
   nothing.
2. **A moment's price** is the median over the token's pools with base tokens, weighted by aged depth: half of
   the depth says less, half says more. Nobody gains by moving a pool that is off by less than its fee: a pool
   says two prices, lower and higher by the fee, and the price is the middle of the two medians of these. So
   between pools that differ, the one with the lower fee decides, and pools with less than half of the depth
   move the price by the fee of the others at most, and not at all before these are aged. Base tokens are
   priced in the same way, dollar tokens by each other: each is the median of one dollar and of what its pools
   with the other dollar tokens say.
3. **The price** is the present one within bounds: what is left of the moments' prices without the lowest and
   the highest 30 % of the seconds (one whole moment at least), widened by 0.4 %. So it follows a market, and
   what stands for a block, or for less than the six minutes between two moments, moves it by 0.4 % at most.
4. **Anchored** is a price through pools that have been there, from a dollar token that another one confirms,
   that is known for a quarter of an hour and for an hour ago. One that has moved by two per cent since then
   has a warning (``Price.warnings``), and values by it are limited.

Without enough aged pools the others that may have been there are taken, where a node tells no past: then the
price is not anchored, and there is none where the moments that are known differ by more than a per cent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from quoteway import Address, Block, Price

from quoteway_uniswap.price_looks import Look, PoolPrice

DEPTH_FLOOR_USD = 5_000.0
SINGLE_POOL_FLOOR_USD = 25_000.0
"""The depth floor for a token with a single pool."""
WINDOW_S = 1_800
AGE_S = 900
"""How long pools must have been seen, and how much of the window must be known, for an anchored price."""

_OUTER = 0.3
_FOLLOWED = 0.004
_STEADY = 0.01
_DEPEG = 0.02


@dataclass(frozen=True, slots=True)
class Moment:
    """The looks at a time ``age_s`` before the block, which stood for ``seconds`` of the window.

    0 seconds: it was before the window, and only tells how far a price has moved.
    """

    age_s: int
    seconds: int
    looks: Mapping[Address, Look]

    def tells(self, token: Address) -> bool:
        """Returns whether anything is known of a token."""
        look = self.looks.get(token)
        return look is not None and (look.whole or bool(look.pools))


@dataclass(frozen=True, slots=True)
class Spot:
    """A price at one moment: US dollars per whole token, aged depth in dollars, number of pools, and their
    weighted mean deviation as a fraction.

    ``aged``: its pools and those of its base tokens have been there for long enough. ``confirmed``: the
    dollar tokens that it comes from agree with others.
    """

    usd: float
    depth_usd: float
    pools: int
    spread: float
    aged: bool = False
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class AgedPool:
    """A pool of a token, with the least depth that was seen of it and for how long it has been there."""

    id: str
    other: Address
    depth: float
    age_s: int

    @property
    def is_aged(self) -> bool:
        """Whether it has been there for as long as an anchored price needs."""
        return self.age_s >= AGE_S

    def band(self, said: PoolPrice) -> float:
        """Returns how far from what it says the price may be, as a fraction: by its fee.

        0 before it is aged: a pool that was pushed for a block must not move the price of the others at all.
        """
        return said.fee if self.is_aged else 0.0


@dataclass(frozen=True, slots=True)
class BasePrices:
    """The prices of the base tokens at a block and at the moments before it."""

    now: Mapping[Address, Spot]
    moments: Sequence[tuple[Moment, Mapping[Address, Spot]]]

    @classmethod
    def of(
        cls,
        usd: Sequence[Address],
        bases: Sequence[Address],
        looks: Mapping[Address, Look],
        moments: Sequence[Moment],
    ) -> BasePrices:
        """Returns the prices of ``bases``, of which ``usd`` are dollar tokens."""
        every = {base: aged_pools(looks[base], _seen(base, moments)) for base in bases}
        pools = {base: _choices(own)[0] for base, own in every.items()}
        now: dict[Address, Spot] = {}
        for token in usd:
            spot = _dollar(pools[token], looks[token], usd)
            if spot is not None and not spot.pools:  # no aged pool tells
                pools[token] = every[token]
                spot = _dollar(pools[token], looks[token], usd)
            if spot is not None:
                now[token] = spot
        for chosen in (pools, every):
            for base in (*bases, *bases):  # a base token may be reached through another one only
                if base not in now and (spot := weighed(chosen[base], looks[base], now)) is not None:
                    now[base], pools[base] = spot, chosen[base]
        before = [(each, _base_spots(usd, bases, pools, each.looks)) for each in moments]
        return cls(now, before)

    def price(self, token: Address, look: Look, moments: Sequence[Moment], block: Block) -> Price | None:
        """Returns the price of a token at ``block``; None where there is none.

        ``moments`` have the looks at this token, in the order of those that the base prices were made of.
        """
        if token in self.now:
            before = ((moment, known.get(token)) for moment, known in self.moments)
            return price_over_time(self.now[token], _readable(token, before), block)
        for chosen in _choices(aged_pools(look, _seen(token, moments))):
            now = weighed(chosen, look, self.now)
            if now is not None:
                before = (
                    (moment, weighed(chosen, seen, known, floors=False))
                    for moment, (_, known) in zip(moments, self.moments, strict=True)
                    if (seen := moment.looks.get(token)) is not None
                )
                return price_over_time(now, _readable(token, before), block)
        return None


def aged_pools(now: Look, before: Iterable[tuple[int, Look]]) -> list[AgedPool]:
    """Returns the pools of ``now`` with their aged depth, given earlier looks and their ages.

    Pools that were not there at one of these are left out.
    """
    pools = {
        name: AgedPool(name, said.other, said.depth, 0) for name, said in now.pools.items() if said.depth
    }
    for age_s, look in before:
        for name, pool in list(pools.items()):
            said = look.pools.get(name)
            if said is not None and said.depth:
                depth = min(pool.depth, said.depth)
                pools[name] = replace(pool, depth=depth, age_s=max(pool.age_s, age_s))
            elif said is not None or look.whole:
                del pools[name]
    return list(pools.values())


def _seen(token: Address, moments: Iterable[Moment]) -> list[tuple[int, Look]]:
    """Returns the ages of the moments within the window, and the looks at a token."""
    return [
        (each.age_s, look) for each in moments if each.seconds and (look := each.looks.get(token)) is not None
    ]


def _readable(
    token: Address, spots: Iterable[tuple[Moment, Spot | None]]
) -> list[tuple[Moment, Spot | None]]:
    """Returns the moments without those of which too little is known to say that there was no price."""
    return [
        (moment, spot)
        for moment, spot in spots
        if spot is not None or ((look := moment.looks.get(token)) is not None and look.whole)
    ]


def _choices(pools: Sequence[AgedPool]) -> tuple[list[AgedPool], ...]:
    """Returns the pools that make a price: the aged ones, else all that may have been there."""
    return [pool for pool in pools if pool.is_aged], list(pools)


def weighed(
    pools: Sequence[AgedPool], look: Look, known: Mapping[Address, Spot], *, floors: bool = True
) -> Spot | None:
    """Returns the median of what ``look`` says of the pools, weighted by depth in dollars.

    None below the floor, unless without ``floors``, or where less than half of the depth is known.
    """
    said, depth, aged, confirmed = [], 0.0, 0.0, 0.0
    for pool in pools:
        other = known.get(pool.other)
        if other is None:
            continue
        weight = pool.depth * other.usd
        depth += weight
        aged += weight * (other.aged and pool.is_aged)
        confirmed += weight * other.confirmed
        seen = look.pools.get(pool.id)
        if seen is not None:
            said.append((seen.ratio * other.usd, weight, pool.band(seen)))
    floor = DEPTH_FLOOR_USD if len(said) > 1 else SINGLE_POOL_FLOOR_USD
    if not said or (floors and depth < floor) or 2 * sum(weight for _, weight, _ in said) < depth:
        return None
    usd, spread = _median(said)
    return Spot(usd, depth, len(said), spread, 2 * aged >= depth, 2 * confirmed >= depth)


def _dollar(pools: Sequence[AgedPool], look: Look, usd: Sequence[Address]) -> Spot | None:
    """Returns the price of a dollar token by the others, which have one vote each; None where they differ."""
    votes, depth, count = [], 0.0, 0
    for other in usd:
        own = [pool for pool in pools if pool.other == other]
        seen = ((pool, look.pools[pool.id]) for pool in own if pool.id in look.pools)
        said = [(price.ratio, pool.depth, pool.band(price)) for pool, price in seen]
        weight = sum(pool.depth for pool in own)
        if said and weight >= DEPTH_FLOOR_USD:
            votes.append(_median(said)[0])
            depth, count = depth + weight, count + len(said)
    # One that is off its peg, or whose pools were moved, is outvoted.
    ordered = sorted([1.0, *votes])
    agreed = ordered[(len(ordered) - 1) // 2]
    if len(ordered) == 2 and ordered[1] / ordered[0] - 1 > _DEPEG:
        return None  # either may be off its peg
    confirmed = any(abs(vote / agreed - 1) <= _DEPEG for vote in votes)
    aged = confirmed and all(pool.is_aged for pool in pools)
    return Spot(agreed, depth, count, abs(agreed - 1), aged, confirmed)


def _base_spots(
    usd: Sequence[Address],
    bases: Sequence[Address],
    pools: Mapping[Address, Sequence[AgedPool]],
    looks: Mapping[Address, Look],
) -> dict[Address, Spot]:
    """Returns the prices of base tokens at an earlier moment, by the pools that make them now."""
    known: dict[Address, Spot] = {}
    for token in usd:
        if token in looks and (spot := _dollar(pools[token], looks[token], usd)) is not None:
            known[token] = spot
    for base in (*bases, *bases):
        if base not in known and base in looks:
            spot = weighed(pools[base], looks[base], known, floors=False)
            if spot is not None:
                known[base] = spot
    return known


def _median(said: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Returns the weighted median of (value, weight, fee), and the weighted mean deviation from it.

    Each value counts half as the lowest, and half as the highest, that a fee leaves it possible to be.
    """
    lowest = [(value / (1 + fee), weight) for value, weight, fee in said]
    highest = [(value * (1 + fee), weight) for value, weight, fee in said]
    both = [*lowest, *highest]
    median = math.sqrt(quantile(both, 0.5) * -quantile(((-value, weight) for value, weight in both), 0.5))
    whole = sum(weight for _, weight, _ in said)
    return median, sum(abs(value / median - 1) * weight for value, weight, _ in said) / whole


def quantile(said: Iterable[tuple[float, float]], share: float) -> float:
    """Returns the lowest value that, with all lower ones, has more than ``share`` of the weight of the pairs
    of value and weight.
    """
    ordered = sorted(said)
    cut, reached = share * sum(weight for _, weight in ordered), 0.0
    for value, weight in ordered:
        reached += weight
        if reached > cut:
            return value
    return ordered[-1][0]


def bounds(over_time: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Returns the lowest and the highest price that the present one may be, given (price, seconds)."""
    seconds = [each for _, each in over_time]
    cut = max(_OUTER, max(seconds) / sum(seconds))
    low, high = quantile(over_time, cut), -quantile(((-usd, each) for usd, each in over_time), cut)
    return low * (1 - _FOLLOWED), high * (1 + _FOLLOWED)


def price_over_time(now: Spot, before: Sequence[tuple[Moment, Spot | None]], block: Block) -> Price | None:
    """Returns the price at ``block`` of the present spot and those of earlier moments that could be read.

    None where too few of them have a price.
    """
    known = [(moment, spot.usd) for moment, spot in before if spot is not None]
    over_time = [(usd, float(moment.seconds)) for moment, usd in known if moment.seconds]
    covered_s = sum(seconds for _, seconds in over_time)
    readable_s = sum(moment.seconds for moment, _ in before)
    if readable_s and 2 * covered_s <= readable_s:
        return None
    usd = now.usd
    if covered_s >= AGE_S:
        low, high = bounds(over_time)
        usd = min(max(usd, low), high)
    elif over_time and not _is_steady([now.usd, *(usd for usd, _ in over_time)]):
        return None  # too few to tell which of them is true
    moves = [100 * (now.usd / usd - 1) for _, usd in known]
    moved_pct = max(moves, key=abs) if moves else None
    is_known = covered_s >= AGE_S and any(not moment.seconds for moment, _ in known)
    agreement = max(0.0, 1 - max(now.spread, abs(now.usd / usd - 1)) / 0.05)
    depth, witnesses = now.depth_usd, min(1.0, covered_s / AGE_S)
    confidence = depth / (depth + SINGLE_POOL_FLOOR_USD) * agreement * (0.5 + 0.5 * witnesses)
    return Price(
        usd,
        "uniswap",
        block,
        round(confidence, 4),
        depth,
        anchored=now.aged and now.confirmed and is_known,
        moved_1h_pct=None if moved_pct is None else round(moved_pct, 2),
    )


def _is_steady(usd: Sequence[float]) -> bool:
    return max(usd) / min(usd) - 1 <= _STEADY
