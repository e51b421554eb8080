"""Tables of a PostgreSQL index. Each is divided by chain: every key, lookup and reorganisation is of one."""

from __future__ import annotations

from typing import Final

from quoteway_indexer.stores.lookups import LOOKUPS
from quoteway_indexer.tables import Table

SCHEMA: Final = "quoteway_index"
TYPES: Final = {
    "int32": "integer",
    "int64": "bigint",
    "float": "double precision",
    "text": "text",
    "bytes": "bytea",
    "address": "bytea",
    "bytes32": "bytea",
    "int256": "numeric(78,0)",
    "uint256": "numeric(78,0)",
}
OWN: Final = (
    "CREATE TABLE block (chain_id bigint, number bigint, hash bytea NOT NULL, parent_hash bytea NOT NULL,"
    " timestamp bigint NOT NULL, PRIMARY KEY (chain_id, number))",
    "CREATE TABLE span (chain_id bigint, source text, version integer, first bigint, last bigint,"
    " PRIMARY KEY (chain_id, source, version, first))",
    "CREATE TABLE lease (chain_id bigint, source text, holder text NOT NULL, expires timestamptz NOT NULL,"
    " PRIMARY KEY (chain_id, source))",
    "CREATE TABLE note (chain_id bigint PRIMARY KEY, text text NOT NULL)",
    "CREATE TABLE revision (number bigint NOT NULL)",
    "INSERT INTO revision VALUES (0)",
)
CHANGE: Final = "CREATE TABLE IF NOT EXISTS change (revision bigint PRIMARY KEY, data bytea NOT NULL)"
"""What the newest commits changed, for readers that keep rows."""


def create_table(table: Table) -> list[str]:
    """Returns the statements that make a table and its indexes."""
    columns = ", ".join(f"{column.name} {TYPES[column.type]}" for column in table.columns)
    key = f"PRIMARY KEY ({', '.join(table.key)})"
    lookups = [
        f"CREATE INDEX ON {table.name} (chain_id, {columns})" for columns in LOOKUPS.get(table.name, ())
    ]
    return [f"CREATE TABLE {table.name} ({columns}, {key}) PARTITION BY LIST (chain_id)", *lookups]


def partition(table: Table, chain_id: int) -> str:
    """Returns the name of the part of a table that has the rows of a chain."""
    return f"{table.name}_{chain_id}"
