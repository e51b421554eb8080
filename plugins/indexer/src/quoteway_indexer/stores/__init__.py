"""The back ends of an index: which of them the settings name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quoteway import UpstreamError

from quoteway_indexer.store import Reader, Store, StoreError
from quoteway_indexer.store_settings import socket_path


def open_store(settings: Mapping[str, Any]) -> Store:
    """Opens the index for writing. Raises ``StoreError``.

    ``settings`` are those of ``StoreSettings``.
    """
    if settings["store"] == "postgres":
        with _extra("postgres"):
            from quoteway_indexer.stores.postgres import PostgresStore
        return PostgresStore(settings["url"].reveal())
    if settings["store"] == "clickhouse":
        with _extra("clickhouse"):
            from quoteway_indexer.stores.clickhouse import ClickHouseStore
        return ClickHouseStore(settings["url"].reveal())
    from quoteway_indexer.stores.duckdb import DuckDBStore

    return DuckDBStore(Path(settings["path"]), memory_mb=settings["memory_mb"])


def open_reader(settings: Mapping[str, Any]) -> Reader:
    """Returns a reader of the index, which connects when it is first used. Raises ``StoreError``."""
    from quoteway_indexer.caching import CachedReader

    if settings["store"] == "postgres":
        with _extra("postgres"):
            from quoteway_indexer.stores.postgres_reading import PostgresReader
        return CachedReader(PostgresReader(settings["url"].reveal()), memory_mb=settings["cache_mb"])
    if settings["store"] == "clickhouse":
        with _extra("clickhouse"):
            from quoteway_indexer.stores.clickhouse_reading import ClickHouseReader
        return ClickHouseReader(settings["url"].reveal())
    from quoteway_indexer.reading import SocketReader

    return CachedReader(SocketReader(socket_path(settings)), memory_mb=settings["cache_mb"])


async def ask_server(settings: Mapping[str, Any]) -> str:
    """Asks the database server of the settings for its version, and returns a sentence.

    Raises ``UpstreamError`` with what is wrong.
    """
    try:
        if settings["store"] == "postgres":
            with _extra("postgres"):
                from quoteway_indexer.stores.postgres_connection import server_version
            return f"PostgreSQL {await server_version(settings['url'].reveal())}"
        with _extra("clickhouse"):
            from quoteway_indexer.stores import clickhouse_connection
        found = await asyncio.to_thread(clickhouse_connection.server_version, settings["url"].reveal())
    except StoreError as error:
        raise UpstreamError(str(error)) from None
    return f"ClickHouse {found}"


@contextmanager
def served(store: Store, settings: Mapping[str, Any]) -> Iterator[None]:
    """Serves the reads of other processes meanwhile, where they have no other way to the database.

    Raises ``StoreError`` when the socket cannot be made.
    """
    if settings["store"] != "duckdb":
        yield
        return
    from quoteway_indexer.serving import ReadServer
    from quoteway_indexer.stores.duckdb import DuckDBStore

    if not isinstance(store, DuckDBStore):
        raise TypeError(f"{type(store).__name__} is not the store of these settings")
    server = ReadServer(store.reads, socket_path(settings))
    server.start()
    try:
        yield
    finally:
        server.close()


@contextmanager
def _extra(name: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise StoreError(f"store = {name!r} needs {error.name}: install quoteway-indexer[{name}]") from None
