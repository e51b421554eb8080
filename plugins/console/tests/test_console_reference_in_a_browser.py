"""The reference in Chromium: every operation, requests that are tried, and code that is copied and runs."""

import asyncio
import json
import sys

import aiohttp
import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import ACCOUNT, HOSTILE, choose, serious

pytestmark = pytest.mark.services

ODD = "a'b\"c\\d$(id)`id`\u2028 \U0001f980 %s {x} $HOME"
KEY = "caller-key-0123456789abcdef"


async def open_reference(page, operation=None):
    await page.get_by_role("link", name="Reference").click()
    await page.locator("[data-operation]").first.wait_for()
    if operation is None:
        return None
    found = page.locator(f'[data-operation="{operation}"]')
    await found.locator("summary").first.click()
    return found


async def code_of(place, language):
    """The code that the page gives for a request."""
    panel = place.locator(".copy-as:visible")
    if await panel.get_attribute("open") is None:
        await panel.locator("summary").click()
    await panel.get_by_role("button", name=language, exact=True).click()
    return await panel.locator("[data-part=code]").inner_text()


async def run(language, code, folder, **environ):
    """What the code writes."""
    (folder / "code.mjs").write_text(code)
    commands = {
        "curl": ("bash", "-c", code),
        "TypeScript": ("node", str(folder / "code.mjs")),
        "Python": (sys.executable, "-c", code),
    }
    process = await asyncio.create_subprocess_exec(
        *commands[language],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environ},
    )
    out, err = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, err.decode()
    return out.decode()


async def test_every_operation_of_the_gateway_is_there_and_can_be_read(gateway, browse):
    url, _ = gateway
    async with aiohttp.ClientSession() as session, session.get(f"{url}/v2/openapi.json") as answer:
        paths = (await answer.json())["paths"]
    expected = {operation["operationId"] for methods in paths.values() for operation in methods.values()}
    page = await browse(url)
    await open_reference(page)
    rows = page.locator("[data-operation]")
    found = await rows.evaluate_all("rows => rows.map(row => row.dataset.operation)")
    assert set(found) == expected
    assert len(found) == len(expected)
    place = await open_reference(page, "createSwapQuote")
    await place.get_by_text("Members of the body").click()
    await place.get_by_text("slippageBps", exact=True).first.wait_for()
    await place.get_by_text("Answer 200").click()
    await place.get_by_text("Its members").first.click()
    assert await serious(page) == []
    await page.get_by_label("Find an operation").fill("getPortfolioBal")
    await page.locator('[data-operation="listTokens"]').wait_for(state="detached")
    assert await rows.evaluate_all("rows => rows.map(row => row.dataset.operation)") == [
        "getPortfolioBalances"
    ]
    await page.get_by_label("Find an operation").fill("no such thing")
    await page.get_by_text("No operation has this").wait_for()


async def test_it_fits_a_phone_in_the_dark_with_everything_open(gateway, browse):
    page = await browse(gateway[0], viewport={"width": 360, "height": 740}, color_scheme="dark")
    place = await open_reference(page, "listTokens")
    await place.get_by_role("button", name="Send").click()
    await place.locator("[data-part=status]").wait_for()
    await place.get_by_text("Answer 200").click()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []


async def test_a_get_is_tried_and_its_code_does_the_same(gateway, browse, tmp_path):
    page = await browse(gateway[0])
    place = await open_reference(page, "listTokens")
    await place.get_by_label("query (optional)").fill("USDC")
    await place.get_by_label("network (optional)").fill("devnet")
    await place.get_by_role("button", name="Send").click()
    assert await place.locator("[data-part=status]").inner_text() == "HTTP 200"
    shown = json.loads(await place.locator("[data-part=body]").inner_text())
    assert any(row["symbol"] == "USDC" for row in shown["data"])
    for language in ("curl", "TypeScript", "Python"):
        said = await run(language, await code_of(place, language), tmp_path)
        body = json.loads(said[said.index("{") :])
        assert [row["id"] for row in body["data"]] == [row["id"] for row in shown["data"]], language


async def test_a_post_with_odd_text_is_tried_and_its_code_sends_the_same_bytes(
    gateway, browse, tmp_path, echo
):
    page = await browse(echo.url)
    place = await open_reference(page, "createSwapQuote")
    bodies = (
        json.dumps({"network": ODD, "list": [1, None, True, {}], "nested": {"a": []}}, ensure_ascii=False),
        '{"amount": 123456789012345678901234567890, "rate": 1.10, "__proto__": {"x": 1}}',
        "no json ' at all \\n",
    )
    for body in bodies:
        await place.get_by_label("Body").fill(body)
        await place.get_by_role("button", name="Send").click()
        await place.locator("[data-part=status]").wait_for()
        sent = echo.bodies[-1]
        assert sent.decode() == body
        for language in ("curl", "TypeScript", "Python"):
            echo.bodies.clear()
            await run(language, await code_of(place, language), tmp_path)
            (again,) = echo.bodies
            if body.startswith('{"network"'):
                assert json.loads(again) == json.loads(sent), language
            else:
                assert again == sent, language


