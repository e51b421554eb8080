"""Fixtures of recorded requests."""

import pytest
from aiohttp import web
from quoteway.testing.serving import served
from recorded_deployment import OPERATOR_KEY, PLUGIN_KEY, SIGNING_KEY, Nodes, Room, deployment, plugins_of


@pytest.fixture
async def service():
    """An HTTP service that echoes the credentials that it gets."""
    prices = iter(range(100, 200))

    async def answer(request):
        sent = f"{request.headers['Authorization']} {request.headers['X-Session']} {request.path}"
        return web.json_response({"price": next(prices), "you sent": sent})

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v7/{PLUGIN_KEY}"
    await runner.cleanup()


@pytest.fixture
async def room(service, tmp_path):
    nodes = Nodes({1})
    async with served(plugins_of(nodes), deployment(service)) as api:
        yield Room(api, nodes, tmp_path)


@pytest.fixture
def operator_config(tmp_path, monkeypatch):
    """A configuration file with the key of the room's operator, as commands read it."""
    monkeypatch.setenv("CAPTURE_KEY", OPERATOR_KEY)
    monkeypatch.setenv("SIGNING_KEY", SIGNING_KEY)
    path = tmp_path / "quoteway.toml"
    path.write_text(
        '[quotes]\nkeys = [{id = "k", secret = {env = "SIGNING_KEY"}}]\n'
        '[server]\ncapture = 3\ncapture_key = {env = "CAPTURE_KEY"}\n'
    )
    return path
