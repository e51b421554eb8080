"""Facts and rollup rows for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from quoteway_indexer.stores.batches import arrow_schema
from quoteway_indexer.tables import TABLES

CHAIN = 31337
POOL = bytes.fromhex("aa" * 20)


def word(value: int | None, signed: bool = True) -> bytes | None:
    """Returns an integer as the 32 bytes that ``Commit.facts`` has."""
    return None if value is None else value.to_bytes(32, "big", signed=signed)


def facts(name: str, *rows: Mapping[str, Any], source: str = "dex", chain_id: int = CHAIN) -> pa.Table:
    """Returns a table of facts: each row names its block, and what is not null."""
    table = TABLES[name]
    filled = []
    for index, given in enumerate(rows):
        row = {
            "chain_id": chain_id,
            "source": source,
            "log_index": index,
            "timestamp": 1_700_000_000 + 12 * given["block"],
            "transaction_hash": given["block"].to_bytes(32, "big"),
            **given,
        }
        for column in table.columns:
            if column.type in ("int256", "uint256"):
                row[column.name] = word(row.get(column.name), column.type == "int256")
        filled.append(row)
    return pa.Table.from_pylist(filled, schema=arrow_schema(table))


def row(name: str, **values: Any) -> tuple[Any, ...]:
    """Returns a row of a rollup in the order of its columns; what is not given is null."""
    values.setdefault("chain_id", CHAIN)
    values.setdefault("source", "dex")
    return tuple(values.get(column.name) for column in TABLES[name].columns)
