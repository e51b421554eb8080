"""The rows of pools' hours in one shape, whether the pool is of two tokens or of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from quoteway_indexer.store import Condition, Reader, Row, Select, Value

FLOWS: Final = ("volume", "washed", "lp_fee", "protocol_fee", "flash_fee", "donated")
STATES: Final = ("principal", "uncollected")
HELD: Final = "principal_seconds"
AMOUNTS: Final = (*FLOWS, HELD, *STATES)
_OF_TOKENS: Final = tuple(name for name in AMOUNTS if name not in ("flash_fee", "uncollected"))
"""Pools of several tokens have none of the others."""


class PoolRows:
    """Reads the hours of one pool. A row is the hour, how many events are inexact, and amounts.

    Amounts are those of all tokens for each name of ``AMOUNTS``. A pool that is ``of_tokens`` has its rows in
    ``pool_token_hour``.
    """

    def __init__(self, reader: Reader, chain_id: int, pool: bytes, of_tokens: bool) -> None:
        self._reader = reader
        self._where = Condition("chain_id", "=", chain_id), Condition("pool", "=", pool)
        self._of_tokens = of_tokens
        self._table = "pool_token_hour" if of_tokens else "pool_hour"

    async def first(self) -> int | None:
        """Returns the first hour; None when there is none."""
        found = await self._reader.fetch(Select(self._table, ("hour",), self._where, ("hour",), 1))
        return int(found[0][0] or 0) if found else None

    async def tokens(self) -> list[bytes]:
        """Returns the tokens of a pool of several, as its newest hour has them."""
        found = await self._newest(("hour", "place", "token"))
        tokens = {place: token for _, place, token in found}
        return [token for place in range(len(tokens)) if isinstance(token := tokens.get(place), bytes)]

    async def since(self, hour: int, tokens: int) -> list[Row]:
        """Returns the rows from an hour on, of so many tokens."""
        where = (*self._where, Condition("hour", ">=", hour))
        if not self._of_tokens:
            columns = ("hour", "inexact", *_of_sides(AMOUNTS))
            return await self._reader.fetch(Select(self._table, columns, where, ("hour",)))
        columns = ("hour", "inexact", "place", *_OF_TOKENS)
        found = await self._reader.fetch(Select(self._table, columns, where, ("hour",)))
        hours: dict[Value, dict[Value, Row]] = {}
        for row in found:
            hours.setdefault(row[0], {})[row[2]] = row
        return [_joined(rows, range(tokens)) for rows in hours.values()]

    async def states_before(self, hour: int, tokens: int) -> list[Value]:
        """Returns the states at the end of the last hour before one; nulls when there is none."""
        before = Condition("hour", "<", hour)
        if self._of_tokens:
            rows = {row[1]: row for row in await self._newest(("hour", "place", "principal"), before)}
            principal = [rows[place][2] if place in rows else None for place in range(tokens)]
            return [*principal, *(0 if rows else None for _ in range(tokens))]
        columns = _of_sides(STATES)
        last = await self._reader.fetch(Select(self._table, columns, (*self._where, before), ("-hour",), 1))
        return list(last[0]) if last else [None] * len(columns)

    async def _newest(self, columns: Sequence[str], *more: Condition) -> list[Row]:
        """Returns all rows of the newest hour."""
        where = (*self._where, *more)
        last = await self._reader.fetch(Select(self._table, ("hour",), where, ("-hour",), 1))
        if not last:
            return []
        hour = last[0][0]
        at = (*self._where, Condition("hour", ">=", hour), Condition("hour", "<=", hour))
        return await self._reader.fetch(Select(self._table, tuple(columns), at, ("hour",)))


def _of_sides(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{name}{side}" for name in names for side in (0, 1))


def _joined(rows: dict[Value, Row], places: range) -> Row:
    """Returns the rows of one hour as one. Nothing is known to move of a token that the pool got later."""
    one = next(iter(rows.values()))
    amounts: list[Value] = []
    for name in AMOUNTS:
        if name not in _OF_TOKENS:
            amounts += [0] * len(places)
            continue
        column = 3 + _OF_TOKENS.index(name)
        amounts += [rows[place][column] if place in rows else 0 for place in places]
    return (*one[:2], *amounts)
