"""Keeps rows that were read from an index, and reads again only what a commit changed since."""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from quoteway_indexer.changes import Change, Changes, Committed, Mark
from quoteway_indexer.kept_rows import KeptRows, kept_answer
from quoteway_indexer.store import Query, Reader, Row, Select, Span
from quoteway_indexer.windows import Subject, window_of

Place: TypeAlias = tuple[object, ...]

_VALUES_OF_A_MB: Final = 20_000
"""An integer of some 70 bits and its place in a row take 50 bytes."""
_LARGE: Final = 4
"""An answer that takes more than this part of the memory is not kept."""
UNUSED_S: Final = 300.0
"""How long rows are kept that nobody reads: most queries name a block or a transaction, and come once."""


class ChangingReader(Reader):
    """A reader that knows what commits changed."""

    async def fetch(self, query: Query) -> list[Row]:
        _, rows = await self.read(query)
        return rows

    @abstractmethod
    async def read(self, query: Query) -> tuple[int, list[Row]]:
        """Returns the rows of a query, and the revision of the index that they are of."""

    @abstractmethod
    async def changes(self, mark: Mark) -> Changes:
        """Returns what changed after a mark that it gave before."""


class CachedReader(Reader):
    """Answers as of the newest commit, like the reader that it asks, from rows that it keeps.

    Each read asks first what changed: one question for all reads that began meanwhile. Rows that a commit
    wrote are put in their place; where rows were deleted, or too many written, they are read again. The rows
    that were not used for longest are forgotten when all of them take more than about ``memory_mb``, and each
    after ``UNUSED_S``.
    """

    def __init__(
        self, reader: ChangingReader, *, memory_mb: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reader = reader
        self._clock = clock
        self._most = memory_mb * _VALUES_OF_A_MB
        self._kept: OrderedDict[object, KeptRows] = OrderedDict()
        self._of_table: defaultdict[str, defaultdict[Subject, set[object]]] = defaultdict(
            lambda: defaultdict(set)
        )
        """The keys of what is kept, by table and subject: most commits concern few of them."""
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
            kept = KeptRows(asked, window.subject, True, window.first, needed=window.first)
            self._add(window.key, kept)
        elif window.first < kept.first:
            kept.extend(window.first)
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
            kept = kept_answer(query)
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
        self._forget_unused()
        self._mark, self._revision = found.mark, found.revision

    def _apply(self, commits: Iterable[Committed]) -> None:
        changes: defaultdict[Place, list[tuple[int, Change]]] = defaultdict(list)
        several: dict[Place, tuple[int, Change]] = {}
        for revision, changed in commits:
            for change in changed:
                table, chain_id, one = change[:3]
                changes[table, chain_id, one].append((revision, change))
                # For queries of several subjects, or several chains.
                for place in ((table, chain_id), (table,)):
                    since = min(change.since, several[place][1].since if place in several else change.since)
                    several[place] = revision, Change(table, None, None, since)
        for kept in self._concerned(changes):
            name, chain, one = kept.subject
            before = kept.size
            if chain is not None and (one is not None or kept.splice is not None):
                subjects = {(name, chain, one), (name, chain, None), (name, None, None)}
                found = [each for place in subjects for each in changes.get(place, ())]
            else:
                wider = ((name, chain), (name, None)) if chain is not None else ((name,),)
                found = [several[place] for place in wider if place in several]
            for revision, change in found:
                kept.change(revision, change)
            self._size += kept.size - before
        self._bound()

    def _concerned(self, changes: Collection[Place]) -> Iterator[KeptRows]:
        """Returns what is kept that changes of these subjects may concern."""
        wide = {place[0] for place in changes if None in place}
        for name in self._of_table.keys() & {place[0] for place in changes}:
            for subject, keys in self._of_table[name].items():
                if name in wide or subject in changes or None in subject:
                    yield from map(self._kept.__getitem__, keys)

    async def _current(self, key: object, kept: KeptRows) -> None:
        """Returns when all that the last check found, or more, is in the rows."""
        if key in self._kept:
            self._kept.move_to_end(key)
            kept.used_at = self._clock()
        known = self._revision
        while kept.is_behind(known):
            if kept.loading is None:
                kept.loading = self._start(self._load(key, kept))
            await asyncio.shield(kept.loading)

    async def _load(self, key: object, kept: KeptRows) -> None:
        since, missing = kept.begin()
        read, before = None, kept.size
        try:
            read = await self._reader.read(missing)
        finally:
            kept.end(read, since)
        if self._kept.get(key) is kept:
            self._size += kept.size - before
            if kept.size * _LARGE > self._most:
                self._remove(key)
            self._bound()

    def _bound(self) -> None:
        while self._size > self._most and self._kept:
            self._remove(next(iter(self._kept)))

    def _forget_unused(self) -> None:
        since = self._clock() - UNUSED_S
        while self._kept:
            key, kept = next(iter(self._kept.items()))
            if kept.used_at >= since:
                return
            self._remove(key)

    def _add(self, key: object, kept: KeptRows) -> None:
        kept.used_at = self._clock()
        self._kept[key] = kept
        self._of_table[kept.subject.table][kept.subject].add(key)
        self._size += kept.size

    def _remove(self, key: object) -> None:
        kept = self._kept.pop(key)
        of_table = self._of_table[kept.subject.table]
        of_table[kept.subject].discard(key)
        if not of_table[kept.subject]:
            del of_table[kept.subject]
        self._size -= kept.size

    def _forget(self) -> None:
        self._kept.clear()
        self._of_table.clear()
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
