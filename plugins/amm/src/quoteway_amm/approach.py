"""Prices near the best ones, from which Newton's method of `dual.py` needs a few rounds.

At spot prices (`spot.py`) no pool has a profit, and those of the best paths are just about to trade. For a
larger trade other pools follow, one after the other, each with a kink that Newton's method does not see
before it is passed. So the kinks are rounded off: a pool begins to trade a little before it has a profit, as
much as a small share of the trade and of the pool's fee. Then the rounding narrows.
"""

from __future__ import annotations

import math

import numpy as np

from quoteway_amm.dual import Solution, Trades, laplacian, newton_step, slope_of, solve, trades_to
from quoteway_amm.pieces import Flags, Floats, Pieces

_WIDTHS = (0.01, 0.001)
"""What a pool trades at its kink, as shares of the trade."""

_OF_FEE = 0.03
"""The most that a kink is rounded off, as a share of the fee: both directions must stay apart."""

_TAIL = 5.0
"""Pools further from their kink than so many widths do not trade: it would be e^-5 of a width."""

_ROUNDS = 12
_NEAR = 0.3
_SHORTENINGS = 6
_DAMPING = 1e-9
_NEAR_DAMPING = 1e-4


def approach(
    pieces: Pieces, start: Floats, node_in: int, node_out: int, amount_in: float, down: Flags, up: Flags
) -> Floats:
    """Returns prices near the best ones. `start`: prices at which no pool has a profit, or hardly any."""
    prices = start / start[node_out]
    depth = pieces.depth * np.sqrt(prices[pieces.token0] * prices[pieces.token1]) / 2
    brake = laplacian(len(prices), pieces.token0, pieces.token1, np.where(down | up, depth, 0.0))
    low, high = np.where(down, pieces.low, -np.inf), np.where(up, pieces.high, np.inf)
    with np.errstate(divide="ignore", over="ignore"):
        fee = -np.log(np.maximum(pieces.kept_down, pieces.kept_up))
        traded = amount_in * prices[node_in] / np.maximum(depth, 1e-300)
    rounds = 0
    for share in _WIDTHS:
        # Never 0: a pool without a fee has the narrowest kink.
        width = np.maximum(np.minimum(share * traded, _OF_FEE * fee), 1e-15)
        trades = _rounded_trades(pieces, prices, width, low, high)
        slope = slope_of(pieces, trades, prices, node_in, amount_in)
        slope[node_out] = 0.0
        while rounds < _ROUNDS:
            rounds += 1
            before = float(np.abs(slope).sum())
            step = newton_step(pieces, trades, slope, brake, _DAMPING, node_out)
            falls, length = float(slope @ step), 1.0
            if not math.isfinite(falls):
                return np.asarray(prices)
            for _ in range(_SHORTENINGS):
                tried = prices * np.exp(length * step)
                trades = _rounded_trades(pieces, tried, width, low, high)
                slope = slope_of(pieces, trades, tried, node_in, amount_in)
                slope[node_out] = 0.0
                along = float(slope @ step)
                if along <= abs(falls) / 2:
                    break
                # Too far. Where the slope along the step would be 0 if it were straight, at first.
                length *= max(abs(falls) / (abs(falls) + along), 0.1) if length == 1.0 else 0.3
            if not np.isfinite(slope).all():
                return np.asarray(prices)
            prices = tried
            after = float(np.abs(slope).sum())
            if length > _NEAR and after < max(_NEAR * before, 0.1 * amount_in * prices[node_in]):
                break
    return np.asarray(prices)


def _rounded_trades(pieces: Pieces, prices: Floats, width: Floats, low: Floats, high: Floats) -> Trades:
    """Returns the best trades with kinks rounded off: at its kink, a pool trades `width * log(2)` more."""
    logs = np.log(prices)
    ratio = (logs[pieces.token0] - logs[pieces.token1]) / 2
    below, above = low - ratio, ratio - high
    beyond = np.maximum(below, above)
    pools = np.flatnonzero(beyond > -_TAIL * width)
    falling = below[pools] >= above[pools]
    narrow = width[pools]
    place = beyond[pools] / narrow
    moved = narrow * np.logaddexp(0.0, place)
    kept = np.where(falling, pieces.kept_down[pools], pieces.kept_up[pools])
    begin = np.where(falling, low[pools] - np.log(kept), high[pools] + np.log(kept))
    wanted = np.exp(begin + np.where(falling, -moved, moved))
    trades = trades_to(pieces, pools, falling, wanted, prices)
    trades.weight[:] /= 1 + np.exp(-place)
    return trades


def solve_from_spot(
    pieces: Pieces,
    spot_prices: Floats,
    node_in: int,
    node_out: int,
    amount_in: float,
    down: Flags | None = None,
    up: Flags | None = None,
) -> Solution:
    """Returns the best prices, as `dual.solve` does, from the spot prices of the output token."""
    count = len(pieces.price)
    down = np.ones(count, dtype=np.bool_) if down is None else down
    up = np.ones(count, dtype=np.bool_) if up is None else up
    near = approach(pieces, spot_prices, node_in, node_out, amount_in, down, up)
    return solve(pieces, near, node_in, node_out, amount_in, down, up, _NEAR_DAMPING)
