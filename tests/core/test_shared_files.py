"""SQLite files of several workers: all may open a new one at once."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from quoteway.host.shared_file import open_shared

AT_ONCE = 4


def test_all_may_open_a_new_file_at_once(tmp_path):
    barrier = threading.Barrier(AT_ONCE)

    def opened(number):
        barrier.wait()
        connection = open_shared(
            tmp_path / f"{number}.sqlite3", 30.0, "create table if not exists told (word text)"
        )
        connection.execute("insert into told values ('one')")
        connection.close()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        for number in range(100):
            list(threads.map(opened, [number] * AT_ONCE))
    for number in range(100):
        connection = sqlite3.connect(tmp_path / f"{number}.sqlite3")
        assert connection.execute("select count(*) from told").fetchone() == (AT_ONCE,)
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
        connection.close()


def test_what_is_no_such_file_is_an_error_at_once(tmp_path):
    (tmp_path / "text").write_text("no database" * 100)
    for path in (tmp_path / "text", tmp_path / "missing" / "file", tmp_path):
        with pytest.raises(sqlite3.Error):
            open_shared(path, 60.0)
