"""How far an index is computed, as readers see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quoteway_indexer.store import Condition, Reader, Select

LATE_CHANGE_S = 86_400
"""Hours that ended so long before the last computed one do not change: no reorganisation is longer."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Until when the hours of each source's pools are computed, and those of tokens' prices.

    ``basis`` tells what prices were computed from, and ``versions`` the hours of each source; with another
    one, all hours may be others.
    """

    pools: Mapping[str, int]
    versions: Mapping[str, str]
    prices: int | None
    basis: str

    def closed(self, source: str) -> int:
        """Returns the time before which nothing of a source's pools and their values changes any more."""
        until = self.pools.get(source, 0)
        return (until if self.prices is None else min(until, self.prices)) - LATE_CHANGE_S


async def read_progress(reader: Reader, chain_id: int) -> Progress:
    """Returns the progress on a chain. Raises as ``Reader.fetch`` does."""
    columns = ("part", "timestamp", "basis")
    rows = await reader.fetch(Select("computed", columns, (Condition("chain_id", "=", chain_id),)))
    pools: dict[str, int] = {}
    versions: dict[str, str] = {}
    prices, basis = None, ""
    for part, at, said in rows:
        kind, _, source = str(part).partition(":")
        if kind == "pools":
            pools[source], versions[source] = int(at or 0), str(said)
        elif kind == "prices":
            prices, basis = int(at or 0), str(said)
    return Progress(pools, versions, prices, basis)
