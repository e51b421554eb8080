"""Integers of 256 bits as DuckDB keeps them: a HUGEINT, and 32 bytes for the few values that do not fit.

A value fits when its upper 64 of 128 bits are within ``-LIMIT`` and ``LIMIT``, so that it has at most 38
decimal digits, as Arrow's decimals. The 32 bytes of other values are big-endian and moved by 2**255 for
signed types: as bytes they have the order of the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

LIMIT: Final = 10**38 >> 64
_FITS: Final = LIMIT << 64
_BIAS: Final = 1 << 255


def split_value(value: int, signed: bool) -> tuple[int | None, bytes | None]:
    """Returns the integer, or the 32 bytes, as which DuckDB keeps a value."""
    if -_FITS <= value < _FITS:
        return value, None
    return None, (value + _BIAS if signed else value).to_bytes(32, "big")


def joined_values(fitting: Sequence[Any], raw: Sequence[Any], signed: bool) -> Sequence[Any]:
    """Returns the values of which DuckDB keeps the integers or the 32 bytes."""
    if not any(raw):
        return fitting
    bias = _BIAS if signed else 0
    return [
        one if other is None else int.from_bytes(other, "big") - bias
        for one, other in zip(fitting, raw, strict=True)
    ]


def joined_sum(
    count: int, low: int | None, high: int | None, raw: tuple[int | None, ...], signed: bool
) -> int | None:
    """Returns the sum of a column, None when no row has a value.

    ``count`` values fit and have the sums ``low`` of their lower 64 bits and ``high`` of the rest. ``raw`` is
    how many do not fit, and the sums of their four groups of 64 bits, the lowest first.
    """
    raw_count, *groups = (part or 0 for part in raw)
    if not count and not raw_count:
        return None
    total = (low or 0) + ((high or 0) << 64)
    total += sum(group << (64 * place) for place, group in enumerate(groups))
    return total - (raw_count * _BIAS if signed else 0)
