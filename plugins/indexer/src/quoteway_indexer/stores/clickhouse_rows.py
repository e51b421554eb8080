"""Arrow tables of rows as ClickHouse keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from quoteway_indexer.store import IndexedBlock
from quoteway_indexer.stores.batches import arrow_schema
from quoteway_indexer.stores.clickhouse_schema import BLOCK
from quoteway_indexer.stores.wide_arrow import contiguous
from quoteway_indexer.tables import Table


def stored_rows(table: Table, rows: pa.Table, number: int, writer: int) -> pa.Table:
    """Returns rows with their commit, and with integers of 256 bits in ClickHouse's order of bytes."""
    columns = {
        column.name: _reversed(rows[column.name])
        if column.type in ("int256", "uint256")
        else _plain(rows[column.name])
        for column in table.columns
    }
    for name, value in (("commit_number", number), ("writer", writer)):
        columns[name] = pa.array(np.full(rows.num_rows, value, np.uint64))
    return pa.table(columns)


def block_table(chain_id: int, blocks: Sequence[IndexedBlock]) -> pa.Table:
    """Returns known blocks as a table."""
    rows = [(chain_id, each.number, each.hash, each.parent_hash, each.timestamp) for each in blocks]
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=arrow_schema(BLOCK))


def _plain(column: Any) -> Any:
    """Returns a column that has texts and bytes themselves, of any length."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return column.cast(pa.binary() if pa.types.is_fixed_size_binary(kind) else kind)


def _reversed(column: Any) -> pa.Array:
    array = contiguous(column)
    words = np.zeros((len(array), 32), np.uint8)
    data = array.buffers()[1]
    if data is not None and len(array):
        words = np.frombuffer(data, np.uint8, len(array) * 32, array.offset * 32).reshape(-1, 32)
    known = array.is_valid().to_numpy(zero_copy_only=False)
    bits = pa.py_buffer(np.packbits(known, bitorder="little").tobytes())
    return pa.Array.from_buffers(
        pa.binary(32), len(array), [bits, pa.py_buffer(np.ascontiguousarray(words[:, ::-1]))]
    )
