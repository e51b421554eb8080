"""Small values that a plugin keeps beyond one request, and beyond a restart where a place is configured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

MOST_KEY_CHARS = 200
MOST_VALUE_BYTES = 16_384
MOST_KEYS = 1_024
"""How many keys a plugin has at once: with the longest values, 16 MiB."""

STORE_METHODS = frozenset({"get", "set", "add", "delete", "keys"})
"""The methods of ``PluginStore``."""


class Rows(Protocol):
    """Where the values of all plugins are kept: memory, a file, or a server that replicas share.

    A value whose time is over is as if it were not there. Every method raises ``UpstreamError`` when the
    place cannot be used now, and ``set`` for one key more than ``MOST_KEYS``. ``failures`` counts the
    calls for which it could not be used.
    """

    @property
    def failures(self) -> int: ...

    async def get(self, plugin: str, key: str) -> bytes | None:
        """Returns a value, or None."""

    async def set(self, plugin: str, key: str, value: bytes, ttl_s: float | None, only_new: bool) -> bool:
        """Keeps a value, for ``ttl_s`` seconds or for ever. With ``only_new`` it replaces none.

        Returns whether it was kept.
        """

    async def delete(self, plugin: str, key: str) -> None:
        """Removes a value, if there is one."""

    async def keys(self, plugin: str) -> Sequence[str]:
        """Returns all keys of a plugin, in any order."""

    async def close(self) -> None:
        """Lets go of files and connections."""


class PluginStore:
    """The values of one plugin, by key. Other plugins cannot reach them.

    They are shared by the workers of a server. ``[store] url`` says where they are kept: in a file they
    outlive restarts, in Valkey or Redis all replicas share them, and without it they end with the run. A key
    is a text of 1 to ``MOST_KEY_CHARS`` characters, a value at most ``MOST_VALUE_BYTES`` bytes.

    Every method raises ``UpstreamError`` when the place cannot be used now: go on without the value where
    that is possible. Keep nothing here that decides about money and cannot be read from the chain.
    """

    def __init__(self, plugin: str, rows: Rows) -> None:
        self._plugin = plugin
        self._rows = rows

    async def get(self, key: str) -> bytes | None:
        """Returns the value of ``key``; None without one, or when its time is over."""
        return await self._rows.get(self._plugin, _checked(key))

    async def set(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Keeps ``value``, for ``ttl_s`` seconds or until it is deleted.

        Raises ``UpstreamError`` also for one key more than ``MOST_KEYS``, and ``ValueError`` for a key, value
        or time out of range.
        """
        await self._set(key, value, ttl_s, only_new=False)

    async def add(self, key: str, value: bytes, ttl_s: float | None = None) -> bool:
        """Keeps ``value`` where ``key`` has none. Returns whether it did: of all workers, one is told True.

        Raises as ``set`` does.
        """
        return await self._set(key, value, ttl_s, only_new=True)

    async def delete(self, key: str) -> None:
        """Removes the value of ``key``, if there is one."""
        await self._rows.delete(self._plugin, _checked(key))

    async def keys(self, prefix: str = "") -> list[str]:
        """Returns the keys that begin with ``prefix``, sorted."""
        return sorted(key for key in await self._rows.keys(self._plugin) if key.startswith(prefix))

    async def _set(self, key: str, value: bytes, ttl_s: float | None, only_new: bool) -> bool:
        if not isinstance(value, bytes) or len(value) > MOST_VALUE_BYTES:
            raise ValueError(f"a value of the store is at most {MOST_VALUE_BYTES} bytes")
        if ttl_s is not None and not 0 < ttl_s < float("inf"):
            raise ValueError(f"ttl_s must be a finite number above zero, not {ttl_s!r}")
        return await self._rows.set(self._plugin, _checked(key), value, ttl_s, only_new)


def _checked(key: str) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= MOST_KEY_CHARS or not key.isprintable():
        raise ValueError(f"a key of the store is 1 to {MOST_KEY_CHARS} printable characters")
    return key
