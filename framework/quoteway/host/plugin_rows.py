"""Where the values of ``Context.store`` are kept: the memory of a process, an SQLite file, or Valkey."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from quoteway.config.model import Config
from quoteway.config.run_folder import RUN_FOLDER
from quoteway.errors import ConfigError, UpstreamError
from quoteway.host.shared_file import open_shared
from quoteway.plugin_store import MOST_KEYS, Rows
from quoteway.secrets import Secret
from quoteway.shared_store import STORE_TIMEOUT_S, failures, named, store_client

log = logging.getLogger("quoteway.host.plugin_rows")

_TIMEOUT_S: Final = 1.0
"""How long a call waits for another process's write."""
_LOGS_EVERY_S: Final = 5.0
T = TypeVar("T")


def _full(plugin: str) -> UpstreamError:
    log.error("plugin %r keeps %d values: it must delete some, or give them a ttl_s", plugin, MOST_KEYS)
    return UpstreamError(f"Plugin {plugin!r} keeps too many values in its store.")


class MemoryRows:
    """Values of this process."""

    failures = 0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._rows: dict[str, dict[str, tuple[bytes, float]]] = {}

    async def get(self, plugin: str, key: str) -> bytes | None:
        row = self._alive(plugin).get(key)
        return None if row is None else row[0]

    async def set(self, plugin: str, key: str, value: bytes, ttl_s: float | None, only_new: bool) -> bool:
        rows = self._alive(plugin)
        if key in rows and only_new:
            return False
        if key not in rows and len(rows) >= MOST_KEYS:
            raise _full(plugin)
        rows[key] = value, float("inf") if ttl_s is None else self._clock() + ttl_s
        return True

    async def delete(self, plugin: str, key: str) -> None:
        self._alive(plugin).pop(key, None)

    async def keys(self, plugin: str) -> Sequence[str]:
        return list(self._alive(plugin))

    async def close(self) -> None:
        self._rows.clear()

    def _alive(self, plugin: str) -> dict[str, tuple[bytes, float]]:
        """Returns the rows of a plugin whose time is not over, and forgets the others."""
        rows, now = self._rows.setdefault(plugin, {}), self._clock()
        for key in [key for key, (_, ends) in rows.items() if ends <= now]:
            del rows[key]
        return rows


