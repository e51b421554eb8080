"""Operators look at a running gateway in Chromium; others get nothing, and the key is stored nowhere."""

import asyncio
import json

import aiohttp
import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import ACCOUNT, HOSTILE, address_of, changed, serious

pytestmark = pytest.mark.services

KEY = "operators-key-0123456789abcdef"
PLACES = (
    "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href, history.state])"
)


async def open_operator(page):
    await page.get_by_role("link", name="Operator").click()
    await page.get_by_role("heading", name="Operator").wait_for()


async def quote_once(url, request_id):
    """Asks until there is a quote: on a busy machine the first ones come too late."""
    body = {"network": "devnet", "fromToken": "native", "amount": str(10**18), "address": ACCOUNT}
    body["toToken"] = await address_of(url, "USDC")
    async with aiohttp.ClientSession() as session, asyncio.timeout(300):
        while True:
            headers = {"X-Request-ID": request_id}
            async with session.post(f"{url}/v2/swaps/quote", json=body, headers=headers) as answer:
                if answer.status == 200:
                    return
            await asyncio.sleep(1)


async def test_an_operator_sees_providers_nodes_the_index_requests_and_the_configuration(gateway, browse):
    url, _ = gateway
    await quote_once(url, "seen-by-the-operator")
    page = await browse(url)
    await open_operator(page)
    assert (await page.locator("[data-part=ready]").inner_text()) == "ready"
    row = page.locator("tr[data-provider=uniswap]").first
    text = await row.inner_text()
    for part in ("enabled", "swap quote: breaker closed", "p50", "simulated"):
        assert part in text
    node = page.get_by_role("region", name="Table of nodes")
    assert "closed" in await node.inner_text()
    assert "devnet" in await page.get_by_role("region", name="Table of networks").inner_text()
    request = page.locator('tr[data-request="seen-by-the-operator"]').first  # the newest one
    assert "POST /v2/swaps/quote" in await request.inner_text()
    await request.locator("summary").click()
    calls = await request.locator("li").all_inner_texts()
    assert any("swap uniswap.quote: quoted in" in each for each in calls), calls
    await page.get_by_text("The configuration in force").click()
    shown = json.loads(await page.locator("[data-part=config]").inner_text())
    assert shown["embedded"] is True
    assert await serious(page) == []
    await quote_once(url, "after-the-first-look")
    assert await page.locator('tr[data-request="after-the-first-look"]').count() == 0
    await page.get_by_role("button", name="Ask again").click()
    await page.locator('tr[data-request="after-the-first-look"]').first.wait_for()


async def test_it_fits_a_phone_in_the_dark(gateway, browse):
    page = await browse(gateway[0], viewport={"width": 360, "height": 740}, color_scheme="dark")
    await open_operator(page)
    await page.locator("[data-part=ready]").wait_for()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []


@pytest.fixture
async def guarded(gateway):
    """URL of a server before the gateway that wants a key for what is for operators, and the keys it got."""
    got, session = [], aiohttp.ClientSession()

    async def forward(request):
        if request.path.startswith("/operator/"):
            got.append(request.headers.get("Authorization"))
            if got[-1] != f"Bearer {KEY}":
                error = {
                    "code": "unauthorized",
                    "message": f"Send a key of operators. {HOSTILE}",
                    "requestId": "r",
                }
                return web.json_response({"error": error}, status=401)
        headers = {
            name: value for name, value in request.headers.items() if name not in ("Host", "Authorization")
        }
        async with session.request(
            request.method, gateway[0] + request.raw_path, headers=headers, data=await request.read()
        ) as answer:
            kept = ("Content-Type", "Content-Security-Policy", "X-Request-ID")
            return web.Response(
                body=await answer.read(),
                status=answer.status,
                headers={name: answer.headers[name] for name in kept if name in answer.headers},
            )

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", forward)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}", got
    await runner.cleanup()
    await session.close()


async def test_a_key_is_asked_for_and_kept_in_memory_alone(guarded, browse):
    url, got = guarded
    page = await browse(url)
    await open_operator(page)
    field = page.get_by_label("Key of operators")
    await field.wait_for()
    assert await page.locator("[data-part=ready]").count() == 0
    assert await serious(page) == []
    await field.fill("wrong-key")
    await page.get_by_role("button", name="Show", exact=True).click()
    alert = await page.get_by_role("alert").inner_text()
    assert "Send a key of operators" in alert
    assert HOSTILE in alert
    assert await page.locator("img").count() == 0
    await field.fill(KEY)
    await page.get_by_role("button", name="Show", exact=True).click()
    await page.locator("[data-part=ready]").wait_for()
    assert KEY not in await page.evaluate(PLACES)
    assert KEY not in await page.content()
    await page.get_by_role("link", name="Swap").click()
    await page.get_by_role("link", name="Operator").click()
    await page.locator("[data-part=ready]").wait_for()
    await page.get_by_role("button", name="Forget the key").click()
    await field.wait_for()
    assert await page.locator("[data-part=ready]").count() == 0
    await field.fill(KEY)
    await page.get_by_role("button", name="Show", exact=True).click()
    await page.locator("[data-part=ready]").wait_for()
    await page.reload()
    await page.get_by_label("Key of operators").wait_for()
    assert got[-1] is None, "another load of the page knows no key"


def hostile(found):
    row = next(row for row in found["providers"] if row["id"] == "uniswap")
    row["name"], row["reason"] = HOSTILE, "\u202e<b>x</b>"
    found["upstreams"][0]["label"] = HOSTILE
    found["notReady"], found["ready"] = [HOSTILE], False


async def test_hostile_names_neither_run_nor_mislead(proxy, browse):
    page = await browse(await proxy("/operator/state", changed(hostile)))
    await open_operator(page)
    assert HOSTILE in await page.locator("[data-part=ready]").inner_text()
    text = await page.locator("main").inner_text()
    assert text.count(HOSTILE) >= 3
    assert "\u202e" not in text
    assert await page.locator("img").count() == 0


async def test_without_anything_to_show_it_says_so(proxy, browse):
    def empty(found):
        found.update(providers=[], upstreams=[], networks={}, index=None)

    page = await browse(await proxy("/operator/state", changed(empty)))
    await open_operator(page)
    for part in ("There is no provider", "No network is served", "This deployment has no index"):
        await page.get_by_text(part).wait_for()


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (502, "<h1>Bad Gateway</h1>", "HTTP 502"),
        (200, "no json", "HTTP 200"),
        (
            503,
            json.dumps({"error": {"code": "x", "message": "Worker 1 does not answer"}}),
            "Worker 1 does not",
        ),
    ],
)
async def test_an_answer_that_fails_is_told(proxy, browse, status, body, said):
    page = await browse(await proxy("/operator/.*", lambda *_: web.Response(text=body, status=status)))
    await open_operator(page)
    assert said in await page.get_by_role("alert").inner_text()
    assert await page.get_by_role("button", name="Ask again").is_enabled()
