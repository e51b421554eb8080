"""Queries for the hours of one pool, vault or token: parts of one list that is kept for all of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from quoteway_indexer.changes import subject_of
from quoteway_indexer.store import Condition, Query, Row, Select
from quoteway_indexer.tables import TABLES

HOUR: Final = "hour"


class Subject(NamedTuple):
    """What rows are of: the chain and the pool, vault or token. None when a query reads several."""

    table: str
    chain_id: int | None
    one: bytes | None


@dataclass(frozen=True, slots=True)
class Window:
    """The hours of ``subject`` from ``first`` to ``last``, both inclusive; None without a bound."""

    subject: Subject
    columns: tuple[str, ...]
    where: tuple[Condition, ...]
    first: int | None
    last: int | None
    descending: bool
    limit: int | None

    @property
    def key(self) -> object:
        """Tells the lists apart of which windows are parts."""
        return self.subject.table, self.columns, self.where

    def rows(self, rows: Sequence[Row], hours: Sequence[int]) -> list[Row]:
        """Returns the window's part of all rows, whose hours ascend."""
        start = 0 if self.first is None else bisect_left(hours, self.first)
        end = len(hours) if self.last is None else bisect_right(hours, self.last)
        if self.limit is None:
            found = list(rows[start:end])
        elif self.descending:
            found = list(rows[max(start, end - self.limit) : end])
        else:
            found = list(rows[start : min(end, start + self.limit)])
        if self.descending:
            found.reverse()
        return found


def subject(query: Query) -> Subject:
    """Returns what the rows of a query are of."""
    column = subject_of(TABLES[query.table]) if query.table in TABLES else None
    equal = {one.column: one.value for one in query.where if one.operator == "="}
    chain_id, one = equal.get("chain_id"), equal.get(column) if column else None
    return Subject(
        query.table,
        chain_id if isinstance(chain_id, int) else None,
        one if isinstance(one, bytes) else None,
    )


def window_of(query: Query) -> Window | None:
    """Returns the window that a query asks for; None when it asks for something else."""
    of = subject(query)
    if not isinstance(query, Select) or of.chain_id is None or of.one is None or HOUR not in query.columns:
        return None
    if query.order not in ((), (HOUR,), (f"-{HOUR}",)) or (query.limit is not None and query.limit < 0):
        return None
    first, last = bounds(query)
    where = tuple(one for one in query.where if not _is_bound(one))
    if any(one.column == HOUR for one in where):
        return None
    descending = query.order == (f"-{HOUR}",)
    return Window(of, query.columns, where, first, last, descending, query.limit)


def bounds(query: Query) -> tuple[int | None, int | None]:
    """Returns the first and the last hour that a query allows."""
    found = [
        (one.operator, one.value) for one in query.where if _is_bound(one) and isinstance(one.value, int)
    ]
    lower = [value + (operator == ">") for operator, value in found if operator.startswith(">")]
    upper = [value - (operator == "<") for operator, value in found if operator.startswith("<")]
    return max(lower, default=None), min(upper, default=None)


def _is_bound(condition: Condition) -> bool:
    return (
        condition.column == HOUR
        and condition.operator in ("<", "<=", ">", ">=")
        and isinstance(condition.value, int)
    )
