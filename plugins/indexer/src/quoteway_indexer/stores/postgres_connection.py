"""Connections to PostgreSQL, and what their errors say."""

from __future__ import annotations

from typing import Any, Final

import asyncpg

from quoteway_indexer.store import StoreError
from quoteway_indexer.stores.postgres_schema import SCHEMA

FAILURES: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
SETTINGS: Final = {"search_path": SCHEMA, "application_name": "quoteway-indexer", "jit": "off"}
CONNECT_TIMEOUT_S: Final = 10


async def connect(url: str) -> Any:
    """Returns a new connection that reads numbers of any size as ``int``."""
    connection = await asyncpg.connect(url, timeout=CONNECT_TIMEOUT_S, server_settings=SETTINGS)
    await set_types(connection)
    return connection


async def server_version(url: str) -> str:
    """Returns the version of the server. Raises ``StoreError`` when it cannot be reached, or refuses."""
    try:
        connection = await connect(url)
        try:
            found: str = await connection.fetchval("SHOW server_version")
        finally:
            await connection.close(timeout=CONNECT_TIMEOUT_S)
    except FAILURES as error:
        raise StoreError(refusal(error)) from None
    return found


async def set_types(connection: Any) -> None:
    """Makes a connection read numbers of any size as ``int``."""
    await connection.set_type_codec("numeric", schema="pg_catalog", encoder=str, decoder=int, format="text")


def is_lost(error: BaseException) -> bool:
    """Tells whether a connection is of no more use after an error."""
    return not isinstance(error, asyncpg.PostgresError)


def refusal(error: BaseException) -> str:
    """Returns what is wrong, without the address of the database, its user or its password."""
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
        return "PostgreSQL refuses the user or the password of the index: check its URL"
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return "PostgreSQL has no such database for the index: create it, or check the URL"
    if isinstance(error, asyncpg.PostgresError):
        return f"PostgreSQL refused: {error.sqlstate} {type(error).__name__}: {error.message}"
    if isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError):
        return f"PostgreSQL was not asked: {type(error).__name__}"
    return f"PostgreSQL cannot be reached: {type(error).__name__}"
