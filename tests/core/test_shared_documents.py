"""Documents of upstreams that one replica fetches for all: lists, prices, facts of the market."""

import asyncio
import time

import aiohttp
import pytest
from aiohttp import web
from quoteway.background import Background
from quoteway.errors import UpstreamError
from quoteway.host.shared_answers import SharedAnswersOf
from quoteway.host.shared_server import MOST_VALUE_BYTES, SharedServer
from quoteway.polled_json import PolledJson
from quoteway.shared_documents import SharedDocument
from quoteway.shared_store import store_client
from shared_server import server_at

SECRET = b"a key that all replicas have"
EVERY_S = 100.0


class Answers:
    """Shared answers in memory; ``marks`` are of replicas that fetch."""

    def __init__(self):
        self.values, self.marks, self.ttls = {}, set(), {}

    async def get(self, key, *, wait_s=None):
        if key not in self.values:
            self.marks.add(key)
        return self.values.get(key)

    def put(self, key, value, ttl_s):
        self.marks.discard(key)
        self.values[key], self.ttls[key] = value, ttl_s

    def release(self, key):
        self.marks.discard(key)


class Upstream:
    """A server of one document, which takes ``delay_s`` for it."""

    def __init__(self):
        self.body, self.status, self.delay_s, self.asked, self.etag = b'{"rows": 1}', 200, 0.0, [], None

    async def _answer(self, request):
        self.asked.append(request.headers.get("If-None-Match"))
        await asyncio.sleep(self.delay_s)
        if self.etag is not None and self.asked[-1] == self.etag:
            return web.Response(status=304)
        headers = {} if self.etag is None else {"ETag": self.etag}
        return web.Response(body=self.body, status=self.status, headers=headers)


@pytest.fixture
async def upstream(unused_tcp_port):
    made = Upstream()
    app = web.Application()
    app.router.add_get("/list", made._answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    made.url = f"http://127.0.0.1:{unused_tcp_port}/list"
    yield made
    await runner.cleanup()


@pytest.fixture
async def replica(upstream):
    """``replica(answers, **options)``: the document of one more replica."""
    session = aiohttp.ClientSession()
    works = []

    def make(answers, **options):
        import logging

        work = Background(logging.getLogger("test"))
        works.append(work)
        options = {"most_age_s": 1_000.0, **options}
        return PolledJson(work, lambda: session, upstream.url, EVERY_S, dict, shared=answers, **options)

    yield make
    await session.close()


async def test_one_replica_reads_the_document_for_all(upstream, replica):
    answers = Answers()
    replicas = [replica(answers) for _ in range(4)]
    for each in replicas:
        assert await each.get() == {"rows": 1}
    assert len(upstream.asked) == 1
    assert all(each.age_s < 60 for each in replicas)
    assert list(answers.ttls.values()) == [0.9 * EVERY_S]


async def test_documents_with_other_keys_or_urls_are_kept_apart(upstream, replica):
    answers = Answers()
    for headers in ({}, {"X-Key": "one"}, {"X-Key": "two"}):
        await replica(answers, headers=headers).get()
    assert len(upstream.asked) == 3
    assert not any(b"one" in key or b"127.0.0.1" in key for key in answers.values)


async def test_the_age_is_that_of_the_document_and_an_old_one_is_read_anew(upstream, replica):
    answers = Answers()
    await replica(answers).get()
    ((key, value),) = answers.values.items()
    for age_s, asked in ((30.0, 1), (0.9 * EVERY_S + 1, 2), (-60.0, 3)):
        at = int((time.time() - age_s) * 1_000).to_bytes(8, "big")
        answers.values[key] = at + value[8:]
        each = replica(answers)
        assert await each.get() == {"rows": 1}
        assert len(upstream.asked) == asked
        if asked == 1:
            assert 29 < each.age_s < 60


@pytest.mark.parametrize("poison", [b"", b"short", b"{", b"[1]", b"x" * 100])
async def test_a_value_that_is_no_document_costs_one_read(upstream, replica, poison):
    answers = Answers()
    await replica(answers).get()
    ((key, value),) = answers.values.items()
    answers.values[key] = value[:8] + poison if len(poison) != 5 else poison
    each = replica(answers)
    try:
        await each.get()
    except UpstreamError:
        assert await each.get() == {"rows": 1}
    assert len(upstream.asked) == 2
    assert answers.values[key][8:] == upstream.body, "it is replaced"


async def test_what_cannot_be_read_is_told_to_nobody_and_holds_up_nobody(upstream, replica):
    answers = Answers()
    for body, status in ((b"[", 200), (b"{}", 500)):
        upstream.body, upstream.status = body, status
        with pytest.raises(UpstreamError):
            await replica(answers).get()
        assert not answers.values
        assert not answers.marks


async def test_a_document_that_has_not_changed_is_given_again(upstream, replica):
    upstream.etag = '"one"'
    answers = Answers()
    each = replica(answers)
    await each.get()
    answers.values.clear()
    await each.refresh()
    assert upstream.asked == [None, '"one"']
    assert [value[8:] for value in answers.values.values()] == [upstream.body]
    assert each.revision == 1
    other = replica(answers)
    await other.get()
    await other.refresh()
    assert (other.revision, len(upstream.asked)) == (1, 2)


async def test_a_document_too_long_for_this_replica_is_not_taken(upstream, replica):
    answers = Answers()
    await replica(answers).get()
    with pytest.raises(UpstreamError):
        await replica(answers, max_bytes=4).get()


async def test_without_replicas_nothing_is_kept(upstream, replica):
    each = replica(None)
    await each.get()
    assert each._body is None
    assert await SharedDocument(None, ["x"], 1.0).take() is None


@pytest.mark.services
async def test_a_replica_that_starts_has_the_list_at_once(
    upstream, replica, tmp_path, unused_tcp_port_factory
):
    """By a real server. The upstream takes two seconds for the list."""
    port = unused_tcp_port_factory()
    process = await server_at(port, tmp_path)
    url = f"redis://127.0.0.1:{port}/0"
    servers = [
        SharedServer(store_client(url, timeout_s=30), "mine", [SECRET], timeout_s=30) for _ in range(6)
    ]
    answers = [SharedAnswersOf(server, "lists") for server in servers]
    upstream.delay_s = 2.0
    upstream.body = b'{"rows": "%s"}' % (b"ab" * 200_000)
    began = time.monotonic()
    # Five that start together wait for the one that fetches it.
    together = [replica(each) for each in answers[:5]]
    await asyncio.gather(*(each.get() for each in together))
    alone_s = time.monotonic() - began
    assert len(upstream.asked) == 1
    began = time.monotonic()
    later = replica(answers[5])
    assert (await later.get())["rows"].startswith("abab")
    later_s = time.monotonic() - began
    print(f"a ready list: {alone_s:.3f} s by the first ones, {later_s:.3f} s by one that starts later")
    assert len(upstream.asked) == 1
    assert alone_s >= 2.0
    assert later_s < alone_s / 2
    # Too long to be shared: each reads it for itself.
    upstream.body = b'{"rows": "%s"}' % (b"a" * (MOST_VALUE_BYTES + 1))
    upstream.delay_s = 0.0
    await servers[0].client.flushall()
    for each in together[:2]:
        await each.refresh()
    assert len(upstream.asked) == 3
    for each in (*answers, *servers):
        await each.close()
    process.kill()
    await process.wait()
