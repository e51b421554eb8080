"""States of pools at the end of an hour, as the index keeps them: from these the replay goes on."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from quoteway import EventSource

from quoteway_indexer.replay.families import Family
from quoteway_indexer.replay.pool import ReplayedPool
from quoteway_indexer.store import Condition, Row, Select
from quoteway_indexer.stores.dropping import KEPT
from quoteway_indexer.writing import Writer

VERSION: Final = 1
"""Increase it when states or rows change their meaning: sources are replayed again from their start."""
_OF_SOURCE: Final = b""
_AT_ONCE: Final = 500


@dataclass(slots=True)
class Snapshot:
    """The states of the pools with events since the snapshot before, after block ``block``.

    All facts up to that block are of hours that are over, and all others of later ones.
    """

    block: int
    states: dict[bytes, str] = field(default_factory=dict)

    def add(self, later: Snapshot) -> None:
        """Takes over a later snapshot."""
        self.block = later.block
        self.states |= later.states


class StateKeeper:
    """Reads and writes the states of one source."""

    def __init__(self, chain_id: int, source: EventSource, family: Family, writer: Writer) -> None:
        self._chain_id = chain_id
        self._source = source
        self._family = family
        self._writer = writer
        self._where = Condition("chain_id", "=", chain_id), Condition("source", "=", source.id)

    async def progress(self) -> tuple[int, int] | None:
        """Returns (first block, block of the last snapshot); None when there is none of this version."""
        found = await self._writer.fetch(
            Select("replay_state", ("block", "state"), (*self._where, Condition("pool", "=", _OF_SOURCE)))
        )
        for block, text in found:
            state = json.loads(str(text))
            if state["version"] == [VERSION, self._source.version] and isinstance(block, int):
                return state["first"], block
        return None

    def rows(self, snapshot: Snapshot, first: int) -> list[Row]:
        """Returns the rows of ``replay_state`` that make a snapshot the last one."""
        version = [VERSION, self._source.version]
        progress = json.dumps({"version": version, "first": first})
        states = {**snapshot.states, _OF_SOURCE: progress}
        return [
            (self._chain_id, pool, self._source.id, snapshot.block, text) for pool, text in states.items()
        ]

    def reached(self, block: int, timestamp: int) -> Row:
        """Returns the row of ``computed`` that says until when the hours of all pools are known."""
        version = json.dumps([VERSION, self._source.version])
        return self._chain_id, f"pools:{self._source.id}", block, timestamp, version

    async def load(self, pools: Collection[bytes]) -> list[ReplayedPool]:
        """Returns pools as they were saved last."""
        found: list[ReplayedPool] = []
        wanted = sorted(pools)
        for at in range(0, len(wanted), _AT_ONCE):
            some = Condition("pool", "in", tuple(wanted[at : at + _AT_ONCE]))
            rows = await self._writer.fetch(Select("replay_state", ("pool", "state"), (*self._where, some)))
            found += [
                self._restored(pool, json.loads(str(text))) for pool, text in rows if isinstance(pool, bytes)
            ]
        return found

    async def kept_since(self) -> int:
        """Returns the time since when all facts of the source are there; 0 when none were deleted."""
        part = Condition("part", "=", KEPT + self._source.id)
        rows = await self._writer.fetch(Select("computed", ("timestamp",), (self._where[0], part)))
        return int(rows[0][0] or 0) if rows else 0

    async def pools(self, block: int) -> set[bytes]:
        """Returns the pools that have a state of this block or of one before."""
        rows = await self._writer.fetch(
            Select("replay_state", ("pool",), (*self._where, Condition("block", "<=", block)))
        )
        return {pool for (pool,) in rows if isinstance(pool, bytes) and pool != _OF_SOURCE}

    def make(self, pool: bytes, created: Row) -> ReplayedPool:
        """Returns a new pool. Raises ``ValueError`` for one that no contract makes."""
        return self._family.make(self._source, pool, created)

    def _restored(self, pool: bytes, state: dict[str, Any]) -> ReplayedPool:
        fee_pips, spacing, hooks = state["created"]
        made = self.make(pool, (fee_pips, spacing, None if hooks is None else bytes.fromhex(hooks)))
        made.created = state["created"]
        made.restore(state)
        return made


def saved(pools: Iterable[ReplayedPool]) -> dict[bytes, str]:
    """Returns the texts of the states of pools, by pool."""
    return {pool.key: json.dumps({"created": pool.created, **pool.state()}) for pool in pools}
