"""Routes of plugins: below their own prefix, behind the same middleware, and unable to break the others."""

import asyncio
import contextlib
from dataclasses import replace

import pytest
from aiohttp import web
from quoteway.config.model import AuthConfig
from quoteway.errors import NotFound
from quoteway.hookspecs import hookimpl
from quoteway.secrets import Secret
from quoteway.web.http import plugin_routes


class Pages:
    def __init__(self):
        self.released = asyncio.Event()

    @hookimpl
    def quoteway_routes(self, context):
        async def hello(request):
            return web.json_response({"name": request.match_info["name"], "app": request.app is not None})

        async def broken(request):
            raise RuntimeError("canary")

        async def leaves(request):
            raise SystemExit("canary")

        async def odd(request):
            raise NotFound(5, headers={"Set-Cookie": "canary"})

        async def none(request):
            return None

        async def stubborn(request):
            while not self.released.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await self.released.wait()
            return web.Response()

        return [
            web.get("/hello/{name}", hello),
            web.get("/broken", broken),
            web.get("/leaves", leaves),
            web.get("/odd", odd),
            web.get("/none", none),
            web.get("/stubborn", stubborn),
            web.get("no-slash{", hello),
        ]


async def test_routes_live_below_their_plugin(serve_app, refused):
    api = await serve_app({"pages": Pages()})
    answer = await api.get("/x/pages/hello/ann")
    assert answer.body == {"name": "ann", "app": True}
    assert answer.headers["X-Request-ID"]
    assert answer.headers["RateLimit"].startswith('"catalog"')
    refused(await api.get("/x/pages/nothing"), 404, "not_found")
    refused(await api.get("/x/nobody/hello/ann"), 404, "not_found")
    refused(await api.post("/x/pages/hello/ann"), 405, "invalid_request")
    answer = await api.get("/x/pages/broken")
    refused(answer, 503, "provider_unavailable")
    assert b"canary" not in answer.raw
    text = (await api.get("/metrics")).raw.decode()
    assert 'route="/x/pages/hello/{name}",status="200"' in text


@pytest.mark.parametrize("route", ["broken", "leaves", "odd", "none"])
async def test_a_route_that_fails_costs_its_request_and_names_its_plugin(serve_app, refused, route, caplog):
    api = await serve_app({"pages": Pages()})
    answer = await api.get(f"/x/pages/{route}")
    refused(answer, 503, "provider_unavailable")
    assert b"canary" not in answer.raw
    assert "Set-Cookie" not in answer.headers
    assert "plugin 'pages'" in caplog.text
    assert (await api.get("/x/pages/hello/ann")).status == 200


@pytest.mark.slow
async def test_a_route_that_never_lets_go_is_left_behind(serve_app, make_config, refused, monkeypatch):
    monkeypatch.setattr(plugin_routes, "MOST_AT_ONCE", 2)
    config = make_config()
    config = replace(config, server=replace(config.server, request_timeout_s=1.0))
    pages = Pages()
    api = await serve_app({"pages": pages}, config=config)
    for _ in range(2):
        refused(await api.get("/x/pages/stubborn"), 502, "upstream_error", "provider_timeout")
    refused(await api.get("/x/pages/hello/ann"), 502, "upstream_error", "provider_paused")
    assert (await api.get("/v2/providers")).status == 200
    pages.released.set()
    async with asyncio.timeout(30):
        while (await api.get("/x/pages/hello/ann")).status != 200:
            await asyncio.sleep(0.02)


async def test_keys_are_required_there_too(serve_app, make_config, refused):
    config = replace(make_config(), auth=AuthConfig(keys=(Secret("k" * 20),)))
    api = await serve_app({"pages": Pages()}, config=config)
    refused(await api.get("/x/pages/hello/ann"), 401, "unauthorized")
