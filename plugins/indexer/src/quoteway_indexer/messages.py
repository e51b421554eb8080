"""What an API process and the index process say to each other over a Unix socket.

A message is its length in four bytes, big-endian, and MessagePack.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from quoteway_indexer.changes import Committed, Mark
from quoteway_indexer.row_bytes import extension, sent
from quoteway_indexer.store import Condition, Query, Select, Sum, Value
from quoteway_indexer.stores.columns import PackedColumn

MAX_QUESTION: Final = 1 << 20
MAX_ANSWER: Final = 64 << 20
LENGTH_BYTES: Final = 4


class AskedCondition(msgspec.Struct, array_like=True, frozen=True):
    """A ``Condition``."""

    column: str
    operator: Literal["=", "<", "<=", ">", ">=", "in"]
    values: list[Any]


class Question(msgspec.Struct, array_like=True, frozen=True):
    """A call of a ``Reader``'s method. ``sums`` is None for a ``Select``."""

    id: int
    method: Literal["fetch", "spans", "revision", "notes", "changes"]
    chain_id: int = 0
    table: str = ""
    columns: tuple[str, ...] = ()
    sums: tuple[str, ...] | None = None
    where: tuple[AskedCondition, ...] = ()
    order: tuple[str, ...] = ()
    limit: int | None = None
    mark: Mark = Mark("", 0)

    def query(self) -> Query:
        """Returns the query that is asked."""
        where = tuple(
            Condition(one.column, one.operator, tuple(one.values) if one.operator == "in" else one.values[0])
            for one in self.where
        )
        if self.sums is not None:
            return Sum(self.table, self.columns, self.sums, where)
        return Select(self.table, self.columns, where, self.order, self.limit)


class Answer(msgspec.Struct, array_like=True, frozen=True):
    """What a method returned, or that it failed."""

    id: int
    failed: bool = False
    columns: list[PackedColumn] = []
    spans: list[tuple[str, int, int, int]] = []
    revision: int = 0
    notes: dict[str, str] = {}
    mark: Mark = Mark("", 0)
    changes: list[Committed] | None = None


def question(id_: int, query: Query) -> Question:
    """Returns the question of a query."""
    where = tuple(AskedCondition(one.column, one.operator, _values(one.value)) for one in query.where)
    if isinstance(query, Sum):
        return Question(id_, "fetch", 0, query.table, query.group, query.sums, where)
    return Question(id_, "fetch", 0, query.table, query.columns, None, where, query.order, query.limit)


def frame(message: Question | Answer) -> bytes:
    """Returns the bytes of a message."""
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def question_in(body: bytes) -> Question:
    """Returns the question of a message. Raises ``msgspec.DecodeError`` for another."""
    return msgspec.msgpack.decode(body, type=Question, ext_hook=extension)


def answer_in(body: bytes) -> Answer:
    """Returns the answer of a message. Raises ``msgspec.DecodeError`` for another."""
    return msgspec.msgpack.decode(body, type=Answer)


def _values(value: Value | tuple[Value, ...]) -> list[Any]:
    values = value if isinstance(value, tuple) else (value,)
    return [sent(one) if isinstance(one, int) else one for one in values]
