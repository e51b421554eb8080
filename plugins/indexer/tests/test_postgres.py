"""What is PostgreSQL's own: a server that others stop."""

from __future__ import annotations

import asyncio
import contextlib
import time

import asyncpg
import pytest
from index_rows import CHAIN, POOL, row
from postgres_server import postgres_settings
from quoteway import UpstreamError
from quoteway_indexer.store import Commit, Condition, Select, Span, StoreError
from quoteway_indexer.stores import open_reader
from quoteway_indexer.stores.postgres_reading import PostgresReader
from quoteway_indexer.stores.postgres_schema import SCHEMA

pytestmark = pytest.mark.services

WHERE = Condition("chain_id", "=", CHAIN), Condition("pool", "=", POOL), Condition("hour", ">=", 0)
HOURS = Select("pool_hour", ("hour", "swaps"), WHERE)


@pytest.fixture
def settings(postgres):
    return postgres_settings(*postgres)


async def test_a_connection_that_was_lost_is_made_again(settings, store):
    reader = open_reader(settings)
    assert await reader.revision() == 0
    admin = await asyncpg.connect(settings["url"].reveal())
    await admin.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await admin.close()
    commit = Commit(CHAIN, read=[Span("dex", 1, 1, 1)])
    # The end of a connection is seen before a commit, or by its failure.
    with contextlib.suppress(StoreError):
        store.commit(commit)
    with contextlib.suppress(UpstreamError):
        await reader.revision()
    store.commit(commit)
    assert await reader.revision() in (1, 2)
    assert await reader.spans(CHAIN) == [Span("dex", 1, 1, 1)]
    await reader.close()


async def test_reads_that_wait_for_a_connection_end_in_time_too(settings, store):
    """There are eight connections, all of which a lock holds: nobody waits for more than one timeout."""
    reader = PostgresReader(settings["url"].reveal(), timeout_s=2)
    assert await reader.read(HOURS) == (0, [])
    admin = await asyncpg.connect(settings["url"].reveal())
    began = time.monotonic()
    async with admin.transaction():
        await admin.execute(f"LOCK TABLE {SCHEMA}.pool_hour IN ACCESS EXCLUSIVE MODE")
        reads = [reader.read(HOURS) for _ in range(70)]
        found = await asyncio.gather(*reads, return_exceptions=True)
    took_s = time.monotonic() - began
    assert [type(each) for each in found] == [UpstreamError] * 70
    assert took_s < 14, "ten waits one after the other take 20 seconds"
    assert await reader.read(HOURS) == (0, [])
    await admin.close()
    await reader.close()


async def test_commits_whose_changes_are_not_known_are_seen_all_the_same(settings, store):
    from quoteway_indexer.stores.postgres import _CHANGES

    reader = open_reader(settings)
    query = HOURS

    async def commit(swaps, after=None):
        store.commit(Commit(CHAIN, rollups={"pool_hour": [row("pool_hour", pool=POOL, hour=0, swaps=swaps)]}))
        if after is not None:
            store._run(store._execute(after))
        assert await reader.fetch(query) == [(0, swaps)]

    await commit(1)
    await commit(2)
    # As an older program commits, and as one that migrated the database.
    await commit(3, "DELETE FROM change")
    await commit(4)
    for swaps in range(5, 5 + _CHANGES):
        store.commit(Commit(CHAIN, rollups={"pool_hour": [row("pool_hour", pool=POOL, hour=0, swaps=swaps)]}))
    await commit(1000)
    assert store._run(store._rows("SELECT count(*) FROM change")) == [(_CHANGES,)]
    await reader.close()


async def test_an_index_of_a_program_without_changes_can_be_read(settings, store):
    reader = open_reader(settings)
    parts = Select("computed", ("part", "timestamp"), (Condition("chain_id", "=", CHAIN),))
    store._run(store._execute("DROP TABLE change"))
    for timestamp in (1, 2):
        store._run(store._execute(f"UPDATE revision SET number = {timestamp}"))
        assert await reader.fetch(parts) == [] == await reader.fetch(parts)
        assert await reader.revision() == timestamp
    store.migrate()
    store.commit(Commit(CHAIN, rollups={"computed": [row("computed", part="prices", timestamp=7)]}))
    assert await reader.fetch(parts) == [("prices", 7)]
    await reader.close()
