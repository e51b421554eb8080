"""URL and file lists against a real server on loopback: slow, huge, garbage, redirecting, unchanged."""

import asyncio
import gzip
import ipaddress
import shutil
import ssl
import subprocess

import aiohttp
import orjson
import pytest
from aiohttp import web
from quoteway import is_public_address
from quoteway_tokenlist.document import ListError
from quoteway_tokenlist.fetch import Limits, fetch
from quoteway_tokenlist.sources import FileSource, UrlSource
from yarl import URL

LIMITS = Limits(max_bytes=100_000, timeout_s=5.0, allow_private=True)


def token_list(*symbols):
    tokens = [
        {"chainId": 1, "address": f"0x{i:040x}", "decimals": 18, "name": s, "symbol": s}
        for i, s in enumerate(symbols, 1)
    ]
    version = {"major": 1, "minor": 0, "patch": 0}
    timestamp = "2026-01-01T00:00:00Z"
    return orjson.dumps({"name": "T", "timestamp": timestamp, "version": version, "tokens": tokens})


class ListServer:
    """A server that answers with ``answer(request)`` and keeps the requests."""

    def __init__(self):
        self.requests = []
        self.answer = None

    async def handle(self, request):
        self.requests.append(request)
        return await self.answer(request)

    def body(self, body, **headers):
        async def answer(request):
            if request.headers.get("If-None-Match") == headers.get("ETag", ""):
                return web.Response(status=304)
            return web.Response(body=body, headers=headers)

        self.answer = answer


@pytest.fixture
async def server():
    server = ListServer()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = URL(f"http://localhost:{runner.addresses[0][1]}/secret-path/list.json?key=secret-key")
    yield server
    await runner.cleanup()


@pytest.fixture
async def session():
    async with aiohttp.ClientSession() as session:
        yield session


async def refused(session, url, limits=LIMITS):
    with pytest.raises(ListError) as caught:
        await fetch(session, url, limits)
    assert "secret" not in str(caught.value)
    return str(caught.value)


async def test_a_list_is_fetched_with_its_own_host_and_path(server, session):
    server.body(token_list("A"), ETag='"1"')
    fetched = await fetch(session, server.url, LIMITS)
    assert (fetched.body, fetched.etag) == (token_list("A"), '"1"')
    (request,) = server.requests
    assert request.headers["Host"] == server.url.authority
    assert request.path_qs == "/secret-path/list.json?key=secret-key"


async def test_an_unchanged_list_is_requested_with_its_etag(server, session):
    server.body(token_list("A"), ETag='W/"1"')
    source = UrlSource(server.url, LIMITS, lambda: session)
    assert await source.refresh()
    assert not await source.refresh()
    assert server.requests[1].headers["If-None-Match"] == 'W/"1"'
    server.body(token_list("A", "B"), ETag='"2"')
    assert await source.refresh()
    assert [token.symbol for token in source.current.tokens] == ["A", "B"]


async def test_the_same_list_without_an_etag_is_unchanged(server, session):
    server.body(token_list("A"))
    source = UrlSource(server.url, LIMITS, lambda: session)
    assert [await source.refresh() for _ in range(3)] == [True, False, False]
    assert len(server.requests) == 3


async def test_the_last_good_list_stays_when_the_next_is_bad(server, session):
    server.body(token_list("A"), ETag='"1"')
    source = UrlSource(server.url, LIMITS, lambda: session)
    await source.refresh()
    server.body(b"<html>maintenance</html>", ETag='"2"')
    for _ in range(2):  # the ETag of a bad list must not be kept
        with pytest.raises(ListError, match="not JSON"):
            await source.refresh()
    assert [token.symbol for token in source.current.tokens] == ["A"]
    assert server.requests[-1].headers["If-None-Match"] == '"1"'


@pytest.mark.parametrize("status", [204, 304, 404, 429, 500])
async def test_other_answers_are_refused(server, session, status):
    async def answer(request):
        return web.Response(status=status)

    server.answer = answer
    assert str(status) in await refused(session, server.url)


async def test_a_huge_list_is_refused_during_the_download(server, session):
    sent = 0

    async def endless(request):
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while sent < 1 << 30:
            await response.write(b"[" * 65_536)
            sent += 65_536
        return response

    server.answer = endless
    assert "larger than 100000 bytes" in await refused(session, server.url)
    assert sent < 1 << 26


