"""Databases of a server that are gone or refuse: what is said of them, and what nobody is told."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from index_rows import CHAIN
from quoteway import Reason, Secret, UpstreamError
from quoteway_indexer.store import StoreError
from quoteway_indexer.stores import open_reader, open_store

pytestmark = pytest.mark.services


SERVERS = ["postgres", pytest.param("clickhouse", marks=pytest.mark.slow)]


@pytest.mark.parametrize("settings", SERVERS, indirect=True)
async def test_a_database_that_is_gone_or_refuses_is_told_without_its_address(settings, store):
    url = settings["url"].reveal()
    wrong = {
        "cannot be reached": f"{urlsplit(url).scheme}://index:canary@127.0.0.1:1/index",
        "no such database": url.replace("/index_", "/canary_"),
        "refuses the user or the password": url.replace("index@", "canary:canary@"),
    }
    for words, other in wrong.items():
        refusing = open_store({**settings, "url": Secret(other)})
        with pytest.raises(StoreError, match=words) as refused:
            refusing.spans(CHAIN)
        assert "canary" not in str(refused.value)
        refusing.close()
        reader = open_reader({**settings, "url": Secret(other)})
        with pytest.raises(UpstreamError, match="cannot be read") as failed:
            await reader.revision()
        assert failed.value.reason is Reason.PROVIDER_ERROR
        await reader.close()
