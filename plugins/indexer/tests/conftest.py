"""The back ends that the suite of stores runs on."""

from __future__ import annotations

from itertools import count

import pytest
from postgres_server import postgres_server, postgres_settings
from quoteway_indexer.stores import open_store

BACK_ENDS = ["duckdb", pytest.param("postgres", marks=pytest.mark.services)]


@pytest.fixture(scope="session")
def postgres():
    """The folder of a PostgreSQL server, and numbers for its databases."""
    with postgres_server() as folder:
        yield folder, count(1)


@pytest.fixture(params=BACK_ENDS)
def settings(request, tmp_path):
    """The settings of an index that does not exist yet, in each back end."""
    if request.param == "postgres":
        return postgres_settings(*request.getfixturevalue("postgres"))
    return {
        "store": "duckdb",
        "path": str(tmp_path / "index.duckdb"),
        "socket": None,
        "memory_mb": 256,
        "cache_mb": 8,
    }


@pytest.fixture
def opened(settings):
    """Opens the index of a test, in the place of the store that was opened before."""
    stores = []

    def reopen():
        if stores:
            stores.pop().close()
        stores.append(open_store(settings))
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
def leases_expire(settings, monkeypatch):
    """Lets all leases expire."""

    def expire(store):
        if settings["store"] == "duckdb":
            monkeypatch.setattr("quoteway_indexer.stores.duckdb.time.time", lambda: 2e9)
        else:
            store._run(store._execute("UPDATE lease SET expires = clock_timestamp()"))

    return expire


@pytest.fixture
def duckdb_store(tmp_path):
    from quoteway_indexer.stores.duckdb import DuckDBStore

    store = DuckDBStore(tmp_path / "index.duckdb", memory_mb=256)
    store.migrate()
    yield store
    store.close()