async def test_a_compressed_body_that_is_too_large_is_refused(server, session):
    server.body(gzip.compress(b" " * 50_000_000), **{"Content-Encoding": "gzip"})
    assert "larger than 100000 bytes" in await refused(session, server.url)


async def test_a_slow_list_is_refused_after_its_timeout(server, session):
    async def drip(request):
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(200):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    server.answer = drip
    limits = Limits(max_bytes=100_000, timeout_s=0.4, allow_private=True)
    assert "0.4 s" in await refused(session, server.url, limits)


async def test_redirects_within_the_host_are_followed(server, session):
    async def answer(request):
        if request.path == "/new":
            return web.Response(body=b"{}")
        raise web.HTTPFound("/new")

    server.answer = answer
    assert (await fetch(session, server.url, LIMITS)).body == b"{}"


@pytest.mark.parametrize(
    "target", ["http://127.0.0.2:{port}/x", "http://localhost:1/x", "https://localhost:{port}/x"]
)
async def test_redirects_elsewhere_are_refused(server, session, target):
    async def answer(request):
        raise web.HTTPFound(target.format(port=server.url.port))

    server.answer = answer
    assert "another host" in await refused(session, server.url)
    assert len(server.requests) == 1


async def test_a_redirect_loop_ends(server, session):
    async def answer(request):
        raise web.HTTPFound(request.path)

    server.answer = answer
    assert "redirects" in await refused(session, server.url)
    assert len(server.requests) == 4


async def test_private_addresses_are_refused_before_a_byte_is_sent(server, session):
    server.body(token_list("A"))
    guarded = Limits(max_bytes=100_000, timeout_s=5.0, allow_private=False)
    assert "private network" in await refused(session, server.url, guarded)
    assert "private network" in await refused(session, server.url.with_host("127.0.0.1"), guarded)
    assert "private network" in await refused(session, server.url.with_host("::1"), guarded)
    assert "private network" in await refused(
        session, server.url.with_host("2130706433"), guarded
    )  # 127.0.0.1
    assert server.requests == []


async def test_the_connection_goes_to_the_address_that_was_checked(server, session, monkeypatch):
    """The name is resolved once, so DNS rebinding has no effect."""
    server.body(token_list("A"))
    loop = asyncio.get_running_loop()
    asked = []

    async def resolve(host, port, **options):
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1" if len(asked) == 1 else "127.0.0.2", port))]

    monkeypatch.setattr(loop, "getaddrinfo", resolve)
    await fetch(session, server.url.with_host("rebinding.example"), LIMITS)
    assert asked == ["rebinding.example"]
    assert server.requests[0].headers["Host"] == f"rebinding.example:{server.url.port}"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
async def test_tls_is_checked_against_the_name_and_not_the_address(tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=lists.example", "-addext", "subjectAltName=DNS:lists.example"]
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(key), "-out", str(certificate), "-days", "2"]
    await (await asyncio.create_subprocess_exec(*new, *files, *subject, stderr=subprocess.DEVNULL)).wait()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async def resolve(host, port, **options):
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
        trusting = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=certificate))
        async with aiohttp.ClientSession(connector=trusting) as session:
            assert (await fetch(session, URL(f"https://lists.example:{port}/"), LIMITS)).body == b"{}"
            assert "Certificate" in await refused(session, URL(f"https://other.example:{port}/"))


async def test_a_refused_connection_is_a_refused_list(session):
    assert "failed" in await refused(session, URL("http://127.0.0.1:9/secret"))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
    ],
)
def test_what_counts_as_public(address):
    assert is_public_address(ipaddress.ip_address(address)) is (address == "::ffff:8.8.8.8")
    assert is_public_address(ipaddress.ip_address("8.8.8.8"))
    assert is_public_address(ipaddress.ip_address("2606:4700::1111"))


async def test_a_file_is_read_again_when_it_changed(tmp_path):
    path = tmp_path / "list.json"
    source = FileSource(path, 10_000)
    with pytest.raises(ListError, match="cannot be read"):
        await source.refresh()
    path.write_bytes(token_list("A"))
    assert await source.refresh()
    assert not await source.refresh()
    path.write_bytes(token_list("B"))
    assert await source.refresh()
    assert source.current.tokens[0].symbol == "B"
    path.write_bytes(b" " * 10_001)
    with pytest.raises(ListError, match="larger than 10000 bytes"):
        await source.refresh()
    path.unlink()
    with pytest.raises(ListError):
        await source.refresh()
    assert source.current.tokens[0].symbol == "B"
