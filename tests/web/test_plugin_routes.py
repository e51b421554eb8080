"""Routes of plugins: below their own prefix, behind the same middleware, and unable to break the others."""

from dataclasses import replace

from aiohttp import web
from quoteway.config.model import AuthConfig
from quoteway.hookspecs import hookimpl
from quoteway.secrets import Secret


class Pages:
    @hookimpl
    def quoteway_routes(self, context):
        async def hello(request):
            return web.json_response({"name": request.match_info["name"], "app": request.app is not None})

        async def broken(request):
            raise RuntimeError("canary")

        return [
            web.get("/hello/{name}", hello),
            web.get("/broken", broken),
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


async def test_keys_are_required_there_too(serve_app, make_config, refused):
    config = replace(make_config(), auth=AuthConfig(keys=(Secret("k" * 20),)))
    api = await serve_app({"pages": Pages()}, config=config)
    refused(await api.get("/x/pages/hello/ann"), 401, "unauthorized")
