"""The back ends that the suite of stores runs on."""

from __future__ import annotations

import pytest


class Clock:
    """The time of day, which a test moves on."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def pass_by(self, seconds: float) -> None:
        """Moves the time on."""
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("quoteway_indexer.stores.duckdb.time.time", lambda: clock.now)
    return clock


@pytest.fixture
def opened(tmp_path):
    """Opens the index of a test, and closes it after the test."""
    from quoteway_indexer.stores.duckdb import DuckDBStore

    stores = []

    def reopen():
        if stores:
            stores.pop().close()
        stores.append(DuckDBStore(tmp_path / "index.duckdb", memory_mb=256))
        return stores[-1]

    yield reopen
    for store in stores:
        store.close()


@pytest.fixture
def store(opened):
    store = opened()
    store.migrate()
    return store


@pytest.fixture
def duckdb_store(tmp_path):
    from quoteway_indexer.stores.duckdb import DuckDBStore

    store = DuckDBStore(tmp_path / "index.duckdb", memory_mb=256)
    store.migrate()
    yield store
    store.close()
