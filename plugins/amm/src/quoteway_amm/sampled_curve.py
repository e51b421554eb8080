"""Curves of pools whose formula has no piece of constant liquidity: sampled, and never below the formula.

Between two samples the curve is two pieces of one liquidity, one from each sample with the formula's price
there. A liquidity that is nowhere below the formula's keeps both pieces above it: the price falls no faster.
They meet in between, where the price drops from the first to the second. The distance is greatest there; an
interval is halved until it is small. At the samples the distance is 0, so it does not add up.

That no liquidity between three near samples exceeds their parabola is an assumption about these formulas,
which are smooth between the balance and the ends. It is tested in random states, not proven.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import NamedTuple

from quoteway_amm.curve import Curve, Segment

UNIT = 1 << 64
"""One base unit in `Sample`."""

ROOT_BITS = 128
_ROOT_ONE = 1 << ROOT_BITS
_ROOT_SQUARE = 1 << 2 * ROOT_BITS
_Q96_SHIFT = ROOT_BITS - 96
_SQRT_LIMIT = 1 << 256

MAX_ERROR = 5e-6
"""Of an output from a millionth to nine tenths of the reserve, the curve is at most so much above it."""

_TOLERANCE = MAX_ERROR / 2
_LOOSE = 1e-4
"""Beyond nine tenths of the reserve, where nobody trades."""

_MOST_SAMPLES = 400
_SHARES = ((1, 1 << 20), (1, 1 << 14), (1, 1 << 9), (1, 1 << 5), (1, 4))
"""Shares of the reserve of the output at which the first samples are."""

_TAIL = 128
"""The last sample leaves so small a share of the reserve at the balance, or of the reserve."""

_STRAIGHT = 20
"""A piece with a liquidity so many binary digits greater is almost a straight line."""

_FLAT = 40
"""A root that falls by so few of its binary digits counts as constant."""


class Sample(NamedTuple):
    """A trade from a pool's state: amounts in 1 / `UNIT` base units, without fee.

    `root` is the square root of the price after the trade, in base units out per base unit in, times
    2^`ROOT_BITS`. `liquidity`, in 1 / `UNIT`, is about that of the formula there: `2 p^1.5 / -dp/dx`.
    """

    amount_in: int
    amount_out: int
    root: int
    liquidity: int


class _Piece(NamedTuple):
    """Roots at both ends, liquidity, and the amounts in between; `sample` is the one at the end, if any."""

    start: int
    end: int
    liquidity: int
    paid: int
    gained: int
    sample: Sample | None = None


def root_of(numerator: int, denominator: int) -> int:
    """Returns the square root of a price as in `Sample`."""
    return isqrt((numerator << 2 * ROOT_BITS) // denominator)


def liquidity_of(value: float) -> int:
    """Returns a liquidity in base units, of any size, as in `Sample`."""
    return int(min(max(value, 1.0), 1e150)) * UNIT if value >= 2**53 else max(int(value * UNIT), 1)


def sampled_curve(
    zero_for_one: bool,
    sample: Callable[[int], Sample],
    most_out: int,
    kept: int,
    whole: int,
    excess: Callable[[list[Sample]], int],
    balanced_out: int | None = None,
) -> Curve:
    """Returns the curve of a formula, concave, at most `MAX_ERROR` above it.

    `sample(amount_out)` is the trade with that output. `most_out`, in 1 / `UNIT` base units, is the reserve
    of the output, and `balanced_out` the output at which the two balances are equal, negative when they were;
    None: `most_out` is the most that the contract gives. `kept / whole` of an input are traded. `excess`
    says, from the samples, by how many base units rounding may favour the trader.
    """
    samples, pieces = _sampled(sample, _first_amounts(most_out, balanced_out))
    last = samples[-1]
    if balanced_out is not None:
        # Beyond, the liquidity of these formulas falls. Without a price the whole reserve has come out.
        rest = -(-(most_out - last.amount_out) * _ROOT_ONE // max(last.root, 1))
        pieces.append(_Piece(last.root, 0, max(last.liquidity, rest) + 1, 0, 0))
    segments, missing = _segments(zero_for_one, pieces)
    end = segments[-1].sqrt_price_lo_x96 if zero_for_one else segments[-1].sqrt_price_hi_x96
    # What a sample's input is cut off by, at the best price.
    finest = (4 * samples[0].root ** 2 >> 2 * ROOT_BITS) // UNIT
    excess_out = missing + finest + excess(samples) + 1
    return Curve(zero_for_one, tuple(segments), kept, whole, end, True, excess_out)


def _first_amounts(most_out: int, balanced_out: int | None) -> list[int]:
    """Returns the outputs at which to begin: 0, the balance, and shares of what comes out and of what stays.

    The liquidity is greatest, or least, at the balance, and falls towards the end.
    """
    if balanced_out is None:
        amounts = {most_out * part // whole for part, whole in (*_SHARES, (3, 4), (1, 1))}
        return sorted({0, *amounts})
    amounts = {most_out * part // whole for part, whole in _SHARES}
    end = max(min(most_out, most_out - balanced_out) // _TAIL, UNIT)
    rest = most_out // 4
    while rest > end:
        amounts.add(most_out - rest)
        rest //= 4
    amounts.add(max(most_out - end, 0))
    if 0 < balanced_out < most_out - end:
        amounts.add(balanced_out)
    return sorted({0, *amounts})


def _sampled(sample: Callable[[int], Sample], amounts: list[int]) -> tuple[list[Sample], list[_Piece]]:
    """Returns samples so near to each other that the pieces between them, returned too, are exact enough."""
    first, *later = amounts
    exact = amounts[-1] * 92 // 100
    found = [sample(first)]
    pieces: list[_Piece] = []
    ahead = [sample(amount) for amount in reversed(later)]
    while ahead:
        before, after = found[-1], ahead[-1]
        middle = None
        if len(found) + len(ahead) < _MOST_SAMPLES:
            # Near the beginning, a share of the output counts: samples are geometric.
            first, last = before.amount_out, after.amount_out
            amount = isqrt(first * last) if first and last > 2 * first else (first + last) // 2
            middle = sample(amount)
        between = _between(before, middle, after)
        tolerance = _TOLERANCE if before.amount_out < exact else _LOOSE
        if middle is None or _flat(before, after) or _near(before, middle, after, between, tolerance):
            found.append(ahead.pop())
            pieces += between
        else:
            ahead.append(middle)
    return found, pieces


def _flat(before: Sample, after: Sample) -> bool:
    """Returns whether the price falls by next to nothing, less than what can be told from its rounding."""
    return before.root - after.root <= before.root >> _FLAT


def _near(before: Sample, middle: Sample, after: Sample, pieces: list[_Piece], tolerance: float) -> bool:
    """Returns whether the pieces between two samples contain the one in the middle, and tightly."""
    moved, left = middle.amount_in - before.amount_in, after.amount_in - middle.amount_in
    first, last = pieces[0], pieces[-1]
    if moved <= 0 or left <= 0:
        return True
    root = _inverse(_inverse(first.start) + moved * _ROOT_ONE // first.liquidity)
    if root >= first.end:
        out = before.amount_out + (first.liquidity * (first.start - root) >> ROOT_BITS)
    else:
        root = _inverse(max(_inverse(last.end) - left * _ROOT_ONE // last.liquidity, 1))
        out = after.amount_out - (last.liquidity * (root - last.end) >> ROOT_BITS)
    above = out - middle.amount_out
    # Where the pieces meet, apart from the middle, they are farther above: about by the square.
    farther = max(first.paid / moved, (moved + left - first.paid) / left) if len(pieces) > 1 else 1.0
    allowed = max(int(middle.amount_out * tolerance), UNIT // 16)
    return above >= -UNIT // 16 and above * max(farther, 1.0) ** 2 <= allowed


def _inverse(root: int) -> int:
    return _ROOT_SQUARE // max(root, 1)


def _between(before: Sample, middle: Sample | None, after: Sample) -> list[_Piece]:
    """Returns the pieces from one sample to the next: two, or one where they are the same.

    Their liquidity is not below the formula's, which is taken as a parabola through three samples.
    """
    paid, gained = after.amount_in - before.amount_in, after.amount_out - before.amount_out
    fallen = before.root - after.root
    risen = _inverse(after.root) - _inverse(before.root)
    if _flat(before, after) or risen <= 0 or paid <= 0 or gained <= 0:
        # At the first price for all of it: less is paid, so that the curve is above the formula.
        paid = min(max(paid, 0), max(gained, 0) * _ROOT_SQUARE // max(before.root * before.root, 1))
        end = min(after.root, before.root)
        return [_Piece(before.root, end, before.liquidity, paid, max(gained, 0), after)]
    mean = max(paid * _ROOT_ONE // risen, gained * _ROOT_ONE // fallen)
    liquidity = max(_most_liquidity(before, middle, after), mean)
    gap_inverse = risen - paid * _ROOT_ONE // liquidity
    gap = fallen - gained * _ROOT_ONE // liquidity
    if gap <= 0 or gap_inverse <= 0:
        return [_Piece(before.root, after.root, max(mean, 1), paid, gained, after)]
    # The roots a, b with a - b = gap and 1 / b - 1 / a = gap_inverse.
    product = gap * _ROOT_SQUARE // gap_inverse
    high = (gap + isqrt(gap * gap + 4 * product)) // 2
    high = min(max(high, after.root + gap), before.root)
    first_paid = liquidity * (_inverse(high) - _inverse(before.root)) >> ROOT_BITS
    first_gained = liquidity * (before.root - high) >> ROOT_BITS
    return [
        _Piece(before.root, high, liquidity, first_paid, first_gained),
        _Piece(high - gap, after.root, liquidity, paid - first_paid, gained - first_gained, after),
    ]


def _most_liquidity(before: Sample, middle: Sample | None, after: Sample) -> int:
    """Returns a liquidity that is not exceeded between two samples."""
    ends = before.liquidity, after.liquidity
    if middle is None:
        return max(ends) << _STRAIGHT
    most = max(*ends, middle.liquidity)
    if most > 4 * min(*ends, middle.liquidity):
        return most << _STRAIGHT
    bend = abs(sum(ends) - 2 * middle.liquidity)
    return most + bend // 2 + (most >> 10) + 1


def _segments(zero_for_one: bool, pieces: list[_Piece]) -> tuple[list[Segment], int]:
    """Returns the pieces with integer prices and liquidity, and what these lack at most, in base units."""
    segments: list[Segment] = []
    limit: int | None = None
    missing = given = taken = 0
    for piece in pieces:
        start, end = _x96(piece.start, zero_for_one), _x96(piece.end, zero_for_one)
        if zero_for_one:
            start = max(start if limit is None else min(start, limit), 2)
            end = min(max(end, 1), start - 1)
        else:
            start = max(start if limit is None else max(start, limit), 1)
            end = max(end, start + 1)
        limit = end
        low, high = min(start, end), max(start, end)
        # Between rounded prices, neither amount may become less.
        amount0, amount1 = (piece.paid, piece.gained) if zero_for_one else (piece.gained, piece.paid)
        least0 = -(-amount0 * low * high // ((high - low) << 96))
        least1 = -(-(amount1 << 96) // (high - low))
        least = max(least0, least1) if piece.end else piece.liquidity
        liquidity = max(-(-least // UNIT), 1)
        segments.append(Segment(low, high, liquidity))
        change0 = (liquidity * (high - low) * UNIT << 96) // (high * low)
        change1 = liquidity * (high - low) * UNIT >> 96
        taken += change0 if zero_for_one else change1
        given += change1 if zero_for_one else change0
        at = piece.sample
        if at is not None:
            beyond = (taken - at.amount_in) * at.root * at.root >> 2 * ROOT_BITS
            missing = max(missing, at.amount_out - given + beyond)
    return segments, -(-missing // UNIT)


def _x96(root: int, zero_for_one: bool) -> int:
    """Returns a square-root price (token1 per token0, Q64.96) of a root of out per in."""
    if zero_for_one:
        return root >> _Q96_SHIFT
    return min(_inverse(root) >> _Q96_SHIFT, _SQRT_LIMIT)
