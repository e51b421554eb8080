"""Levels of nodes that make every flow acyclic and every way through it short.

The input token has level 0, the output token level `max_hops`, and pools trade from lower to higher levels
only. So no flow has a cycle, and no way through it has more than `max_hops` pools.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quoteway_amm.dual import Solution, best_trades
from quoteway_amm.pieces import Flags, Floats, Integers, Pieces

_ROUNDS = 12

DUST = 1e-6
"""Trades below this share of the value are left out: they gain no more than a fraction of it."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The level of every node, and the range that its distances from both ends allow."""

    level: Integers
    least: Integers
    most: Integers

    def directions(self, pieces: Pieces) -> tuple[Flags, Flags]:
        """Returns which pools may trade zero_for_one and which back."""
        usable = self.least <= self.most
        both = usable[pieces.token0] & usable[pieces.token1]
        level0, level1 = self.level[pieces.token0], self.level[pieces.token1]
        return (level0 < level1) & both, (level1 < level0) & both

    def moved(self, node: int, level: int) -> Levels:
        """Returns the levels with one node at another level."""
        changed = self.level.copy()
        changed[node] = level
        return Levels(changed, self.least, self.most)


def first_levels(
    pieces: Pieces, solution: Solution, node_in: int, node_out: int, max_hops: int
) -> tuple[Levels, Levels]:
    """Returns two guesses: levels by the mean and by the greatest distance of each node from both ends.

    Distances are along a solution without limits. When that one fits, the second guess allows all of it.
    """
    size = len(solution.prices)
    least = _distances(pieces, node_in, size, max_hops)
    rest = _distances(pieces, node_out, size, max_hops)
    most = max_hops - rest
    least[node_out], most[node_in] = max_hops, 0
    source, target, worth = _edges(pieces, solution)
    big = worth > DUST * solution.value
    source, target, worth = source[big], target[big], worth[big]

    def levels(place: Floats) -> Levels:
        level = np.rint(place).astype(np.int64)
        level = np.clip(level, np.maximum(least, 1), np.maximum(np.minimum(most, max_hops - 1), 1))
        level[node_in], level[node_out] = 0, max_hops
        return Levels(level, least, most)

    after = _mean_distance(source, target, worth, node_in, least)
    before = _mean_distance(target, source, worth, node_out, rest)
    mean = levels(max_hops * after / np.maximum(after + before, 1e-9))
    after, before = _longest(source, target, least), _longest(target, source, rest)
    longest = after + before
    fits = longest[np.concatenate([source, target])].max(initial=0) <= max_hops
    return mean, levels(after if fits else max_hops * after / np.maximum(longest, 1e-9))


def better_move(
    pieces: Pieces, solution: Solution, levels: Levels, tried: set[tuple[int, int]]
) -> tuple[int, int, float] | None:
    """Returns (node, level, gain) of the most promising change that was not tried; None when none is.

    The gain is the profit, at the solution's prices, of the trades that it allows less that of those it
    forbids.
    """
    usable = levels.least <= levels.most
    both = usable[pieces.token0] & usable[pieces.token1]
    trades = best_trades(pieces, solution.prices, both, both)
    level = levels.level
    size = len(level)
    token0, token1 = pieces.token0[trades.pools], pieces.token1[trades.pools]
    source, target = (
        np.where(trades.zero_for_one, token0, token1),
        np.where(trades.zero_for_one, token1, token0),
    )
    profit = np.bincount(source * size + target, trades.profit, size * size).reshape(size, size)

    def allowed(at: Integers | int) -> Floats:
        from_here = (np.reshape(at, (-1, 1)) < level[None, :]) * profit
        to_here = (level[:, None] < np.reshape(at, (1, -1))) * profit
        return np.asarray(from_here.sum(axis=1) + to_here.sum(axis=0))

    now = allowed(level)
    best: tuple[int, int, float] | None = None
    ends = {int(levels.level.argmin()), int(levels.level.argmax())}
    for candidate in range(1, int(level.max())):
        gains = np.where(
            (levels.least <= candidate) & (candidate <= levels.most), allowed(candidate) - now, 0.0
        )
        for node in np.argsort(-gains)[:8].tolist():
            gain = float(gains[node])
            if gain > 0 and (node, candidate) not in tried and node not in ends:
                best = (node, candidate, gain) if best is None or gain > best[2] else best
                break
    return best


def _edges(pieces: Pieces, solution: Solution) -> tuple[Integers, Integers, Floats]:
    trades = solution.trades
    token0, token1 = pieces.token0[trades.pools], pieces.token1[trades.pools]
    source = np.where(trades.zero_for_one, token0, token1)
    target = np.where(trades.zero_for_one, token1, token0)
    return source, target, trades.amount_in * solution.prices[source]


def _mean_distance(
    source: Integers, target: Integers, worth: Floats, start: int, otherwise: Integers
) -> Floats:
    """Returns the mean number of pools from `start`, weighted by worth; without flow `otherwise`."""
    size = len(otherwise)
    arriving = np.bincount(target, worth, size)
    distance = otherwise.astype(np.float64)
    for _ in range(_ROUNDS):
        total = np.bincount(target, worth * (distance[source] + 1), size)
        distance = np.where(arriving > 0, total / np.maximum(arriving, 1e-300), distance)
        distance[start] = 0.0
    return distance


def _longest(source: Integers, target: Integers, otherwise: Integers) -> Floats:
    """Returns the greatest number of pools to each node, at most a few; without flow `otherwise`."""
    distance = np.zeros(len(otherwise))
    for _ in range(_ROUNDS):
        np.maximum.at(distance, target, distance[source] + 1)
    used = np.zeros(len(otherwise), dtype=np.bool_)
    used[source] = used[target] = True
    return np.where(used, distance, otherwise)


def _distances(pieces: Pieces, start: int, size: int, max_hops: int) -> Integers:
    """Returns the least number of pools from `start` to each node, at most `max_hops + 1`."""
    distance = np.full(size, max_hops + 1, dtype=np.int64)
    distance[start] = 0
    for hops in range(max_hops):
        for near, far in ((pieces.token0, pieces.token1), (pieces.token1, pieces.token0)):
            reached = far[distance[near] == hops]
            distance[reached] = np.minimum(distance[reached], hops + 1)
    return distance
