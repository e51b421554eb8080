"""PostgreSQL's SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quoteway_indexer.store import Span, Value
from quoteway_indexer.stores.postgres_schema import TYPES
from quoteway_indexer.stores.spans import by_block
from quoteway_indexer.stores.sql import Dialect
from quoteway_indexer.tables import Column


class PostgresDialect(Dialect):
    """The statements of a PostgreSQL index."""

    def placed(self, column: Column, value: Value, parameters: list[Any]) -> str:
        parameters.append(value)
        return f"${len(parameters)}::{_parameter_type(column)}"

    def any_of(self, column: Column, values: Sequence[Value], parameters: list[Any]) -> str:
        if len(values) == 1:
            return f"{column.name} = {self.placed(column, values[0], parameters)}"
        parameters.append(list(values))
        return f"{column.name} = ANY(${len(parameters)}::{_parameter_type(column)}[])"


async def spans_of(connection: Any, chain_id: int) -> list[Span]:
    """Returns what was read of a chain, in ascending order of blocks."""
    rows = await connection.fetch(
        "SELECT source, version, first, last FROM span WHERE chain_id = $1", chain_id
    )
    return by_block(Span(*row) for row in rows)


def _parameter_type(column: Column) -> str:
    return "bigint" if column.type == "int32" else TYPES[column.type].split("(")[0]
