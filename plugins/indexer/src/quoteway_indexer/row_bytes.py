"""Rows and integers of any size as MessagePack, in which integers over 64 bits are extensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from quoteway_indexer.store import Row, Value
from quoteway_indexer.tables import Table

_INTEGER: Final = 1


def sent(value: int) -> int | msgspec.msgpack.Ext:
    """Returns what stands for an integer of at most 256 bits in a message."""
    if -(2**63) <= value < 2**63:
        return value
    return msgspec.msgpack.Ext(_INTEGER, value.to_bytes(33, "big", signed=True))


def extension(code: int, data: memoryview) -> int:
    """Returns the integer of an extension. Raises ``ValueError`` for another extension."""
    if code != _INTEGER:
        raise ValueError(f"a message has an extension {code}")
    return int.from_bytes(data, "big", signed=True)


def packed_rows(table: Table, rows: Sequence[Row]) -> bytes:
    """Returns rows in the order of the table's columns, with the values that a read of them has."""
    floats = [column.type == "float" for column in table.columns]
    values = [[_sent(*each) for each in zip(row, floats, strict=True)] for row in rows]
    return msgspec.msgpack.encode(values)


def rows_in(packed: bytes) -> list[Row]:
    """Returns the rows of ``packed_rows``."""
    return msgspec.msgpack.decode(packed, type=list[tuple[Any, ...]], ext_hook=extension)


def _sent(value: Value, is_float: bool) -> float | str | bytes | msgspec.msgpack.Ext | None:
    if not isinstance(value, int):
        return value
    return float(value) if is_float else sent(int(value))
