"""What the first unit of each token gives of one token along its best path, after fees.

No path gives more than the amount times its token's price. Without arbitrage no pool has a profit at these
prices, so this bounds every flow too. For a small trade it is tight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quoteway_amm.pieces import Flags, Floats, Pieces

_MOST_HOPS = 16
_FAR = 1e3
"""Prices further from those without a trade come from circles of pools with a profit, not from paths."""


@dataclass(frozen=True, slots=True)
class Spot:
    """`prices`: per node, in units of the output token and positive. `rounds[hops]`: along paths of at most
    so many pools, 0 where there is none. The last round is for paths of any length.

    Tokens without a path to the output have a price so low that nothing is traded for them. `settled` is
    False when a circle of pools has a profit: then longer ways give ever more.
    """

    prices: Floats
    rounds: tuple[Floats, ...]
    settled: bool


def best_rates(pieces: Pieces, size: int, down: Flags | None = None, up: Flags | None = None) -> Floats:
    """Returns the best rate of the first unit between each two nodes, after fees; 0 where no pool trades.

    `down` and `up` say which pools may trade zero_for_one and back; None: all.
    """
    rates = np.zeros((size, size))
    falling, rising = np.exp(2 * pieces.low), np.exp(-2 * pieces.high)
    if down is not None:
        falling = np.where(down, falling, 0.0)
    if up is not None:
        rising = np.where(up, rising, 0.0)
    np.maximum.at(rates, (pieces.token0, pieces.token1), falling)
    np.maximum.at(rates, (pieces.token1, pieces.token0), rising)
    return rates


def spot(rates: Floats, node_out: int, idle: Floats) -> Spot:
    """Returns the greatest products of rates. `idle`: prices of the tokens without a trade."""
    prices = np.zeros(len(idle))
    prices[node_out] = 1.0
    rounds = [prices]
    settled = False
    for _ in range(_MOST_HOPS):
        better = np.maximum(prices, (rates * prices).max(axis=1))
        # A cycle with a profit is no path.
        better[node_out] = 1.0
        settled = np.array_equal(better, prices)
        if settled:
            break
        prices = better
        rounds.append(prices)
    reaching = prices > 0
    least = float((prices[reaching] / idle[reaching]).min())
    return Spot(np.where(reaching, prices, idle * least / 2), tuple(rounds), settled)


def start_prices(spot: Spot, idle: Floats, node_out: int) -> Floats:
    """Returns prices from which to look for the best ones: at spot, or those of `idle` where spot is far off.

    A circle of pools with a large profit multiplies spot prices until floats overflow.
    """
    scaled = idle / idle[node_out]
    near = spot.settled or bool((np.abs(np.log(spot.prices / scaled)) < np.log(_FAR)).all())
    return spot.prices if near else scaled
