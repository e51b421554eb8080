"""Rows that are too old are deleted, and those of a source."""

from __future__ import annotations

from index_rows import CHAIN, POOL, facts, row
from quoteway_indexer.store import Commit, Select
from quoteway_indexer.stores.dropping import conditions
from quoteway_indexer.tables import ROLLUPS


def test_old_rows_are_pruned_by_their_time(store):
    rows = [{"block": block, "timestamp": block, "pool": POOL} for block in range(10)]
    store.commit(Commit(CHAIN, facts={"swap": facts("swap", *rows)}))
    assert store.prune("swap", 4) == 4
    assert store.prune("swap", 4) == 0
    assert store.fetch(Select("swap", ("block",), order=("block",))) == [(block,) for block in range(4, 10)]
    hours = [row("pool_hour", pool=POOL, hour=hour) for hour in (0, 3600)]
    store.commit(Commit(CHAIN, rollups={"pool_hour": hours}))
    assert store.prune("pool_hour", 3600) == 1


def test_every_rollup_says_which_of_its_rows_come_from_a_source():
    share_prices = {"vault_hour"}  # they stay: nodes may not have the states any more
    assert set(conditions()) == set(ROLLUPS) - share_prices
