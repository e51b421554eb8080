"""Integers of 256 bits as DuckDB keeps them: a HUGEINT, and 32 bytes for the few values that do not fit.

A value fits when its upper 64 of 128 bits are within ``-_LIMIT`` and ``_LIMIT``, so that it has at most 38
decimal digits, as Arrow's decimals. The 32 bytes of other values are big-endian and moved by 2**255 for
signed types: as bytes they have the order of the numbers.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

_LIMIT: Final = 10**38 >> 64
_FITS: Final = _LIMIT << 64
_BIAS: Final = 1 << 255
DECIMAL: Final = pa.decimal128(38)


def split_column(column: Any, signed: bool) -> tuple[pa.Array, pa.Array]:
    """Returns the decimals and the 32 bytes of a column of 32-byte binaries: a row has one or none."""
    array = _contiguous(column)
    rows = len(array)
    known = np.ones(rows, dtype=bool) if array.null_count == 0 else array.is_valid().to_numpy(False)
    data = array.buffers()[1]
    words = np.zeros((rows, 4), dtype=">u8")
    if data is not None and rows:
        start = array.offset * 32
        words = np.frombuffer(data, dtype=">u8", count=rows * 4, offset=start).reshape(rows, 4)
    upper = words[:, 2].astype("<i8")
    fits = (upper >= -_LIMIT if signed else upper >= 0) & (upper < _LIMIT)
    extension = (upper >> 63).view("<u8") if signed else np.uint64(0)
    fits &= (words[:, 0] == extension) & (words[:, 1] == extension)
    halves = np.empty((rows, 2), dtype="<u8")
    halves[:, 0] = words[:, 3]
    halves[:, 1] = words[:, 2]
    decimals = pa.Array.from_buffers(DECIMAL, rows, [_bits(known & fits), pa.py_buffer(halves.tobytes())])
    if not (known & ~fits).any():
        return decimals, pa.nulls(rows, pa.binary(32))
    raw = words.copy()
    if signed:
        raw[:, 0] ^= np.uint64(1 << 63)
    return decimals, pa.Array.from_buffers(
        pa.binary(32), rows, [_bits(known & ~fits), pa.py_buffer(raw.tobytes())]
    )


def split_value(value: int, signed: bool) -> tuple[int | None, bytes | None]:
    """Returns the integer, or the 32 bytes, as which DuckDB keeps a value."""
    if -_FITS <= value < _FITS:
        return value, None
    return None, (value + _BIAS if signed else value).to_bytes(32, "big")


def joined_value(fitting: int | None, raw: bytes | None, signed: bool) -> int | None:
    """Returns the value of which DuckDB keeps the integer or the 32 bytes."""
    if raw is None:
        return fitting
    return int.from_bytes(raw, "big") - (_BIAS if signed else 0)


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


def _contiguous(column: Any) -> pa.Array:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], pa.binary(32))
    return array if array.type == pa.binary(32) else array.cast(pa.binary(32))


def _bits(known: np.ndarray[Any, np.dtype[np.bool_]]) -> Any:
    return pa.py_buffer(np.packbits(known, bitorder="little").tobytes())
