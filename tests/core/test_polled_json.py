"""Documents that a context keeps fresh, from a real server that behaves in all ways."""

import asyncio
import json
import logging
import zlib

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from quoteway import ConfigError, Context, UpstreamError
from quoteway.host.runtime import Runtime


class Upstream:
    """Serves ``body``; remembers what it was asked."""

    def __init__(self):
        self.body, self.status, self.headers, self.asked = b'{"rows": [1, 2]}', 200, {}, []

    async def answer(self, request):
        self.asked.append(dict(request.headers))
        if self.headers.get("ETag") and request.headers.get("If-None-Match") == self.headers["ETag"]:
            return web.Response(status=304)
        return web.Response(body=self.body, status=self.status, headers=self.headers)


@pytest.fixture
async def upstream():
    made = Upstream()
    app = web.Application()
    app.router.add_get("/secret-path", made.answer)
    async with TestServer(app) as server:
        made.url = str(server.make_url("/secret-path"))
        yield made


@pytest.fixture
async def context():
    runtime = Runtime(None)
    made = Context("polling", {}, logging.getLogger("polling"), runtime)
    async with aiohttp.ClientSession() as runtime.session:
        yield made
        await made.background.close()


def rows(document):
    return tuple(document["rows"])


async def test_it_is_read_at_the_start_and_again_and_again(context, upstream):
    polled = context.poll_json(upstream.url, 0.01, rows, headers={"X-Key": "k"})
    assert (polled.known, polled.age_s, upstream.asked) == (None, None, [])
    context.background.start()
    assert await polled.get() == (1, 2)
    upstream.body = b'{"rows": [3]}'
    async with asyncio.timeout(20):
        while polled.known != (3,):
            await asyncio.sleep(0.005)
    assert polled.revision >= 2
    assert upstream.asked[0]["X-Key"] == "k"


async def test_all_who_wait_share_one_request(context, upstream):
    polled = context.poll_json(upstream.url, 60, rows)
    assert await asyncio.gather(*(polled.get() for _ in range(9))) == [(1, 2)] * 9
    assert len(upstream.asked) == 1


async def test_an_unchanged_document_is_not_sent_again(context, upstream):
    upstream.headers = {"ETag": '"one"'}
    polled = context.poll_json(upstream.url, 60, rows)
    first = await polled.get()
    await polled.refresh()
    assert upstream.asked[1]["If-None-Match"] == '"one"'
    assert polled.known is first
    assert polled.revision == 1


async def test_what_cannot_be_read_leaves_the_last_value_until_it_is_too_old(context, upstream):
    now = [0.0]
    polled = context.poll_json(upstream.url, 1, rows, most_age_s=5, clock=lambda: now[0])
    await polled.get()
    upstream.status, now[0] = 503, 4.9
    with pytest.raises(UpstreamError, match="status 503"):
        await polled.refresh()
    assert (await polled.get(), polled.age_s) == ((1, 2), 4.9)
    now[0] = 5.1
    assert polled.known is None
    with pytest.raises(UpstreamError, match="status 503"):
        await polled.get()
    upstream.status = 200
    assert await polled.get() == (1, 2)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html>", "is no JSON"),
        (b"", "is no JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deep"),
        (b'{"rows": NaN}', "is no JSON"),
        (b"[]", "another shape"),
        (b'{"rows": 7}', "another shape"),
        (b'{"others": []}', "another shape"),
        (b" " * 1_000_001, "more than 1000000 bytes"),
    ],
)
async def test_a_document_that_cannot_be_used_is_named_without_the_url(context, upstream, body, why, caplog):
    upstream.body, upstream.headers = body, {"ETag": '"bad"'}
    polled = context.poll_json(upstream.url, 60, rows, max_bytes=1_000_000)
    for _ in range(2):  # a bad one is not kept by its ETag either
        with pytest.raises(UpstreamError, match=why) as refusal:
            await polled.get()
        assert "secret" not in refusal.value.message
        assert refusal.value.retryable
    context.background.start()
    async with asyncio.timeout(20):
        while "background work failed" not in caplog.text:
            await asyncio.sleep(0.005)
    assert "secret" not in caplog.text


async def test_a_small_answer_that_unpacks_to_a_large_one_is_cut_off(context, upstream):
    upstream.body, upstream.headers = zlib.compress(b" " * 50_000_000), {"Content-Encoding": "deflate"}
    polled = context.poll_json(upstream.url, 60, rows, max_bytes=1_000_000)
    with pytest.raises(UpstreamError, match="more than 1000000 bytes"):
        await polled.get()


async def test_redirects_are_not_followed(context, upstream):
    upstream.status, upstream.headers = 302, {"Location": "http://169.254.169.254/latest/meta-data"}
    with pytest.raises(UpstreamError, match="status 302"):
        await context.poll_json(upstream.url, 60, rows).get()


async def test_a_server_that_is_gone_or_slow_is_told_without_its_address(context, upstream, monkeypatch):
    with pytest.raises(UpstreamError, match="request failed") as refusal:
        await context.poll_json("http://127.0.0.1:9/secret", 60, rows).get()
    assert "127.0.0.1" not in refusal.value.message
    monkeypatch.setattr("quoteway.polled_json.TIMEOUT_S", 0.05)

    async def never(request):
        await asyncio.sleep(3600)

    app = web.Application()
    app.router.add_get("/", never)
    async with TestServer(app) as server:
        with pytest.raises(UpstreamError, match="no whole answer") as refusal:
            await context.poll_json(str(server.make_url("/")), 60, rows).get()
    assert refusal.value.reason == "provider_timeout"


@pytest.mark.parametrize(
    "url", ["ftp://a/b", "file:///etc/passwd", "https://", "https://u:p@a.example/", "here"]
)
def test_another_url_is_refused_without_being_shown(context, url):
    with pytest.raises(ConfigError, match=r"http\(s\) URL") as refusal:
        context.poll_json(url, 60, json.dumps)
    assert url not in str(refusal.value)
