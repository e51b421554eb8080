"""What commits changed, so that a process that keeps rows knows which of them it must read again."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from quoteway_indexer.store import Commit
from quoteway_indexer.tables import ROLLUPS, TABLES, Table

FIRST: Final = -(2**63)
"""Before every hour."""
_KEPT: Final = 20_000


class Change(NamedTuple):
    """Rows of a table that may be others: those of ``subject`` from the hour ``since`` on.

    The subject is the pool, vault or token of a table by hours. None is every chain, or every subject.
    """

    table: str
    chain_id: int | None
    subject: bytes | None = None
    since: int = FIRST


class Mark(NamedTuple):
    """A place in the changes of one index: ``log`` is another for another one, and when it was restarted."""

    log: str
    number: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed after a mark and until ``mark``; None for everything. ``revision`` is the database's."""

    mark: Mark
    revision: int
    changes: Sequence[Change] | None


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
        changes += [
            Change(name, chain_id, None, commit.forget_hours_from) for name in ("pool_hour", "token_hour")
        ]
    for name, rows in commit.rollups.items():
        table = ROLLUPS[name]
        subject = subject_of(table)
        if not rows:
            continue
        if subject is None:
            changes.append(Change(name, chain_id))
            continue
        names = [column.name for column in table.columns]
        who, when = names.index(subject), names.index("hour")
        since: dict[bytes, int] = {}
        for row in rows:
            key, hour = row[who], row[when]
            assert isinstance(key, bytes)
            assert isinstance(hour, int)
            since[key] = min(hour, since.get(key, hour))
        changes += [Change(name, chain_id, key, hour) for key, hour in since.items()]
    return changes


class ChangeLog:
    """The newest changes of a database that only this process writes.

    Every method may be called from any thread.

    A change is added before its commit counts and again after: who reads between the two may have found
    the rows before it, and reads them again.
    """

    def __init__(self) -> None:
        self._id = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._number = 0
        self._oldest = 0
        self._changes: deque[tuple[int, Change]] = deque()

    def add(self, changes: Iterable[Change]) -> None:
        """Adds changes."""
        with self._lock:
            self._number += 1
            self._changes.extend((self._number, change) for change in changes)
            while len(self._changes) > _KEPT:
                self._oldest, _ = self._changes.popleft()

    def since(self, mark: Mark) -> tuple[Mark, list[Change] | None]:
        """Returns the newest mark, and the changes after ``mark``; None when they are not known any more."""
        with self._lock:
            newest = Mark(self._id, self._number)
            if mark.log != self._id or mark.number < self._oldest:
                return newest, None
            found = []
            for number, change in reversed(self._changes):
                if number <= mark.number:
                    break
                found.append(change)
            return newest, found
