"""Arrow tables as the CSV that PostgreSQL copies, made column by column and not value by value."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from quoteway_indexer.stores.wide_arrow import split_column
from quoteway_indexer.tables import Table


def csv_rows(table: Table, rows: pa.Table) -> bytes:
    """Returns rows in the order of a table's columns. A null is an empty field, a text is quoted."""
    columns = [
        _integers(rows[column.name], column.type == "int256")
        if column.type in ("int256", "uint256")
        else _text(rows[column.name])
        for column in table.columns
    ]
    names = [column.name for column in table.columns]
    out = io.BytesIO()
    csv.write_csv(
        pa.table(columns, names=names), out, csv.WriteOptions(include_header=False, quoting_style="needed")
    )
    return out.getvalue()


def _text(column: Any) -> Any:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    if not (pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind)):
        return column
    array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], pa.binary())
    return _hexadecimal(array.cast(pa.binary()))


def _hexadecimal(array: pa.Array) -> pa.Array:
    """Returns bytes as PostgreSQL reads them, such as ``\\x00ff``."""
    offsets = np.frombuffer(array.buffers()[1] or b"\0" * 4, "<i4", len(array) + 1, array.offset * 4)
    data = memoryview(array.buffers()[2] or b"")[offsets[0] : offsets[-1]]
    digits = pa.StringArray.from_buffers(
        len(array), pa.py_buffer(((offsets - offsets[0]) * 2).tobytes()), pa.py_buffer(data.hex().encode())
    )
    prefixed = pc.binary_join_element_wise("\\x", digits, "")
    return pc.if_else(array.is_valid(), prefixed, pa.scalar(None, pa.string()))


def _integers(column: Any, signed: bool) -> pa.Array:
    decimals, raw = split_column(column, signed)
    text = decimals.cast(pa.string())
    if raw.null_count == len(raw):
        return text
    bias = 1 << 255 if signed else 0
    wide = [None if one is None else str(int.from_bytes(one, "big") - bias) for one in raw.to_pylist()]
    return pc.coalesce(text, pa.array(wide, pa.string()))
