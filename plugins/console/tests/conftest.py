"""A gateway over the devnet, a server before it that changes answers, and Chromium that opens its console."""

import inspect
import re
import shutil

import aiohttp
import pytest
from aiohttp import web

WAIT_MS = 180_000
HOP_BY_HOP = {"content-length", "content-encoding", "transfer-encoding", "connection"}


@pytest.fixture(scope="module")
def gateway():
    """URL of a gateway that nothing is configured for, and the ports of its nodes."""
    pytest.importorskip("playwright", reason="needs the extra `services`")
    pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")
    from quoteway_devnet.demo.server import own_server

    with own_server() as (url, nodes):
        yield url, int(nodes["devnet"].rpartition(":")[2])


@pytest.fixture
async def proxy(gateway):
    """``proxy(path, change)`` is the URL of a server before the gateway that changes answers."""
    runners, session = [], aiohttp.ClientSession()

    async def start(path, change):
        async def forward(request):
            target = gateway[0] + request.raw_path
            headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
            async with session.request(
                request.method, target, headers=headers, data=await request.read()
            ) as got:
                body = await got.read()
                kept = {name: value for name, value in got.headers.items() if name.lower() not in HOP_BY_HOP}
                if re.fullmatch(path, request.path):
                    answer = change(body, kept, got.status)
                    return await answer if inspect.isawaitable(answer) else answer
                return web.Response(body=body, headers=kept, status=got.status)

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", forward)
        runner = web.AppRunner(app)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}"

    yield start
    for runner in runners:
        await runner.cleanup()
    await session.close()


@pytest.fixture
async def browse():
    """``browse(url, **options)`` opens the page; what it must not do is checked at the end."""
    pytest.importorskip("playwright", reason="needs the extra `services`")
    from playwright.async_api import async_playwright

    chromium = shutil.which("chromium")
    assert chromium is not None, "install chromium"
    wrong, origins = [], set()
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

        async def start(url, prepare=None, **options):
            context = await browser.new_context(**options)
            page = await context.new_page()
            if prepare:
                await prepare(page)
            page.set_default_timeout(WAIT_MS)
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("dialog", lambda dialog: wrong.append(dialog.message))
            page.on("request", lambda request: origins.add(request.url.partition("/")[2].split("/")[1]))
            page.on(
                "console",
                lambda line: wrong.append(line.text) if "Content Security Policy" in line.text else None,
            )
            origins.clear()
            await page.goto(url)
            await page.get_by_label("Amount").wait_for()
            return page

        yield start
        await browser.close()
    assert wrong == []
    assert len(origins) == 1, f"requests left the origin: {origins}"
