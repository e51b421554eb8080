"""Reads an index in ClickHouse, from any process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import orjson
from quoteway import Reason, UpstreamError

from quoteway_indexer.store import Query, Reader, Row, Span
from quoteway_indexer.stores.clickhouse_connection import FAILURES, Connection
from quoteway_indexer.stores.clickhouse_sql import ClickHouseDialect
from quoteway_indexer.stores.clickhouse_state import NOTHING, State, newest
from quoteway_indexer.stores.sql import statement

T = TypeVar("T")

_CONNECTIONS: Final = 8


class ClickHouseReader(Reader):
    """Reads through a few connections, which it makes at the first reads.

    Every read takes at most ``timeout_s`` seconds, the wait for a connection included.
    """

    def __init__(self, url: str, *, timeout_s: float = 5.0) -> None:
        self._connection = Connection(url, timeout_s=timeout_s)
        self._timeout_s = timeout_s
        self._threads = ThreadPoolExecutor(_CONNECTIONS, "index-clickhouse")
        self._entry = NOTHING

    async def fetch(self, query: Query) -> list[Row]:
        def read() -> list[Row]:
            wanted = statement(query, ClickHouseDialect(self._state()))
            return wanted.rows(self._connection.columns(wanted.text))

        return await self._read(read)

    async def spans(self, chain_id: int) -> list[Span]:
        return await self._read(lambda: self._state().spans_of(chain_id))

    async def revision(self) -> int:
        return await self._read(lambda: self._state().revision)

    async def notes(self) -> Mapping[str, Any]:
        text = "SELECT chain_id, text FROM note ORDER BY at DESC LIMIT 1 BY chain_id"
        chains, texts = await self._read(lambda: self._connection.columns(text))
        return {str(chain_id): orjson.loads(each) for chain_id, each in zip(chains, texts, strict=True)}

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._connection.close()

    def _state(self) -> State:
        self._entry = entry = newest(self._connection, self._entry)
        return entry.state

    async def _read(self, work: Callable[[], T]) -> T:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except TimeoutError:
            raise UpstreamError(
                f"The index did not answer within {self._timeout_s:g} seconds.",
                reason=Reason.PROVIDER_TIMEOUT,
            ) from None
        except FAILURES as error:
            raise UpstreamError(
                "The database of the index cannot be read.", reason=Reason.PROVIDER_ERROR
            ) from error
