"""Reads of an index from another process, in every back end."""

from __future__ import annotations

import asyncio
import threading

import pytest
from index_rows import CHAIN, POOL, facts, row
from quoteway_indexer.store import Commit, Condition, Select, Span, Sum
from quoteway_indexer.stores import open_reader, served

WIDE = [0, -1, 2**63, -(2**63) - 1, 10**38, -(2**255), None, 2**255 - 1]


@pytest.fixture
async def reader(settings, store):
    with served(store, settings):
        reader = open_reader(settings)
        yield reader
        await reader.close()


def swaps(*rows):
    return {"swap": facts("swap", *({"block": 1, "pool": POOL, **one} for one in rows))}


async def test_what_is_read_is_what_the_store_has(store, reader):
    rows = [{"amount0": one, "tick": None if one is None else 7} for one in WIDE]
    hours = [row("token_hour", token=POOL, hour=hour, mean_usd=hour / 7) for hour in range(0, 36_000, 3600)]
    store.commit(
        Commit(CHAIN, facts=swaps(*rows), read=[Span("dex", 1, 1, 9)], rollups={"token_hour": hours})
    )
    queries = [
        Select("swap", ("pool", "source", "amount0", "in0", "tick"), order=("log_index",)),
        Select("swap", ("amount0",), (Condition("amount0", "<", 10**40),), ("-amount0",), 3),
        Select("swap", ("amount0",), (Condition("amount0", "in", (None, 2**255 - 1, -(2**63) - 1)),)),
        Select("swap", ("block",), (Condition("pool", "=", b"nothing"),)),
        Sum("swap", ("pool", "source"), ("amount0", "tick", "in0")),
        Select("token_hour", ("token", "hour", "mean_usd", "low_usd"), order=("hour",)),
    ]
    for query in queries:
        assert await reader.fetch(query) == store.fetch(query)
    assert await reader.fetch(queries[0]) == [
        (POOL, "dex", value, None, None if value is None else 7) for value in WIDE
    ]
    assert await reader.spans(CHAIN) == [Span("dex", 1, 1, 9)]
    assert await reader.spans(1) == []


async def test_the_revision_grows_with_each_commit(store, reader):
    before = await reader.revision()
    store.commit(Commit(CHAIN, read=[Span("dex", 1, 1, 1)]))
    assert await reader.revision() == before + 1


async def test_notes_are_what_was_said_last(store, reader):
    for lag in (1, 2):
        store.note(CHAIN, f'{{"lag": {lag}}}')
    store.note(1, "[]")
    assert await reader.notes() == {str(CHAIN): {"lag": 2}, "1": []}


async def test_reads_go_on_while_a_commit_runs_and_see_all_of_it_or_nothing(store, reader):
    enough = threading.Event()

    def write():
        block = 0
        while not enough.is_set():
            block += 1
            rows = ({"block": block, "pool": POOL, "tick": index} for index in range(50))
            store.commit(Commit(CHAIN, facts={"swap": facts("swap", *rows)}))

    writer = asyncio.create_task(asyncio.to_thread(write))
    seen = []
    while len(set(seen)) < 5 and not writer.done():
        groups = await reader.fetch(Sum("swap", ("block",), ("tick",)))
        assert all(one[1:] == (1225, 50) for one in groups)
        seen.append(len(groups))
    enough.set()
    await writer
    assert seen == sorted(seen)
