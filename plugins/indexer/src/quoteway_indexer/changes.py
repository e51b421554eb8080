"""What commits changed, so that a process that keeps rows knows which of them it must read again."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from quoteway_indexer.row_bytes import packed_rows
from quoteway_indexer.store import Commit, Row
from quoteway_indexer.tables import OF_EVENTS, ROLLUPS, TABLES, Table

FIRST: Final = -(2**63)
"""Before every hour."""
_KEPT: Final = 20_000
_KEPT_BYTES: Final = 16 << 20
_MOST_ROWS: Final = 2_000
"""Of a commit with more rows, changes do not have them: whoever keeps rows reads again what it needs."""


class Change(NamedTuple):
    """Rows of a table that may be others: those of ``subject`` from the hour ``since`` on.

    The subject is the pool, vault or token of a table by hours. None is every chain, or every subject.
    ``rows`` are all that changed, by ``packed_rows``: each replaces the one with its key. None when they are
    not known, or some were deleted.
    """

    table: str
    chain_id: int | None
    subject: bytes | None = None
    since: int = FIRST
    rows: bytes | None = None


class Committed(NamedTuple):
    """What one commit changed, and the revision of the database after it."""

    revision: int
    changes: list[Change]


class Mark(NamedTuple):
    """A place in the changes of one index: ``log`` is another for another one, and when it was restarted.

    ``number`` is the revision of the last commit, or 0 before any.
    """

    log: str
    number: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What commits after a mark and until ``mark`` changed, in their order; None for everything.

    ``revision`` is the database's after them.
    """

    mark: Mark
    revision: int
    changes: Sequence[Committed] | None


def subject_of(table: Table) -> str | None:
    """Returns the column of a table by hours that says of what its rows are; None for another table."""
    return table.key[1] if table.kind == "rollup" and table.time == "hour" else None


def changes_of(commit: Commit, *, overlaps: bool) -> list[Change]:
    """Returns what a commit changes. ``overlaps`` says that it reads blocks again."""
    chain_id = commit.chain_id
    changes = [Change(name, chain_id) for name in commit.facts]
    for table in TABLES.values():
        is_cut = commit.rewind_to is not None and any(column.name == "block" for column in table.columns)
        if is_cut or (overlaps and table.kind == "fact"):
            changes.append(Change(table.name, chain_id))
    if commit.forget_hours_from is not None:
        changes += [Change(name, chain_id, None, commit.forget_hours_from) for name in OF_EVENTS]
    with_rows = sum(map(len, commit.rollups.values())) <= _MOST_ROWS
    for name, rows in commit.rollups.items():
        table = ROLLUPS[name]
        if rows and not has_rows(table):
            changes.append(Change(name, chain_id))
            continue
        for subject, of_it in _by_subject(table, rows).items():
            packed = packed_rows(table, of_it) if with_rows else None
            changes.append(Change(name, chain_id, subject, _first_hour(table, of_it), packed))
    return changes


def has_rows(table: Table) -> bool:
    """Returns whether changes of a table have the rows: those by hours, and how far they are computed."""
    return subject_of(table) is not None or table.name == "computed"


def _by_subject(table: Table, rows: Sequence[Row]) -> dict[bytes | None, list[Row]]:
    subject = subject_of(table)
    if subject is None:
        return {None: list(rows)} if rows else {}
    place = table.place(subject)
    found: dict[bytes | None, list[Row]] = {}
    for row in rows:
        key = row[place]
        assert isinstance(key, bytes)
        found.setdefault(key, []).append(row)
    return found


def _first_hour(table: Table, rows: Sequence[Row]) -> int:
    if subject_of(table) is None:
        return FIRST
    place = table.place("hour")
    return min(hour for row in rows if isinstance(hour := row[place], int))


class ChangeLog:
    """The newest changes of a database that only this process writes.

    Every method may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Forgets all changes: whoever asks next is told that everything may have changed."""
        with self._lock:
            self._id = secrets.token_hex(8)
            self._newest = self._oldest = self._count = self._bytes = 0
            self._commits: deque[Committed] = deque()

    def add(self, commit: Committed) -> None:
        """Adds the changes of a commit that counts, in the order of commits."""
        with self._lock:
            self._newest = commit.revision
            self._commits.append(commit)
            self._measure(commit, 1)
            while self._count > _KEPT or self._bytes > _KEPT_BYTES:
                oldest = self._commits.popleft()
                self._measure(oldest, -1)
                self._oldest = oldest.revision

    def since(self, mark: Mark) -> tuple[Mark, list[Committed] | None]:
        """Returns the newest mark, and what commits changed after ``mark``; None when that is not known."""
        with self._lock:
            newest = Mark(self._id, self._newest)
            if mark.log != self._id or mark.number < self._oldest:
                return newest, None
            found = []
            for commit in reversed(self._commits):
                if commit.revision <= mark.number:
                    break
                found.append(commit)
        found.reverse()
        return newest, found

    def _measure(self, commit: Committed, sign: int) -> None:
        self._count += sign * max(1, len(commit.changes))
        self._bytes += sign * sum(len(change.rows or b"") for change in commit.changes)
