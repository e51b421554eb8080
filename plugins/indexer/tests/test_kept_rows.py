"""Rows that a server keeps, while others are committed and read."""

from __future__ import annotations

import asyncio
import random

import pytest
from index_rows import CHAIN, POOL, row
from quoteway_indexer.caching import CachedReader, ChangingReader
from quoteway_indexer.store import Commit, Condition, Select
from quoteway_indexer.stores.columns import columns_of
from quoteway_indexer.stores.duckdb_sql import DuckDBDialect
from quoteway_indexer.stores.sql import statement
from test_caching import OTHER, hour_rows, hours_of, since

SOURCES = (("=", "dex"), ("in", ("fork",)), ("in", ("dex", "fork")))


class Slow(ChangingReader):
    """Reads in this process, and answers some turns of the loop later."""

    def __init__(self, reads, draw):
        self.reads, self.draw = reads, draw

    async def read(self, query):
        await self.turns()
        revision, columns = self.reads.read(query)
        await self.turns()
        return revision, statement(query, DuckDBDialect()).rows(columns_of(columns))

    async def changes(self, mark):
        await self.turns()
        return self.reads.changes(mark)

    async def turns(self):
        for _ in range(self.draw.randrange(5)):
            await asyncio.sleep(0)

    async def spans(self, chain_id):
        return self.reads.spans(chain_id)

    async def revision(self):
        return self.reads.revision()

    async def notes(self):
        return self.reads.notes()


@pytest.mark.parametrize("seed", range(3))
async def test_rows_are_right_whatever_is_committed_while_they_are_read(duckdb_store, seed):
    draw = random.Random(seed)
    reader = CachedReader(Slow(duckdb_store.reads, draw), memory_mb=1)
    queries = [hours_of(pool, since(hour)) for pool in (POOL, OTHER) for hour in (0, 4, 9)]
    queries += [hours_of(POOL, Condition("source", operator, of)) for operator, of in SOURCES]
    queries += [hours_of(POOL, Condition("swaps", "in", tuple(range(0, 99, 2))), since(3))]
    chain = (Condition("chain_id", "=", CHAIN),)
    queries += [Select("pool_hour", ("hour",), chain, ("hour",), limit) for limit in (1, 3)]
    queries += [Select("computed", ("part", "timestamp"), chain)]
    states = []

    def commit():
        hours = range(draw.randrange(12), 12)[:3]
        rows = {
            "pool_hour": hour_rows(
                draw.choice([POOL, OTHER]), hours, len(states), draw.choice(["dex", "fork"])
            ),
            "computed": [row("computed", part="prices", timestamp=len(states))],
        }
        forget = draw.choice([None, None, None, draw.randrange(12)])
        duckdb_store.commit(Commit(CHAIN, rollups=rows, forget_hours_from=forget))
        states.append([duckdb_store.fetch(query) for query in queries])

    async def ask():
        place, begun = draw.randrange(len(queries)), len(states) - 1
        rows = await reader.fetch(queries[place])
        # Each row is as it was after a commit while the reader was asked.
        seen = states[begun:]
        assert all(any(row in state[place] for state in seen) for row in rows)
        assert all(row in rows for row in seen[0][place] if all(row in state[place] for state in seen))

    commit()
    for _ in range(20):
        asking = [asyncio.create_task(ask()) for _ in range(draw.randrange(1, 9))]
        for _ in range(draw.randrange(3)):
            for _ in range(draw.randrange(6)):
                await asyncio.sleep(0)
            commit()
        await asyncio.gather(*asking)
        if draw.random() < 0.5:
            for query, rows in zip(queries, states[-1], strict=True):
                assert sorted(await reader.fetch(query)) == sorted(rows)
    assert reader._size == sum(kept.size for kept in reader._kept.values())
    await reader.close()
