"""Reads of an open DuckDB index, from any thread, while its one writer commits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import duckdb

from quoteway_indexer.changes import ChangeLog, Changes, Mark
from quoteway_indexer.store import Query, Span, StoreError
from quoteway_indexer.stores.arrow_columns import packed
from quoteway_indexer.stores.columns import PackedColumn
from quoteway_indexer.stores.duckdb_sql import DuckDBDialect
from quoteway_indexer.stores.spans import by_block
from quoteway_indexer.stores.sql import statement

_BATCH_ROWS: Final = 1 << 17
_DIALECT: Final = DuckDBDialect()


@contextmanager
def duckdb_errors() -> Iterator[None]:
    """Raises errors of DuckDB as ``StoreError``."""
    try:
        yield
    except duckdb.Error as error:
        raise StoreError(f"DuckDB refused: {str(error).splitlines()[0]}") from error


class DuckDBReads:
    """Reads through a connection: each thread has a cursor of its own, which sees the newest commit."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._own = threading.local()
        self.log = ChangeLog()
        self._before = "", 0

    def columns(self, query: Query) -> list[PackedColumn]:
        """Returns the columns of a query's ``Statement``."""
        with duckdb_errors():
            return _columns(self._cursor(), query)

    def read(self, query: Query) -> tuple[int, list[PackedColumn]]:
        """Returns the columns of a query's ``Statement``, and the revision that they are of."""
        with duckdb_errors():
            cursor = self._cursor()
            cursor.begin()
            try:
                return _revision(cursor), _columns(cursor, query)
            finally:
                # It wrote nothing, and may have failed.
                cursor.rollback()

    def spans(self, chain_id: int) -> list[Span]:
        """See ``Reader.spans``."""
        with duckdb_errors():
            rows = self._cursor().execute(
                "SELECT source, version, first, last FROM span WHERE chain_id = ?", [chain_id]
            )
            return by_block(Span(*row) for row in rows.fetchall())

    def revision(self) -> int:
        """See ``Reader.revision``."""
        with duckdb_errors():
            return _revision(self._cursor())

    def changes(self, mark: Mark) -> Changes:
        """See ``ChangingReader.changes``."""
        newest, commits = self.log.since(mark)
        if newest.number:
            return Changes(newest, newest.number, commits)
        known, revision = self._before
        if known != newest.log:  # this process has not committed yet
            revision = self.revision()
            self._before = newest.log, revision
        return Changes(newest, revision, commits)

    def notes(self) -> dict[str, str]:
        """Returns the JSON texts of ``Store.note``, by chain id as text."""
        with duckdb_errors():
            rows = self._cursor().execute("SELECT chain_id, text FROM note").fetchall()
        return {str(chain_id): text for chain_id, text in rows}

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        cursor = getattr(self._own, "cursor", None)
        if cursor is None:
            cursor = self._own.cursor = self._connection.cursor()
        return cursor


def _columns(cursor: duckdb.DuckDBPyConnection, query: Query) -> list[PackedColumn]:
    wanted = statement(query, _DIALECT)
    result: Any = cursor.sql(wanted.text, params=wanted.parameters)
    return packed(result.to_arrow_reader(_BATCH_ROWS).read_all())


def _revision(cursor: duckdb.DuckDBPyConnection) -> int:
    # All rows: a cursor with an unfinished result can do nothing else.
    ((number,),) = cursor.execute("SELECT number FROM revision").fetchall()
    return int(number)