@pytest.fixture
async def echo(gateway):
    """A server before the gateway that notes the bodies of quote requests and the keys, and answers them."""
    session = aiohttp.ClientSession()

    class Echo:
        bodies, keys, url = [], [], ""

    async def forward(request):
        Echo.keys.append(request.headers.get("Authorization"))
        if request.path == "/v2/swaps/quote":
            Echo.bodies.append(await request.read())
            return web.json_response({"name": HOSTILE})
        async with session.get(
            gateway[0] + request.raw_path, headers={"Accept": request.headers.get("Accept", "")}
        ) as got:
            kept = ("Content-Type", "Content-Security-Policy", "X-Request-ID")
            headers = {name: got.headers[name] for name in kept if name in got.headers}
            return web.Response(body=await got.read(), status=got.status, headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", forward)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    Echo.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield Echo
    await runner.cleanup()
    await session.close()


async def test_an_api_key_is_sent_and_neither_stored_nor_copied(browse, echo, tmp_path):
    page = await browse(echo.url)
    await open_reference(page)
    await page.get_by_text("Send an API key with requests").click()
    await page.get_by_label("API key", exact=True).fill(KEY)
    await page.get_by_role("button", name="Use it until").click()
    place = await open_reference(page, "createSwapQuote")
    await place.get_by_role("button", name="Send").click()
    assert HOSTILE in await place.locator("[data-part=body]").inner_text()
    assert await page.locator("img").count() == 0
    assert echo.keys[-1] == f"Bearer {KEY}"
    assert KEY not in await page.content()
    assert KEY not in await page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
    )
    for language in ("curl", "TypeScript", "Python"):
        code = await code_of(place, language)
        assert KEY not in code
        await run(language, code, tmp_path, QUOTEWAY_API_KEY="key-of-the-shell")
        assert echo.keys[-1] == "Bearer key-of-the-shell", language


async def test_a_stream_is_shown_as_it_comes_and_stopped(gateway, browse):
    page = await browse(gateway[0])
    place = await open_reference(page, "openStream")
    await place.get_by_label("heads (optional)").fill("devnet")
    await place.get_by_role("button", name="Send").click()
    await place.locator("[data-part=body]").filter(has_text="event: head").wait_for()
    await place.get_by_role("button", name="Stop").click()
    await place.get_by_role("button", name="Stop").wait_for(state="detached")


async def test_a_refusal_and_a_gateway_that_is_away_are_told(proxy, browse):
    page = await browse(await proxy("/v2/tokens", lambda *_: web.Response(text="<h1>no</h1>", status=502)))
    place = await open_reference(page, "listTokens")
    await place.get_by_role("button", name="Send").click()
    assert await place.locator("[data-part=status]").inner_text() == "HTTP 502"
    other = await open_reference(page, "listNetworks")
    await other.get_by_label("limit (optional)").fill("0")
    await other.get_by_role("button", name="Send").click()
    assert await other.locator("[data-part=status]").inner_text() == "HTTP 422"


async def test_a_document_that_is_none_is_told(proxy, browse):
    page = await browse(await proxy("/v2/openapi.json", lambda *_: web.Response(text="<h1>no</h1>")))
    await page.get_by_role("link", name="Reference").click()
    assert await page.get_by_role("alert").inner_text()
    assert await page.get_by_role("button", name="Try again").is_enabled()


async def test_pages_give_the_code_of_what_they_did(gateway, browse, tmp_path):
    page = await browse(gateway[0])
    await page.get_by_label("Amount").fill("0.25")
    await choose(page, "Receive", "USDC")
    await page.get_by_role("button", name="Get a quote").click()
    await page.locator("[data-part=receive]").wait_for()
    for language in ("curl", "TypeScript", "Python"):
        code = await code_of(page.locator("main"), language)
        said = await run(language, code, tmp_path)
        quote = json.loads(said[said.index("{") :])
        assert (quote["fromAmount"], quote["status"]) == ("250000000000000000", "active"), language
    await page.get_by_role("link", name="Providers").click()
    await page.get_by_role("table").wait_for()
    said = await run("curl", await code_of(page.locator("main"), "curl"), tmp_path)
    assert any(row["id"] == "uniswap" for row in json.loads(said)["data"])
    await page.get_by_role("link", name="Vaults").click()
    await page.get_by_role("region", name="Vaults of the network").wait_for()
    said = await run("Python", await code_of(page.locator("main"), "Python"), tmp_path)
    assert '"data"' in said
    await page.get_by_role("link", name="Portfolio").click()
    await page.locator("input[name=account]").fill(ACCOUNT)
    await page.get_by_role("button", name="Show this account").click()
    await page.locator("[data-part=total]").wait_for()
    code = await code_of(page.locator("main"), "TypeScript")
    assert ACCOUNT in code
    assert (await run("TypeScript", code, tmp_path)).startswith('200 {"')
    assert await serious(page) == []


async def test_the_code_is_copied_to_the_clipboard(gateway, browse):
    page = await browse(gateway[0], permissions=["clipboard-read", "clipboard-write"])
    place = await open_reference(page, "listNetworks")
    await place.get_by_role("button", name="Send").click()
    code = await code_of(place, "curl")
    await place.get_by_role("button", name="Copy", exact=True).click()
    await place.get_by_text("Copied.").wait_for()
    assert await page.evaluate("navigator.clipboard.readText()") == code


async def test_the_reference_and_the_operators_page_are_no_part_of_the_first_load(gateway, browse):
    sizes = {}

    async def prepare(page):
        async def note(response):
            if "/site/" in response.url or response.url.endswith("/"):
                sizes[response.url] = (await response.request.sizes())["responseBodySize"]

        page.on("response", lambda response: asyncio.ensure_future(note(response)))

    page = await browse(gateway[0], prepare)
    await page.wait_for_load_state("networkidle")
    first = dict(sizes)
    assert 50_000 < sum(first.values()) < 300_000, first
    await open_reference(page)
    assert set(sizes) > set(first), "its code comes when it is opened"
