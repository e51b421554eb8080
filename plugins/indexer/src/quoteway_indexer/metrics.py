"""What the API reads from the index: how far it is, series, prices over time, and the past of wallets."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, TypeAlias

from cachetools import LRUCache
from quoteway import (
    Address,
    Context,
    IndexedSource,
    IndexStatus,
    MetricsProvider,
    PriceHistory,
    Series,
    UpstreamError,
)

from quoteway_indexer import candles, pool_series, vault_series
from quoteway_indexer.embedded import has_started, is_starting
from quoteway_indexer.hours import INTERVALS_S, Asked
from quoteway_indexer.ingest.notes import ChainNote, read_note
from quoteway_indexer.pool_book import PoolBook
from quoteway_indexer.store import Reader
from quoteway_indexer.token_book import TokenBook
from quoteway_indexer.vault_series import VaultBook
from quoteway_indexer.wallets import IndexedWallets

STOPPED_S: Final = 30
"""An index process that has said nothing for so long is taken for stopped."""
_MOST_CANDLES: Final = 20_000
"""The candles of all kept price histories together: one takes about 250 bytes."""
_History: TypeAlias = tuple[int, PriceHistory | None]
"""The revision of the index that a price history is of, and the history."""
_ID: Final = re.compile(r"([1-9][0-9]{0,18}):0x([0-9a-fA-F]{40}|[0-9a-fA-F]{64})", re.ASCII)
"""The id of a pool or vault: the chain, and an address or the id of a v4 pool."""


class IndexMetrics(IndexedWallets, MetricsProvider):
    """Answers from the index alone: of nodes, only the decimals of a token that is new are asked."""

    id, title = "indexer", "Index of this deployment"

    def __init__(self, context: Context, reader: Reader, chain_ids: frozenset[int]) -> None:
        super().__init__(reader, lambda: context.event_sources)
        self._context = context
        self.networks = chain_ids
        self._tokens = TokenBook(reader)
        self._pools = PoolBook(context, reader, self._tokens)
        self._vaults = VaultBook(context, reader)
        self._histories: LRUCache[tuple[object, ...], _History] = LRUCache(_MOST_CANDLES, _size)

    async def series(
        self, resource_id: str, metric: str, start: int, end: int, interval: str
    ) -> Series | None:
        """See ``MetricsProvider``. Raises ``UpstreamError`` when the index cannot be read."""
        named = _ID.fullmatch(resource_id)
        if named is None:
            return None  # what other providers name otherwise is not indexed
        chain_id, pool = int(named[1]), bytes.fromhex(named[2])
        asked = Asked(resource_id, metric, start, end, interval)
        found = None
        if metric in pool_series.METRICS:
            found = await pool_series.pool_series(self._pools, chain_id, pool, asked)
        if found is None and metric in vault_series.METRICS and len(pool) == 20:
            books = self._vaults, self._pools, self._tokens
            found = await vault_series.vault_series(*books, chain_id, pool, asked)
        return found

    async def price_history(
        self, chain_id: int, token: Address, start: int, end: int, interval: str
    ) -> PriceHistory | None:
        """See ``MetricsProvider``. Raises ``UpstreamError`` when the index cannot be read."""
        step_s = INTERVALS_S[interval]
        # The intervals that begin in the span: those of the next second are mostly the same.
        first, beyond = (-(-moment // step_s) * step_s for moment in (start, end))
        key = chain_id, token, first, beyond, interval
        revision = await self._reader.revision()
        kept = self._histories.get(key)
        if kept is not None and kept[0] == revision:
            history = kept[1]
        else:
            history = await candles.price_history(self._reader, *key, self._context.now())
            self._histories[key] = revision, history
        return None if history is None else replace(history, start=start, end=end)

    async def index_status(self) -> tuple[IndexStatus, ...]:
        """See ``MetricsProvider``. A network whose index process is just being started is ``starting``.

        Raises ``UpstreamError`` when the index cannot be read.
        """
        try:
            notes = await self._reader.notes()
        except UpstreamError:
            if not is_starting(self._context):
                raise
            notes = {}
        now, found = self._context.now(), []
        for key, value in notes.items():
            note = read_note(value)
            if note is not None and int(key) in self.networks:
                found.append(_status(int(key), note, now))
        if is_starting(self._context):
            missing = self.networks - {each.chain_id for each in found}
            if not missing:
                has_started(self._context)
            found += [_not_begun(chain_id, now) for chain_id in sorted(missing)]
        return tuple(found)


def _size(kept: _History) -> int:
    _, history = kept
    return 1 + (0 if history is None else len(history.candles))


def _not_begun(chain_id: int, now: int) -> IndexStatus:
    """Returns the status of a chain of which the index process has not said anything yet."""
    return IndexStatus(
        chain_id=chain_id,
        state="starting",
        percent=0.0,
        blocks_per_s=0.0,
        logs_per_s=0.0,
        eta_s=None,
        head=None,
        indexed_block=None,
        finalized_block=None,
        lag_blocks=None,
        lag_s=None,
        sources=(),
        problem=None,
        updated_at=now,
    )


def _status(chain_id: int, note: ChainNote, now: int) -> IndexStatus:
    lag_blocks = lag_s = None
    if note.head is not None and note.indexed_block is not None:
        lag_blocks = max(0, note.head - note.indexed_block)
    if note.head_timestamp is not None and note.indexed_timestamp is not None:
        lag_s = max(0, note.head_timestamp - note.indexed_timestamp)
    return IndexStatus(
        chain_id=chain_id,
        state="stopped" if now - note.updated_at > STOPPED_S else note.state,
        percent=note.percent,
        blocks_per_s=note.blocks_per_second,
        logs_per_s=note.logs_per_second,
        eta_s=note.eta_seconds,
        head=note.head,
        indexed_block=note.indexed_block,
        finalized_block=note.finalized,
        lag_blocks=lag_blocks,
        lag_s=lag_s,
        sources=tuple(
            IndexedSource(
                each.id, each.version, each.first_block, tuple(each.spans), each.skipped, each.refused
            )
            for each in note.sources
        ),
        problem=note.problem,
        updated_at=note.updated_at,
    )
