"""Pools go on from their states after restarts and reorganisations, in the middle of an hour too."""

from __future__ import annotations

import pytest
from index_rows import CHAIN, POOL, facts, row
from quoteway import EventSource
from quoteway_indexer.computing import Frontier
from quoteway_indexer.replay.computation import PoolReplay
from quoteway_indexer.replay.range_pool import RangePool
from quoteway_indexer.store import Commit, Condition, IndexedBlock, Select
from quoteway_indexer.writing import Writer

OTHER = bytes.fromhex("bb" * 20)
SOURCE = EventSource("dex", CHAIN, 1, (), family="concentrated-v3")
STEP_S = 1000
"""Seconds from a block to the next: three or four are in an hour."""


def begun() -> dict[str, list[dict]]:
    """Returns the facts of block 1, in which both pools are made."""
    at = {"block": 1, "timestamp": STEP_S}
    price = {"sqrt_price_x96": 1 << 96, "tick": 0}
    return {
        "pool_created": [{**at, "pool": pool, "fee_pips": 500, "tick_spacing": 10} for pool in (POOL, OTHER)],
        "pool_initialized": [
            {**at, "pool": pool, "log_index": 2 + index, **price} for index, pool in enumerate((POOL, OTHER))
        ],
    }


def change(block: int, pool: bytes, delta: int) -> dict:
    """Returns a fact of liquidity around the price."""
    return {
        "block": block,
        "timestamp": STEP_S * block,
        "pool": pool,
        "owner": b"\1" * 20,
        "tick_lower": -10 * (block % 7 + 1),
        "tick_upper": 10 * (block % 4 + 1),
        "liquidity_delta": delta,
        "amount0": delta // 100,
        "amount1": delta // 100,
    }


class Index:
    """Each block from 2 on adds liquidity to the first pool, and each fifth to the other one too."""

    def __init__(self, store) -> None:
        self.store = store
        self.writer = Writer(store)
        self.write(begun())
        self.restart()

    def write(self, rows) -> None:
        self.store.commit(Commit(CHAIN, facts={name: facts(name, *each) for name, each in rows.items()}))

    def add(self, first: int, last: int) -> None:
        added = [
            change(block, pool, 10**18 * block)
            for block in range(first, last + 1)
            for pool in (POOL, OTHER)[: 1 + (block % 5 == 0)]
        ]
        self.write({"liquidity": added})

    def restart(self) -> None:
        self.replay = PoolReplay(CHAIN, [SOURCE], self.writer)

    def rewind(self, block: int) -> None:
        hour = STEP_S * block // 3600 * 3600
        self.store.commit(Commit(CHAIN, rewind_to=block, forget_hours_from=hour))
        self.replay.rewind(block)

    async def advance(self, last: int, finalized: int) -> None:
        head = IndexedBlock(last, last.to_bytes(32), (last - 1).to_bytes(32), STEP_S * last)
        await self.replay.advance(Frontier(CHAIN, head, finalized, {SOURCE.id: 1}))

    def hours(self, *columns: str) -> list[tuple]:
        return self.store.fetch(Select("pool_hour", ("pool", "hour", *columns), order=("pool", "hour")))

    def progress(self) -> list[int]:
        where = (Condition("pool", "=", b""),)
        return [block for (block,) in self.store.fetch(Select("replay_state", ("block",), where))]


def expected(last: int) -> list[tuple]:
    """Returns (pool, hour, liquidity, inexact): the liquidity of all blocks until the end of the hour."""
    found = {}
    for pool, step in ((POOL, 1), (OTHER, 5)):
        found[pool, 0] = 0
        liquidity = 0
        for block in range(2, last + 1):
            if block % step == 0:
                liquidity += 10**18 * block
                found[pool, STEP_S * block // 3600 * 3600] = liquidity
    return [(*key, liquidity, 0) for key, liquidity in sorted(found.items())]


@pytest.mark.parametrize("happening", ["restart", "rewind"])
async def test_hours_are_the_same_whatever_happens_between_blocks(duckdb_store, happening):
    index, last = Index(duckdb_store), 1
    for block in range(3, 24, 2):
        index.add(last + 1, block)
        await index.advance(block, block - 6)
        if happening == "restart":
            index.restart()
        else:
            index.rewind(max(block - 6, 1))  # to the last block that is final, at the end of an hour too
            index.add(max(block - 5, 2), block)
            await index.advance(block, block - 6)
        last = block
    assert index.hours("liquidity", "inexact") == expected(last)
    (progress,) = index.progress()
    assert last - 12 < progress < last - 6


async def test_progress_is_kept_however_far_behind_finality_is(duckdb_store):
    index = Index(duckdb_store)
    index.add(2, 120)
    for block in range(4, 120, 4):
        await index.advance(block, block - 100)
    (progress,) = index.progress()
    assert progress > 4
    index.restart()
    await index.advance(120, 20)
    assert index.hours("liquidity", "inexact") == expected(120)


async def test_a_pool_whose_first_facts_were_deleted_has_no_hours(duckdb_store):
    index = Index(duckdb_store)
    third = bytes.fromhex("cc" * 20)
    at = {"block": 3, "timestamp": 3 * STEP_S, "pool": third}
    index.write(
        {
            "pool_created": [{**at, "log_index": 8, "fee_pips": 500, "tick_spacing": 10}],
            "pool_initialized": [{**at, "log_index": 9, "sqrt_price_x96": 1 << 96, "tick": 0}],
            "liquidity": [change(4, third, 10**18)],
        }
    )
    index.add(5, 9)
    since = row("computed", part="kept:dex", block=0, timestamp=2 * STEP_S)
    duckdb_store.commit(Commit(CHAIN, rollups={"computed": [since]}))
    await index.advance(9, 8)
    index.restart()
    await index.advance(9, 8)
    # Others than the new one were made before what is kept.
    assert index.hours("liquidity", "inexact") == [(third, 0, 0, 0), (third, 3600, 10**18, 0)]


def test_liquidity_that_cannot_be_is_not_told():
    pool = RangePool(POOL, 500, 10, None, is_v4=False)
    liquidity, inexact = pool.row(CHAIN, "dex", lambda key: False)[-2:]
    assert (liquidity, inexact) == (0, 0)
    pool.liquidity = -1
    liquidity, inexact = pool.row(CHAIN, "dex", lambda key: False)[-2:]
    assert (liquidity, inexact) == (None, 1)
