"""``[server] site``: one plugin's page at ``/`` for browsers, its files below ``/site/``."""

import asyncio
import gzip
import os
from dataclasses import replace

import aiohttp
import pytest
from quoteway import Site, hookimpl
from quoteway.config.model import AuthConfig
from quoteway.engine.gateway import Gateway
from quoteway.errors import ConfigError
from quoteway.secrets import Secret
from quoteway.testing.fakes import FakePlugin

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
PAGE = b'<!doctype html><script type="module" src="/site/assets/app-1a2b.js"></script>'
SCRIPT = b"const text = 'a script that is long enough to be sent compressed';\n" * 40


class SitePlugin:
    def __init__(self, folder, **more):
        self.site = Site(folder, **more)
        self.asked = 0

    @hookimpl
    def quoteway_site(self, context):
        self.asked += 1
        return self.site


@pytest.fixture
def built(tmp_path):
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_bytes(PAGE)
    (folder / "assets" / "app-1a2b.js").write_bytes(SCRIPT)
    (folder / "manifest.json").write_text("{}")
    (tmp_path / "secret.txt").write_text("canary")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "linked").symlink_to(tmp_path)
    return folder


@pytest.fixture
def serve_site(serve_app, make_config):
    async def serve(plugin, site="face", **server):
        config = make_config(site=site, **server)
        return await serve_app({"face": plugin, "bare": FakePlugin()}, config=config)

    return serve


async def test_browsers_get_the_page_and_programs_the_links(serve_site, built):
    api = await serve_site(plugin := SitePlugin(built))
    page = await api.get("/", headers=BROWSER)
    assert (page.status, page.raw) == (200, PAGE)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Cache-Control"] == "no-cache"
    for accept in ({}, {"Accept": "application/json"}, {"Accept": "*/*"}):
        links = await api.get("/", headers=accept)
        assert links.body["name"] == "quoteway"
        assert links.headers.getall("Vary")[0] == "Accept"
    assert page.headers.getall("Vary")[0] == "Accept, Accept-Encoding"
    head = await api.request("HEAD", "/", headers=BROWSER)
    assert (head.status, head.raw, head.headers["ETag"]) == (200, b"", page.headers["ETag"])
    assert (await api.get("/site/", headers=BROWSER)).raw == PAGE
    assert plugin.asked == 1


async def test_files_have_their_types_and_lifetimes_and_are_not_sent_twice(serve_site, built):
    api = await serve_site(SitePlugin(built))
    script = await api.get("/site/assets/app-1a2b.js", headers={"Accept-Encoding": "identity"})
    assert script.raw == SCRIPT
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert script.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert (await api.get("/site/manifest.json")).headers["Cache-Control"] == "no-cache"
    same = await api.get("/site/assets/app-1a2b.js", headers={"If-None-Match": "W/" + script.headers["ETag"]})
    assert same.status == 200, "the client takes gzip, which has another ETag"
    none = {"If-None-Match": "W/" + script.headers["ETag"], "Accept-Encoding": "identity"}
    same = await api.get("/site/assets/app-1a2b.js", headers=none)
    assert (same.status, same.raw) == (304, b"")
    address = api.url + "/site/assets/app-1a2b.js"
    async with aiohttp.ClientSession(auto_decompress=False) as session, session.get(address) as packed:
        assert packed.headers["Content-Encoding"] == "gzip"
        assert packed.headers["ETag"] != script.headers["ETag"]
        assert gzip.decompress(await packed.read()) == SCRIPT


