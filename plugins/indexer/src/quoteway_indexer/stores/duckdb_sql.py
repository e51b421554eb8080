"""DuckDB's SQL, where a column of 256 bits is two columns (see ``wide``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from quoteway_indexer.store import Value
from quoteway_indexer.stores.sql import Dialect, Parts
from quoteway_indexer.stores.wide import joined_sum, joined_values, split_value
from quoteway_indexer.tables import Column, Table

_TYPES: Final = {
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bytes": "BLOB",
    "address": "BLOB",
    "bytes32": "BLOB",
}
# The number zero among the 32 bytes of values that do not fit: such values are above or below it.
_ZERO: Final = {
    "uint256": "'" + r"\x00" * 32 + "'::BLOB",
    "int256": "'" + r"\x80" + r"\x00" * 31 + "'::BLOB",
}


class DuckDBDialect(Dialect):
    """The statements of a DuckDB index."""

    def placed(self, column: Column, value: Value, parameters: list[Any]) -> str:
        parameters.append(value)
        return "?"

    def stored(self, column: Column) -> list[str]:
        return [name for name, _ in stored_columns(column)]

    def values(self, column: Column, parts: Parts) -> Sequence[Any]:
        if not is_wide(column):
            return parts[0]
        fitting, raw = parts
        return joined_values(fitting, raw, column.type == "int256")

    def sums(self, column: Column) -> list[str]:
        if not is_wide(column):
            return [f"sum({column.name})"]
        name, raw = column.name, f"{column.name}_raw"
        groups = [f"sum(array_slice({raw}, {first}, {first + 7})::BIT::UBIGINT)" for first in (25, 17, 9, 1)]
        return [
            f"count({name})",
            f"sum(({name} & 18446744073709551615::HUGEINT)::UBIGINT)",
            f"sum({name} >> 64)",
            f"count({raw})",
            *groups,
        ]

    def summed(self, column: Column, parts: Parts) -> Sequence[Any]:
        if not is_wide(column):
            return parts[0]
        signed = column.type == "int256"
        return [
            joined_sum(count, low, high, tuple(raw), signed)
            for count, low, high, *raw in zip(*parts, strict=True)
        ]

    def any_of(self, column: Column, values: Sequence[Value], parameters: list[Any]) -> str:
        if not is_wide(column):
            return super().any_of(column, values, parameters)
        split = [split_value(value, column.type == "int256") for value in values if isinstance(value, int)]
        kinds = ((column.name, [one for one, _ in split]), (f"{column.name}_raw", [raw for _, raw in split]))
        ways = []
        for name, kept in kinds:
            known = [value for value in kept if value is not None]
            if known:
                parameters.extend(known)
                ways.append(f"{name} IN ({', '.join('?' * len(known))})")
        return " OR ".join(ways)

    def compared(self, column: Column, operator: str, value: Value, parameters: list[Any]) -> str:
        if not is_wide(column) or not isinstance(value, int):
            return super().compared(column, operator, value, parameters)
        fitting, raw = split_value(value, column.type == "int256")
        if fitting is not None:
            parameters.append(fitting)
            return f"({column.name} {operator} ? OR {column.name}_raw {operator[0]} {_ZERO[column.type]})"
        parameters.append(raw)
        fits_too = (value > 0) == operator.startswith("<")
        return f"({column.name}_raw {operator} ?{f' OR {column.name} IS NOT NULL' if fits_too else ''})"

    def ordered(self, column: Column, direction: str) -> str:
        if not is_wide(column):
            return super().ordered(column, direction)
        zero = _ZERO[column.type]
        known = f"CASE WHEN {column.name} IS NOT NULL THEN {zero} ELSE {column.name}_raw END"
        return f"{known} {direction}, {column.name} {direction}"


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
