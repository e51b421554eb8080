"""Kills a process that writes an index, at random times, and checks what is there then.

What a block must have follows from its hash, so that the index proves itself: facts, blocks, read spans and
hours must agree, whatever was written, replaced and taken back.
"""

from __future__ import annotations

import multiprocessing
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from index_rows import CHAIN, POOL, facts, row
from quoteway_indexer.store import Commit, Condition, IndexedBlock, Select, Span, Store
from quoteway_indexer.stores import open_store

SOURCE = "dex"
TOP = 3000
HOUR_BLOCKS = 300
_COMMIT_WITHIN_S = 60


def crash_trials(settings: Mapping[str, Any], trials: int, seed: int) -> Iterator[tuple[int, list[str]]]:
    """Yields for each process that was killed how many blocks the index has, and what is wrong with it."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["quoteway_indexer.stores.duckdb", __name__])
    draw = random.Random(seed)
    for trial in range(trials):
        committed = processes.Semaphore(0)
        child = processes.Process(target=_write, args=(settings, seed + trial, committed), daemon=True)
        child.start()
        for _ in range(draw.randrange(12)):
            if not committed.acquire(timeout=_COMMIT_WITHIN_S):
                raise TimeoutError("a process does not write its index")
        child.join(draw.uniform(0, 0.03))
        child.kill()
        child.join()
        store = open_store(settings)
        store.migrate()
        # It waits for what a server still does for the process.
        store.commit(Commit(CHAIN))
        try:
            yield len(store.blocks(CHAIN, 0, TOP)), wrong_in(store)
        finally:
            store.close()


def wrong_in(store: Store) -> list[str]:
    """Returns where facts, blocks, read spans and hours do not agree."""
    wrong = []
    spans = store.spans(CHAIN)
    read = [block for span in spans for block in range(span.first, span.last + 1)]
    blocks = {block.number: block for block in store.blocks(CHAIN, 0, TOP)}
    if sorted(read) != sorted(blocks):
        wrong.append(f"read {len(read)} blocks, has {len(blocks)}")
    expected = [fact for number in sorted(blocks) for fact in _facts(number, blocks[number].hash[0])]
    found = store.fetch(Select("swap", ("block", "log_index", "amount0"), order=("block", "log_index")))
    if found != [(fact["block"], fact["log_index"], fact["amount0"]) for fact in expected]:
        wrong.append(f"{len(found)} facts differ from the {len(expected)} of its blocks")
    hours = Counter(fact["block"] // HOUR_BLOCKS for fact in expected)
    rows = store.fetch(Select("pool_hour", ("hour", "swaps"), order=("hour",)))
    if [one for one in rows if one[1]] != [(hour * 3600, count) for hour, count in sorted(hours.items())]:
        wrong.append(f"{len(rows)} hours differ from the facts")
    return wrong


def _write(settings: Mapping[str, Any], seed: int, committed: Any) -> None:
    draw = random.Random(seed)
    store = open_store(settings)
    store.migrate()
    if settings["store"] == "clickhouse":
        _tidy_often(store)
    while True:
        store.commit(next_commit(store, draw))
        committed.release()


def _tidy_often(store: Any) -> None:
    """Lets a process that is about to be killed delete what nobody reads meanwhile."""
    from quoteway_indexer.stores import clickhouse, clickhouse_tidying

    clickhouse.READ_MS = clickhouse_tidying.READ_MS = 1
    clickhouse._RULES = 40


def next_commit(store: Store, draw: random.Random) -> Commit:
    """Returns a random commit: of new blocks, of known ones, or of others after some are taken back."""
    spans = store.spans(CHAIN)
    top = max((span.last for span in spans), default=TOP // 2)
    rewind_to = max(0, top - draw.randrange(64)) if spans and draw.random() < 0.3 else None
    if rewind_to is not None:
        first = rewind_to + 1
    else:
        lowest = min((span.first for span in spans), default=TOP // 2)
        first = draw.choice([top + 1, max(0, lowest - 40), draw.randrange(TOP)])
    last = min(TOP, first + draw.randrange(60))
    fork = draw.randrange(256)
    numbers = range(first, last + 1)
    rows = [fact for number in numbers for fact in _facts(number, fork)]
    blocks = [
        IndexedBlock(number, bytes([fork]) * 32, bytes([fork]) * 32, _time(number)) for number in numbers
    ]
    # An hour is forgotten as a whole, and written again with what is left of it.
    from_hour = (first if rewind_to is None else rewind_to + 1) // HOUR_BLOCKS
    counts = _counts(store, from_hour, range(first, last + 1 if rewind_to is None else TOP + 1))
    counts.update(fact["block"] // HOUR_BLOCKS for fact in rows)
    hours = [row("pool_hour", pool=POOL, hour=hour * 3600, swaps=count) for hour, count in counts.items()]
    return Commit(
        CHAIN,
        rewind_to,
        {"swap": facts("swap", *rows)} if rows else {},
        blocks,
        [Span(SOURCE, 1, first, last)] if blocks else [],
        from_hour * 3600,
        {"pool_hour": hours},
    )


def _counts(store: Store, from_hour: int, but: range) -> Counter[int]:
    """Returns how many facts there are in each hour from one on, without those of the blocks ``but``."""
    wanted = (Condition("chain_id", "=", CHAIN), Condition("block", ">=", from_hour * HOUR_BLOCKS))
    found = store.fetch(Select("swap", ("block",), wanted))
    return Counter(block // HOUR_BLOCKS for (block,) in found if isinstance(block, int) and block not in but)


def _facts(number: int, fork: int) -> list[dict[str, Any]]:
    draw = random.Random(number << 8 | fork)
    return [
        {
            "block": number,
            "log_index": index,
            "timestamp": _time(number),
            "pool": POOL,
            "amount0": draw.randrange(-(2**255), 2**255) >> draw.randrange(256),
        }
        for index in range(draw.randrange(6))
    ]


def _time(number: int) -> int:
    return number * 3600 // HOUR_BLOCKS
