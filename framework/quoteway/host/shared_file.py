"""SQLite files that the workers of one host share."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

_STEP_S = 0.005


def open_shared(path: Path, timeout_s: float, *statements: str) -> sqlite3.Connection:
    """Opens a file in WAL mode and executes ``statements``, which may be executed more than once.

    The first opening changes the mode of the file. While two do that, SQLite refuses one of them at once,
    whatever its timeout is: it is tried again here for ``timeout_s``. Raises ``sqlite3.Error``.
    It may wait as long: call it in a thread, not on the event loop. The connection may be used by any
    thread, by one at a time.
    """
    opened = sqlite3.connect(path, timeout=timeout_s, isolation_level=None, check_same_thread=False)
    ends_at = time.monotonic() + timeout_s
    try:
        while True:
            try:
                for statement in ("pragma journal_mode = wal", *statements):
                    opened.execute(statement)
                return opened
            except sqlite3.OperationalError as error:
                # The low byte is the primary code; the others say more of it.
                is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() >= ends_at:
                    raise
            time.sleep(_STEP_S)
    except BaseException:
        opened.close()
        raise
