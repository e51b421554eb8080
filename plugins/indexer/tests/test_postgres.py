"""What is PostgreSQL's own: a server that others stop."""

from __future__ import annotations

import contextlib

import asyncpg
import pytest
from index_rows import CHAIN
from postgres_server import postgres_settings
from quoteway import UpstreamError
from quoteway_indexer.store import Commit, Span, StoreError
from quoteway_indexer.stores import open_reader

pytestmark = pytest.mark.services


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
