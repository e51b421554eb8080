"""An index in a file of DuckDB. One process has the file open; others read through it (see ``serving``)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from quoteway_indexer.changes import Change, Committed, changes_of
from quoteway_indexer.store import Commit, IndexedBlock, Query, Row, Span, Store, StoreBusyError, StoreError
from quoteway_indexer.stores import dropping, schema
from quoteway_indexer.stores import spans as span_lists
from quoteway_indexer.stores.batches import check_commit, rollup_table
from quoteway_indexer.stores.columns import columns_of
from quoteway_indexer.stores.duckdb_reads import DuckDBReads, duckdb_errors
from quoteway_indexer.stores.duckdb_sql import DuckDBDialect, create_table, is_wide, stored_columns
from quoteway_indexer.stores.leases import check_leases
from quoteway_indexer.stores.sql import statement
from quoteway_indexer.stores.wide_arrow import split_column
from quoteway_indexer.tables import FACTS, OF_EVENTS, ROLLUPS, TABLES, Table

_OWN: Final = (
    "CREATE TABLE block (chain_id BIGINT, number BIGINT, hash BLOB, parent_hash BLOB, timestamp BIGINT)",
    "CREATE TABLE span (chain_id BIGINT, source VARCHAR, version BIGINT, first BIGINT, last BIGINT)",
    "CREATE TABLE lease (chain_id BIGINT, source VARCHAR, holder VARCHAR, expires DOUBLE)",
    "CREATE TABLE note (chain_id BIGINT, text VARCHAR)",
    "CREATE TABLE revision (number BIGINT)",
    "INSERT INTO revision VALUES (0)",
)
_BLOCK: Final = pa.schema(
    [
        ("chain_id", pa.int64()),
        ("number", pa.int64()),
        ("hash", pa.binary(32)),
        ("parent_hash", pa.binary(32)),
        ("timestamp", pa.int64()),
    ]
)


class DuckDBStore(Store):
    """Writes an index in a file of DuckDB.

    A fact whose log is known already replaces the row that is there, and blocks that are read again lose the
    rows that the source had of them: a range that is committed twice is there once.
    """

    def __init__(self, path: Path, *, memory_mb: int = 1024, threads: int = 2) -> None:
        """Opens the file. Raises ``StoreError`` when another process has it open, or it is none of DuckDB."""
        settings: dict[str, Any] = {
            "memory_limit": f"{memory_mb}MB",
            "threads": threads,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = duckdb.connect(path, config=settings)
        except (OSError, duckdb.Error) as error:
            raise _refusal(path, error) from None
        self.reads = DuckDBReads(self._connection)
        self._leases: dict[tuple[int, str], str] = {}
        self._changed: list[Change] = []
        self._revision: int | None = None

    def migrate(self) -> None:
        with self._transaction() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS index_schema (version INTEGER)")
            found = connection.execute("SELECT version FROM index_schema").fetchall()
            for text in schema.steps_from(found[0][0]) if found else _OWN:
                connection.execute(text)
            self._add_missing(connection)
            connection.execute("DELETE FROM index_schema")
            connection.execute("INSERT INTO index_schema VALUES (?)", [schema.VERSION])

    def lease(self, chain_id: int, source: str, holder: str, ttl_s: float) -> bool:
        now = time.time()
        with self._transaction() as connection:
            found = connection.execute(
                "SELECT holder, expires FROM lease WHERE chain_id = ? AND source = ?", [chain_id, source]
            ).fetchall()
            if found and found[0][0] != holder and found[0][1] > now:
                return False
            connection.execute("DELETE FROM lease WHERE chain_id = ? AND source = ?", [chain_id, source])
            connection.execute(
                "INSERT INTO lease VALUES (?, ?, ?, ?)", [chain_id, source, holder, now + ttl_s]
            )
        self._leases[chain_id, source] = holder
        return True

    def release(self, holder: str) -> None:
        self._leases = {key: value for key, value in self._leases.items() if value != holder}
        with self._transaction() as connection:
            connection.execute("DELETE FROM lease WHERE holder = ?", [holder])

    def commit(self, commit: Commit) -> None:
        check_commit(commit)
        chain_id = commit.chain_id
        with self._transaction() as connection:
            self._check_leases(connection, chain_id)
            known = self._spans(connection, chain_id)
            if commit.rewind_to is not None:
                self._rewind(connection, chain_id, commit.rewind_to)
                known = span_lists.cut(known, commit.rewind_to)
            again = span_lists.overlaps(known, commit.read)
            self._changed += changes_of(commit, overlaps=bool(again))
            for span in again:
                for name in FACTS:
                    connection.execute(
                        f"DELETE FROM {name} WHERE chain_id = ? AND block BETWEEN ? AND ? AND source = ?",  # noqa: S608
                        [chain_id, span.first, span.last, span.source],
                    )
            for name, facts in commit.facts.items():
                self._replace(connection, FACTS[name], facts, "block")
            self._add_blocks(connection, commit)
            if commit.read or commit.rewind_to is not None:
                self._write_spans(connection, chain_id, [*known, *commit.read])
            if commit.forget_hours_from is not None:
                for name in OF_EVENTS:
                    connection.execute(
                        f"DELETE FROM {name} WHERE chain_id = ? AND hour >= ?",  # noqa: S608
                        [chain_id, commit.forget_hours_from],
                    )
            for name, rows in commit.rollups.items():
                if rows:
                    table = ROLLUPS[name]
                    self._replace(connection, table, rollup_table(table, rows), table.time)
            self._count(connection)

    def spans(self, chain_id: int) -> list[Span]:
        return self.reads.spans(chain_id)

    def blocks(self, chain_id: int, first: int, last: int) -> list[IndexedBlock]:
        with duckdb_errors():
            rows = self._connection.execute(
                "SELECT number, hash, parent_hash, timestamp FROM block"
                " WHERE chain_id = ? AND number BETWEEN ? AND ? ORDER BY number",
                [chain_id, first, last],
            ).fetchall()
        return [IndexedBlock(*row) for row in rows]

    def fetch(self, query: Query) -> list[Row]:
        return statement(query, DuckDBDialect()).rows(columns_of(self.reads.columns(query)))

    def drop_source(self, chain_id: int, source: str) -> None:
        with self._transaction() as connection:
            self._changed += [Change(name, chain_id) for name in TABLES]
            for name, condition in dropping.conditions().items():
                connection.execute(f"DELETE FROM {name} WHERE {condition}", [chain_id, source])  # noqa: S608
            for name in (*FACTS, "span"):
                connection.execute(
                    f"DELETE FROM {name} WHERE chain_id = ? AND source = ?",  # noqa: S608
                    [chain_id, source],
                )
            self._count(connection)

    def prune(self, table: str, before: int) -> int:
        declared = TABLES[table]
        with self._transaction() as connection:
            self._changed.append(Change(table, None))
            deleted = connection.execute(
                f"DELETE FROM {declared.name} WHERE {declared.time} < ?",  # noqa: S608
                [before],
            ).fetchone()
            self._count(connection)
        return int(deleted[0]) if deleted else 0

    def note(self, chain_id: int, text: str) -> None:
        with self._transaction() as connection:
            connection.execute("DELETE FROM note WHERE chain_id = ?", [chain_id])
            connection.execute("INSERT INTO note VALUES (?, ?)", [chain_id, text])

    def close(self) -> None:
        with duckdb_errors():
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        self._changed, self._revision = [], None
        with duckdb_errors():
            self._connection.begin()
            try:
                yield self._connection
            except BaseException:
                self._connection.rollback()
                raise
            try:
                self._connection.commit()
            except BaseException:
                self.reads.log.clear()  # it may count all the same
                raise
            if self._revision is not None:
                self.reads.log.add(Committed(self._revision, self._changed))

    def _count(self, connection: duckdb.DuckDBPyConnection) -> None:
        counted = connection.execute("UPDATE revision SET number = number + 1 RETURNING number")
        ((self._revision,),) = counted.fetchall()

    @staticmethod
    def _add_missing(connection: duckdb.DuckDBPyConnection) -> None:
        found = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'main'"
        ).fetchall()
        tables = {table for table, _ in found}
        for table in TABLES.values():
            if table.name not in tables:
                connection.execute(create_table(table))
                continue
            for column in table.columns:
                for name, kind in stored_columns(column):
                    if (table.name, name) not in found:
                        connection.execute(f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}")

    def _check_leases(self, connection: duckdb.DuckDBPyConnection, chain_id: int) -> None:
        """Raises ``StoreError`` when another holder has taken over a source that this one holds."""
        held = {source: holder for (chain, source), holder in self._leases.items() if chain == chain_id}
        if held:
            rows = connection.execute("SELECT source, holder FROM lease WHERE chain_id = ?", [chain_id])
            check_leases(chain_id, held, dict(rows.fetchall()))

    @staticmethod
    def _spans(connection: duckdb.DuckDBPyConnection, chain_id: int) -> list[Span]:
        rows = connection.execute(
            "SELECT source, version, first, last FROM span WHERE chain_id = ?", [chain_id]
        ).fetchall()
        return [Span(*row) for row in rows]

    @staticmethod
    def _write_spans(connection: duckdb.DuckDBPyConnection, chain_id: int, spans: Sequence[Span]) -> None:
        connection.execute("DELETE FROM span WHERE chain_id = ?", [chain_id])
        rows = [(chain_id, s.source, s.version, s.first, s.last) for s in span_lists.joined(spans)]
        if rows:
            connection.executemany("INSERT INTO span VALUES (?, ?, ?, ?, ?)", rows)

    @staticmethod
    def _rewind(connection: duckdb.DuckDBPyConnection, chain_id: int, block: int) -> None:
        for table in TABLES.values():
            if any(column.name == "block" for column in table.columns):
                connection.execute(
                    f"DELETE FROM {table.name} WHERE chain_id = ? AND block > ?",  # noqa: S608
                    [chain_id, block],
                )
        connection.execute("DELETE FROM block WHERE chain_id = ? AND number > ?", [chain_id, block])

    @staticmethod
    def _add_blocks(connection: duckdb.DuckDBPyConnection, commit: Commit) -> None:
        if not commit.blocks:
            return
        rows = [(commit.chain_id, b.number, b.hash, b.parent_hash, b.timestamp) for b in commit.blocks]
        arrays = [list(column) for column in zip(*rows, strict=True)]
        incoming = pa.table(arrays, schema=_BLOCK)
        first, last = min(arrays[1]), max(arrays[1])
        connection.register("incoming", incoming)
        connection.execute(
            "DELETE FROM block USING incoming WHERE block.chain_id = ? AND block.number BETWEEN ? AND ?"
            " AND block.number = incoming.number",
            [commit.chain_id, first, last],
        )
        connection.execute("INSERT INTO block SELECT * FROM incoming")
        connection.unregister("incoming")

    @staticmethod
    def _replace(connection: duckdb.DuckDBPyConnection, table: Table, rows: pa.Table, range_by: str) -> None:
        if not rows.num_rows:
            return
        connection.register("incoming", _stored(table, rows))
        conditions = [f"{table.name}.{name} = incoming.{name}" for name in table.key]
        bounds: list[Any] = []
        if range_by in table.key:  # a row that is replaced may have another value in any other column
            edges = pc.min_max(rows[range_by])
            bounds = [edges["min"].as_py(), edges["max"].as_py()]
            conditions.append(f"{table.name}.{range_by} BETWEEN ? AND ?")
        connection.execute(
            f"DELETE FROM {table.name} USING incoming WHERE {' AND '.join(conditions)}",  # noqa: S608
            bounds,
        )
        connection.execute(f"INSERT INTO {table.name} BY NAME SELECT * FROM incoming")  # noqa: S608
        connection.unregister("incoming")


def _stored(table: Table, rows: pa.Table) -> pa.Table:
    arrays: dict[str, Any] = {}
    for column in table.columns:
        values = rows[column.name]
        if is_wide(column):
            arrays[column.name], arrays[f"{column.name}_raw"] = split_column(values, column.type == "int256")
        else:
            arrays[column.name] = values
    return pa.table(arrays)


def _refusal(path: Path, error: Exception) -> StoreError:
    text = str(error)
    if "lock" in text.lower():
        return StoreBusyError(f"the index {path.name!r} is open in another process: one process writes it")
    return StoreError(f"the index {path.name!r} cannot be opened: {text.splitlines()[0]}")
