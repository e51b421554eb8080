"""The answers in memory: those go whose time has passed, and those not used for longest when all exceed the
limit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

from quoteway import Network

from quoteway_rpc.cache_answers import Head
from quoteway_rpc.cache_keys import Kind

Count = Callable[[str, Network, int], None]
"""``(event, network, amount)``, as ``Context.count``."""
_OVERHEAD_BYTES = 320
"""An entry without its key and body, with its place in the dictionary."""
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
    """Entries by key, bounded in bytes: those not used for longest go first. Nothing larger than an eighth of
    the bound is kept. ``put`` also removes those whose ``until`` has passed, which nobody can use: answers at
    the newest block would otherwise stay with those of all blocks before it.

    One dictionary in the order of use: ``cachetools.LRUCache`` has three, which cost 15 us for a new entry.
    """

    def __init__(self, capacity_bytes: int, count: Count, clock: Callable[[], float]) -> None:
        self._entries: OrderedDict[bytes, Entry] = OrderedDict()
        self._ends: list[tuple[float, bytes]] = []
        """A heap of the ends of entries with their keys, those of entries that are gone among them."""
        self._clock = clock
        self._capacity = capacity_bytes
        self._largest = min(capacity_bytes // _LARGEST_PART, _LARGEST_BYTES)
        self._count = count
        self.size_bytes = 0
        """The bytes of all entries with their keys."""

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        """Drops all entries."""
        self._entries.clear()
        self._ends.clear()
        self.size_bytes = 0

    def get(self, key: bytes) -> Entry | None:
        """Returns the entry of a key, as the most recently used one."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: bytes, entry: Entry) -> bool:
        """Keeps an entry in place of the one of this key. Returns False when it is too large."""
        entry.size_bytes = len(key) + len(entry.body) + _OVERHEAD_BYTES
        if entry.size_bytes > self._largest:
            return False
        self._forget_ended()
        before = self._entries.pop(key, None)
        self.size_bytes += entry.size_bytes - (0 if before is None else before.size_bytes)
        self._entries[key] = entry
        if entry.until is not None:
            heappush(self._ends, (entry.until, key))
        while self.size_bytes > self._capacity:
            _, oldest = self._entries.popitem(last=False)
            self.size_bytes -= oldest.size_bytes
            self._count(f"cache_evictions_{oldest.kind}", oldest.network, 1)
        self._count("cache_stored_bytes", entry.network, entry.size_bytes)
        return True

    def _forget_ended(self) -> None:
        now = self._clock()
        while self._ends and self._ends[0][0] <= now:
            end, key = heappop(self._ends)
            entry = self._entries.get(key)
            if entry is not None and entry.until == end:
                del self._entries[key]
                self.size_bytes -= entry.size_bytes
