"""What is ClickHouse's own: commits without transactions, and the deletion of what does not count."""

from __future__ import annotations

import contextlib
import itertools
import random
import threading

import pytest
from clickhouse_server import clickhouse_server, clickhouse_settings, settings_of
from index_crashes import next_commit, wrong_in
from index_rows import CHAIN, POOL, facts, row
from quoteway_indexer.store import Commit, Condition, Select, Span, StoreError
from quoteway_indexer.stores import clickhouse_tidying, open_store, schema
from quoteway_indexer.stores.clickhouse_rows import stored_rows
from quoteway_indexer.tables import TABLES

pytestmark = [pytest.mark.services, pytest.mark.slow]


@pytest.fixture
def settings(clickhouse):
    return clickhouse_settings(*clickhouse)


@pytest.fixture
def other(settings, store):
    other = open_store(settings)
    yield other
    other.close()


@pytest.fixture
def nobody_reads(monkeypatch):
    """What does not count is deleted at once."""
    monkeypatch.setattr(clickhouse_tidying, "READ_MS", -1000)


def swap(block):
    rows = facts("swap", {"block": block, "pool": POOL})
    return Commit(CHAIN, facts={"swap": rows}, read=[Span("dex", 1, block, block)])


def blocks_of(store):
    return [block for (block,) in store.fetch(Select("swap", ("block",), order=("block",)))]


def stored(store, table):
    """How many rows a table has, with those that do not count."""
    return store._connection.columns(f"SELECT count() FROM {table}")[0][0]


class Overtaken:
    """A connection on which another process commits before the entry of a commit is added."""

    def __init__(self, connection, overtake):
        self._connection = connection
        self._overtake = overtake

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def insert_values(self, table, values):
        self._overtake()
        self._connection.insert_values(table, values)


def test_of_two_commits_at_once_the_first_counts_and_the_other_is_refused(store, other):
    connection = store._connection
    store._connection = Overtaken(connection, lambda: other.commit(swap(7)))
    with pytest.raises(StoreError, match="another process writes the index: nothing was written"):
        store.commit(swap(5))
    store._connection = connection
    assert blocks_of(store) == blocks_of(other) == [7]
    # The rows that were inserted in vain do not count with a later commit of the process either.
    store.commit(swap(9))
    other.commit(swap(8))
    assert blocks_of(store) == blocks_of(other) == [7, 8, 9]
    assert stored(store, "swap") == 4
    assert store.spans(CHAIN) == [Span("dex", 1, 7, 9)]


def test_a_second_process_may_write_no_source_while_the_first_has_one(store, other):
    assert store.lease(CHAIN, "dex", "one", 30)
    assert store.lease(CHAIN, "other", "one", 30)
    assert not other.lease(1, "vaults", "two", 30)
    store.release("one")
    assert other.lease(1, "vaults", "two", 30)
    assert not store.lease(CHAIN, "dex", "one", 30)


def test_an_insert_that_is_sent_again_counts_once(store):
    rows = stored_rows(TABLES["swap"], facts("swap", {"block": 1, "pool": POOL}), 1, 1)
    for _ in range(2):
        store._connection.insert("swap", rows)
    assert stored(store, "swap") == 1


def test_a_query_may_name_thousands_of_values(store):
    store.commit(swap(5))
    pools = tuple(number.to_bytes(20, "big") for number in range(20_000))
    wanted = (Condition("pool", "in", (*pools, POOL)), Condition("amount0", "in", (None, *range(20_000))))
    assert store.fetch(Select("swap", ("block",), wanted)) == [(5,)]


def test_an_older_version_that_needs_steps_is_refused_with_the_remedy(store, monkeypatch):
    monkeypatch.setattr(schema, "VERSION", 2)
    store.migrate()
    monkeypatch.setattr(schema, "VERSION", 3)
    monkeypatch.setattr(schema, "MIGRATIONS", {2: ["DELETE FROM note"]})
    with pytest.raises(StoreError, match="let the index be made again in an empty database"):
        store.migrate()


def test_what_was_replaced_and_taken_back_is_deleted_and_stays_away(store, nobody_reads):
    states = [row("replay_state", pool=POOL, block=block, state="") for block in (3, 4, 7)]
    for state in states:
        store.commit(Commit(CHAIN, rollups={"replay_state": [state]}))
    for block in (5, 8):
        store.commit(swap(block))
    store.commit(Commit(CHAIN, rewind_to=6))
    for _ in range(2):
        assert store.fetch(Select("replay_state", ("block",))) == []
        assert blocks_of(store) == [5]
        store.tidy()
        assert (stored(store, "replay_state"), stored(store, "swap")) == (0, 1)
        assert store._newest().state.rules == []
    store.commit(Commit(CHAIN, rollups={"replay_state": states[:1]}))
    assert store.fetch(Select("replay_state", ("block",))) == [(3,)]


def test_what_a_read_may_need_yet_is_not_deleted(store):
    for _ in range(2):
        store.commit(swap(5))
    store.tidy()
    assert (stored(store, "swap"), len(store._newest().state.rules)) == (2, 1)


def test_entries_and_eras_do_not_grow_for_ever(store, other, nobody_reads, monkeypatch):
    monkeypatch.setattr(clickhouse_tidying, "LOG_PART", 1)
    monkeypatch.setattr(clickhouse_tidying, "LATE_MS", -1000)
    monkeypatch.setattr(clickhouse_tidying, "_ERAS", 3)
    for block in range(1, 7):
        (store if block % 2 else other).commit(swap(block))
    # Rows of attempts that failed: one within an era, one after all.
    late = stored_rows(TABLES["swap"], facts("swap", {"block": 9, "pool": POOL}), 4, 1)
    store._connection.insert("swap", late)
    assert len(store._newest().state.eras) == 6
    store.tidy()
    assert len(store._newest().state.eras) == 1
    assert (blocks_of(store), stored(store, "swap")) == ([1, 2, 3, 4, 5, 6], 6)
    store.commit(swap(7))
    assert blocks_of(other) == [1, 2, 3, 4, 5, 6, 7]


def test_a_tidied_log_keeps_the_newest_entry_and_its_place(store, nobody_reads):
    for number in (2, 3 * clickhouse_tidying.LOG_PART):
        store.commit(swap(number))
        store._entry = store._newest()._replace(number=number)
        store._append(store._entry.state)
    assert stored(store, "commit_log") == 5
    for _ in range(2):
        store.tidy()
        assert blocks_of(store) == [2, 3 * clickhouse_tidying.LOG_PART]
    assert stored(store, "commit_log") == 3  # each time that something is deleted adds one
    store.commit(swap(5))
    assert len(blocks_of(store)) == 3


def test_a_server_that_is_killed_keeps_whole_commits(tmp_path):
    sizes = []
    for trial in range(3):
        with clickhouse_server(tmp_path / "data") as address:
            if not trial:
                clickhouse_settings(address, itertools.count(1))
            store = open_store(settings_of(address, "index_1"))
            store.migrate()
            assert wrong_in(store) == []
            sizes.append(len(blocks_of(store)))
            committed = threading.Semaphore(0)
            writer = threading.Thread(target=write_until_it_fails, args=(store, trial, committed))
            writer.start()
            for _ in range(3):
                assert committed.acquire(timeout=60)
        writer.join()
    assert sizes[0] == 0 < sizes[1]


def write_until_it_fails(store, seed, committed):
    draw = random.Random(seed)
    with contextlib.suppress(StoreError):
        while True:
            store.commit(next_commit(store, draw))
            committed.release()
