"""Checks what is committed, and makes Arrow tables of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quoteway_indexer.store import Commit, Row, StoreError
from quoteway_indexer.tables import FACTS, LOG, ROLLUPS, Column, Table

_ARROW: Final = {
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
    "bytes": pa.binary(),
    "address": pa.binary(20),
    "bytes32": pa.binary(32),
    "int256": pa.binary(32),
    "uint256": pa.binary(32),
}


def arrow_schema(table: Table) -> pa.Schema:
    """Returns the Arrow types of a table's columns, as ``Commit`` has them."""
    return pa.schema([(column.name, _ARROW[column.type]) for column in table.columns])


def check_commit(commit: Commit) -> None:
    """Raises ``StoreError`` for tables that are unknown, of another chain, or have a key twice."""
    for name, facts in commit.facts.items():
        if name not in FACTS:
            raise StoreError(f"{name!r} is no table of facts; they are {', '.join(FACTS)}")
        _check_facts(FACTS[name], facts, commit.chain_id)
    for name, rows in commit.rollups.items():
        if name not in ROLLUPS:
            raise StoreError(f"{name!r} is no rollup; they are {', '.join(ROLLUPS)}")
        _check_rollup(ROLLUPS[name], rows, commit.chain_id)


def rollup_table(table: Table, rows: Sequence[Row]) -> pa.Table:
    """Returns rows, in the order of the table's columns, as an Arrow table."""
    columns = zip(*rows, strict=True)
    arrays = [_array(column, values) for column, values in zip(table.columns, columns, strict=True)]
    return pa.table(arrays, schema=arrow_schema(table))


def _array(column: Column, values: tuple[Any, ...]) -> pa.Array:
    if column.type not in ("int256", "uint256"):
        return pa.array(values, _ARROW[column.type])
    signed = column.type == "int256"
    try:
        words = [None if value is None else value.to_bytes(32, "big", signed=signed) for value in values]
    except OverflowError:
        raise StoreError(f"a value of column {column.name!r} is no {column.type}") from None
    return pa.array(words, pa.binary(32))


def _check_facts(table: Table, facts: pa.Table, chain_id: int) -> None:
    expected = {column.name for column in table.columns}
    if set(facts.column_names) != expected:
        differing = ", ".join(sorted(set(facts.column_names) ^ expected))
        raise StoreError(f"facts of {table.name!r} must have the declared columns; these differ: {differing}")
    if not facts.num_rows:
        return
    chains = pc.min_max(facts["chain_id"])
    if chains["min"].as_py() != chain_id or chains["max"].as_py() != chain_id:
        raise StoreError(f"facts of {table.name!r} are not all of chain {chain_id}")
    if any(facts[name].null_count for name in (*table.key, "source", table.time)):
        raise StoreError(f"facts of {table.name!r} must have a place, a source and a time")
    places = facts["block"].to_numpy().astype(np.int64) << 32 | facts["log_index"].to_numpy()
    items = table.key[len(LOG) :]
    if not items:
        if not (np.diff(places) > 0).all() and len(np.unique(places)) != len(places):
            raise StoreError(f"facts of {table.name!r} have two rows of one log")
        return
    keys = np.stack((places, *(facts[name].to_numpy() for name in items)), axis=1)
    if len(np.unique(keys, axis=0)) != len(keys):
        raise StoreError(f"facts of {table.name!r} have two rows of one item of a log")


def _check_rollup(table: Table, rows: Sequence[Row], chain_id: int) -> None:
    width = len(table.columns)
    if any(len(row) != width for row in rows):
        raise StoreError(f"a row of {table.name!r} must have {width} values")
    names = [column.name for column in table.columns]
    places = [names.index(name) for name in table.key]
    keys = {tuple(row[place] for place in places) for row in rows}
    if len(keys) != len(rows):
        raise StoreError(f"rows of {table.name!r} have one key twice")
    if any(key[0] != chain_id or None in key for key in keys):
        raise StoreError(f"rows of {table.name!r} must be of chain {chain_id} and have their whole key")
