"""Arrow tables as packed columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from quoteway_indexer.stores.columns import PackedColumn


def packed(table: pa.Table) -> list[PackedColumn]:
    """Returns the columns of a result of DuckDB."""
    return [_column(column) for column in table.itercolumns()]


def _column(column: pa.ChunkedArray) -> PackedColumn:
    rows = len(column)
    if column.null_count == rows:
        return PackedColumn("null", rows)
    values = pa.concat_arrays(column.chunks)
    known = values.is_valid().to_numpy(zero_copy_only=False).tobytes() if values.null_count else b""
    if pa.types.is_integer(values.type):
        return PackedColumn("int", rows, _numbers(values, pa.int64(), "<i8"), known)
    if pa.types.is_floating(values.type):
        return PackedColumn("float", rows, _numbers(values, pa.float64(), "<f8"), known)
    if pa.types.is_decimal(values.type):
        return _wide(values, known)
    offsets = np.frombuffer(values.buffers()[1], "<i4", rows + 1, values.offset * 4)
    data = values.buffers()[2]
    content = b"" if data is None else memoryview(data)[offsets[0] : offsets[-1]].tobytes()
    ends = (offsets[1:] - offsets[0]).tobytes()
    return PackedColumn("text" if pa.types.is_string(values.type) else "bytes", rows, content, known, ends)


def _numbers(values: Any, type_: pa.DataType, layout: str) -> bytes:
    values = values.cast(type_)
    return np.frombuffer(values.buffers()[1], layout, len(values), values.offset * 8).tobytes()


def _wide(values: Any, known: bytes) -> PackedColumn:
    """Returns a column of 128 bits, or of 64 when its values need no more."""
    rows = len(values)
    halves = np.frombuffer(values.buffers()[1], "<i8", rows * 2, values.offset * 16).reshape(rows, 2)
    small = halves[:, 1] == halves[:, 0] >> 63
    if known:
        small |= np.frombuffer(known, np.bool_) == 0
    if small.all():
        return PackedColumn("int", rows, halves[:, 0].tobytes(), known)
    return PackedColumn("wide", rows, halves.tobytes(), known)
