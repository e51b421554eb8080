"""ClickHouse's SQL. Values are literals: there is no limit on their number, and bytes have no other way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quoteway_indexer.store import Span, Value
from quoteway_indexer.stores.clickhouse_state import State
from quoteway_indexer.stores.sql import Dialect, Parts
from quoteway_indexer.tables import Column, Table


class ClickHouseDialect(Dialect):
    """The statements of an index in one state."""

    def __init__(self, state: State) -> None:
        self._state = state

    def placed(self, column: Column, value: Value, parameters: list[Any]) -> str:
        # In quotes a number is of the type that it is compared with.
        return literal(str(value) if column.type in ("int256", "uint256") else value)

    def source(self, table: Table, conditions: Sequence[tuple[Column, str]]) -> str:
        return rows_of(self._state, table, conditions)

    def values(self, column: Column, parts: Parts) -> Sequence[Any]:
        if column.type == "text":
            return [None if value is None else value.decode() for value in parts[0]]
        if column.type in ("int256", "uint256"):
            return _integers(parts[0], signed=column.type == "int256")
        return parts[0]

    def sums(self, column: Column) -> list[str]:
        name = column.name
        if column.type == "float":
            return [f"sumOrNull({name})"]
        if column.type in ("int32", "int64"):
            return [f"sumOrNull(toInt256({name}))"]
        # Halves of the 256 bits: the sum of two integers may need more.
        bits = f"toUInt256({name})"
        low = f"bitAnd({bits}, toUInt256('{2**128 - 1}'))"
        return [f"sumOrNull({low})", f"sumOrNull(bitShiftRight({bits}, 128))", f"countIf({name} < 0)"]

    def summed(self, column: Column, parts: Parts) -> Sequence[Any]:
        if column.type == "float":
            return parts[0]
        if len(parts) == 1:
            return _integers(parts[0], signed=True)
        low, high = (_integers(part, signed=False) for part in parts[:2])
        return [
            None if one is None else one + (other << 128) - (negative << 256)
            for one, other, negative in zip(low, high, parts[2], strict=True)
        ]


def rows_of(state: State, table: Table, conditions: Sequence[tuple[Column, str]] = ()) -> str:
    """Returns what follows ``FROM`` to read the rows of a table that count in a state."""
    if table.kind == "fact":
        every = [state.committed(), *(text for _, text in conditions), *state.standing(table)]
        return f"{table.name} WHERE {' AND '.join(every)}"
    # The newest row of a key replaces the others, and is taken back with them.
    inner = [state.committed(), *(text for column, text in conditions if column.name in table.key)]
    outer = [text for column, text in conditions if column.name not in table.key]
    newest = (
        f"SELECT * FROM {table.name} WHERE {' AND '.join(inner)}"  # noqa: S608
        f" ORDER BY commit_number DESC LIMIT 1 BY {', '.join(table.key)}"
    )
    return f"({newest}) WHERE {' AND '.join((*outer, *state.standing(table))) or '1'}"


def literal(value: Value) -> str:
    """Returns a value as it is written in a statement."""
    if isinstance(value, bytes):
        return "'" + "".join(f"\\x{byte:02x}" for byte in value) + "'"
    if isinstance(value, str):
        return literal(value.encode())
    return repr(value)


def range_condition(chain_id: int, span: Span) -> str:
    """Returns the condition of the facts of a source in a range of blocks."""
    return (
        f"chain_id = {chain_id} AND source = {literal(span.source)}"
        f" AND block BETWEEN {span.first} AND {span.last}"
    )


def _integers(words: Sequence[bytes | None], *, signed: bool) -> list[Any]:
    return [None if word is None else int.from_bytes(word, "little", signed=signed) for word in words]
