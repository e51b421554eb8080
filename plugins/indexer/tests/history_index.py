"""An index of one devnet chain in DuckDB for tests: decodes logs, and computes the hours of pools."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from quoteway import EventSource
from quoteway_indexer.computing import Frontier
from quoteway_indexer.ingest.decoding import compile_source, decode
from quoteway_indexer.ingest.logs import read_logs
from quoteway_indexer.replay.computation import PoolReplay
from quoteway_indexer.store import Commit, Condition, IndexedBlock, Select
from quoteway_indexer.stores.duckdb import DuckDBStore
from quoteway_indexer.tables import ROLLUPS
from quoteway_indexer.writing import Writer

COLUMNS = tuple(column.name for column in ROLLUPS["pool_hour"].columns)


class HistoryIndex:
    """Facts come by ``add``; ``advance`` computes up to a block. ``reopen`` forgets what is in memory."""

    def __init__(self, chain_id: int, sources: Iterable[EventSource], path: Path) -> None:
        self.chain_id, self.sources = chain_id, list(sources)
        self.decoders = [compile_source(source) for source in self.sources]
        self.store = DuckDBStore(path, memory_mb=512)
        self.store.migrate()
        self.writer = Writer(self.store)
        self.complete_from = {source.id: 0 for source in self.sources}
        self.children: dict[str, set[str]] = {
            source.id: {each.lower() for each in source.addresses} for source in self.sources
        }
        self.reopen()

    def reopen(self) -> None:
        self.replay = PoolReplay(self.chain_id, self.sources, self.writer)

    def add(self, logs: list[dict[str, Any]]) -> int:
        """Writes the facts of logs. Returns how many there are."""
        if not logs:
            return 0
        batch = read_logs(logs, 0, 1 << 60)
        for source in self.sources:
            if source.children is not None:
                self._find(source, logs)
        times = {number: block.timestamp or 0 for number, block in batch.blocks.items()}
        decoded = decode(self.decoders, batch, times, self.children.__getitem__)
        assert not decoded.skipped
        self.store.commit(Commit(self.chain_id, facts=decoded.facts))
        return decoded.rows

    def _find(self, source: EventSource, logs: list[dict[str, Any]]) -> None:
        assert source.children is not None
        word = {"pair": 0, "pool": 1}[source.children.parameter]
        factories = {each.lower() for each in source.children.factories}
        for log in logs:
            if log["address"].lower() in factories and len(log["topics"]) > 2:
                data = log["data"][2:]
                if len(data) >= 64 * (word + 1):
                    self.children[source.id].add("0x" + data[64 * word + 24 : 64 * word + 64].lower())

    async def advance(self, number: int, timestamp: int, finalized: int) -> None:
        head = IndexedBlock(number, number.to_bytes(32), (number - 1).to_bytes(32), timestamp)
        await self.replay.advance(Frontier(self.chain_id, head, finalized, self.complete_from))

    def hours(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Returns the rows of ``pool_hour`` by pool and hour."""
        where = (Condition("chain_id", "=", self.chain_id),)
        found = {}
        for row in self.store.fetch(Select("pool_hour", COLUMNS, where)):
            named = dict(zip(COLUMNS, row, strict=True))
            found["0x" + named["pool"].hex(), named["hour"]] = named
        return found

    async def close(self) -> None:
        await self.writer.close()


def differences(
    hours: dict[tuple[str, int], dict[str, Any]], buckets: dict[tuple[str, int], Any]
) -> list[str]:
    """Returns what differs between rows of the index and buckets of the oracle, in units."""
    wrong = [f"{key}: only in the index" for key in hours.keys() - buckets.keys()]
    wrong += [f"{key}: not in the index" for key in buckets.keys() - hours.keys()]
    names = [
        f"{name}{side}"
        for name in (
            "volume",
            "washed",
            "donated",
            "flash_fee",
            "principal",
            "uncollected",
            "principal_seconds",
        )
        for side in (0, 1)
    ]
    names += ["swaps", "tick_seconds0", "seconds0"]
    names += [f"{name}_sqrt_price_x96" for name in ("open", "high", "low", "close")]
    for key in hours.keys() & buckets.keys():
        row, bucket = hours[key], buckets[key]
        row = {**row, "tick_seconds0": row["tick_seconds"], "seconds0": row["seconds"]}
        for name in names:
            if row[name] != (
                bucket.get(name) if "price" in name and "seconds" not in name else bucket.get(name, 0)
            ):
                wrong.append(f"{key} {name}: {row[name]}, not {bucket.get(name, 0)}")
        for side in (0, 1):
            lp, protocol = row[f"lp_fee{side}"], row[f"protocol_fee{side}"]
            if f"fee{side}" in bucket:
                if lp + protocol != bucket[f"fee{side}"]:
                    wrong.append(f"{key} fees of side {side}: {lp + protocol}, not {bucket[f'fee{side}']}")
            elif (lp, protocol) != (bucket.get(f"lp_fee{side}", 0), bucket.get(f"protocol_fee{side}", 0)):
                wrong.append(f"{key} fees of side {side}: {lp, protocol}, not {dict(bucket)}")
    return wrong
