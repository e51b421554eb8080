"""The provider of series and price histories from an index."""

from __future__ import annotations

from cachetools import LRUCache
from quoteway import Address, Context, MetricsProvider, PriceHistory, Series

from quoteway_indexer import candles, pool_series, vault_series
from quoteway_indexer.hours import Asked
from quoteway_indexer.pool_book import PoolBook
from quoteway_indexer.store import Reader
from quoteway_indexer.token_book import TokenBook
from quoteway_indexer.vault_series import VaultBook

_MOST_HISTORIES = 128


class IndexMetrics(MetricsProvider):
    """Answers from the rollups of an index, without requests to nodes but for a token that is new."""

    id = "index"
    title = "Index"

    def __init__(self, context: Context, reader: Reader) -> None:
        self.networks = frozenset(source.chain_id for source in context.event_sources)
        self._reader = reader
        self._tokens = TokenBook(reader)
        self._pools = PoolBook(context, reader, self._tokens)
        self._vaults = VaultBook(context, reader)
        self._histories: LRUCache[tuple[object, ...], PriceHistory | None] = LRUCache(_MOST_HISTORIES)

    async def series(
        self, resource_id: str, metric: str, start: int, end: int, interval: str
    ) -> Series | None:
        """See ``MetricsProvider``. Raises ``UpstreamError`` when the index cannot be read."""
        chain_id, _, place = resource_id.partition(":")
        asked = Asked(resource_id, metric, start, end, interval)
        pool = bytes.fromhex(place.removeprefix("0x"))
        found = None
        if metric in pool_series.METRICS:
            found = await pool_series.pool_series(self._pools, int(chain_id), pool, asked)
        if found is None and metric in vault_series.METRICS and len(pool) == 20:
            books = self._vaults, self._pools, self._tokens
            found = await vault_series.vault_series(*books, int(chain_id), pool, asked)
        return found

    async def price_history(
        self, chain_id: int, token: Address, start: int, end: int, interval: str
    ) -> PriceHistory | None:
        """See ``MetricsProvider``. Raises ``UpstreamError`` when the index cannot be read."""
        key = chain_id, token, start, end, interval, await self._reader.revision()
        if key not in self._histories:
            self._histories[key] = await candles.price_history(self._reader, *key[:5])
        return self._histories[key]
