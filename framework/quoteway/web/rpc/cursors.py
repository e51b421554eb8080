"""Where polling filters have got to: in the memory of one process, and in a place that the workers share.

A filter's id says where it began, and a client polls with the same id each time. So how far it has got is
kept here, under the hash of the id. What is lost is no gap: a filter begins again where its id says.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from quoteway.config.model import Config
from quoteway.config.run_folder import RUN_FOLDER
from quoteway.host.shared_file import open_shared
from quoteway.secrets import Secret
from quoteway.shared_store import STORE_TIMEOUT_S, named, store_client

log = logging.getLogger("quoteway.web.rpc")

MAX_BYTES: Final = 64 << 20
"""Of all rows of a process, or of the workers together. Above it, those not used for longest are dropped."""
_ROW_BYTES: Final = 256
"""What a row takes beside its content."""
_TIMEOUT_S: Final = 1.0
"""How long a request waits for another worker's write."""

Row = tuple[int, bytes]
"""A version, from 1, and the content."""


class CursorStore(Protocol):
    """Rows by key, each with a version, so that of two polls at once only one moves a filter on."""

    async def load(self, key: str) -> Row | None: ...

    async def save(self, key: str, version: int, content: bytes, lifetime_s: float) -> bool:
        """Replaces the row that has ``version`` (0: there is none). False when it has another by now."""

    async def close(self) -> None: ...


@dataclass
class MemoryCursors:
    """Rows of this process."""

    max_bytes: int = MAX_BYTES
    clock: Callable[[], float] = time.monotonic
    _rows: dict[str, tuple[int, bytes, float]] = field(default_factory=dict)
    _bytes: int = 0

    async def load(self, key: str) -> Row | None:
        row = self._rows.get(key)
        if row is None or row[2] <= self.clock():
            return None
        return row[:2]

    async def save(self, key: str, version: int, content: bytes, lifetime_s: float) -> bool:
        current = await self.load(key)
        if (0 if current is None else current[0]) != version:
            return False
        self.put(key, version + 1, content, lifetime_s)
        return True

    def put(self, key: str, version: int, content: bytes, lifetime_s: float) -> None:
        """Writes a row, whatever is there. It is the last to be dropped from then on."""
        self._drop(key)
        self._rows[key] = version, content, self.clock() + lifetime_s
        self._bytes += len(content) + _ROW_BYTES
        while self._bytes > self.max_bytes:
            self._drop(next(iter(self._rows)))

    def _drop(self, key: str) -> None:
        row = self._rows.pop(key, None)
        if row is not None:
            self._bytes -= len(row[1]) + _ROW_BYTES

    async def close(self) -> None:
        self._rows.clear()


