"""A process that is killed while it writes leaves whole commits, and what it held is free."""

from __future__ import annotations

import itertools
import multiprocessing

import pytest
from crashing import CrashError, crash
from index_crashes import crash_trials
from index_rows import CHAIN, POOL, facts, row
from quoteway_indexer.store import Commit, IndexedBlock, Select, Span, StoreError
from quoteway_indexer.store_settings import StoreSettings
from quoteway_indexer.stores import open_store
from quoteway_indexer.tables import TABLES


@pytest.mark.slow
def test_a_killed_process_leaves_neither_gaps_nor_duplicates(settings):
    sizes = []
    trials = 3 if settings["store"] == "clickhouse" else 15  # of the 200 of the bench
    for size, wrong in crash_trials(settings, trials, seed=1):
        assert wrong == []
        sizes.append(size)
    assert max(sizes) > 100


def all_rows(store):
    tables = {}
    for name in ("swap", "flash", "replay_state", "pool_hour"):
        rows = store.fetch(Select(name, tuple(column.name for column in TABLES[name].columns)))
        tables[name] = sorted(rows, key=repr)
    return tables, store.blocks(CHAIN, 0, 100), store.spans(CHAIN)


def commits():
    """Commits that write, replace and take back rows of every kind."""

    def swaps(block):
        return {"swap": facts("swap", *[{"block": block, "pool": POOL}] * 2)}

    def state(block):
        return {"replay_state": [row("replay_state", pool=POOL, block=block, state=str(block))]}

    hours = [row("pool_hour", pool=POOL, hour=hour, swaps=1) for hour in (0, 3600)]
    known = [IndexedBlock(number, bytes([number]) * 32, b"\0" * 32, number) for number in range(5, 9)]
    flash = {"flash": facts("flash", {"block": 6, "pool": POOL, "paid0": 2**200})}
    return [
        Commit(CHAIN, facts=swaps(5), read=[Span("dex", 1, 3, 5)], rollups=state(3)),
        Commit(CHAIN, None, flash, known[1:], [Span("dex", 1, 6, 7)], None, {"pool_hour": hours}),
        Commit(CHAIN, facts=swaps(8), read=[Span("dex", 1, 8, 8)], rollups=state(7)),
        Commit(CHAIN, 5, flash, known[:2], [Span("dex", 1, 6, 6)], 3600, {"pool_hour": hours[1:]}),
        Commit(CHAIN, facts=swaps(5), read=[Span("dex", 2, 4, 9)]),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "answers_lost"),
    [
        ("duckdb", False),
        pytest.param("clickhouse", False, marks=pytest.mark.services),
        pytest.param("clickhouse", True, marks=pytest.mark.services),
    ],
    indirect=["settings"],
)
def test_a_commit_that_ends_at_any_statement_is_there_as_a_whole_or_not_at_all(store, opened, answers_lost):
    before = all_rows(store)
    for commit in commits():
        found = []
        for at in itertools.count():
            crash(store, at, answers_lost=answers_lost)
            try:
                store.commit(commit)
            except CrashError:
                store._connection = store._connection._connection
                store = opened()
                found.append(all_rows(store))
            else:
                break
        store._connection = store._connection._connection
        after = all_rows(store)
        assert after != before
        assert found[0] == before
        assert all(each in (before, after) for each in found)
        assert len(found) >= 5
        before = after


def hold(path, opened, done):
    store = open_store(StoreSettings().load({"path": path}))
    store.migrate()
    opened.set()
    done.wait(60)


@pytest.mark.slow
def test_one_process_has_the_index_and_the_next_takes_over_when_it_was_killed(tmp_path):
    processes = multiprocessing.get_context("forkserver")
    opened, done = processes.Event(), processes.Event()
    path = str(tmp_path / "index.duckdb")
    holder = processes.Process(target=hold, args=(path, opened, done), daemon=True)
    holder.start()
    assert opened.wait(60)
    settings = StoreSettings().load({"path": path})
    with pytest.raises(StoreError, match=r"'index\.duckdb' is open in another process"):
        open_store(settings)
    holder.kill()
    holder.join()
    store = open_store(settings)
    assert store.lease(CHAIN, "dex", "next", 30)
    store.close()


def test_a_file_that_is_no_index_is_refused(tmp_path):
    path = tmp_path / "index.duckdb"
    path.write_text("something else " * 1000)
    with pytest.raises(StoreError, match=r"'index\.duckdb' cannot be opened"):
        open_store(StoreSettings().load({"path": str(path)}))
