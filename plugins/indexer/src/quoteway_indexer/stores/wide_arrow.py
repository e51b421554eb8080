"""Columns of 256 bits between Arrow and DuckDB (see ``wide``)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from quoteway_indexer.stores.wide import LIMIT

_DECIMAL: Final = pa.decimal128(38)


def split_column(column: Any, signed: bool) -> tuple[pa.Array, pa.Array]:
    """Returns the decimals and the 32 bytes of a column of 32-byte binaries: a row has one or none."""
    array = contiguous(column)
    rows = len(array)
    known = np.ones(rows, dtype=bool) if array.null_count == 0 else array.is_valid().to_numpy(False)
    data = array.buffers()[1]
    words = np.zeros((rows, 4), dtype=">u8")
    if data is not None and rows:
        start = array.offset * 32
        words = np.frombuffer(data, dtype=">u8", count=rows * 4, offset=start).reshape(rows, 4)
    upper = words[:, 2].astype("<i8")
    fits = (upper >= -LIMIT if signed else upper >= 0) & (upper < LIMIT)
    extension = (upper >> 63).view("<u8") if signed else np.uint64(0)
    fits &= (words[:, 0] == extension) & (words[:, 1] == extension)
    halves = np.empty((rows, 2), dtype="<u8")
    halves[:, 0] = words[:, 3]
    halves[:, 1] = words[:, 2]
    decimals = pa.Array.from_buffers(_DECIMAL, rows, [_bits(known & fits), pa.py_buffer(halves.tobytes())])
    if not (known & ~fits).any():
        return decimals, pa.nulls(rows, pa.binary(32))
    raw = words.copy()
    if signed:
        raw[:, 0] ^= np.uint64(1 << 63)
    return decimals, pa.Array.from_buffers(
        pa.binary(32), rows, [_bits(known & ~fits), pa.py_buffer(raw.tobytes())]
    )


def contiguous(column: Any) -> pa.Array:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], pa.binary(32))
    return array if array.type == pa.binary(32) else array.cast(pa.binary(32))


def _bits(known: np.ndarray[Any, np.dtype[np.bool_]]) -> Any:
    return pa.py_buffer(np.packbits(known, bitorder="little").tobytes())
