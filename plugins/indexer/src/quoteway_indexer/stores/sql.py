"""Queries in SQL. A back end says in its ``Dialect`` what of that is its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from quoteway_indexer.store import Condition, Query, Row, Sum, Value
from quoteway_indexer.tables import TABLES, Column, Table

_COMPARISONS: Final = ("<", "<=", ">", ">=")
_NUMBERS: Final = ("int32", "int64", "float", "int256", "uint256")
_RANGES: Final[Mapping[str, tuple[Any, Any]]] = {
    "int32": (-(2**63), 2**63 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "int256": (-(2**255), 2**255 - 1),
    "uint256": (0, 2**256 - 1),
}

ON_THE_LOOP: Final = 20_000
"""Results of more values are unpacked in a thread: on the event loop nothing would be answered meanwhile."""

Parts: TypeAlias = Sequence[Sequence[Any]]
"""Columns of a result."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, its parameters, and what makes rows of the columns of its result."""

    text: str
    parameters: Sequence[Any]
    width: int
    rows: Callable[[Parts], list[Row]]

    def rows_of(self, records: Sequence[Sequence[Any]]) -> list[Row]:
        """Returns the rows of a result that came row by row."""
        return self.rows(list(zip(*records, strict=True)) if records else [()] * self.width)


class Dialect:
    """The SQL of a back end that keeps every column as one column."""

    def placed(self, column: Column, value: Value, parameters: list[Any]) -> str:
        """Adds a value to the parameters, and returns what stands for it in a statement."""
        raise NotImplementedError

    def stored(self, column: Column) -> list[str]:
        """Returns the names of the columns that keep a column."""
        return [column.name]

    def source(self, table: Table, conditions: Sequence[tuple[Column, str]]) -> str:
        """Returns what follows ``FROM``: the rows of a table for which conditions of columns hold."""
        where = " AND ".join(text for _, text in conditions)
        return f"{table.name} WHERE {where}" if where else table.name

    def values(self, column: Column, parts: Parts) -> Sequence[Any]:
        """Returns the values of a column from the columns that keep it."""
        return parts[0]

    def sums(self, column: Column) -> list[str]:
        """Returns the expressions of which the sum of a column is made."""
        return [f"sum({column.name})"]

    def summed(self, column: Column, parts: Parts) -> Sequence[Any]:
        """Returns the sums of a column from its expressions."""
        return parts[0]

    def any_of(self, column: Column, values: Sequence[Value], parameters: list[Any]) -> str:
        """Returns the condition that a column has one of some values that are not null."""
        places = ", ".join(self.placed(column, value, parameters) for value in values)
        return f"{column.name} IN ({places})"

    def compared(self, column: Column, operator: str, value: Value, parameters: list[Any]) -> str:
        """Returns the condition that a column is less or greater than a value that is not null."""
        return f"{column.name} {operator} {self.placed(column, value, parameters)}"

    def ordered(self, column: Column, direction: str) -> str:
        """Returns a column in the order of a result."""
        return f"{column.name} {direction}"


def statement(query: Query, dialect: Dialect) -> Statement:
    """Returns the statement of a query. Raises ``KeyError`` or ``ValueError`` for one that has no meaning."""
    table = TABLES[query.table]
    parameters: list[Any] = []
    conditions = [
        (table.column(condition.column), _condition(table, condition, dialect, parameters))
        for condition in query.where
    ]
    tail = f"FROM {dialect.source(table, conditions)}"
    if isinstance(query, Sum):
        return _sums(query, table, dialect, tail, parameters)
    columns = [table.column(name) for name in query.columns]
    if not columns:
        raise ValueError(f"a query of {table.name!r} needs a column")
    if query.order:
        tail += " ORDER BY " + ", ".join(_order(table, word, dialect) for word in query.order)
    if query.limit is not None:
        tail += f" LIMIT {int(query.limit)}"
    outputs = [name for column in columns for name in dialect.stored(column)]

    def rows(parts: Parts) -> list[Row]:
        return list(zip(*_values(columns, dialect, parts), strict=True))

    return Statement(f"SELECT {', '.join(outputs)} {tail}", parameters, len(outputs), rows)


def _sums(query: Sum, table: Table, dialect: Dialect, tail: str, parameters: list[Any]) -> Statement:
    groups = [table.column(name) for name in query.group]
    sums = [table.column(name) for name in query.sums]
    for column in sums:
        if column.type not in _NUMBERS:
            raise ValueError(f"column {column.name!r} has no numbers to add up")
    keys = [name for column in groups for name in dialect.stored(column)]
    outputs = [*keys, *(part for column in sums for part in dialect.sums(column)), "count(*)"]
    if keys:
        tail += f" GROUP BY {', '.join(keys)}"

    def rows(parts: Parts) -> list[Row]:
        at = len(keys)
        values = _values(groups, dialect, parts[:at])
        for column in sums:
            width = len(dialect.sums(column))
            values.append(dialect.summed(column, parts[at : at + width]))
            at += width
        return list(zip(*values, parts[at], strict=True))

    return Statement(f"SELECT {', '.join(outputs)} {tail}", parameters, len(outputs), rows)


def _values(columns: Sequence[Column], dialect: Dialect, parts: Parts) -> list[Sequence[Any]]:
    values = []
    at = 0
    for column in columns:
        width = len(dialect.stored(column))
        values.append(dialect.values(column, parts[at : at + width]))
        at += width
    return values


def _order(table: Table, word: str, dialect: Dialect) -> str:
    column = table.column(word.removeprefix("-"))
    # Null counts as less than every value, in every back end.
    return dialect.ordered(column, "DESC NULLS LAST" if word.startswith("-") else "ASC NULLS FIRST")


def _condition(table: Table, condition: Condition, dialect: Dialect, parameters: list[Any]) -> str:
    column, value = table.column(condition.column), condition.value
    if condition.operator == "in" or condition.operator == "=":
        if isinstance(value, tuple) != (condition.operator == "in"):
            raise ValueError(f"{value!r} is not what {condition.operator!r} needs of column {column.name!r}")
        return _equal(column, value if isinstance(value, tuple) else (value,), dialect, parameters)
    if condition.operator not in _COMPARISONS:
        raise ValueError(f"{condition.operator!r} is no operator of a condition")
    if value is None or isinstance(value, tuple):
        raise ValueError(f"column {column.name!r} cannot be {condition.operator} {value!r}")
    _check_kind(column, value)
    return dialect.compared(column, condition.operator, value, parameters)


def _equal(column: Column, values: Sequence[Value], dialect: Dialect, parameters: list[Any]) -> str:
    known = [value for value in values if value is not None]
    for value in known:
        _check_kind(column, value)
    ways = [dialect.any_of(column, known, parameters)] if known else []
    if len(known) < len(values):
        ways.append(" AND ".join(f"{name} IS NULL" for name in dialect.stored(column)))
    return f"({' OR '.join(ways)})" if ways else "1 = 0"


def _check_kind(column: Column, value: Value) -> None:
    kinds: tuple[type, ...] = (int,)
    if column.type == "float":
        kinds = (int, float)
    elif column.type == "text":
        kinds = (str,)
    elif column.type in ("bytes", "address", "bytes32"):
        kinds = (bytes,)
    lowest, highest = _RANGES.get(column.type, (value, value))
    if not isinstance(value, kinds) or not lowest <= value <= highest:
        raise ValueError(f"column {column.name!r} is {column.type}, which {value!r} is not")
