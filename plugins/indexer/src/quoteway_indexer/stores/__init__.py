"""The back ends of an index: which of them the settings name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quoteway_indexer.store import Reader, Store
from quoteway_indexer.store_settings import socket_path


def open_store(settings: Mapping[str, Any]) -> Store:
    """Opens the index for writing. Raises ``StoreError``.

    ``settings`` are those of ``StoreSettings``.
    """
    from quoteway_indexer.stores.duckdb import DuckDBStore

    return DuckDBStore(Path(settings["path"]), memory_mb=settings["memory_mb"])


def open_reader(settings: Mapping[str, Any]) -> Reader:
    """Returns a reader of the index, which connects when it is first used."""
    from quoteway_indexer.reading import SocketReader

    return SocketReader(socket_path(settings))


@contextmanager
def served(store: Store, settings: Mapping[str, Any]) -> Iterator[None]:
    """Serves the reads of other processes meanwhile, where they have no other way to the database.

    Raises ``StoreError`` when the socket cannot be made.
    """
    from quoteway_indexer.serving import ReadServer
    from quoteway_indexer.stores.duckdb import DuckDBStore

    if not isinstance(store, DuckDBStore):
        yield
        return
    server = ReadServer(store.reads, socket_path(settings))
    server.start()
    try:
        yield
    finally:
        server.close()
