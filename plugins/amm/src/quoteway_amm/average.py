"""What pools give on average for an amount, all pools at once, in floats."""

from __future__ import annotations

import numpy as np

from quoteway_amm.pieces import Floats, Integers, Pieces


def average_rates(pieces: Pieces, zero_for_one: bool, amounts: Floats) -> Floats:
    """Returns per pool the output per unit of an input, which must be positive, fee included.

    A pool that cannot take the whole input gives all that it has: it refuses the swap, so this is too much.
    """
    kept = pieces.kept_down if zero_for_one else pieces.kept_up
    taken = amounts * kept * kept
    ends, sign = (pieces.first, -1) if zero_for_one else (pieces.last, 1)
    totals = pieces.paid0 if zero_for_one else -pieces.gained1
    beyond = _steps(totals, pieces.home, sign, np.abs(ends - pieces.home), taken)
    full = totals[ends] < taken
    # The piece where the input ends, from the boundary before it.
    near = pieces.home + sign * np.maximum(beyond - 1, 0)
    piece = np.maximum(near - 1, pieces.first) if zero_for_one else near
    rest = taken - totals[near]
    edge = pieces.edges[near]
    with np.errstate(over="ignore"):
        moved = rest / np.maximum(pieces.liquidity[piece], 1e-300)
    if zero_for_one:
        given = pieces.gained1[near] + rest * edge * edge / (1 + moved * edge)
        most = pieces.gained1[ends]
    else:
        given = rest / (edge * (edge + moved)) - pieces.paid0[near]
        most = -pieces.paid0[ends]
    return np.asarray(np.where(full, most, given) / amounts)


def _steps(totals: Floats, home: Integers, sign: int, counts: Integers, taken: Floats) -> Integers:
    """Returns how many boundaries from `home` the total reaches `taken`, or `counts`: bisection of all."""
    low, high = np.zeros_like(counts), counts.copy()
    for _ in range(int(counts.max(initial=0)).bit_length()):
        middle = (low + high) // 2
        reached = totals[home + sign * middle] >= taken
        high = np.where(reached, middle, high)
        low = np.where(reached, low, np.minimum(middle + 1, high))
    return high
