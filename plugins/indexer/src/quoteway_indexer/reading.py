"""Reads an index over the Unix socket of the index process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import orjson
from quoteway import Reason, UpstreamError

from quoteway_indexer.caching import ChangingReader
from quoteway_indexer.changes import Changes, Mark
from quoteway_indexer.messages import (
    LENGTH_BYTES,
    MAX_ANSWER,
    MAX_QUESTION,
    Answer,
    Question,
    answer_in,
    frame,
)
from quoteway_indexer.messages import question as question_of
from quoteway_indexer.store import Query, Row, Span
from quoteway_indexer.stores.columns import columns_of
from quoteway_indexer.stores.duckdb_sql import DuckDBDialect
from quoteway_indexer.stores.sql import ON_THE_LOOP, statement


class SocketReader(ChangingReader):
    """Reads through the index process. It connects at the first read, and again when that process restarts.

    Every read takes at most ``timeout_s`` seconds.
    """

    def __init__(self, path: Path, *, timeout_s: float = 5.0) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._ids = count(1)
        self._connecting = asyncio.Lock()
        self._connection: _Connection | None = None

    async def read(self, query: Query) -> tuple[int, list[Row]]:
        wanted = statement(query, DuckDBDialect())
        answer = await self._ask(question_of(next(self._ids), query))
        packed = answer.columns
        if sum(column.rows for column in packed) <= ON_THE_LOOP:
            return answer.revision, wanted.rows(columns_of(packed))
        return answer.revision, await asyncio.to_thread(lambda: wanted.rows(columns_of(packed)))

    async def spans(self, chain_id: int) -> list[Span]:
        answer = await self._ask(Question(next(self._ids), "spans", chain_id))
        return [Span(*span) for span in answer.spans]

    async def revision(self) -> int:
        return (await self._ask(Question(next(self._ids), "revision"))).revision

    async def notes(self) -> Mapping[str, Any]:
        answer = await self._ask(Question(next(self._ids), "notes"))
        return {chain_id: orjson.loads(text) for chain_id, text in answer.notes.items()}

    async def changes(self, mark: Mark) -> Changes:
        answer = await self._ask(Question(next(self._ids), "changes", mark=mark))
        return Changes(answer.mark, answer.revision, answer.changes)

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _ask(self, asked: Question) -> Answer:
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._answer(asked)
        except TimeoutError:
            raise UpstreamError(
                f"The index did not answer within {self._timeout_s:g} seconds.",
                reason=Reason.PROVIDER_TIMEOUT,
            ) from None
        if answer.failed:
            raise UpstreamError("The index could not answer a read.", reason=Reason.PROVIDER_ERROR)
        return answer

    async def _answer(self, asked: Question) -> Answer:
        """Returns the answer, asked once more when the index process restarted meanwhile."""
        message = frame(asked)
        if len(message) > MAX_QUESTION:
            raise ValueError(f"a query of {len(message)} bytes is too long: ask for fewer values")
        try:
            return await (await self._connected()).ask(asked.id, message)
        except ConnectionError:
            pass
        try:
            return await (await self._connected()).ask(asked.id, message)
        except ConnectionError:
            raise UpstreamError("The index process ended a read.", reason=Reason.PROVIDER_ERROR) from None

    async def _connected(self) -> _Connection:
        async with self._connecting:
            if self._connection is None or self._connection.ended:
                try:
                    streams = await asyncio.open_unix_connection(str(self._path))
                except OSError:
                    raise UpstreamError(
                        "The index process does not run.", reason=Reason.PROVIDER_ERROR
                    ) from None
                self._connection = _Connection(*streams)
            return self._connection


class _Connection:
    """One connection, on which many questions are open at once."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._open: dict[int, asyncio.Future[Answer]] = {}
        self._reading = asyncio.create_task(self._read(), name="index-answers")
        self.ended = False

    async def ask(self, id_: int, message: bytes) -> Answer:
        """Returns the answer to a question. Raises ``ConnectionError`` when the connection ends before."""
        if self.ended:
            raise ConnectionResetError
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[id_] = answer
        try:
            self._writer.write(message)
            await self._writer.drain()
            return await answer
        except ConnectionError:
            self.ended = True
            raise
        finally:
            self._open.pop(id_, None)

    async def close(self) -> None:
        """Ends the connection."""
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def _read(self) -> None:
        try:
            while True:
                length = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
                if length > MAX_ANSWER:
                    return
                answer = answer_in(await self._reader.readexactly(length))
                future = self._open.get(answer.id)
                if future is not None and not future.done():
                    future.set_result(answer)
        except (OSError, EOFError, msgspec.MsgspecError):
            return
        finally:
            self.ended = True
            self._writer.close()
            for future in self._open.values():
                if not future.done():
                    future.set_exception(ConnectionResetError())
