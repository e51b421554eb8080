"""Reads the facts of a source in the order of their logs, in pages of whole blocks."""

from __future__ import annotations

from operator import itemgetter
from typing import Final, TypeAlias

from quoteway_indexer.replay.families import PLACE, Apply, Family
from quoteway_indexer.store import Condition, Row, Select
from quoteway_indexer.tables import FACTS
from quoteway_indexer.writing import Writer

Event: TypeAlias = tuple[Row, Apply]
_WANTED: Final = 5_000
_LEAST, _MOST = 1, 1 << 40
_place = itemgetter(0, 1)


class FactReader:
    """Reads pages of about as many facts as are applied in a tenth of a second."""

    def __init__(self, chain_id: int, source: str, family: Family, writer: Writer) -> None:
        self._writer = writer
        self._where = Condition("chain_id", "=", chain_id), Condition("source", "=", source)
        # The items of one log have one place among the logs: they come in their own order.
        self._reads = [
            (table, (*PLACE, *columns), apply, ("place",) if "place" in FACTS[table].key else ())
            for table, (columns, apply) in family.reads.items()
        ]
        self._blocks = 1024

    async def page(self, first: int, last: int) -> tuple[list[Event], int]:
        """Returns the events from a block on, and the last block that was read, at most ``last``."""
        end = min(last, first + self._blocks - 1)
        where = (*self._where, Condition("block", ">=", first), Condition("block", "<=", end))
        found: list[Event] = []
        for table, columns, apply, order in self._reads:
            rows = await self._writer.fetch(Select(table, columns, where, order))
            found += [(row, apply) for row in rows]
        found.sort(key=lambda event: _place(event[0]))
        if len(found) > 2 * _WANTED:
            self._blocks = max(self._blocks // 2, _LEAST)
        elif len(found) < _WANTED:
            self._blocks = min(self._blocks * 2, _MOST)
        return found, end

    async def created(self, first: int, last: int) -> set[bytes]:
        """Returns the pools that came into being in these blocks."""
        where = (*self._where, Condition("block", ">=", first), Condition("block", "<=", last))
        rows = await self._writer.fetch(Select("pool_created", ("pool",), where))
        return {pool for (pool,) in rows if isinstance(pool, bytes)}
