"""An index process whose PostgreSQL server ends and comes back, and one that ends while it is gone."""

from __future__ import annotations

import asyncio
import signal
from itertools import count

import pytest
from index_chain import CHAIN_ID
from index_process import configure, running, until
from postgres_server import postgres_settings, running_postgres
from quoteway_indexer.stores import open_reader

pytestmark = [pytest.mark.services, pytest.mark.slow]
FAILED = "devnet: the index cannot be written"


@pytest.fixture
def database():
    with running_postgres() as server:
        yield server


@pytest.fixture
def index(fresh_devnet, database, tmp_path):
    """An index that is complete: the process and its log."""
    configure(tmp_path, fresh_devnet, 'store = "postgres"\n        url = {env = "INDEX_URL"}')
    settings = postgres_settings(str(database.folder), count(1))
    with running(tmp_path, "index", INDEX_URL=settings["url"].reveal()) as (process, log):
        until(lambda: "devnet: complete" in log.read_text())
        yield process, log, settings


async def last_block(settings):
    """The last block up to which all sources have been read."""
    reader = open_reader(settings)
    try:
        return min(span.last for span in await reader.spans(CHAIN_ID))
    finally:
        await reader.close()


def test_an_index_process_outlives_its_database(index, database, fresh_devnet):
    process, log, settings = index
    for failures in (2, 4):
        database.stop()
        # The first attempt to go on fails as well.
        until(lambda most=failures: log.read_text().count(FAILED) >= most or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        database.start()
        with fresh_devnet.rpc("devnet") as rpc:
            rpc("evm_mine")
            head = int(rpc("eth_blockNumber"), 16)
        until(lambda head=head: asyncio.run(last_block(settings)) >= head)
    assert process.poll() is None


def test_an_index_process_ends_cleanly_without_its_database(index, database):
    process, log, _ = index
    database.stop()
    until(lambda: FAILED in log.read_text())
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0, log.read_text()
    assert "the leases stay until they expire" in log.read_text()
    assert "Traceback" not in log.read_text().partition("the leases stay")[2]
