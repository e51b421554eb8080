"""Reads an index in PostgreSQL, from any process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final

import asyncpg
import msgspec
import orjson
from quoteway import Reason, UpstreamError

from quoteway_indexer.caching import ChangingReader
from quoteway_indexer.changes import Change, Changes, Committed, Mark
from quoteway_indexer.store import Query, Row, Span
from quoteway_indexer.stores.postgres_connection import CONNECT_TIMEOUT_S, FAILURES, SETTINGS, set_types
from quoteway_indexer.stores.postgres_sql import PostgresDialect, spans_of
from quoteway_indexer.stores.sql import ON_THE_LOOP, statement

_CONNECTIONS: Final = 8
_CHANGES: Final = (
    "SELECT (SELECT oid FROM pg_database WHERE datname = current_database()), number, change.revision, data"
    " FROM revision LEFT JOIN change ON change.revision > $1 ORDER BY change.revision"
)


class PostgresReader(ChangingReader):
    """Reads through a pool of connections, which it makes at the first read.

    Every read takes at most ``timeout_s`` seconds, the wait for a connection included.
    """

    def __init__(self, url: str, *, timeout_s: float = 5.0) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._connecting = asyncio.Lock()
        self._pool: Any = None
        # One connection is left to questions what changed: they are short, and all reads wait for them.
        self._reads = asyncio.Semaphore(_CONNECTIONS - 1)

    async def read(self, query: Query) -> tuple[int, list[Row]]:
        wanted = statement(query, PostgresDialect())

        async def work(connection: Any) -> tuple[int, Any]:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                revision = await connection.fetchval("SELECT number FROM revision")
                return revision, await connection.fetch(wanted.text, *wanted.parameters)

        revision, records = await self._read(work, self._reads)
        if len(records) * wanted.width <= ON_THE_LOOP:
            return revision, wanted.rows_of(records)
        return revision, await asyncio.to_thread(wanted.rows_of, records)

    async def changes(self, mark: Mark) -> Changes:
        try:
            rows = await self._rows(_CHANGES, mark.number)
        except UpstreamError as error:
            if not isinstance(error.__cause__, asyncpg.UndefinedTableError):
                raise
            # An older program migrated it: all may be others with each revision.
            revision = await self.revision()
            same = mark == Mark("", revision)
            return Changes(Mark("", revision), revision, () if same else None)
        database, revision = rows[0][:2]
        commits = [_committed(row) for row in rows if row[2] is not None]
        newest = Mark(str(database), revision)
        # Without a row are commits of an older program, and those that are too long ago.
        all_known = mark.log == newest.log and len(commits) == revision - mark.number
        return Changes(newest, revision, commits if all_known else None)

    async def spans(self, chain_id: int) -> list[Span]:
        spans: list[Span] = await self._read(lambda connection: spans_of(connection, chain_id))
        return spans

    async def revision(self) -> int:
        ((number,),) = await self._rows("SELECT number FROM revision")
        return int(number)

    async def notes(self) -> Mapping[str, Any]:
        rows = await self._rows("SELECT chain_id, text FROM note")
        return {str(chain_id): orjson.loads(text) for chain_id, text in rows}

    async def close(self) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool = None

    async def _rows(self, text: str, *values: Any) -> Any:
        return await self._read(lambda connection: connection.fetch(text, *values))

    async def _read(
        self, work: Callable[[Any], Awaitable[Any]], turn: AbstractAsyncContextManager[None] | None = None
    ) -> Any:
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                turn or nullcontext(),
                (await self._connected()).acquire() as connection,
            ):
                return await work(connection)
        except TimeoutError:
            raise UpstreamError(
                f"The index did not answer within {self._timeout_s:g} seconds.",
                reason=Reason.PROVIDER_TIMEOUT,
            ) from None
        except FAILURES as error:
            raise UpstreamError(
                "The database of the index cannot be read.", reason=Reason.PROVIDER_ERROR
            ) from error

    async def _connected(self) -> Any:
        async with self._connecting:
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    self._url,
                    # A pool that keeps one would try to connect, and log it, while the database is away.
                    min_size=0,
                    max_size=_CONNECTIONS,
                    timeout=CONNECT_TIMEOUT_S,
                    # With a lifetime each statement keeps the context of the request that made it so long.
                    max_cached_statement_lifetime=0,
                    server_settings=SETTINGS,
                    init=set_types,
                )
            return self._pool


def _committed(row: Any) -> Committed:
    return Committed(row[2], msgspec.msgpack.decode(row[3], type=list[Change]))
