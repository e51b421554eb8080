"""Indexes that another version of the program made."""

from __future__ import annotations

import pytest
from back_ends import WITH_TRANSACTIONS
from index_rows import CHAIN, POOL, facts, row
from quoteway_indexer.store import Commit, Select, StoreError
from quoteway_indexer.stores import schema
from quoteway_indexer.tables import FACTS, ROLLUPS, TABLES, Table

# ClickHouse refuses to change rows to a newer version: see ``test_clickhouse``.
TRANSACTIONAL = pytest.mark.parametrize("settings", WITH_TRANSACTIONS, indirect=True)


def smaller(table, missing):
    columns = tuple(column for column in table.columns if column.name != missing)
    return Table(table.name, table.kind, columns, table.key, table.time)


@pytest.fixture
def older(opened, monkeypatch):
    """An index of version 1 that has neither donations nor the fee of a swap but rows."""
    fewer = {**TABLES, "swap": smaller(TABLES["swap"], "fee_pips")}
    fewer.pop("donation")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "VERSION", 1)
        for name in tuple(TABLES):
            patch.delitem(TABLES, name)
            if name in fewer:
                patch.setitem(TABLES, name, fewer[name])
        patch.setitem(FACTS, "swap", fewer["swap"])
        patch.delitem(FACTS, "donation")
        store = opened()
        store.migrate()
        store.commit(Commit(CHAIN, facts={"swap": facts("swap", {"block": 1, "amount0": -(2**255)})}))
        hour = row("pool_hour", pool=POOL, hour=0, swaps=41)
        store.commit(Commit(CHAIN, rollups={"pool_hour": [hour]}))
    return store


def test_an_older_index_gets_the_tables_and_columns_that_it_does_not_have(older, opened):
    store = opened()
    for _ in range(2):
        store.migrate()
        assert store.fetch(Select("swap", ("amount0", "fee_pips"))) == [(-(2**255), None)]
        assert store.fetch(Select("donation", ("amount0",))) == []
    donation = facts("donation", {"block": 2, "pool": POOL, "amount0": 2**255})
    store.commit(Commit(CHAIN, facts={"donation": donation}))
    assert store.fetch(Select("donation", ("amount0",))) == [(2**255,)]


@TRANSACTIONAL
def test_an_older_index_is_migrated_with_what_it_has(older, opened, monkeypatch):
    monkeypatch.setattr(schema, "VERSION", 3)
    steps = {1: ["UPDATE pool_hour SET swaps = swaps + 1"], 2: ["DELETE FROM note", "DELETE FROM lease"]}
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    store = opened()
    for _ in range(2):
        store.migrate()
        assert store.fetch(Select("pool_hour", ("swaps",))) == [(42,)]


def test_an_index_of_the_first_version_gets_the_facts_of_pools_of_several_tokens(opened, monkeypatch):
    new = ("token_swap", "pool_token", "token_liquidity", "fee", "pool_setting", "pool_token_hour")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "VERSION", 1)
        for name in new:
            patch.delitem(TABLES, name)
        patch.setitem(TABLES, "pool_created", smaller(TABLES["pool_created"], "is_stable"))
        store = opened()
        store.migrate()
        store.commit(Commit(CHAIN, facts={"swap": facts("swap", {"block": 1, "pool": POOL})}))
    store = opened()
    store.migrate()
    assert store.fetch(Select("swap", ("block",))) == [(1,)]
    items = facts("token_liquidity", *({"block": 2, "log_index": 0, "place": place} for place in (0, 1)))
    store.commit(Commit(CHAIN, facts={"token_liquidity": items}))
    assert store.fetch(Select("token_liquidity", ("place",), order=("place",))) == [(0,), (1,)]
    hour = row("pool_token_hour", pool=POOL, hour=0, place=0, volume=2**255)
    store.commit(Commit(CHAIN, rollups={"pool_token_hour": [hour]}))
    assert store.fetch(Select("pool_token_hour", ("volume", "lp_fee"))) == [(2**255, None)]
    assert (
        store.fetch(Select("token_swap", ("block",))) == store.fetch(Select("pool_token", ("block",))) == []
    )


@TRANSACTIONAL
def test_a_migration_that_fails_changes_nothing(older, opened, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(schema, "VERSION", 2)
        patch.setattr(schema, "MIGRATIONS", {1: ["UPDATE pool_hour SET swaps = 0", "DELETE FROM nothing"]})
        with pytest.raises(StoreError):
            opened().migrate()
    store = opened()
    store.migrate()
    assert store.fetch(Select("pool_hour", ("swaps",))) == [(41,)]


def test_an_index_of_a_newer_version_is_refused_with_the_remedy(store, opened, monkeypatch):
    newest = schema.VERSION
    monkeypatch.setattr(schema, "VERSION", 0)
    refusal = rf"schema version {newest}.*versions up to 0: update quoteway-indexer"
    with pytest.raises(StoreError, match=refusal):
        opened().migrate()


def test_rollups_and_facts_are_all_tables():
    assert {**FACTS, **ROLLUPS} == TABLES
