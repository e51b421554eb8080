"""Tables of a ClickHouse index.

Every row says in ``commit_number`` and ``writer`` which commit wrote it: see ``clickhouse_state``.
"""

from __future__ import annotations

from typing import Final

from quoteway_indexer.stores.lookups import LOOKUPS
from quoteway_indexer.tables import TABLES, Column, Table

_TYPES: Final = {
    "int32": "Int32",
    "int64": "Int64",
    "float": "Float64",
    "text": "String",
    "bytes": "String",
    "address": "String",
    "bytes32": "String",
    "int256": "Int256",
    "uint256": "UInt256",
}
# A statement that the driver sends again after a lost connection counts once. Rows are on the disk before
# the commit that they belong to: otherwise a power failure could keep the commit and lose its rows.
_KEPT: Final = "non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1"
LOG_PART: Final = 1000
OWN: Final = (
    # The block number is the order in which the server added entries.
    "CREATE TABLE IF NOT EXISTS commit_log (number UInt64, writer UInt64,"
    " at_ms Int64 DEFAULT toUnixTimestamp64Milli(now64(3)), state String CODEC(ZSTD))"
    f" ENGINE = MergeTree PARTITION BY intDiv(number, {LOG_PART}) ORDER BY number"
    f" SETTINGS enable_block_number_column = 1, {_KEPT}",
    "CREATE TABLE IF NOT EXISTS note (chain_id Int64, at DateTime64(9) DEFAULT now64(9), text String)"
    " ENGINE = ReplacingMergeTree(at) ORDER BY chain_id",
)
BLOCK: Final = Table(
    "block",
    "rollup",
    (
        Column("chain_id", "int64"),
        Column("number", "int64"),
        Column("hash", "bytes32"),
        Column("parent_hash", "bytes32"),
        Column("timestamp", "int64"),
    ),
    ("chain_id", "number"),
    "timestamp",
)
"""The known blocks. A block that is added again replaces the one with its number."""


def stored_tables() -> list[Table]:
    """Returns the tables whose rows belong to commits."""
    return [*TABLES.values(), BLOCK]


def create_table(table: Table) -> str:
    """Returns the statement that makes a table.

    Facts are in the order of blocks: each commit looks for the rows that it replaces by block, and most reads
    are of ranges of blocks. Other columns have filters that tell which parts of a table do not have a value.
    """
    columns = ", ".join(f"{column.name} {stored_type(table, column)}" for column in table.columns)
    indexes = "INDEX written commit_number TYPE minmax"
    for place, names in enumerate(LOOKUPS.get(table.name, ())):
        first = names.split(", ")[0]
        kind = "minmax" if first == table.time else "bloom_filter"
        indexes += f", INDEX by_{place} {first} TYPE {kind}"
    return (
        f"CREATE TABLE IF NOT EXISTS {table.name}"
        f" ({columns}, commit_number UInt64, writer UInt64, {indexes})"
        f" ENGINE = MergeTree PARTITION BY chain_id ORDER BY ({', '.join(table.key)}, commit_number)"
        f" SETTINGS {_KEPT}"
    )


def stored_type(table: Table, column: Column) -> str:
    """Returns the type of a column: whatever is not part of the key may be null."""
    kind = _TYPES[column.type]
    return kind if column.name in table.key else f"Nullable({kind})"
