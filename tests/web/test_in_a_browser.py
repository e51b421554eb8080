"""A page of another origin asks the gateway in headless Chromium, as a wallet's page does."""

import asyncio
import re
import shutil
from dataclasses import replace

import pytest
from aiohttp import web

pytestmark = pytest.mark.services

PAGE = """
<!doctype html><meta charset="utf-8"><body><script>
const said = [];
async function ask(name, path, options) {
  try {
    const answer = await fetch("%s" + path, options);
    said.push(name + "=" + answer.status + ":" + (answer.headers.get("X-Request-ID") ? "id" : "no-id"));
  } catch (error) {
    said.push(name + "=blocked");
  }
}
(async () => {
  await ask("read", "/v2/networks");
  const headers = {"Content-Type": "application/json", "X-Request-ID": "from-a-browser"};
  await ask("preflighted", "/v2/swaps/quote", {method: "POST", headers, body: "{}"});
  await fetch("/said", {method: "POST", body: said.join(" ")});
})();
</script></body>
"""


@pytest.fixture
async def visit(tmp_path):
    """``await visit(api)`` opens the page of another origin and returns its origin and what it said."""
    chromium = shutil.which("chromium")
    assert chromium is not None, "install chromium"
    said, place = asyncio.get_running_loop().create_future(), {}

    async def page(request):
        return web.Response(text=PAGE % place["gateway"], content_type="text/html")

    async def hear(request):
        said.set_result(await request.text())
        return web.Response()

    app = web.Application()
    app.add_routes([web.get("/", page), web.post("/said", hear)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    origin = f"http://127.0.0.1:{runner.addresses[0][1]}"

    async def open_page(gateway):
        place["gateway"] = gateway
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        process = await asyncio.create_subprocess_exec(
            chromium,
            *options,
            f"--user-data-dir={tmp_path}",
            "--remote-debugging-port=0",
            origin,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(240):
                return await said
        finally:
            process.kill()
            await process.wait()

    yield origin, open_page
    await runner.cleanup()


async def test_a_page_of_an_allowed_origin_reads_and_posts(serve_app, make_config, visit):
    origin, open_page = visit
    config = make_config()
    api = await serve_app(config=replace(config, server=replace(config.server, cors_origins=(origin,))))
    assert re.fullmatch(r"read=200:id preflighted=422:id", await open_page(api.url))


async def test_a_page_of_another_origin_reads_nothing(serve_app, make_config, visit):
    _, open_page = visit
    config = make_config()
    allowed = replace(config.server, cors_origins=("https://wallet.example",))
    api = await serve_app(config=replace(config, server=allowed))
    assert await open_page(api.url) == "read=blocked preflighted=blocked"
