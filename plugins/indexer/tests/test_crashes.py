"""A process that is killed while it writes leaves whole commits, and what it held is free."""

from __future__ import annotations

import multiprocessing

import pytest
from index_crashes import crash_trials
from index_rows import CHAIN
from quoteway_indexer.store import StoreError
from quoteway_indexer.store_settings import StoreSettings
from quoteway_indexer.stores import open_store


@pytest.mark.slow
def test_a_killed_process_leaves_neither_gaps_nor_duplicates(settings):
    sizes = []
    for size, wrong in crash_trials(settings, 30, seed=1):
        assert wrong == []
        sizes.append(size)
    assert max(sizes) > 500


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
