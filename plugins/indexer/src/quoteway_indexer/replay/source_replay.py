"""Replays the pools of one source, in the order of the logs, and keeps their hours."""

from __future__ import annotations

from typing import Final

from quoteway import EventSource

from quoteway_indexer.computing import Frontier
from quoteway_indexer.replay.families import CREATED, FAMILIES, PLACE, Apply
from quoteway_indexer.replay.pool import HOUR_S, ReplayedPool
from quoteway_indexer.replay.reading import Event, FactReader
from quoteway_indexer.replay.states import Snapshot, StateKeeper, saved
from quoteway_indexer.store import Commit, Row
from quoteway_indexer.writing import Writer

_ROWS_AT_ONCE: Final = 5_000
_EVENTS_BETWEEN_SNAPSHOTS: Final = 200_000
_MOST_WAITING: Final = 24
_MOST_LOADED: Final = 20_000
_MADE = slice(len(PLACE), len(PLACE) + len(CREATED))
_CALLS_BEFORE_A_LOWER_START: Final = 50
_REFUSED = ArithmeticError, LookupError, TypeError, ValueError


class SourceReplay:
    """The pools of a source that were created since the first block from which its facts are complete.

    Every block is applied once. After a restart or a reorganisation the replay goes on from the last
    snapshot, which is of an hour that is final: the hours since then are computed again, and are the same.
    """

    def __init__(self, chain_id: int, source: EventSource, writer: Writer) -> None:
        family = FAMILIES[source.family]
        self._chain_id = chain_id
        self._source = source
        self._writer = writer
        self._facts = FactReader(chain_id, source.id, family, writer)
        self._states = StateKeeper(chain_id, source, family, writer)
        self._creating = family.reads["pool_created"][1]
        self._early = {family.reads[table][1] for table in family.early}
        self._table = family.table
        self._started = False
        self._calls_at_start = 0
        self._lowest = 0
        self._begin(0)

    def _begin(self, first: int) -> None:
        self._first = first
        self._position = first - 1
        self._hour = self._end = 0
        self._known: set[bytes] = set()
        self._loaded: dict[bytes, ReplayedPool] = {}
        self._open: dict[bytes, ReplayedPool] = {}
        self._changed: set[bytes] = set()
        self._unsaved: set[bytes] = set()
        self._rows: dict[tuple[bytes, int], list[Row]] = {}
        self._waiting: list[Snapshot] = []
        self._events = 0

    async def advance(self, frontier: Frontier) -> None:
        """See ``Computation``."""
        complete_from = frontier.complete_from.get(self._source.id)
        if complete_from is None:
            return
        await self._start(complete_from, frontier.head.number)
        if complete_from > self._position + 1:
            return  # blocks in between are still to be read
        while self._position < frontier.head.number:
            events, last = await self._facts.page(self._position + 1, frontier.head.number)
            await self._load(events)
            self._apply(events, frontier)
            self._position = last
            if len(self._rows) >= _ROWS_AT_ONCE:
                # The running hour of this replay is not written yet.
                await self._commit(frontier.finalized, self._states.reached(last, self._hour))
        if self._end and frontier.head.timestamp >= self._end:
            self._close_hour(frontier.head.number, frontier)
        for key in self._changed:
            self._keep(self._open[key])
        self._changed.clear()
        head = frontier.head
        await self._commit(frontier.finalized, self._states.reached(head.number, head.timestamp))
        self._put_away()

    def rewind(self, block: int) -> None:
        """See ``Computation``."""
        if self._position > block:
            self._started = False

    async def _start(self, complete_from: int, head: int) -> None:
        """Goes on from the last snapshot, or from a lower first block when earlier facts are complete now.

        While facts become complete downwards, it begins again when twice as many blocks are: all the work
        together is at most twice that of the last time.
        """
        if not self._started:
            progress = await self._states.progress()
            first, block = progress or (complete_from, complete_from - 1)
            self._begin(first)
            self._position = block
            self._known = await self._facts.created(first, block)
            self._started = True
        if complete_from != self._lowest:
            self._lowest, self._calls_at_start = complete_from, 0
        self._calls_at_start += 1
        if complete_from < self._first and (
            complete_from <= self._source.first_block
            or head - complete_from >= 2 * (head - self._first)
            or self._calls_at_start > _CALLS_BEFORE_A_LOWER_START
        ):
            self._begin(complete_from)

    async def _load(self, events: list[Event]) -> None:
        keys = {key for row, _ in events if isinstance(key := row[3], bytes)}
        for pool in await self._states.load((keys & self._known) - self._loaded.keys()):
            self._loaded[pool.key] = pool

    def _apply(self, events: list[Event], frontier: Frontier) -> None:
        loaded, open_, creating = self._loaded, self._open, self._creating
        early: dict[bytes, list[tuple[Row, Apply]]] = {}
        for row, apply in events:
            block, _, timestamp, key = row[:4]
            assert isinstance(block, int)
            assert isinstance(timestamp, int)
            assert isinstance(key, bytes)
            if timestamp >= self._end:
                self._close_hour(block - 1, frontier)
                self._hour = timestamp - timestamp % HOUR_S
                self._end = self._hour + HOUR_S
            pool = loaded.get(key)
            if pool is None:
                if apply is not creating:
                    if apply in self._early:
                        early.setdefault(key, []).append((row, apply))
                    continue  # created before the first block
                pool = self._made(key, row)
                if pool is None:
                    continue
            if key not in open_:
                pool.open_hour(self._hour)
                open_[key] = pool
            self._changed.add(key)
            if apply is creating:
                for before, first in early.pop(key, ()):
                    if before[0] == block:
                        first(pool, before)
            try:
                apply(pool, row)
            except _REFUSED:
                pool.spoil()
        self._events += len(events)

    def _made(self, key: bytes, row: Row) -> ReplayedPool | None:
        fee_pips, spacing, hooks = created = row[_MADE]
        try:
            pool = self._states.make(key, created)
        except _REFUSED:
            return None
        pool.created = (fee_pips, spacing, hooks.hex() if isinstance(hooks, bytes) else None)
        self._known.add(key)
        self._loaded[key] = pool
        return pool

    def _close_hour(self, last_block: int, frontier: Frontier) -> None:
        for pool in self._open.values():
            pool.pass_time(self._end)
            self._keep(pool)
        self._unsaved |= self._open.keys()
        self._open.clear()
        self._changed.clear()
        is_recent = self._end > frontier.head.timestamp - 2 * HOUR_S
        if self._unsaved and (self._events >= _EVENTS_BETWEEN_SNAPSHOTS or is_recent):
            self._waiting.append(Snapshot(last_block, saved(self._loaded[key] for key in self._unsaved)))
            self._unsaved.clear()
            self._events = 0
            if len(self._waiting) > _MOST_WAITING:
                newest = self._waiting.pop()
                self._waiting[-1].add(newest)
        self._hour = self._end = 0

    def _keep(self, pool: ReplayedPool) -> None:
        rows = pool.rows(self._chain_id, self._source.id, self._known.__contains__)
        self._rows[pool.key, pool.hour.start] = rows

    async def _commit(self, finalized: int, reached: Row) -> None:
        """Writes the rows, how far they reach, and the newest snapshot that is final.

        Every hour before a snapshot is written then. A reorganisation down to the last final block deletes
        the hour of that block. The snapshot after it would leave the hour out: only those before are written.
        """
        final = [snapshot for snapshot in self._waiting if snapshot.block < finalized]
        rows = [row for each in self._rows.values() for row in each]
        rollups = {self._table: rows, "computed": [reached]}
        if final:
            snapshot = Snapshot(-1)
            for each in final:
                snapshot.add(each)
            rollups["replay_state"] = self._states.rows(snapshot, self._first)
        await self._writer.commit(Commit(self._chain_id, rollups=rollups))
        self._rows.clear()
        del self._waiting[: len(final)]

    def _put_away(self) -> None:
        """Forgets pools that were idle for longest, and whose states are written."""
        if len(self._loaded) <= _MOST_LOADED:
            return
        needed = self._unsaved.union(self._open, *(snapshot.states for snapshot in self._waiting))
        idle = sorted((pool.at, key) for key, pool in self._loaded.items() if key not in needed)
        for _, key in idle[: len(self._loaded) - _MOST_LOADED // 2]:
            del self._loaded[key]
