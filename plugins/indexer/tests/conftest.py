"""The back ends that the suite of stores runs on."""

from __future__ import annotations

from itertools import count

import msgspec
import pytest
from back_ends import BACK_ENDS
from clickhouse_server import clickhouse_server, clickhouse_settings
from postgres_server import postgres_server, postgres_settings
from quoteway_indexer.stores import open_store


@pytest.fixture(scope="session")
def postgres():
    """The folder of a PostgreSQL server, and numbers for its databases."""
    with postgres_server() as folder:
        yield folder, count(1)


@pytest.fixture(scope="session")
def clickhouse(tmp_path_factory):
    """The address of a ClickHouse engine, and numbers for its databases."""
    with clickhouse_server(tmp_path_factory.mktemp("clickhouse") / "data") as address:
        yield address, count(1)


@pytest.fixture(params=BACK_ENDS)
def settings(request, tmp_path):
    """The settings of an index that does not exist yet, in each back end."""
    if request.param == "postgres":
        return postgres_settings(*request.getfixturevalue("postgres"))
    if request.param == "clickhouse":
        return clickhouse_settings(*request.getfixturevalue("clickhouse"))
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
        elif settings["store"] == "clickhouse":
            state = store._newest().state
            leases = [one._replace(expires_ms=0) for one in state.leases]
            store._append(msgspec.structs.replace(state, leases=leases))
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
