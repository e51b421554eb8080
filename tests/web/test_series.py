"""Series over HTTP: a provider that is slow, fails, refuses, or is asked for many at a time."""

import asyncio

import pytest
from quoteway.errors import FieldError, InvalidRequest, Reason, UpstreamError
from quoteway.host import series_book
from quoteway.metrics_provider import MetricsProvider
from quoteway.models import Pool, Series, Token
from quoteway.networks import Network
from quoteway.providers import PoolProvider
from quoteway.testing.fakes import FakePlugin, MemoryRpc
from quoteway.web.http import cache

PLACE = "0x" + "1" * 40
PATH = f"/v2/pools/7:{PLACE}"
HOUR = 3_600
START = 1_700_000_000 // HOUR * HOUR


class Answering:
    """Answers as its ``answer`` says while its ``gate`` is open, and counts the calls at a time."""

    answer = None

    def __init__(self, context):
        self.running = self.most = self.calls = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def series(self, resource_id, metric, start, end, interval):
        self.calls += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.gate.wait()
        finally:
            self.running -= 1
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            return None
        points = tuple((start + HOUR * index, value) for index, value in enumerate(self.answer))
        return Series(
            resource_id,
            metric,
            "usd",
            interval,
            start,
            end,
            points,
            self.id,
            "read",
            1_700_000_000,
            current=2.0,
        )


class Pools(Answering, PoolProvider):
    id, title, networks = "pools", "Pools", frozenset({7})

    async def pools(self, chain_id):
        return []

    async def pool(self, pool_id):
        token = Token(7, PLACE, 6, "USD", "A dollar")
        return Pool(pool_id, "seven", 7, "test", "v2", PLACE, (token, token), (), "chain", 1_700_000_000)


class Indexer(Answering, MetricsProvider):
    id, title, networks = "indexer", "Indexer", frozenset({7})


@pytest.fixture
async def served(serve_app, monkeypatch):
    """``await served(Pools, ...)`` gives an app with these, and them. Waits are a tenth of the real ones."""
    policy = series_book.RefreshPolicy(newer_wait_s=0.05, first_wait_s=0.2, old_s=60.0)
    monkeypatch.setattr(series_book.SeriesBook.__init__, "__defaults__", (policy,))

    async def serve(*kinds):
        made = []

        def make(kind):
            def one(context):
                made.append(kind(context))
                return made[-1]

            return one

        plugin = FakePlugin(
            [MemoryRpc({7}), *(make(kind) for kind in kinds)], networks=[Network("seven", 7, "Seven")]
        )
        api = await serve_app({"plugin": plugin})
        return api, *sorted(made, key=lambda one: [kind.id for kind in kinds].index(one.id))

    return serve


async def once(api, path, expected):
    """The answer as soon as it has these values. None but the last may be without."""
    async with asyncio.timeout(20):
        while True:
            answer = await api.get(path)
            if values(answer) == expected:
                return answer
            await asyncio.sleep(0.02)


def query(hours=3, metric="tvl"):
    return f"{PATH}/{metric}?interval=1h&from={START}&to={START + hours * HOUR}"


def values(answer):
    assert answer.status == 200, answer.body
    return [point["value"] for point in answer.body["points"]]


async def test_a_slow_series_is_sent_without_values_and_then_with_them(served):
    api, pools = await served(Pools)
    pools.answer = (None, 1.5, None)
    pools.gate.clear()
    first = await api.get(query())
    assert values(first) == [None, None, None]
    assert (first.body["reason"], first.body["coverage"]) == ("provider_timeout", None)
    assert first.body["current"] is None
    assert first.body["gaps"] == [[START, START + 3 * HOUR]]
    assert "ask again" in first.body["method"]
    pools.gate.set()
    later = await once(api, query(), [None, 1.5, None])
    assert (later.body["reason"], later.body["current"]) == (None, 2.0)
    assert later.body["coverage"] == {"from": START + HOUR, "to": START + 2 * HOUR}


async def test_a_client_that_leaves_does_not_end_the_read(served):
    api, pools = await served(Pools)
    pools.answer = (1.0,)
    pools.gate.clear()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await api.get(query())
    async with asyncio.timeout(20):
        while not pools.running:
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)
    assert (pools.running, pools.calls) == (1, 1)
    pools.gate.set()
    await once(api, query(), [1.0])


