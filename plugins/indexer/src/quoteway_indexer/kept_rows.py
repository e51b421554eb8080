"""The rows of one query, and how what commits changed gets into them."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from quoteway_indexer.changes import FIRST, Change, has_rows, subject_of
from quoteway_indexer.row_bytes import rows_in
from quoteway_indexer.store import Condition, Query, Row, Select, Value
from quoteway_indexer.tables import TABLES
from quoteway_indexer.windows import HOUR, Subject, bounds, subject

_VALUES_OF_A_QUERY: Final = 60
_BEFORE_ALL: Final = -1
"""A revision before every commit."""


@dataclass(frozen=True, slots=True)
class _Splice:
    """Where in a written row the hour, the rest of the key and the columns of a query are.

    The rest, of which ``names`` are the columns, tells apart the rows of one hour. ``where`` are the values
    that a column of a written row may have, by its place.
    """

    columns: tuple[int, ...]
    names: tuple[str, ...]
    rest: tuple[int, ...]
    hour: int | None
    where: tuple[tuple[int, tuple[Any, ...]], ...]

    def matches(self, row: Row) -> bool:
        return all(row[place] in values for place, values in self.where)


@dataclass(slots=True, eq=False)
class KeptRows:
    """Rows of a query. Those from the hour ``needed`` on must be read; None when all are as they should be.

    The rows of a window are all of its subject from the hour ``first`` on, and ``hours`` are theirs. The
    answer to another query is one piece. It does not depend on rows after the hour ``last``.

    ``lacks`` is the revision of the first change that must be read; None when none must. ``reading`` is that
    of what is being read, and ``pending`` are changes that came meanwhile. Rows from the hour ``read_from``
    on were read at ``revision``. ``used_at`` is when somebody asked for the answer last.
    """

    query: Query
    subject: Subject
    is_window: bool
    first: int = FIRST
    last: int = -FIRST
    needed: int | None = FIRST
    lacks: int | None = _BEFORE_ALL
    reading: int | None = None
    read_from: int = -FIRST
    revision: int = _BEFORE_ALL
    used_at: float = 0.0
    rows: list[Row] = field(default_factory=list)
    hours: list[int] = field(default_factory=list)
    loading: asyncio.Task[None] | None = None
    pending: list[tuple[int, Change]] = field(default_factory=list)
    splice: _Splice | None = None
    _rests: list[Row] = field(default_factory=list)
    _width: int = 0

    def __post_init__(self) -> None:
        query = self.query
        if isinstance(query, Select):
            self.splice = _splice_of(query, self.subject, self.is_window)
            self._width = len(query.columns)
        if self.splice is not None and isinstance(query, Select):
            # The key of a row is needed, also where nobody asked for it.
            more = tuple(name for name in self.splice.names if name not in query.columns)
            self.query = Select(query.table, (*query.columns, *more), query.where, query.order, query.limit)

    @property
    def size(self) -> int:
        return _VALUES_OF_A_QUERY + (len(self.rows) * (len(self.rows[0]) + 3) if self.rows else 0)

    def is_behind(self, revision: int) -> bool:
        """Returns whether changes up to a revision must be read before the rows are used."""
        return any(each is not None and each <= revision for each in (self.lacks, self.reading))

    def extend(self, first: int) -> None:
        """Says that the rows of a window from an earlier hour on must be read."""
        self.first = self.needed = first
        self.lacks = _BEFORE_ALL

    def change(self, revision: int, change: Change) -> None:
        """Takes what a commit changed into the rows, or says which must be read again."""
        if self.reading is not None:
            self.pending.append((revision, change))
            return
        if change.since > self.last:
            return
        since = max(change.since, self.first)
        if revision <= self.revision and since >= self.read_from:
            return
        if change.rows is None or self.splice is None:
            self._outdate(since, revision)
            return
        for row in rows_in(change.rows):
            self._put(row, revision, self.splice)

    def begin(self) -> tuple[int, Query]:
        """Begins to read what must be read. Returns the first hour and the query of it."""
        since = self.needed
        assert since is not None
        self.reading, self.needed, self.lacks = self.lacks, None, None
        if not self.is_window or since == FIRST or not isinstance(self.query, Select):
            return since, self.query
        where = (*self.query.where, Condition(HOUR, ">=", since))
        return since, Select(self.query.table, self.query.columns, where, self.query.order)

    def end(self, read: tuple[int, list[Row]] | None, since: int) -> None:
        """Puts rows that were read at a revision in the place of those from an hour on; None: it failed."""
        was, self.reading, self.loading = self.reading, None, None
        if read is not None:
            self.revision, rows = read
            self.read_from = since if self.is_window else FIRST
            self._take(rows, since)
        elif was is not None:
            self._outdate(since, was)
        pending, self.pending = self.pending, []
        for revision, change in pending:
            self.change(revision, change)

    def _outdate(self, since: int, revision: int) -> None:
        self.needed = since if self.needed is None else min(since, self.needed)
        self.lacks = revision if self.lacks is None else min(revision, self.lacks)

    def _take(self, rows: list[Row], since: int) -> None:
        place = bisect_left(self.hours, since) if self.is_window else 0
        if isinstance(self.query, Select):
            columns = self.query.columns
            at = columns.index(HOUR) if self.is_window else None
            self.hours[place:] = [FIRST if at is None else _integer(row[at]) for row in rows]
            if self.splice is not None:
                rest = self.splice.names
                self._rests[place:] = _picked(rows, [columns.index(name) for name in rest])
                if len(columns) > self._width:
                    rows = [row[: self._width] for row in rows]
        self.rows[place:] = rows
        if not self.is_window:
            self.last = _last_hour(self.query, rows)

    def _put(self, written: Row, revision: int, splice: _Splice) -> None:
        """Puts a written row in the place of the one with its key."""
        hour = FIRST if splice.hour is None else _integer(written[splice.hour])
        if hour < self.first or (revision <= self.revision and hour >= self.read_from):
            return
        rest = tuple(written[place] for place in splice.rest)
        start, end = bisect_left(self.hours, hour), bisect_right(self.hours, hour)
        place = next((at for at in range(start, end) if self._rests[at] == rest), None)
        if not splice.matches(written):
            if place is not None:
                del self.rows[place], self.hours[place], self._rests[place]
            return
        row = tuple(written[each] for each in splice.columns)
        if place is not None:
            self.rows[place] = row
            return
        self.rows.insert(end, row)
        self.hours.insert(end, hour)
        self._rests.insert(end, rest)


def kept_answer(query: Query) -> KeptRows:
    """Returns what keeps the answer to a query that is no window, without rows."""
    return KeptRows(query, subject(query), False, last=_last_hour(query, ()))


def _last_hour(query: Query, rows: Sequence[Row]) -> int:
    """Returns the last hour whose rows may change an answer."""
    is_first = isinstance(query, Select) and query.order[:1] == (HOUR,) and HOUR in query.columns
    if isinstance(query, Select) and is_first and rows and len(rows) == query.limit:
        return _integer(rows[-1][query.columns.index(HOUR)])
    _, last = bounds(query)
    return -FIRST if last is None else last


def _splice_of(query: Select, of: Subject, is_window: bool) -> _Splice | None:
    """Returns how written rows get into the rows of a query; None when they must be read again."""
    table = TABLES.get(query.table)
    if table is None or of.chain_id is None or not has_rows(table):
        return None
    if not is_window and (query.order or query.limit is not None or HOUR in table.key):
        return None
    where: list[tuple[int, tuple[Any, ...]]] = []
    for one in query.where:
        if one.operator not in ("=", "in"):
            return None
        values = one.value if isinstance(one.value, tuple) else (one.value,)
        where.append((table.place(one.column), values))
    same = ("chain_id", subject_of(table), HOUR)
    rest = tuple(name for name in table.key if name not in same)
    return _Splice(
        tuple(table.place(name) for name in query.columns),
        rest,
        tuple(table.place(name) for name in rest),
        table.place(HOUR) if HOUR in table.key else None,
        tuple(where),
    )


def _picked(rows: Sequence[Row], places: Sequence[int]) -> list[Row]:
    """Returns the values at some places of rows. Equal ones are one object: most rows are of one source."""
    same: dict[Row, Row] = {}
    return [same.setdefault(key, key) for row in rows for key in [tuple(row[place] for place in places)]]


def _integer(value: Value) -> int:
    assert isinstance(value, int)
    return value
