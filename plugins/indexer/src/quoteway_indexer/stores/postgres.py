"""An index in PostgreSQL: for several index processes, and for servers that read it directly."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from quoteway_indexer.changes import Change, changes_of
from quoteway_indexer.store import Commit, IndexedBlock, Query, Row, Span, Store, StoreError
from quoteway_indexer.stores import dropping, schema
from quoteway_indexer.stores import spans as span_lists
from quoteway_indexer.stores.batches import check_commit, rollup_table
from quoteway_indexer.stores.csv_rows import csv_rows
from quoteway_indexer.stores.leases import check_leases
from quoteway_indexer.stores.postgres_connection import CONNECT_TIMEOUT_S, FAILURES, connect, is_lost, refusal
from quoteway_indexer.stores.postgres_schema import CHANGE, OWN, SCHEMA, TYPES, create_table, partition
from quoteway_indexer.stores.postgres_sql import PostgresDialect, spans_of
from quoteway_indexer.stores.sql import statement
from quoteway_indexer.tables import FACTS, OF_EVENTS, ROLLUPS, TABLES, Table

T = TypeVar("T")

_LOCK_CHAIN: Final = "SELECT pg_advisory_xact_lock(hashtextextended('quoteway_index ' || $1::bigint, 0))"
_LOCK_SCHEMA: Final = "SELECT pg_advisory_xact_lock(hashtextextended('quoteway_index schema', 0))"

_CHANGES: Final = 100
"""The changes of so many commits are kept. Readers that ask less often forget what they have."""


class PostgresStore(Store):
    """Writes an index in PostgreSQL. Several processes may write different sources of one database.

    It connects when it is first used, and again after a connection was lost. A commit of a process that lost
    a lease is refused. Rows that are written twice are there once, as in ``DuckDBStore``.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Any = None
        self._leases: dict[tuple[int, str], str] = {}
        self._divided: set[int] = set()
        # The calls come from a thread that may have an event loop of its own.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="index-postgres", daemon=True)
        self._thread.start()

    def migrate(self) -> None:
        self._run(self._migrate())

    def lease(self, chain_id: int, source: str, holder: str, ttl_s: float) -> bool:
        return self._run(self._lease(chain_id, source, holder, ttl_s))

    def release(self, holder: str) -> None:
        self._leases = {key: value for key, value in self._leases.items() if value != holder}
        self._run(self._execute("DELETE FROM lease WHERE holder = $1", holder))

    def commit(self, commit: Commit) -> None:
        check_commit(commit)
        self._run(self._commit(commit))

    def spans(self, chain_id: int) -> list[Span]:
        return self._run(self._spans(chain_id))

    def blocks(self, chain_id: int, first: int, last: int) -> list[IndexedBlock]:
        text = (
            "SELECT number, hash, parent_hash, timestamp FROM block"
            " WHERE chain_id = $1 AND number BETWEEN $2 AND $3 ORDER BY number"
        )
        return [IndexedBlock(*row) for row in self._run(self._rows(text, chain_id, first, last))]

    def fetch(self, query: Query) -> list[Row]:
        wanted = statement(query, PostgresDialect())
        return wanted.rows_of(self._run(self._rows(wanted.text, *wanted.parameters)))

    def drop_source(self, chain_id: int, source: str) -> None:
        self._run(self._drop_source(chain_id, source))

    def prune(self, table: str, before: int) -> int:
        return self._run(self._prune(TABLES[table], before))

    def note(self, chain_id: int, text: str) -> None:
        upsert = "INSERT INTO note VALUES ($1, $2) ON CONFLICT (chain_id) DO UPDATE SET text = excluded.text"
        self._run(self._execute(upsert, chain_id, text))

    def close(self) -> None:
        self._run(self._disconnect())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except FAILURES as error:
            if is_lost(error):
                self._loop.call_soon_threadsafe(self._forget_connection)
            raise StoreError(refusal(error)) from error

    async def _connected(self) -> Any:
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(self._url)
        return self._connection

    def _forget_connection(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def _disconnect(self) -> None:
        if self._connection is not None:
            await self._connection.close(timeout=CONNECT_TIMEOUT_S)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Any]:
        connection = await self._connected()
        async with connection.transaction():
            yield connection

    async def _execute(self, text: str, *values: Any) -> None:
        await (await self._connected()).execute(text, *values)

    async def _rows(self, text: str, *values: Any) -> list[Any]:
        rows: list[Any] = await (await self._connected()).fetch(text, *values)
        return rows

    async def _spans(self, chain_id: int) -> list[Span]:
        return await spans_of(await self._connected(), chain_id)

    async def _migrate(self) -> None:
        async with self._transaction() as connection:
            await connection.execute(_LOCK_SCHEMA)
            await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            await connection.execute("CREATE TABLE IF NOT EXISTS index_schema (version integer)")
            found = await connection.fetchval("SELECT version FROM index_schema")
            for text in OWN if found is None else schema.steps_from(found):
                await connection.execute(text)
            # New in a version 1: a reader sees where an older program committed without a row.
            await connection.execute(CHANGE)
            await self._add_missing(connection)
            await connection.execute("DELETE FROM index_schema")
            await connection.execute("INSERT INTO index_schema VALUES ($1)", schema.VERSION)

    @staticmethod
    async def _add_missing(connection: Any) -> None:
        rows = await connection.fetch(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = $1", SCHEMA
        )
        found = {tuple(row) for row in rows}
        tables = {name for name, _ in found}
        for table in TABLES.values():
            if table.name not in tables:
                for text in create_table(table):
                    await connection.execute(text)
                continue
            for column in table.columns:
                if (table.name, column.name) not in found:
                    added = f"ADD COLUMN {column.name} {TYPES[column.type]}"
                    await connection.execute(f"ALTER TABLE {table.name} {added}")

    async def _lease(self, chain_id: int, source: str, holder: str, ttl_s: float) -> bool:
        taken = await self._rows(
            "INSERT INTO lease VALUES ($1, $2, $3, clock_timestamp() + $4)"
            " ON CONFLICT (chain_id, source) DO UPDATE"
            " SET holder = excluded.holder, expires = excluded.expires"
            " WHERE lease.holder = excluded.holder OR lease.expires <= clock_timestamp() RETURNING holder",
            chain_id,
            source,
            holder,
            timedelta(seconds=ttl_s),
        )
        if taken:
            self._leases[chain_id, source] = holder
        return bool(taken)

    async def _divide(self, chain_id: int) -> None:
        """Makes the parts of all tables for a chain, once."""
        if chain_id in self._divided:
            return
        async with self._transaction() as connection:
            await connection.execute(_LOCK_SCHEMA)
            for table in TABLES.values():
                name = partition(table, chain_id)
                if await connection.fetchval("SELECT to_regclass($1) IS NULL", f"{SCHEMA}.{name}"):
                    part = f"PARTITION OF {table.name} FOR VALUES IN ({chain_id})"
                    await connection.execute(f"CREATE TABLE {name} {part}")
        self._divided.add(chain_id)

    async def _commit(self, commit: Commit) -> None:
        chain_id = commit.chain_id
        await self._divide(chain_id)
        async with self._transaction() as connection:
            await connection.execute(_LOCK_CHAIN, chain_id)
            await self._check_leases(connection, chain_id)
            known = await spans_of(connection, chain_id)
            if commit.rewind_to is not None:
                await self._rewind(connection, chain_id, commit.rewind_to)
                known = span_lists.cut(known, commit.rewind_to)
            again = span_lists.overlaps(known, commit.read)
            for span in again:
                for name in FACTS:
                    await connection.execute(
                        f"DELETE FROM {name} WHERE chain_id = $1 AND block BETWEEN $2 AND $3 AND source = $4",  # noqa: S608
                        chain_id,
                        span.first,
                        span.last,
                        span.source,
                    )
            for name, facts in commit.facts.items():
                await self._replace(connection, chain_id, FACTS[name], facts, "block")
            await self._add_blocks(connection, commit)
            if commit.read or commit.rewind_to is not None:
                await self._write_spans(connection, chain_id, [*known, *commit.read])
            if commit.forget_hours_from is not None:
                for name in OF_EVENTS:
                    text = f"DELETE FROM {name} WHERE chain_id = $1 AND hour >= $2"  # noqa: S608
                    await connection.execute(text, chain_id, commit.forget_hours_from)
            for name, rows in commit.rollups.items():
                if rows:
                    table = ROLLUPS[name]
                    await self._replace(connection, chain_id, table, rollup_table(table, rows), table.time)
            await _count(connection, changes_of(commit, overlaps=bool(again)))

    async def _check_leases(self, connection: Any, chain_id: int) -> None:
        """Raises ``StoreError`` when another process has taken over a source that this one holds."""
        held = {source: holder for (chain, source), holder in self._leases.items() if chain == chain_id}
        if not held:
            return
        rows = await connection.fetch(
            "SELECT source, holder FROM lease WHERE chain_id = $1 AND source = ANY($2) FOR SHARE",
            chain_id,
            list(held),
        )
        check_leases(chain_id, held, dict(map(tuple, rows)))

    @staticmethod
    async def _rewind(connection: Any, chain_id: int, block: int) -> None:
        for table in TABLES.values():
            if any(column.name == "block" for column in table.columns):
                text = f"DELETE FROM {table.name} WHERE chain_id = $1 AND block > $2"  # noqa: S608
                await connection.execute(text, chain_id, block)
        await connection.execute("DELETE FROM block WHERE chain_id = $1 AND number > $2", chain_id, block)

    @staticmethod
    async def _add_blocks(connection: Any, commit: Commit) -> None:
        if commit.blocks:
            rows = [(block.number, block.hash, block.parent_hash, block.timestamp) for block in commit.blocks]
            await connection.execute(
                "INSERT INTO block"
                " SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[])"
                " ON CONFLICT (chain_id, number) DO UPDATE SET hash = excluded.hash,"
                " parent_hash = excluded.parent_hash, timestamp = excluded.timestamp",
                commit.chain_id,
                *map(list, zip(*rows, strict=True)),
            )

    @staticmethod
    async def _write_spans(connection: Any, chain_id: int, spans: Sequence[Span]) -> None:
        await connection.execute("DELETE FROM span WHERE chain_id = $1", chain_id)
        rows = [(chain_id, s.source, s.version, s.first, s.last) for s in span_lists.joined(spans)]
        await connection.executemany("INSERT INTO span VALUES ($1, $2, $3, $4, $5)", rows)

    @staticmethod
    async def _replace(connection: Any, chain_id: int, table: Table, rows: pa.Table, range_by: str) -> None:
        """Copies rows into a table, in the place of those with their keys."""
        if not rows.num_rows:
            return
        part, names = partition(table, chain_id), [column.name for column in table.columns]
        bounds = pc.min_max(rows[range_by])
        # Where the key does not have it, rows that are replaced may be outside of the range.
        known = range_by not in table.key or await connection.fetchval(
            f"SELECT EXISTS (SELECT FROM {part} WHERE chain_id = $1 AND {range_by} BETWEEN $2 AND $3)",  # noqa: S608
            chain_id,
            bounds["min"].as_py(),
            bounds["max"].as_py(),
        )
        source = io.BytesIO(csv_rows(table, rows))
        if not known:
            await connection.copy_to_table(part, source=source, columns=names, format="csv")
            return
        columns, keys = ", ".join(names), ", ".join(table.key)
        await connection.execute(f"CREATE TEMP TABLE incoming (LIKE {part}) ON COMMIT DROP")
        await connection.copy_to_table("incoming", source=source, columns=names, format="csv")
        await connection.execute("ANALYZE incoming")
        await connection.execute(f"DELETE FROM {part} WHERE ({keys}) IN (SELECT {keys} FROM incoming)")  # noqa: S608
        await connection.execute(f"INSERT INTO {part} ({columns}) SELECT {columns} FROM incoming")  # noqa: S608
        await connection.execute("DROP TABLE incoming")

    async def _drop_source(self, chain_id: int, source: str) -> None:
        async with self._transaction() as connection:
            await connection.execute(_LOCK_CHAIN, chain_id)
            for name, condition in dropping.conditions().items():
                await connection.execute(f"DELETE FROM {name} WHERE {condition}", chain_id, source)  # noqa: S608
            for name in (*FACTS, "span"):
                text = f"DELETE FROM {name} WHERE chain_id = $1 AND source = $2"  # noqa: S608
                await connection.execute(text, chain_id, source)
            await _count(connection, [Change(name, chain_id) for name in TABLES])

    async def _prune(self, table: Table, before: int) -> int:
        async with self._transaction() as connection:
            done = await connection.execute(f"DELETE FROM {table.name} WHERE {table.time} < $1", before)  # noqa: S608
            await _count(connection, [Change(table.name, None)])
        return int(done.split()[-1])


async def _count(connection: Any, changes: Sequence[Change]) -> None:
    # Last: from here on no other process ends a commit before this one does.
    revision = await connection.fetchval("UPDATE revision SET number = number + 1 RETURNING number")
    await connection.execute("INSERT INTO change VALUES ($1, $2)", revision, msgspec.msgpack.encode(changes))
    await connection.execute("DELETE FROM change WHERE revision <= $1", revision - _CHANGES)
