"""What readers see of an index: of the tables by hours those that the operator chose."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from quoteway_indexer.store import Query, Reader, Row, Select, Span
from quoteway_indexer.tables import BY_HOUR


class ChosenRollups(Reader):
    """Reads an index as one that never had the other tables by hours."""

    def __init__(self, reader: Reader, chosen: Collection[str]) -> None:
        self._reader = reader
        self._others = set(BY_HOUR).difference(chosen)

    async def fetch(self, query: Query) -> list[Row]:
        """See ``Reader``."""
        if query.table in self._others:
            return []
        rows = await self._reader.fetch(query)
        if query.table == "computed" and "token_hour" in self._others and isinstance(query, Select):
            part = query.columns.index("part")
            return [row for row in rows if row[part] != "prices"]
        return rows

    async def spans(self, chain_id: int) -> list[Span]:
        """See ``Reader``."""
        return await self._reader.spans(chain_id)

    async def revision(self) -> int:
        """See ``Reader``."""
        return await self._reader.revision()

    async def notes(self) -> Mapping[str, Any]:
        """See ``Reader``."""
        return await self._reader.notes()

    def keeps(self, table: str) -> bool:
        """See ``Reader``."""
        return table not in self._others

    async def close(self) -> None:
        """See ``Reader``."""
        await self._reader.close()
