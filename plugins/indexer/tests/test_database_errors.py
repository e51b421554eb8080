"""Databases of a server that are gone or refuse: what is said of them, and what nobody is told."""

from __future__ import annotations

import re
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from index_rows import CHAIN
from quoteway import Reason, Secret, UpstreamError
from quoteway_indexer import quoteway_doctor_checks
from quoteway_indexer.store import StoreError
from quoteway_indexer.stores import open_reader, open_store

pytestmark = pytest.mark.services


def doctor_checks(settings):
    return quoteway_doctor_checks(SimpleNamespace(settings={"enabled": True, **settings}))


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
        (check,) = doctor_checks({**settings, "url": Secret(other)})
        with pytest.raises(UpstreamError, match=words) as of_doctor:
            await check.ask()
        assert "canary" not in str(of_doctor.value)
        assert "canary" not in str(refused.value)
        refusing.close()
        reader = open_reader({**settings, "url": Secret(other)})
        with pytest.raises(UpstreamError, match="cannot be read") as failed:
            await reader.revision()
        assert failed.value.reason is Reason.PROVIDER_ERROR
        await reader.close()


@pytest.mark.parametrize("settings", SERVERS, indirect=True)
async def test_the_doctor_asks_the_server_of_the_index(settings):
    (check,) = doctor_checks(settings)
    assert re.fullmatch(r"(PostgreSQL|ClickHouse) [0-9.]+.*", await check.ask())
    assert not quoteway_doctor_checks(SimpleNamespace(settings={**settings, "enabled": False}))
    assert not doctor_checks({"store": "duckdb"})
