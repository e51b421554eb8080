"""Prices that make the bound of `bound.py` small, by Newton's method on the tokens' logarithmic prices.

The value `v[in] * amount + sum of the pools' profits` is convex and smooth in the prices. Scaled by the
prices, its second derivative is a graph Laplacian: each pool whose best trade ends inside a piece of
liquidity L joins its tokens with weight `L * sqrt(v0 * v1 / kept) / 2`. Where no pool trades the value is
flat: the Laplacian of all pools at their own price, times a damping that falls while steps succeed, keeps the
step finite (Levenberg-Marquardt). Floats only choose prices; `bound.py` states the amount.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quoteway_amm.pieces import KEY_SPAN, Flags, Floats, Integers, Pieces

_MAX_STEP = 1.0
_MAX_ROUNDS = 80
_TOLERANCE = 1e-9
_NEARLY = 1e-3
"""With no more left unbalanced, what the next step promises decides whether it is worth its time."""

_PATIENCE = 10
"""So many rounds must gain more than the tolerance."""

_NOISE = 1e-15
_DAMPING = 1e-2
_UNDAMPED = 1e-9
_LEAST_CURVATURE = 1e-200
"""Far below every curvature that counts, and above what makes a slope divided by it overflow."""


@dataclass(frozen=True, slots=True)
class Trades:
    """The best trade of every pool that has one, at given prices. Amounts are base units as floats.

    `pools` are positions in the pieces. `profit` is in units of the output token; `weight` is the curvature.
    """

    pools: Integers
    zero_for_one: Flags
    amount_in: Floats
    amount_out: Floats
    profit: Floats
    weight: Floats
    crossed: Integers


@dataclass(frozen=True, slots=True)
class Solution:
    """Prices per node with `prices[node_out] = 1`, the value there, and the trades of the pools.

    `residual`: what the trades do not balance, as a share of the value. At 0 the value is what they give.
    """

    prices: Floats
    value: float
    trades: Trades
    residual: float


def best_trades(pieces: Pieces, prices: Floats, down: Flags, up: Flags) -> Trades:
    """Returns the most profitable trades; `down` and `up` say which directions each pool may trade in."""
    root = np.sqrt(prices[pieces.token0] / prices[pieces.token1])
    falls = (root < pieces.price * pieces.kept_down) & down
    rises = (root * pieces.kept_up > pieces.price) & up
    pools = np.flatnonzero(falls | rises)
    falling = falls[pools]
    kept = np.where(falling, pieces.kept_down[pools], pieces.kept_up[pools])
    wanted = root[pools] * np.where(falling, 1 / kept, kept)
    return trades_to(pieces, pools, falling, wanted, prices)


def trades_to(pieces: Pieces, pools: Integers, falling: Flags, wanted: Floats, prices: Floats) -> Trades:
    """Returns the trades that move pools to the square-root prices `wanted`, or as far as they go."""
    price0, price1 = prices[pieces.token0[pools]], prices[pieces.token1[pools]]
    kept = np.where(falling, pieces.kept_down[pools], pieces.kept_up[pools])
    kept *= kept
    first, last = pieces.first[pools], pieces.last[pools]
    target = np.clip(wanted, pieces.edges[first], pieces.edges[last])
    # The piece [at, at + 1] with the target; the keys are too coarse for a target beside a boundary.
    keys = pieces.owner[pools] * KEY_SPAN + np.log(target)
    at = np.searchsorted(pieces.keys, keys, side="right") - 1
    at = np.clip(at, first, np.maximum(last - 1, first))
    at -= (target < pieces.edges[at]) & (at > first)
    at += (target > pieces.edges[np.minimum(at + 1, last)]) & (at < last - 1)
    # From the boundary nearer to the pool's own price: the difference of two close prices stays exact.
    base = np.where(falling, np.minimum(at + 1, last), at)
    edge, liquidity = pieces.edges[base], pieces.liquidity[at]
    moved = edge - target
    paid0 = pieces.paid0[base] + liquidity * moved / (edge * target)
    gained1 = pieces.gained1[base] + liquidity * moved
    amount_in = np.where(falling, paid0, -gained1) / kept
    amount_out = np.where(falling, gained1, -paid0)
    price_in, price_out = np.where(falling, price0, price1), np.where(falling, price1, price0)
    profit = amount_out * price_out - amount_in * price_in
    weight = np.where(wanted == target, liquidity * np.sqrt(price0 * price1 / kept) / 2, 0.0)
    crossed = np.where(falling, pieces.home[pools] - 1 - at, at - pieces.home[pools])
    return Trades(pools, falling, amount_in, amount_out, profit, weight, crossed)


def solve(
    pieces: Pieces,
    start: Floats,
    node_in: int,
    node_out: int,
    amount_in: float,
    down: Flags | None = None,
    up: Flags | None = None,
    damping: float = _DAMPING,
    tolerance: float = _TOLERANCE,
) -> Solution:
    """Returns the best prices found from `start`. `amount_in` may be 0: the arbitrage that the pools offer.

    `down` and `up` say which pools may trade zero_for_one and back; None: all. Far from the best prices,
    begin with `approach`: each round here finds only what begins to trade at the next prices. `tolerance`:
    the share of the value that may be missed.
    """
    count = len(pieces.price)
    down = np.ones(count, dtype=np.bool_) if down is None else down
    up = np.ones(count, dtype=np.bool_) if up is None else up
    prices = start / start[node_out]
    trades = best_trades(pieces, prices, down, up)
    value = amount_in * prices[node_in] + trades.profit.sum()
    depth = pieces.depth * np.sqrt(prices[pieces.token0] * prices[pieces.token1]) / 2
    brake = laplacian(len(prices), pieces.token0, pieces.token1, np.where(down | up, depth, 0.0))
    residual = 0.0
    # Without an input the value itself goes to nothing.
    least = 0.0 if amount_in else _NOISE * float(brake.diagonal().sum())
    before = math.inf
    for number in range(_MAX_ROUNDS):
        if not number % _PATIENCE:
            if before - value <= tolerance * value and amount_in:
                break
            before = value
        slope = slope_of(pieces, trades, prices, node_in, amount_in)
        slope[node_out] = 0.0
        residual = float(np.abs(slope).sum())
        if residual <= max(tolerance * value, least):
            break
        step = newton_step(pieces, trades, slope, brake, damping, node_out)
        if residual <= _NEARLY * value and -float(slope @ step) <= tolerance * value:
            break
        tried = prices * np.exp(step)
        tried_trades = best_trades(pieces, tried, down, up)
        tried_value = amount_in * tried[node_in] + tried_trades.profit.sum()
        # Refuses what is not a number too.
        if not tried_value <= value * (1 + _NOISE):
            damping = max(damping, _UNDAMPED) * 8
            if damping > 1 / _UNDAMPED:
                break
            continue
        stalled = value - tried_value <= _NOISE * value and damping < _UNDAMPED
        prices, trades, value = tried, tried_trades, tried_value
        damping *= 0.1
        if stalled:
            break
    return Solution(prices, float(value), trades, residual / max(float(value), 1e-300))


def newton_step(
    pieces: Pieces, trades: Trades, slope: Floats, brake: Floats, damping: float, node_out: int
) -> Floats:
    """Returns the change of the logarithmic prices; that of the output token is 0.

    Nodes where nothing trades keep their price: the matrix is as small as the trade.
    """
    size = len(slope)
    token0, token1 = pieces.token0[trades.pools], pieces.token1[trades.pools]
    moving = slope != 0
    moving[token0] = moving[token1] = True
    moving[node_out] = False
    nodes = np.flatnonzero(moving)
    # The output token, which keeps its price too, is the last row and is cut off.
    numbers = np.full(size, len(nodes), dtype=np.int64)
    numbers[nodes] = np.arange(len(nodes))
    curvature = laplacian(len(nodes) + 1, numbers[token0], numbers[token1], trades.weight)[:-1, :-1]
    curvature += damping * brake[np.ix_(nodes, nodes)]
    diagonal = curvature.diagonal()
    # Keeps the matrix regular: a node without curvature has no slope either.
    np.fill_diagonal(curvature, diagonal + 1e-14 * diagonal.max(initial=0.0) + _LEAST_CURVATURE)
    step = np.zeros(size)
    step[nodes] = -np.linalg.solve(curvature, slope[nodes])
    return np.asarray(step * min(1.0, _MAX_STEP / max(np.abs(step).max(), 1e-300)))


def slope_of(pieces: Pieces, trades: Trades, prices: Floats, node_in: int, amount_in: float) -> Floats:
    """Returns price times surplus per node: what its price times the first derivative is."""
    falling, size = trades.zero_for_one, len(prices)
    change0 = np.where(falling, -trades.amount_in, trades.amount_out)
    change1 = np.where(falling, trades.amount_out, -trades.amount_in)
    surplus = np.zeros(size)
    surplus += np.bincount(pieces.token0[trades.pools], change0, size)
    surplus += np.bincount(pieces.token1[trades.pools], change1, size)
    surplus[node_in] += amount_in
    return surplus * prices


def laplacian(size: int, token0: Integers, token1: Integers, weight: Floats) -> Floats:
    joined = np.zeros((size, size))
    joined += np.bincount(token0 * size + token1, weight, size * size).reshape(size, size)
    joined += joined.T.copy()
    total = joined.sum(axis=1)
    np.negative(joined, out=joined)
    np.fill_diagonal(joined, total)
    return joined
