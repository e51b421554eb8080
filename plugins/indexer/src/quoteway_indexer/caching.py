"""Keeps rows that were read from an index, and reads again only what a commit changed since."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from quoteway_indexer.changes import FIRST, Change, Changes, Mark
from quoteway_indexer.store import Condition, Query, Reader, Row, Select, Span, Sum
from quoteway_indexer.windows import Subject, bounds, subject, window_of

_VALUES_OF_A_MB: Final = 20_000
"""An integer of some 70 bits and its place in a row take 50 bytes."""
_VALUES_OF_A_QUERY: Final = 60
_LARGE: Final = 4
"""An answer that takes more than this part of the memory is not kept."""


class ChangingReader(Reader):
    """A reader that knows what commits changed."""

    @abstractmethod
    async def changes(self, mark: Mark) -> Changes:
        """Returns what changed after a mark that it gave before."""


@dataclass(slots=True, eq=False)
class _Kept:
    """Rows of a query. Those from the hour ``needed`` on must be read; None when all are as they should be.

    The rows of a window are all of its subject from the hour ``first`` on, and ``hours`` are theirs. The
    answer to another query is one piece. It does not depend on rows after the hour ``last``.
    """

    query: Query
    subject: Subject
    is_window: bool
    first: int = FIRST
    last: int = -FIRST
    needed: int | None = FIRST
    rows: list[Row] = field(default_factory=list)
    hours: list[int] = field(default_factory=list)
    loading: asyncio.Task[None] | None = None

    @property
    def size(self) -> int:
        return _VALUES_OF_A_QUERY + (len(self.rows) * (len(self.rows[0]) + 3) if self.rows else 0)

    def outdate(self, since: int) -> None:
        """Says that rows of an hour and later ones may be others."""
        if since <= self.last:
            since = max(since, self.first)
            self.needed = since if self.needed is None else min(since, self.needed)

    def missing(self, since: int) -> Query:
        """Returns the query for the rows that must be read."""
        if isinstance(self.query, Sum) or not self.is_window or since == FIRST:
            return self.query
        where = (*self.query.where, Condition("hour", ">=", since))
        return Select(self.query.table, self.query.columns, where, self.query.order)

    def take(self, rows: list[Row], since: int) -> None:
        """Puts rows that were read in the place of those from an hour on."""
        if not self.is_window:
            self.rows = rows
            return
        column = self.query.columns.index("hour") if isinstance(self.query, Select) else 0
        place = bisect_left(self.hours, since)
        self.rows[place:] = rows
        self.hours[place:] = [hour for row in rows if isinstance(hour := row[column], int)]


class CachedReader(Reader):
    """Answers as of the newest commit, like the reader that it asks, from rows that it keeps.

    Each read asks first what changed: one question for all reads that began meanwhile. The rows that were not
    used for longest are forgotten when all of them take more than about ``memory_mb``.
    """

    def __init__(self, reader: ChangingReader, *, memory_mb: int) -> None:
        self._reader = reader
        self._most = memory_mb * _VALUES_OF_A_MB
        self._kept: OrderedDict[object, _Kept] = OrderedDict()
        self._size = 0
        self._mark = Mark("", 0)
        self._revision = 0
        self._checking: asyncio.Task[None] | None = None
        self._next_check: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def fetch(self, query: Query) -> list[Row]:
        window = window_of(query)
        await self._check()
        if window is None:
            return await self._whole(query)
        kept = self._kept.get(window.key)
        if window.first is None:
            # The newest rows before an hour, when those that are kept reach so far back.
            if kept is not None and window.descending and window.limit is not None:
                await self._current(window.key, kept)
                rows = window.rows(kept.rows, kept.hours)
                if len(rows) == window.limit:
                    return rows
            return await self._whole(query)
        if kept is None:
            asked = Select(window.subject.table, window.columns, window.where, ("hour",))
            kept = _Kept(asked, window.subject, True, window.first, needed=window.first)
            self._add(window.key, kept)
        elif window.first < kept.first:
            kept.first = kept.needed = window.first
        await self._current(window.key, kept)
        return window.rows(kept.rows, kept.hours)

    async def spans(self, chain_id: int) -> list[Span]:
        return await self._reader.spans(chain_id)

    async def revision(self) -> int:
        await self._check()
        return self._revision

    async def notes(self) -> Mapping[str, Any]:
        return await self._reader.notes()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._forget()
        await self._reader.close()

    async def _whole(self, query: Query) -> list[Row]:
        kept = self._kept.get(query)
        if kept is None:
            _, last = bounds(query)
            kept = _Kept(query, subject(query), False, last=-FIRST if last is None else last)
            self._add(query, kept)
        await self._current(query, kept)
        return list(kept.rows)

    async def _check(self) -> None:
        """Returns when it is known what changed until this call or later."""
        if self._next_check is None:
            self._next_check = self._start(self._check_after(self._checking))
        await asyncio.shield(self._next_check)

    async def _check_after(self, other: asyncio.Task[None] | None) -> None:
        if other is not None and not other.done():
            await asyncio.wait([other])
        self._checking, self._next_check = self._next_check, None
        found = await self._reader.changes(self._mark)
        if found.changes is None:
            self._forget()
        elif found.changes:
            self._apply(found.changes)
        self._mark, self._revision = found.mark, found.revision

    def _apply(self, changes: Iterable[Change]) -> None:
        since: dict[tuple[object, ...], int] = {}
        for table, chain_id, one, hour in changes:
            # The shorter ones are for queries of several subjects, or several chains.
            several: tuple[tuple[object, ...], ...] = ((table, chain_id), (table,))
            for place in ((table, chain_id, one), *several):
                since[place] = min(hour, since.get(place, hour))
        for kept in self._kept.values():
            name, chain, subject_ = kept.subject
            if (name,) not in since:
                continue
            places: tuple[tuple[object, ...], ...] = ((name,),)
            if subject_ is not None and chain is not None:
                places = (name, chain, subject_), (name, chain, None), (name, None, None)
            elif chain is not None:
                places = (name, chain), (name, None)
            for place in places:
                if place in since:
                    kept.outdate(since[place])

    async def _current(self, key: object, kept: _Kept) -> None:
        """Returns when the rows are as of the last check or newer."""
        if key in self._kept:
            self._kept.move_to_end(key)
        running = kept.loading
        if running is not None and kept.needed is None:
            # It began after what is known to have changed.
            await asyncio.shield(running)
            return
        if running is not None:
            await asyncio.wait([running])
        if kept.loading is None and kept.needed is not None:
            kept.loading = self._start(self._load(key, kept))
        if kept.loading is not None:
            await asyncio.shield(kept.loading)

    async def _load(self, key: object, kept: _Kept) -> None:
        since = kept.needed
        assert since is not None
        kept.needed = None
        try:
            rows = await self._reader.fetch(kept.missing(since))
        except BaseException:
            kept.needed = since if kept.needed is None else min(since, kept.needed)
            raise
        finally:
            kept.loading = None
        before = kept.size
        kept.take(rows, since)
        if self._kept.get(key) is kept:
            self._size += kept.size - before
            if kept.size * _LARGE > self._most:
                self._size -= self._kept.pop(key).size
            while self._size > self._most and self._kept:
                _, oldest = self._kept.popitem(last=False)
                self._size -= oldest.size

    def _add(self, key: object, kept: _Kept) -> None:
        self._kept[key] = kept
        self._size += kept.size

    def _forget(self) -> None:
        self._kept.clear()
        self._size = 0

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="index-cache")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Whoever waits has it too; when nobody does any more, it is no news.
            task.exception()
