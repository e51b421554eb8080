"""Reads an index in PostgreSQL, from any process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import asyncpg
import orjson
from quoteway import Reason, UpstreamError

from quoteway_indexer.store import Query, Reader, Row, Span
from quoteway_indexer.stores.postgres_connection import CONNECT_TIMEOUT_S, FAILURES, SETTINGS, set_types
from quoteway_indexer.stores.postgres_sql import PostgresDialect, spans_of
from quoteway_indexer.stores.sql import statement

_CONNECTIONS: Final = 8


class PostgresReader(Reader):
    """Reads through a pool of connections, which it makes at the first read.

    Every read takes at most ``timeout_s`` seconds, the wait for a connection included.
    """

    def __init__(self, url: str, *, timeout_s: float = 5.0) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._connecting = asyncio.Lock()
        self._pool: Any = None

    async def fetch(self, query: Query) -> list[Row]:
        wanted = statement(query, PostgresDialect())
        return wanted.rows_of(await self._rows(wanted.text, *wanted.parameters))

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

    async def _read(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        try:
            async with asyncio.timeout(self._timeout_s):
                async with (await self._connected()).acquire() as connection:
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
                    min_size=1,
                    max_size=_CONNECTIONS,
                    timeout=CONNECT_TIMEOUT_S,
                    server_settings=SETTINGS,
                    init=set_types,
                )
            return self._pool
