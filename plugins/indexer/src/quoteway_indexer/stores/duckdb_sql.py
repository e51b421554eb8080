"""Queries in DuckDB's SQL, where a column of 256 bits is two columns (see ``wide``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from quoteway_indexer.store import Condition, Query, Row, Sum, Value
from quoteway_indexer.stores.wide import joined_sum, joined_values, split_value
from quoteway_indexer.tables import TABLES, Column, Table

_TYPES: Final = {
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bytes": "BLOB",
    "address": "BLOB",
    "bytes32": "BLOB",
}
_OPERATORS: Final = {"=", "<", "<=", ">", ">="}
# The number zero among the 32 bytes of values that do not fit: such values are above or below it.
_ZERO: Final = {
    "uint256": "'" + r"\x00" * 32 + "'::BLOB",
    "int256": "'" + r"\x80" + r"\x00" * 31 + "'::BLOB",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, its parameters, and what makes rows of the columns of its result."""

    text: str
    parameters: Sequence[Any]
    rows: Callable[[Sequence[list[Any]]], list[Row]]


def create_table(table: Table) -> str:
    """Returns the statement that makes a table."""
    columns = ", ".join(f"{name} {kind}" for column in table.columns for name, kind in stored_columns(column))
    return f"CREATE TABLE {table.name} ({columns})"


def stored_columns(column: Column) -> list[tuple[str, str]]:
    """Returns the names and types of the columns that keep a column."""
    if is_wide(column):
        return [(column.name, "HUGEINT"), (f"{column.name}_raw", "BLOB")]
    return [(column.name, _TYPES[column.type])]


def is_wide(column: Column) -> bool:
    """Tells whether a column has integers of 256 bits."""
    return column.type in ("int256", "uint256")


def statement(query: Query) -> Statement:
    """Returns the statement of a query. Raises ``KeyError`` or ``ValueError`` for one that has no meaning."""
    table = TABLES[query.table]
    parameters: list[Any] = []
    where = " AND ".join(_condition(table.column(c.column), c, parameters) for c in query.where)
    tail = f" WHERE {where}" if where else ""
    if isinstance(query, Sum):
        return _sums(query, table, tail, parameters)
    columns = [table.column(name) for name in query.columns]
    if not columns:
        raise ValueError(f"a query of {table.name!r} needs a column")
    outputs = ", ".join(name for column in columns for name, _ in stored_columns(column))
    if query.order:
        tail += " ORDER BY " + ", ".join(_order(table, word) for word in query.order)
    if query.limit is not None:
        tail += f" LIMIT {int(query.limit)}"

    def rows(parts: Sequence[list[Any]]) -> list[Row]:
        return list(zip(*_joined(columns, parts), strict=True))

    return Statement(f"SELECT {outputs} FROM {table.name}{tail}", parameters, rows)  # noqa: S608


def _sums(query: Sum, table: Table, tail: str, parameters: list[Any]) -> Statement:
    groups = [table.column(name) for name in query.group]
    sums = [table.column(name) for name in query.sums]
    keys = [name for column in groups for name, _ in stored_columns(column)]
    outputs = [*keys, *(part for column in sums for part in _sum_parts(column)), "count(*)"]
    if keys:
        tail += f" GROUP BY {', '.join(keys)}"

    def rows(parts: Sequence[list[Any]]) -> list[Row]:
        at = len(keys)
        values = _joined(groups, parts[:at])
        for column in sums:
            width = len(_sum_parts(column))
            values.append(_summed(column, parts[at : at + width]))
            at += width
        return list(zip(*values, parts[at], strict=True))

    return Statement(f"SELECT {', '.join(outputs)} FROM {table.name}{tail}", parameters, rows)  # noqa: S608


def _sum_parts(column: Column) -> list[str]:
    name, raw = column.name, f"{column.name}_raw"
    if column.type in ("int32", "int64", "float"):
        return [f"sum({name})"]
    if not is_wide(column):
        raise ValueError(f"column {name!r} has no numbers to add up")
    groups = [f"sum(array_slice({raw}, {first}, {first + 7})::BIT::UBIGINT)" for first in (25, 17, 9, 1)]
    return [
        f"count({name})",
        f"sum(({name} & 18446744073709551615::HUGEINT)::UBIGINT)",
        f"sum({name} >> 64)",
        f"count({raw})",
        *groups,
    ]


def _joined(columns: Sequence[Column], parts: Sequence[list[Any]]) -> list[list[Any]]:
    values: list[list[Any]] = []
    rest = iter(parts)
    for column in columns:
        fitting = next(rest)
        values.append(
            joined_values(fitting, next(rest), column.type == "int256") if is_wide(column) else fitting
        )
    return values


def _summed(column: Column, parts: Sequence[list[Any]]) -> list[Any]:
    if not is_wide(column):
        return parts[0]
    signed = column.type == "int256"
    return [
        joined_sum(count, low, high, tuple(raw), signed)
        for count, low, high, *raw in zip(*parts, strict=True)
    ]


def _order(table: Table, word: str) -> str:
    column = table.column(word.removeprefix("-"))
    direction = "DESC NULLS LAST" if word.startswith("-") else "ASC NULLS FIRST"
    if not is_wide(column):
        return f"{column.name} {direction}"
    zero = _ZERO[column.type]
    known = f"CASE WHEN {column.name} IS NOT NULL THEN {zero} ELSE {column.name}_raw END"
    return f"{known} {direction}, {column.name} {direction}"


def _condition(column: Column, condition: Condition, parameters: list[Any]) -> str:
    value = condition.value
    if condition.operator == "in":
        if not isinstance(value, tuple):
            raise ValueError(
                f"the operator 'in' of column {column.name!r} needs several values, not {value!r}"
            )
        return f"({' OR '.join(_equal(column, one, parameters) for one in value) or 'false'})"
    if condition.operator not in _OPERATORS:
        raise ValueError(f"{condition.operator!r} is no operator of a condition")
    if isinstance(value, tuple):
        raise ValueError(f"the operator {condition.operator!r} of column {column.name!r} needs one value")
    if condition.operator == "=":
        return _equal(column, value, parameters)
    if value is None:
        raise ValueError(f"column {column.name!r} cannot be {condition.operator} null")
    if not is_wide(column):
        parameters.append(value)
        return f"{column.name} {condition.operator} ?"
    if not isinstance(value, int):
        raise ValueError(f"column {column.name!r} has integers, not {value!r}")
    return _wide_comparison(column, condition.operator, value, parameters)


def _equal(column: Column, value: Value, parameters: list[Any]) -> str:
    if value is None:
        missing = " AND ".join(f"{name} IS NULL" for name, _ in stored_columns(column))
        return f"({missing})"
    if not is_wide(column):
        parameters.append(value)
        return f"{column.name} = ?"
    if not isinstance(value, int):
        raise ValueError(f"column {column.name!r} has integers, not {value!r}")
    fitting, raw = split_value(value, column.type == "int256")
    parameters.append(raw if fitting is None else fitting)
    return f"{column.name}_raw = ?" if fitting is None else f"{column.name} = ?"


def _wide_comparison(column: Column, operator: str, value: int, parameters: list[Any]) -> str:
    fitting, raw = split_value(value, column.type == "int256")
    if fitting is not None:
        parameters.append(fitting)
        return f"({column.name} {operator} ? OR {column.name}_raw {operator[0]} {_ZERO[column.type]})"
    parameters.append(raw)
    fits_too = (value > 0) == operator.startswith("<")
    return f"({column.name}_raw {operator} ?{f' OR {column.name} IS NOT NULL' if fits_too else ''})"
