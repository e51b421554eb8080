"""The curves of pools as arrays of floats. Needs numpy: import it in a solver process only."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from quoteway_amm.curve import Curve
from quoteway_amm.pool import Pool

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_Q96 = float(1 << 96)
KEY_SPAN = 256.0
"""Wider than the logarithms of all square-root prices: keeps the boundaries of pools apart."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The curves of several pools, both directions joined at the pool's price.

    Per pool: `token0`, `token1` (numbers of nodes), `price` (square root, token1 per token0), `kept_down` and
    `kept_up` (root of the share of the input after the fee, zero_for_one and back), `home` (its price among
    the boundaries), `first` and `last` boundary. Per boundary: `edges` (square-root price), `paid0` and
    `gained1` (token0 in and token1 out, fee excluded, from the pool's price to there; negative above it) and
    `liquidity` of the piece that begins there. A boundary is found by its key: `owner` of the pool times
    `KEY_SPAN` plus the logarithm of the square-root price. `depth`: liquidity near the pool's price. `low`
    and `high`: logarithms of the square-root prices below and above which the pool trades, after its fee,
    where its liquidity begins; infinite without any.
    """

    token0: Integers
    token1: Integers
    price: Floats
    kept_down: Floats
    kept_up: Floats
    home: Integers
    first: Integers
    last: Integers
    edges: Floats
    paid0: Floats
    gained1: Floats
    liquidity: Floats
    keys: Floats
    owner: Floats
    depth: Floats
    low: Floats
    high: Floats

    def take(self, pools: Integers, token0: Integers, token1: Integers) -> Pieces:
        """Returns some of the pools, with their nodes numbered anew."""
        return replace(
            self,
            token0=token0,
            token1=token1,
            price=self.price[pools],
            kept_down=self.kept_down[pools],
            kept_up=self.kept_up[pools],
            home=self.home[pools],
            first=self.first[pools],
            last=self.last[pools],
            owner=self.owner[pools],
            depth=self.depth[pools],
            low=self.low[pools],
            high=self.high[pools],
        )


def make_pieces(pools: list[Pool], curves: list[tuple[Curve, Curve]], ends: list[tuple[int, int]]) -> Pieces:
    edges: list[float] = []
    paid0: list[float] = []
    gained1: list[float] = []
    liquidity: list[float] = []
    home, first, price, kept, begins = [], [], [], [], []
    for pool, (up, down) in zip(pools, curves, strict=True):
        numerator, denominator = pool.mid_price(True)
        here = (numerator / denominator) ** 0.5
        first.append(len(edges))
        below = _walk(down, here)
        above = _walk(up, here)
        home.append(len(edges) + len(below))
        edges += [row[0] for row in reversed(below)] + [here] + [row[0] for row in above]
        paid0 += [row[1] for row in reversed(below)] + [0.0] + [row[1] for row in above]
        gained1 += [row[2] for row in reversed(below)] + [0.0] + [row[2] for row in above]
        # The liquidity of the piece that begins at each boundary.
        liquidity += [row[3] for row in reversed(below)] + [row[3] for row in above] + [0.0]
        price.append(here)
        # Beyond the known ticks there may be liquidity at the pool's price.
        begins.append(
            (
                _begin(below, here, 0.0 if down.complete else here),
                _begin(above, here, math.inf if up.complete else here),
            )
        )
        kept.append((down.fee_numerator / down.fee_denominator, up.fee_numerator / up.fee_denominator))
    start = np.array(first, dtype=np.int64)
    last = np.append(start[1:], len(edges)).astype(np.int64) - 1
    bounds, pool_liquidity = np.array(edges), np.array(liquidity)
    at = np.array(home, dtype=np.int64)
    beside = np.maximum(pool_liquidity[at], pool_liquidity[np.maximum(at - 1, start)]) if pools else bounds
    owner = np.repeat(np.arange(len(pools)), last - start + 1)
    with np.errstate(divide="ignore"):
        shares = np.sqrt(np.array(kept).reshape(-1, 2))
        after_fee = np.log(np.array(begins).reshape(-1, 2)) + np.log(shares) * (1, -1)
    return Pieces(
        token0=np.array([a for a, _ in ends], dtype=np.int64),
        token1=np.array([b for _, b in ends], dtype=np.int64),
        price=np.array(price),
        kept_down=shares[:, 0],
        kept_up=shares[:, 1],
        home=at,
        first=start,
        last=last,
        edges=bounds,
        paid0=np.array(paid0),
        gained1=np.array(gained1),
        liquidity=pool_liquidity,
        keys=owner * KEY_SPAN + np.log(bounds),
        owner=np.arange(len(pools), dtype=np.float64),
        depth=np.array(beside),
        low=after_fee[:, 0],
        high=after_fee[:, 1],
    )


def _begin(rows: list[tuple[float, float, float, float]], here: float, nowhere: float) -> float:
    """Returns the square-root price where the liquidity of `rows` begins; `nowhere` without any."""
    if not rows:
        return nowhere
    return here if rows[0][3] else rows[0][0]


def _walk(curve: Curve, here: float) -> list[tuple[float, float, float, float]]:
    """Returns per boundary: square-root price, token0 paid, token1 gained, liquidity up to it."""
    rows = []
    paid0 = gained1 = 0.0
    last = here
    for segment in curve.segments:
        low, high = segment.sqrt_price_lo_x96 / _Q96, segment.sqrt_price_hi_x96 / _Q96
        near, far = (high, low) if curve.zero_for_one else (low, high)
        # A sampled curve begins at the mid price but for its rounding.
        near = min(near, last) if curve.zero_for_one else max(near, last)
        if far == near or (far > near) == curve.zero_for_one:
            continue
        if abs(near - last) > 1e-15 * last:
            rows.append((near, paid0, gained1, 0.0))
        size = float(segment.liquidity)
        paid0 += size * (near - far) / (near * far)
        gained1 += size * (near - far)
        rows.append((far, paid0, gained1, size))
        last = far
    return rows
