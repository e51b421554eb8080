"""The prices of tokens by hour, kept in memory for series."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from cachetools import LRUCache
from quoteway import Address
from quoteway.evm.address import address_bytes

from quoteway_indexer.hours import HourColumns
from quoteway_indexer.progress import LATE_CHANGE_S, Progress
from quoteway_indexer.store import Condition, Reader, Row, Select

MEAN, CLOSE = 0, 1
_MOST_HOURS = 1_000_000
_NEVER = 2**63
"""After every hour."""
_MOST_CHANGES = 200
"""Those of an older revision count as of all hours."""


@dataclass(slots=True)
class _Kept:
    """Prices as of a revision of the index; those before ``closed`` are not read again.

    ``changed`` has revisions in ascending order, each with the first hour that it or a later one changed.
    """

    prices: HourColumns
    basis: str
    revision: int
    closed: int
    changed: list[tuple[int, int]] = field(default_factory=list)

    @property
    def size(self) -> int:
        return 1 + len(self.prices.columns[MEAN])


class TokenBook:
    """The mean and the closing prices of tokens of one index."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._kept: LRUCache[tuple[int, Address], _Kept] = LRUCache(_MOST_HOURS, lambda kept: kept.size)

    def clear(self) -> None:
        """Forgets everything."""
        self._kept.clear()

    async def prices(
        self, chain_id: int, token: Address, first: int, revision: int, progress: Progress
    ) -> HourColumns:
        """Returns the prices since the hour ``first`` or an earlier one. Do not change them."""
        kept = self._kept.get((chain_id, token))
        if kept is None or kept.basis != progress.basis or kept.prices.first > first:
            kept = _Kept(HourColumns(first, (array("d"), array("d"))), progress.basis, -1, first)
        if kept.revision >= revision:
            return kept.prices
        since = kept.closed
        rows = await self._rows(chain_id, token, since)
        if kept.revision < revision:  # else another call was quicker
            numbers = [(int(hour or 0), (_number(mean), _number(close))) for hour, mean, close in rows]
            first_changed = kept.prices.replace(since, numbers)
            kept.changed = [each for each in kept.changed if each[1] < first_changed][-_MOST_CHANGES:]
            kept.changed.append((revision, first_changed))
            kept.revision = revision
            kept.closed = max(kept.prices.first, ((progress.prices or 0) - LATE_CHANGE_S) // 3_600 * 3_600)
            self._kept[chain_id, token] = kept
        return kept.prices

    def changed_after(self, chain_id: int, token: Address, revision: int) -> int:
        """Returns the first hour whose price changed after a revision, in the columns that are kept."""
        kept = self._kept.get((chain_id, token))
        if kept is None or kept.changed[0][0] > revision:
            return -_NEVER
        return min((hour for at, hour in kept.changed if at > revision), default=_NEVER)

    async def _rows(self, chain_id: int, token: Address, since: int) -> list[Row]:
        where = (
            Condition("chain_id", "=", chain_id),
            Condition("token", "=", address_bytes(token)),
            Condition("hour", ">=", since),
        )
        return await self._reader.fetch(
            Select("token_hour", ("hour", "mean_usd", "close_usd"), where, ("hour",))
        )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
