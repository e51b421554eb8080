"""Columns of a result as bytes: cheap to make where the database is, and to read without numpy."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import msgspec


class PackedColumn(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The values of a column. Numbers are little-endian.

    ``kind`` says what ``data`` has: integers of 64 (``int``) or 128 bits (``wide``), doubles (``float``), the
    bytes of all values one after another (``bytes``, ``text``), of which value n ends at ``ends[n]``, or
    nothing when all are null. ``known`` has a byte for each row, 0 for null; it is empty when none is null.
    """

    kind: Literal["int", "wide", "float", "bytes", "text", "null"]
    rows: int
    data: bytes = b""
    known: bytes = b""
    ends: bytes = b""

    def values(self) -> list[Any]:
        """Returns the values, None for null."""
        values = self._values()
        if not self.known:
            return values
        return [value if known else None for value, known in zip(values, self.known, strict=True)]

    def _values(self) -> list[Any]:
        if self.kind == "int":
            return array("q", self.data).tolist()
        if self.kind == "float":
            return array("d", self.data).tolist()
        if self.kind == "wide":
            low, high = array("Q", self.data)[::2], array("q", self.data)[1::2]
            return [(upper << 64) + lower for lower, upper in zip(low, high, strict=True)]
        if self.kind == "null":
            return [None] * self.rows
        data = self.data
        pieces = [data[start:end] for start, end in pairwise((0, *array("i", self.ends)))]
        return [piece.decode() for piece in pieces] if self.kind == "text" else pieces


def columns_of(packed: Sequence[PackedColumn]) -> list[list[Any]]:
    """Returns the values of columns."""
    return [column.values() for column in packed]