async def test_a_series_is_compressed_once_for_all_who_wait_for_it(served, monkeypatch):
    packed, pack = [], cache.compressed
    waiting, begin = [], cache.CatalogCache.begin
    monkeypatch.setattr(cache, "compressed", lambda *given: packed.append(given[1]) or pack(*given))
    monkeypatch.setattr(cache.CatalogCache, "begin", lambda *given: waiting.append(1) or begin(*given))
    patient = series_book.RefreshPolicy(newer_wait_s=20.0, first_wait_s=20.0, old_s=60.0)
    monkeypatch.setattr(series_book.SeriesBook.__init__, "__defaults__", (patient,))
    api, pools = await served(Pools)
    pools.answer = tuple(range(100))
    pools.gate.clear()
    asked = [asyncio.create_task(api.get(query(100))) for _ in range(6)]
    async with asyncio.timeout(20):
        while len(waiting) < len(asked):
            await asyncio.sleep(0.005)
    pools.gate.set()
    answers = await asyncio.gather(*asked)
    assert [values(answer) for answer in answers] == 6 * [list(range(100))]
    assert packed == ["gzip"]
    etag = answers[0].headers["ETag"]
    assert (answers[0].headers["Content-Encoding"], etag[-6:]) == ("gzip", '-gzip"')
    known = await api.get(query(100), headers={"If-None-Match": etag})
    assert (known.status, known.headers["ETag"]) == (304, etag)


async def test_requests_of_one_series_share_a_read(served):
    api, pools = await served(Pools)
    pools.answer = (1.0,)
    pools.gate.clear()
    answers = await asyncio.gather(*(api.get(query()) for _ in range(20)))
    assert {tuple(values(answer)) for answer in answers} == {(None, None, None)}
    assert pools.calls == 1
    pools.gate.set()
    await once(api, query(), [1.0])


async def test_after_a_failure_the_last_values_are_sent_with_the_reason(served, refused):
    api, pools = await served(Pools)
    pools.answer = UpstreamError("down", reason=Reason.RPC_ERROR)
    refused(await api.get(query()), 502, "upstream_error", "rpc_error")
    pools.answer = (1.0, 2.0)
    assert values(await api.get(query())) == [1.0, 2.0]
    pools.answer = UpstreamError("down", reason=Reason.RPC_ERROR)
    kept = await api.get(query())
    assert values(kept) == [1.0, 2.0]
    assert kept.body["reason"] == "rpc_error"


async def test_what_a_provider_refuses_is_told_to_the_caller(served, refused):
    api, pools = await served(Pools)
    field = FieldError("interval", Reason.OUT_OF_RANGE, "gives more than 100 points")
    pools.answer = InvalidRequest("interval: too many.", reason=Reason.OUT_OF_RANGE, fields=[field])
    refused(await api.get(query()), 422, "validation_error", "out_of_range")
    pools.answer = None
    refused(await api.get(query()), 503, "provider_unavailable")


async def test_the_pools_provider_answers_while_the_indexer_is_slow(served):
    api, indexer, pools = await served(Indexer, Pools)
    indexer.answer, pools.answer = (3.0,), (1.0,)
    indexer.gate.clear()
    first = await once(api, query(), [1.0])
    assert first.body["source"] == "pools"
    indexer.gate.set()
    later = await once(api, query(), [3.0])
    assert later.body["source"] == "indexer"
    indexer.answer = None
    assert (await once(api, query(4), [1.0])).body["source"] == "pools"


async def test_a_caller_of_many_series_starts_a_bounded_number_of_reads(served):
    api, pools = await served(Pools)
    pools.answer = (1.0,)
    pools.gate.clear()
    answers = await asyncio.gather(*(api.get(query(hours)) for hours in range(1, 61)))
    assert {answer.status for answer in answers} == {200}
    assert pools.running == pools.most == series_book.AT_ONCE
    pools.gate.set()
    await once(api, query(60), [1.0])
    assert pools.most == series_book.AT_ONCE


async def test_a_series_of_too_many_points_is_its_provider_s_failure(served, refused):
    api, pools = await served(Pools)
    pools.answer = (1.0,) * (series_book.MAX_POINTS + 2)
    refused(await api.get(query()), 502, "upstream_error", "unsafe_answer")


async def test_the_last_values_are_sent_while_a_newer_read_runs(served):
    api, pools = await served(Pools)
    pools.answer = (1.0,)
    await once(api, query(), [1.0])
    pools.gate.clear()
    pools.answer = (2.0,)
    assert values(await api.get(query())) == [1.0]
    pools.gate.set()
    await once(api, query(), [2.0])


async def test_a_slow_indexer_alone_is_no_error(served):
    api, indexer = await served(Indexer)
    indexer.answer = (3.0,)
    indexer.gate.clear()
    assert values(await api.get(query())) == [None, None, None]
    indexer.gate.set()
    await once(api, query(), [3.0])
