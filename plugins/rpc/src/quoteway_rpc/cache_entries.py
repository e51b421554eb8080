"""The answers in memory: the least recently used ones go when their bytes exceed the limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache
from quoteway import Network

from quoteway_rpc.cache_answers import Head
from quoteway_rpc.cache_keys import Kind

Count = Callable[[str, Network, int], None]
"""``(event, network, amount)``, as ``Context.count``."""
_OVERHEAD_BYTES = 400
"""An entry without its key and body, with its places in the two dictionaries of the LRU."""
_LARGEST_PART = 8
_LARGEST_BYTES = 4 << 20


@dataclass(slots=True, eq=False)
class Entry:
    """The JSON of an answer, and how long it is right.

    ``head``: while this object is the newest block. ``number``: while the finalised block is not below it, in
    the same ``generation`` of the chain. ``until``: before this time. ``core``: a read of the core brought
    it, so that it passed what such reads have to pass.
    """

    body: bytes
    network: Network
    kind: Kind
    core: bool
    head: Head | None = None
    number: int | None = None
    generation: int = 0
    until: float | None = None
    size_bytes: int = 0


class Entries:
    """An LRU of entries by key, bounded in bytes. Nothing larger than an eighth of it is kept."""

    def __init__(self, capacity_bytes: int, count: Count) -> None:
        self._lru = _Lru(capacity_bytes, count)
        self._largest = min(capacity_bytes // _LARGEST_PART, _LARGEST_BYTES)
        self._count = count

    @property
    def size_bytes(self) -> int:
        """Returns the bytes of all entries with their keys."""
        return int(self._lru.currsize)

    def __len__(self) -> int:
        return len(self._lru)

    def get(self, key: bytes) -> Entry | None:
        """Returns the entry of a key, as the most recently used one."""
        return self._lru.get(key)

    def put(self, key: bytes, entry: Entry) -> bool:
        """Keeps an entry in place of the one of this key. Returns False when it is too large."""
        entry.size_bytes = len(key) + len(entry.body) + _OVERHEAD_BYTES
        if entry.size_bytes > self._largest:
            return False
        self._lru[key] = entry
        self._count("cache_stored_bytes", entry.network, entry.size_bytes)
        return True


class _Lru(LRUCache[bytes, Entry]):
    """Counts what it drops for want of room."""

    def __init__(self, capacity_bytes: int, count: Count) -> None:
        super().__init__(capacity_bytes, getsizeof=lambda entry: entry.size_bytes)
        self._counts = count

    def popitem(self) -> tuple[bytes, Entry]:
        key, entry = super().popitem()
        self._counts(f"cache_evictions_{entry.kind}", entry.network, 1)
        return key, entry
