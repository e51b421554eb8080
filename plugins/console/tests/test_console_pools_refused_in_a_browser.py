"""Answers on pools that were changed, fail, are late or have hostile names, in Chromium."""

import asyncio

import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import ACCOUNT, HOSTILE, THIEF, changed, serious
from console_pools import add, adding, complete, open_pool, pool_of

pytestmark = pytest.mark.services

QUOTE = r"/v2/pools/[^/]+/quote"
ACTION = r"/v2/pools/[^/]+/action"


def more(found):
    found["inputs"][0]["amount"] = found["inputs"][1]["amount"] = "9" * 24


def to_a_thief(found):
    found["outputs"][0]["account"] = found["request"]["recipient"] = THIEF


def of_another_range(found):
    found["request"]["tickLower"] -= 60


def with_other_decimals(found):
    for leg in found["inputs"]:
        leg["token"]["decimals"] -= 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (more, "not what you asked for"),
        (to_a_thief, "not what you asked for"),
        (of_another_range, "not what you asked for"),
        (with_other_decimals, "decimals"),
    ],
    ids=["more", "thief", "range", "decimals"],
)
async def test_a_quote_of_liquidity_for_something_else_is_refused(proxy, browse, change, told):
    url = await proxy(QUOTE, changed(change))
    page = await browse(url)
    await open_pool(page, await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=30))
    await add(page, "USDC", "100", "10 % to each side of the price")
    assert told in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=pay]").count() == 0


def action_to_a_thief(found):
    found["recipients"][0]["account"] = THIEF


def more_allowed(found):
    data = found["transactions"][0]["data"]
    found["transactions"][0]["data"] = data[:-64] + "f" * 64


def owned_by_a_thief(found):
    """Changes the owner of the new position in the bytes alone."""
    last = found["transactions"][-1]
    assert ACCOUNT[2:].lower() in last["data"]
    last["data"] = last["data"].replace(ACCOUNT[2:].lower(), THIEF[2:])


def of_other_ticks(found):
    """Moves the lower tick in the bytes alone, to one that the quote does not have."""
    last = found["transactions"][-1]
    start = last["data"].index("88316456") + 8 + 3 * 64
    last["data"] = last["data"][:start] + f"{60:064x}" + last["data"][start + 64 :]


@pytest.mark.parametrize(
    "change",
    [action_to_a_thief, more_allowed, owned_by_a_thief, of_other_ticks],
    ids=["recipients", "approval", "owner", "ticks"],
)
async def test_an_action_of_liquidity_that_was_changed_on_the_way_cannot_be_sent(proxy, browse, change):
    url = await proxy(ACTION, changed(change))
    page = await browse(url)
    await open_pool(page, await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=1))
    await add(page, "USDC", "7000", "10 % to each side of the price")
    await page.get_by_role("button", name="Show what I sign").click()
    assert "Do not sign it" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=send]").count() == 0


async def test_a_range_that_cannot_be_read_is_told_and_asked_for_again(proxy, browse):
    """The client asks twice before it gives up."""
    failing = iter([502, 502])

    def change(body, headers, status):
        code = next(failing, status)
        return web.Response(body=body if code == status else b"Bad Gateway", headers=headers, status=code)

    url = await proxy(r"/v2/pools/[^/]+/liquidity", change)
    page = await browse(url)
    await open_pool(page, await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=30))
    form = adding(page)
    assert "HTTP 502" in await form.get_by_role("alert").inner_text()
    await form.get_by_role("button", name="Ask for the range again").click()
    await form.locator("select[name=range]").wait_for()


@pytest.mark.parametrize("path", ["/v2/pools", QUOTE], ids=["list", "quote"])
async def test_a_list_or_quote_of_pools_that_fails_is_told(proxy, browse, path):
    url = await proxy(path, lambda *_: web.Response(text="<h1>Bad Gateway</h1>", status=502))
    page = await browse(url)
    if path == "/v2/pools":
        await page.get_by_role("link", name="Pools").click()
    else:
        await open_pool(page, await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=30))
        await add(page, "USDC", "100")
    assert "HTTP 502" in await page.get_by_role("alert").inner_text()


async def test_a_slow_quote_of_liquidity_is_waited_for_and_one_to_an_earlier_request_is_not_shown(
    proxy, browse
):
    goes_on, first = asyncio.Event(), []

    async def change(body, headers, status):
        if not first:
            first.append(body)
            await goes_on.wait()
        return web.Response(body=body, headers=headers, status=status)

    url = await proxy(QUOTE, change)
    page = await browse(url)
    await open_pool(page, await pool_of(url, "uniswap-v2", "WETH", "USDC"))
    await add(page, "USDC", "11")
    await page.get_by_text("Asking for a quote…").wait_for()
    await add(page, "USDC", "12")
    await page.locator("[data-part=pay]").get_by_text("12 USDC").wait_for()
    goes_on.set()
    await page.get_by_role("button", name="Show what I sign").wait_for()
    assert "11 USDC" not in await page.locator("[data-part=pay]").inner_text()


async def test_being_offline_is_said_and_pools_can_be_asked_for_again(gateway, browse):
    await complete(gateway[0])
    page = await browse(gateway[0])
    await page.context.set_offline(True)
    await page.get_by_role("link", name="Pools").click()
    await page.get_by_text("The browser is offline.").wait_for()
    assert "No answer came" in await page.get_by_role("alert").first.inner_text()
    await page.context.set_offline(False)
    await page.get_by_role("button", name="Ask again").first.click()
    await page.get_by_role("region", name="Pools of the network").wait_for()
    assert await page.get_by_role("alert").count() == 0


async def test_hostile_names_of_pools_neither_run_nor_mislead(gateway, proxy, browse):
    await complete(gateway[0])

    def rows(found):
        for row in found["data"]:
            row["pair"], row["protocol"] = f"{HOSTILE}/US\u202eDC", "<b>uniswap</b>"
            row["tokens"][0]["symbol"], row["tokens"][1]["symbol"] = "\u0405\u0405", "US\u202eDC"

    page = await browse(await proxy("/v2/pools", changed(rows)))
    await page.get_by_role("link", name="Pools").click()
    text = await page.get_by_role("region", name="Pools of the network").inner_text()
    assert HOSTILE in text
    assert "\u202e" not in text
    assert "unusual letters" in text
    assert await page.locator("img, main b").count() == 0
    assert await serious(page) == []