class FileRows:
    """Values in an SQLite file, for the workers of one host. Its calls run in a thread of their own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="quoteway-plugin-store")
        self._opened: sqlite3.Connection | None = None
        self._failures = _Failures(
            f"{path} cannot be used; where it is damaged, end the server and restore or delete it"
        )

    @property
    def failures(self) -> int:
        return self._failures.count

    async def get(self, plugin: str, key: str) -> bytes | None:
        query = "select value from plugin_values where plugin = ? and key = ? and ends > ?"
        row = await self._run(lambda opened: opened.execute(query, (plugin, key, time.time())).fetchone())
        return None if row is None else bytes(row[0])

    async def set(self, plugin: str, key: str, value: bytes, ttl_s: float | None, only_new: bool) -> bool:
        now = time.time()
        ends = float("inf") if ttl_s is None else now + ttl_s

        def write(opened: sqlite3.Connection) -> bool:
            opened.execute("begin immediate")
            with opened:  # commits, or rolls back
                opened.execute("delete from plugin_values where plugin = ? and ends <= ?", (plugin, now))
                known = "select count(*), coalesce(sum(key = ?), 0) from plugin_values where plugin = ?"
                count, exists = opened.execute(known, (key, plugin)).fetchone()
                if exists and only_new:
                    return False
                if not exists and count >= MOST_KEYS:
                    raise _full(plugin)
                row = (plugin, key, value, ends)
                opened.execute("insert or replace into plugin_values values (?, ?, ?, ?)", row)
            return True

        return await self._run(write)

    async def delete(self, plugin: str, key: str) -> None:
        statement = "delete from plugin_values where plugin = ? and key = ?"
        await self._run(lambda opened: opened.execute(statement, (plugin, key)))

    async def keys(self, plugin: str) -> Sequence[str]:
        query = "select key from plugin_values where plugin = ? and ends > ?"
        rows = await self._run(lambda opened: opened.execute(query, (plugin, time.time())).fetchall())
        return [str(key) for (key,) in rows]

    async def close(self) -> None:
        if self._opened is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._opened.close)
            self._opened = None
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        async with self._failures.told(sqlite3.Error, OSError):
            return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self._open()))

    def _open(self) -> sqlite3.Connection:
        if self._opened is None:
            self._opened = open_shared(
                self._path,
                _TIMEOUT_S,
                "pragma synchronous = normal",
                "create table if not exists plugin_values (plugin text, key text, value blob, ends real,"
                " primary key (plugin, key)) without rowid",
            )
        return self._opened


class ValkeyRows:
    """Values in Valkey or Redis, for the replicas of one deployment.

    Beside the values, each plugin has a sorted set of its keys by the time at which they end.
    """

    _NOW = "local t = redis.call('time') local now = t[1] * 1000 + math.floor(t[2] / 1000)"
    _SET = (
        _NOW
        + """
    redis.call('zremrangebyscore', KEYS[1], '-inf', now)
    local exists = redis.call('zscore', KEYS[1], ARGV[1])
    if exists and ARGV[5] == '1' then return 0 end
    if not exists and redis.call('zcard', KEYS[1]) >= tonumber(ARGV[4]) then return -1 end
    if ARGV[3] == '' then
        redis.call('zadd', KEYS[1], '+inf', ARGV[1])
        redis.call('set', KEYS[2], ARGV[2])
    else
        redis.call('zadd', KEYS[1], now + ARGV[3], ARGV[1])
        redis.call('set', KEYS[2], ARGV[2], 'px', ARGV[3])
    end
    return 1
    """
    )
    _DELETE = "redis.call('zrem', KEYS[1], ARGV[1]) redis.call('del', KEYS[2])"
    _KEYS = _NOW + " return redis.call('zrangebyscore', KEYS[1], '(' .. now, '+inf')"

    def __init__(self, url: str) -> None:
        self._client = store_client(url, "store.url")
        self._failures = _Failures("the server of store.url does not answer")

    @property
    def failures(self) -> int:
        return self._failures.count

    async def get(self, plugin: str, key: str) -> bytes | None:
        found = await self._ask(lambda: self._client.get(_place(plugin, key)))
        return None if found is None else bytes(found)

    async def set(self, plugin: str, key: str, value: bytes, ttl_s: float | None, only_new: bool) -> bool:
        lifetime = "" if ttl_s is None else str(max(1, round(ttl_s * 1_000)))
        given = key, value, lifetime, str(MOST_KEYS), str(int(only_new))
        places = _place(plugin), _place(plugin, key)
        done = await self._ask(lambda: self._client.eval(self._SET, 2, *places, *given))
        if done < 0:
            raise _full(plugin)
        return bool(done)

    async def delete(self, plugin: str, key: str) -> None:
        places = _place(plugin), _place(plugin, key)
        await self._ask(lambda: self._client.eval(self._DELETE, 2, *places, key))

    async def keys(self, plugin: str) -> Sequence[str]:
        found = await self._ask(lambda: self._client.eval(self._KEYS, 1, _place(plugin)))
        return [bytes(key).decode() for key in found]

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, command: Callable[[], Any]) -> Any:
        async with self._failures.told(*failures()), asyncio.timeout(STORE_TIMEOUT_S):
            return await command()


def _place(plugin: str, key: str | None = None) -> str:
    """Returns the name of a value, or of a plugin's keys; a cluster keeps those of a plugin together."""
    return f"quoteway/plugin/{{{plugin}}}" + ("/keys" if key is None else f"/value/{key}")


class _Failures:
    """Says in the log why the place cannot be used, not at every call, and tells callers without details."""

    def __init__(self, remedy: str) -> None:
        self.count = 0
        self._remedy = remedy
        self._silent_until = 0.0

    @contextlib.asynccontextmanager
    async def told(self, *kinds: type[Exception]) -> AsyncIterator[None]:
        try:
            yield
        except kinds as error:
            self.count += 1
            now = time.monotonic()
            if now >= self._silent_until:
                self._silent_until = now + _LOGS_EVERY_S
                log.error("the store of plugins: %s (%s)", self._remedy, named(error))
            raise UpstreamError("The store of plugins cannot be used now.") from None


def open_rows(config: Config) -> Rows:
    """Returns the place that ``[store] url`` names. Nothing is opened or connected yet.

    Without it, values end with the run: in a file that the workers of the run share, else in memory. Raises
    ``ConfigError`` when the client of Valkey is not installed.
    """
    store = config.store.url
    url = store.reveal() if isinstance(store, Secret) else store
    if url is None:
        folder = os.environ.get(RUN_FOLDER)
        return FileRows(Path(folder) / "plugins.sqlite3") if folder else MemoryRows()
    if "://" not in url:
        return FileRows((Path() if config.path is None else config.path.parent) / url)
    try:
        return ValkeyRows(url)
    except ImportError:
        raise ConfigError(
            "store.url names a Valkey or Redis server, and its client is not installed: "
            "pip install 'quoteway[valkey]'"
        ) from None
