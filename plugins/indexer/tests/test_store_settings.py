"""The settings that say where an index is."""

from __future__ import annotations

from pathlib import Path

import pytest
from marshmallow import ValidationError
from quoteway import Secret
from quoteway_indexer.store_settings import StoreSettings, chosen_rollups, expired, socket_path
from quoteway_indexer.stores import open_reader, open_store, served
from quoteway_indexer.tables import BY_HOUR

ENVIRONMENT = {
    "INDEX_URL": "postgresql://index:pass@db.example/index",
    "CLICKHOUSE_URL": "clickhouse://index:pass@db.example:8123/index",
    "CLICKHOUSE_TLS_URL": "clickhouses://index:pass@db.example/index",
    "OTHER_URL": "https://db.example",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def test_a_file_of_duckdb_beside_its_socket_is_the_default():
    settings = StoreSettings().load({"path": "data/index.duckdb"})
    assert (settings["store"], settings["url"], settings["retention_days"]) == ("duckdb", None, {})
    assert socket_path(settings) == Path("data/index.duckdb.sock")
    assert socket_path(StoreSettings().load({"socket": "/run/index.sock"})) == Path("/run/index.sock")


@pytest.mark.parametrize(
    ("store", "name"),
    [("postgres", "INDEX_URL"), ("clickhouse", "CLICKHOUSE_URL"), ("clickhouse", "CLICKHOUSE_TLS_URL")],
)
def test_the_url_of_a_database_comes_by_reference(store, name):
    settings = StoreSettings().load({"store": store, "url": {"env": name}})
    assert settings["url"] == Secret(ENVIRONMENT[name])


@pytest.mark.parametrize(
    ("given", "member", "words"),
    [
        ({"store": "sqlite"}, "store", "Must be one of"),
        ({"store": "postgres"}, "url", "is needed for postgres"),
        ({"store": "postgres", "url": {"env": "OTHER_URL"}}, "url", "must begin with postgresql://"),
        ({"store": "clickhouse"}, "url", "is needed for clickhouse"),
        ({"store": "clickhouse", "url": {"env": "INDEX_URL"}}, "url", "must begin with clickhouse://"),
        ({"store": "postgres", "url": ENVIRONMENT["INDEX_URL"]}, "url", "by reference only"),
        ({"url": {"env": "INDEX_URL"}}, "url", "no use for duckdb"),
        ({"retention_days": {"nothing": 3}}, "retention_days", "Must be one of"),
        ({"retention_days": {"replay_state": 3}}, "retention_days", "Must be one of"),
        ({"retention_days": {"computed": 3}}, "retention_days", "Must be one of"),
        ({"retention_days": {"pool_created": 3}}, "retention_days", "Must be one of"),
        ({"retention_days": {"contract_created": 3}}, "retention_days", "Must be one of"),
        (
            {"rollups": ["pool_hours"]},
            "rollups",
            "pool_hours is no rollup, known are: pool_hour, pool_token_hour",
        ),
        ({"rollups": ["computed"]}, "rollups", "computed is no rollup"),
        ({"rollups": ["token_hour", "vault_hour"]}, "rollups", 'computed from pool_hour: add "pool_hour"'),
        ({"retention_days": {"swap": 0}}, "retention_days", "greater than or equal to 1"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_with_the_remedy(given, member, words):
    with pytest.raises(ValidationError) as refused:
        StoreSettings().load(given)
    assert words in str(refused.value.messages[member])
    assert "pass@db" not in str(refused.value.messages)


def test_rows_expire_after_the_days_of_their_table():
    settings = StoreSettings().load({"retention_days": {"swap": 2, "pool_hour": 365}})
    assert list(expired(settings, 400 * 86_400)) == [("swap", 398 * 86_400), ("pool_hour", 35 * 86_400)]


def test_all_rollups_are_chosen_unless_some_are_named():
    assert chosen_rollups(StoreSettings().load({})) == BY_HOUR
    named = StoreSettings().load({"rollups": ["token_hour", "pool_hour", "pool_hour"]})
    assert chosen_rollups(named) == ("pool_hour", "token_hour")
    assert chosen_rollups(StoreSettings().load({"rollups": []})) == ()


async def test_what_the_settings_name_is_opened_served_and_read(tmp_path):
    settings = StoreSettings().load({"path": str(tmp_path / "new" / "index.duckdb")})
    store = open_store(settings)
    store.migrate()
    with served(store, settings):
        reader = open_reader(settings)
        assert await reader.revision() == 0
        await reader.close()
    store.close()
    left = {one.name for one in (tmp_path / "new").iterdir()}
    # DuckDB writes its log into the file once no thread has a cursor: a thread of the server may have one.
    assert left - {"index.duckdb.wal"} == {"index.duckdb"}, "the socket is not left behind"
