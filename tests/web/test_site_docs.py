"""The folder ``docs`` of a site is served at ``/docs/``."""

import asyncio

import pytest
from quoteway import Site, hookimpl
from quoteway.testing.fakes import FakePlugin

INDEX, PAGE = b"<!doctype html><title>docs</title>", b"<!doctype html><title>a page</title>"


class DocsPlugin:
    def __init__(self, folder):
        self.site = Site(folder)

    @hookimpl
    def quoteway_site(self, context):
        return self.site


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "static" / "docs" / "how-to").mkdir(parents=True)
    (tmp_path / "static" / "index.html").write_bytes(b"<!doctype html>")
    (tmp_path / "static" / "docs" / "index.html").write_bytes(INDEX)
    (tmp_path / "static" / "docs" / "how-to" / "page.html").write_bytes(PAGE)
    (tmp_path / "secret.txt").write_text("canary")
    return tmp_path / "static"


@pytest.fixture
def serve_docs(serve_app, make_config):
    async def serve(folder):
        plugins = {"face": DocsPlugin(folder), "bare": FakePlugin()}
        return await serve_app(plugins, config=make_config(site="face"))

    return serve


async def test_pages_are_below_docs_with_the_policy_of_the_site(serve_docs, folder):
    api = await serve_docs(folder)
    for path, expected in (("/docs/", INDEX), ("/docs/index.html", INDEX), ("/docs/how-to/page.html", PAGE)):
        answer = await api.get(path)
        assert (answer.status, answer.raw) == (200, expected)
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert answer.headers["Cache-Control"] == "no-cache"
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    moved = await api.get("/docs", allow_redirects=False)
    assert (moved.status, moved.headers["Location"]) == (308, "/docs/")


@pytest.mark.parametrize(
    "path", ["/docs/none.html", "/docs/how-to/", "/docs/../../secret.txt", "/docs/%2e%2e/%2e%2e/secret.txt"]
)
async def test_what_is_not_there_is_not_found(serve_docs, folder, path):
    api = await serve_docs(folder)
    raw = await asyncio.to_thread(
        api.raw, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    )
    assert raw.startswith(b"HTTP/1.1 404")
    assert b"canary" not in raw


async def test_without_documentation_there_is_no_such_path(serve_docs, folder, api):
    (folder / "docs" / "index.html").unlink()
    served = await serve_docs(folder)
    for each in (served, api):
        assert (await each.get("/docs", allow_redirects=False)).status == 404
        assert (await each.get("/docs/")).status == 404