class FileCursors:
    """Rows in an SQLite file, for the workers of one host. Its calls run in a thread."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._lock = asyncio.Lock()
        self._opened: sqlite3.Connection | None = None
        self._saves = 0

    async def load(self, key: str) -> Row | None:
        row = await self._run(self._load, key)
        return None if row is None else (int(row[0]), bytes(row[1]))

    async def save(self, key: str, version: int, content: bytes, lifetime_s: float) -> bool:
        return bool(await self._run(self._save, key, version, content, lifetime_s))

    async def close(self) -> None:
        async with self._lock:
            if self._opened is not None:
                await asyncio.to_thread(self._opened.close)
                self._opened = None

    async def _run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        async with self._lock:
            return await asyncio.to_thread(function, *arguments)

    def _open(self) -> sqlite3.Connection:
        if self._opened is None:
            self._opened = open_shared(
                self._path,
                _TIMEOUT_S,
                # The file ends with the run, so a crash of the machine need not be survived.
                "pragma synchronous = off",
                "create table if not exists filters"
                " (key text primary key, version integer, content blob, ends real) without rowid",
            )
        return self._opened

    def _load(self, key: str) -> Any:
        query = "select version, content from filters where key = ? and ends > ?"
        return self._open().execute(query, (key, time.time())).fetchone()

    def _save(self, key: str, version: int, content: bytes, lifetime_s: float) -> bool:
        opened, now = self._open(), time.time()
        done = opened.execute(
            "insert into filters values (?, ?, ?, ?) on conflict (key) do update set"
            " version = excluded.version, content = excluded.content, ends = excluded.ends"
            " where filters.version = excluded.version - 1 or filters.ends <= ?",
            (key, version + 1, content, now + lifetime_s, now),
        )
        self._saves += 1
        if self._saves % 256 == 0:
            self._prune(opened, now)
        return done.rowcount == 1

    def _prune(self, opened: sqlite3.Connection, now: float) -> None:
        opened.execute("delete from filters where ends <= ?", (now,))
        opened.execute(
            "delete from filters where key in (select key from (select key, sum(length(content) + ?)"
            " over (order by ends desc) as size from filters) where size > ?)",
            (_ROW_BYTES, self._max_bytes),
        )


class ValkeyCursors:
    """Rows in Valkey or Redis, for the replicas of one deployment."""

    _SCRIPT = """
    if (redis.call('hget', KEYS[1], 'v') or '0') ~= ARGV[1] then return 0 end
    redis.call('hset', KEYS[1], 'v', ARGV[1] + 1, 'c', ARGV[2])
    redis.call('pexpire', KEYS[1], ARGV[3])
    return 1
    """

    def __init__(self, url: str, prefix: str) -> None:
        self._client = store_client(url, "limits.store")
        self._prefix = f"{prefix}/filter/"

    async def load(self, key: str) -> Row | None:
        async with asyncio.timeout(STORE_TIMEOUT_S):
            version, content = await self._client.hmget(self._prefix + key, "v", "c")
        return None if version is None or content is None else (int(version), bytes(content))

    async def save(self, key: str, version: int, content: bytes, lifetime_s: float) -> bool:
        arguments = str(version), content, round(lifetime_s * 1_000)
        async with asyncio.timeout(STORE_TIMEOUT_S):
            return bool(await self._client.eval(self._SCRIPT, 1, self._prefix + key, *arguments))

    async def close(self) -> None:
        await self._client.aclose()


class Cursors:
    """The place that the workers share; while it fails, this process's own memory stands in."""

    PAUSE_S: Final = 5.0

    def __init__(self, shared: CursorStore | None) -> None:
        self._shared = shared
        self._memory = MemoryCursors()
        self._paused_until = 0.0

    async def load(self, key: str) -> Row | None:
        if self._usable(self._shared) and self._shared is not None:
            try:
                return await self._shared.load(key)
            except Exception as error:  # the store's client has exceptions of its own
                self._pause(error)
        return await self._memory.load(key)

    async def save(self, key: str, version: int, content: bytes, lifetime_s: float) -> bool:
        if self._usable(self._shared) and self._shared is not None:
            try:
                saved = await self._shared.save(key, version, content, lifetime_s)
            except Exception as error:
                self._pause(error)
            else:
                if saved:
                    self._memory.put(key, version + 1, content, lifetime_s)
                return saved
        return await self._memory.save(key, version, content, lifetime_s)

    async def close(self) -> None:
        if self._shared is not None:
            await self._shared.close()

    def _usable(self, shared: CursorStore | None) -> bool:
        return shared is not None and time.monotonic() >= self._paused_until

    def _pause(self, error: Exception) -> None:
        self._paused_until = time.monotonic() + self.PAUSE_S
        log.error("the store of polling filters does not answer: %s", named(error))


def open_cursors(config: Config) -> Cursors:
    """The cursors of a deployment: in ``limits.store`` when it is a server, else in the folder that the
    workers of this run share, else in memory. Nothing is connected yet.
    """
    store = config.limits.store
    url = store.reveal() if isinstance(store, Secret) else store
    if not url.startswith("memory"):
        try:
            return Cursors(ValkeyCursors(url, config.limits.prefix))
        except ImportError:
            log.error(
                "limits.store is a server, and its client is not installed: pip install quoteway[valkey]"
            )
    folder = os.environ.get(RUN_FOLDER)
    return Cursors(FileCursors(Path(folder) / "filters.sqlite3") if folder else None)
