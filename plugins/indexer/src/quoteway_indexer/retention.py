"""Deletes what the settings do not keep, and says in the index since when facts are complete."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from quoteway import EventSource

from quoteway_indexer.store import Commit, Condition, Select, StoreError
from quoteway_indexer.store_settings import chosen_rollups, expired
from quoteway_indexer.stores.dropping import KEPT
from quoteway_indexer.tables import BY_HOUR
from quoteway_indexer.writing import Writer

RETENTION_S: Final = 3_600
"""How often old rows are deleted."""


class Retention:
    """What is kept of the chains that this process writes."""

    def __init__(self, settings: Mapping[str, Any], writer: Writer, log: logging.Logger) -> None:
        self._settings = settings
        self._writer = writer
        self._log = log

    async def begin(self, chain_id: int, sources: Sequence[EventSource], now: int) -> None:
        """Prepares a chain, before anything is computed of it. Raises ``StoreError``."""
        chosen = chosen_rollups(self._settings)
        for name in BY_HOUR:
            if name not in chosen:
                count = await self._writer.drop_rollup(chain_id, name)
                if count:
                    text = "deleted %d rows of %s of chain %d: `rollups` does not name it"
                    self._log.info(text, count, name, chain_id)
        await self.note(chain_id, sources, now)

    async def note(self, chain_id: int, sources: Sequence[EventSource], now: int) -> None:
        """Writes for each source since when all of its facts are there. Raises ``StoreError``."""
        pruned = dict(expired(self._settings, now))
        parts = (Condition("chain_id", "=", chain_id),)
        rows = await self._writer.fetch(Select("computed", ("part", "timestamp"), parts))
        known = {part: timestamp for part, timestamp in rows if isinstance(timestamp, int)}
        noted = []
        for source in sources:
            before = max((pruned.get(rule.fact, 0) for rule in source.rules), default=0)
            # Other processes delete too, up to an hour later.
            since = before + 2 * RETENTION_S if before else 0
            if since > known.get(KEPT + source.id, 0):
                noted.append((chain_id, KEPT + source.id, 0, since, ""))
        if noted:
            await self._writer.commit(Commit(chain_id, rollups={"computed": noted}))

    async def prune(self, now: int) -> None:
        """Deletes rows that are older than the settings keep."""
        for table, before in expired(self._settings, now):
            try:
                count = await self._writer.prune(table, before)
            except StoreError as error:
                self._log.warning("old rows of %s cannot be deleted: %s", table, error)
                continue
            if count:
                self._log.info("deleted %d old rows of %s", count, table)
