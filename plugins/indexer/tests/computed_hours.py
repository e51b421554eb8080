"""Hours of pools that an index computes of a chain's logs, and series of them, for the tests of plugins."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway import Token
from quoteway.networks import Networks
from quoteway_indexer.computing import Frontier
from quoteway_indexer.metrics import IndexMetrics
from quoteway_indexer.replay.computation import PoolReplay
from quoteway_indexer.store import Commit, IndexedBlock, Select
from quoteway_indexer.stores.duckdb import DuckDBStore
from quoteway_indexer.tables import ROLLUPS
from quoteway_indexer.writing import Writer
from small_index import StoreReader, fill

HOUR = 3_600
FINALITY = 5


@dataclass
class Context:
    """What series need of a deployment: tokens without prices."""

    time: int
    networks = Networks([])
    event_sources = ()

    def now(self):
        return self.time

    async def token(self, chain_id, address):
        return Token(chain_id, address, 18, "TKN")


async def computed(rpc, source, path, until, pools, table="pool_hour"):
    """Returns the rows of a table as mappings, and series by pool and metric.

    They are computed over a restart and a reorganisation.
    """
    store = DuckDBStore(path, memory_mb=256)
    writer = Writer(store)
    columns = tuple(column.name for column in ROLLUPS[table].columns)
    try:
        store.migrate()
        last = fill(store, rpc, [source])
        # The index process ends, and starts again from a snapshot.
        await _advance(PoolReplay(source.chain_id, [source], writer), source, rpc, last - 30)
        replay = PoolReplay(source.chain_id, [source], writer)
        await _advance(replay, source, rpc, last - 20)
        # Blocks are taken back, and come again.
        kept = last - 20 - FINALITY
        hour = int(rpc("eth_getBlockByNumber", hex(kept), False)["timestamp"], 16) // HOUR * HOUR
        await writer.commit(Commit(source.chain_id, rewind_to=kept, forget_hours_from=hour))
        replay.rewind(kept)
        fill(store, rpc, [source])
        await _advance(replay, source, rpc, last)
        rows = [dict(zip(columns, row, strict=True)) for row in store.fetch(Select(table, columns))]
        metrics = IndexMetrics(Context(until), StoreReader(store), frozenset({source.chain_id}))
        first = min(row["hour"] for row in rows)
        shown = {
            (pool, metric): await metrics.series(f"{source.chain_id}:{pool}", metric, first, until, "1h")
            for pool in pools
            for metric in ("volume", "fees", "tvl", "apr")
        }
        return rows, shown
    finally:
        await writer.close()


async def _advance(replay, source, rpc, number):
    block = rpc("eth_getBlockByNumber", hex(number), False)
    hash_, timestamp = bytes.fromhex(block["hash"][2:]), int(block["timestamp"], 16)
    head = IndexedBlock(number, hash_, bytes(32), timestamp)
    await replay.advance(Frontier(source.chain_id, head, number - FINALITY, {source.id: 0}))