async def test_a_page_may_use_what_is_of_its_own_origin_alone(serve_site, built):
    api = await serve_site(SitePlugin(built))
    for path in ("/", "/site/assets/app-1a2b.js"):
        headers = (await api.get(path, headers=BROWSER)).headers
        policy = dict(each.split(" ", 1) for each in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert policy["script-src"] == policy["img-src"] == policy["connect-src"] == "'self'"
        assert policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert policy["require-trusted-types-for"] == "'script'"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


async def test_the_embedded_default_shows_the_console_and_a_deployment_does_not(
    serve_app, make_config, built
):
    config = make_config()
    for embedded, expected in ((True, "text/html"), (False, "application/json")):
        plugins = {"console": SitePlugin(built), "bare": FakePlugin()}
        api = await serve_app(plugins, config=replace(config, embedded=embedded))
        assert (await api.get("/", headers=BROWSER)).headers["Content-Type"].startswith(expected)


async def test_the_operator_names_who_may_frame_it(serve_site, built):
    safe = ("https://app.safe.global", "https://safe.example")
    api = await serve_site(SitePlugin(built), site_frame_ancestors=safe)
    policy = (await api.get("/", headers=BROWSER)).headers["Content-Security-Policy"]
    assert "frame-ancestors https://app.safe.global https://safe.example;" in policy


@pytest.mark.parametrize(
    "path",
    [
        "/site/../secret.txt",
        "/site/%2e%2e/secret.txt",
        "/site/..%2fsecret.txt",
        "/site/..%5csecret.txt",
        "/site/assets/../../secret.txt",
        "/site//etc/passwd",
        "/site/%2fetc%2fpasswd",
        "/site/link.txt",
        "/site/linked/secret.txt",
        "/site/linked",
        "/site/index.html%00.js",
        "/site/%ff%fe",
        "/site/assets",
        "/site/assets/",
        "/site/" + "a" * 4_000,
        "/index.html",
        "/assets/app-1a2b.js",
    ],
)
async def test_no_path_leads_out_of_the_folder(serve_site, built, path):
    api = await serve_site(SitePlugin(built))
    await api.get("/site/")
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
    answer = await asyncio.to_thread(api.raw, request.encode())
    assert answer.split(b" ", 2)[1] in (b"404", b"400"), answer
    assert b'{"error":{"code":"' in answer
    assert b"canary" not in answer
    assert b"root:" not in answer


async def test_nothing_of_a_site_is_in_the_way_of_the_api(serve_site, built, refused):
    for name in ("v2", "healthz", "readyz", "metrics", ".well-known", "operator", "x"):
        (built / name).mkdir()
        (built / name / "index.html").write_text("shadow")
    api = await serve_site(SitePlugin(built))
    for path in ("/v2/networks", "/healthz", "/metrics", "/.well-known/jwks.json"):
        answer = await api.get(path, headers=BROWSER)
        assert answer.status == 200, path
        assert b"shadow" not in answer.raw
    for path in ("/v2/nothing", "/x/face/", "/operator/", "/nothing"):
        refused(await api.get(path, headers=BROWSER), 404, "not_found")
    refused(await api.post("/nothing", {}), 404, "not_found")
    refused(await api.post("/site/index.html", {}), 405, "invalid_request", "method_not_allowed")


async def test_a_site_that_is_not_built_says_so_and_is_found_once_it_is(serve_site, tmp_path):
    api = await serve_site(SitePlugin(tmp_path / "static", missing="Build it with `make console`."))
    page = await api.get("/", headers=BROWSER)
    assert page.status == 503
    assert page.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert page.raw.decode().startswith("Build it with `make console`. The API works without it")
    assert (await api.get("/")).body["name"] == "quoteway"
    assert (await api.get("/v2/networks")).status == 200
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "index.html").write_bytes(PAGE)
    assert (await api.get("/", headers=BROWSER)).raw == PAGE


async def test_a_plugin_without_a_site_costs_the_page_alone(serve_site, built, tmp_path):
    class Raises:
        @hookimpl
        def quoteway_site(self, context):
            raise RuntimeError("canary")

    api = await serve_site(Raises())
    page = await api.get("/", headers=BROWSER)
    assert page.status == 503
    assert page.raw.decode().startswith("Plugin 'face', which has the site, is not enabled: startup_failed.")
    assert b"canary" not in page.raw
    api = await serve_site(SitePlugin(built), site="bare")
    page = await api.get("/", headers=BROWSER)
    assert page.raw.decode().startswith("Plugin 'bare' has no site: name another plugin in server.site.")
    assert (await api.get("/v2/networks")).status == 200


async def test_a_site_that_is_too_large_is_not_read(serve_site, built):
    huge = built / "assets" / "huge.bin"
    huge.touch()
    os.truncate(huge, 1 << 40)
    api = await serve_site(SitePlugin(built))
    page = await api.get("/", headers=BROWSER)
    assert page.status == 503
    assert page.raw.decode().startswith("The site of plugin 'face' cannot be read: the log says why.")
    assert (await api.get("/site/manifest.json")).status == 404


async def test_without_the_setting_there_is_no_page(serve_site, built):
    for site in (None, ""):
        api = await serve_site(plugin := SitePlugin(built), site=site)
        assert (await api.get("/", headers=BROWSER)).body["name"] == "quoteway"
        assert (await api.get("/site/manifest.json")).status == 404
        assert plugin.asked == 0


async def test_the_page_needs_no_key_and_the_api_does(serve_app, make_config, built, refused):
    auth = AuthConfig(keys=(Secret("9f2c61d8a07be4531c8d9ab2f6e07143"),))
    config = replace(make_config(site="face"), auth=auth)
    api = await serve_app({"face": SitePlugin(built)}, config=config)
    assert (await api.get("/", headers=BROWSER)).raw == PAGE
    refused(await api.get("/v2/networks"), 401, "unauthorized")


def test_a_site_of_a_plugin_that_is_not_installed_is_a_mistake(make_config):
    gateway = Gateway(make_config(site="nobody"), plugins={"bare": FakePlugin()}, discover=False)
    with pytest.raises(ConfigError, match="names plugin 'nobody', which is not installed"):
        gateway.load()
