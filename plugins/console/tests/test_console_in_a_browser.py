"""A person swaps in Chromium over the devnet's contracts, from the first click to the receipt.

When the server answers something else than what was asked, the page says so and sends nothing.
"""

import asyncio
import re

import aiohttp
import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import ACCOUNT, EXTENSION, HOSTILE, THIEF, address_of, changed, choose, held, serious
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.rpc import Rpc

pytestmark = pytest.mark.services


async def quote(page, amount="1.5", to="USDC", pay=None):
    await page.get_by_label("Amount").fill(amount)
    if pay:
        await choose(page, "Pay", pay)
    await choose(page, "Receive", to)
    await page.get_by_role("button", name="Get a quote").click()


def digits(text):
    """Base units of six decimals of a shown amount."""
    whole, _, fraction = text.split(" ")[0].replace("\u202f", "").partition(".")
    return int(whole + fraction.ljust(6, "0"))


async def test_a_swap_from_the_first_click_to_the_receipt_to_the_base_unit(gateway, browse):
    url, port = gateway
    usdc = await address_of(url, "USDC")
    page = await browse(url)
    assert "public" in await page.locator(".notice").first.inner_text()
    await quote(page)
    promised = digits(await page.locator("[data-part=receive]").inner_text())
    assert 0 < digits(await page.locator("[data-part=minimum]").inner_text()) < promised
    assert await page.locator("svg[role=img]").get_attribute("aria-label")
    await page.get_by_role("button", name="Show what I sign").click()
    changes = await page.locator("[data-part=changes]").inner_text()
    assert "-1.5" in changes
    assert "USDC" in changes
    assert await serious(page) == []
    before = held(port, usdc)
    await page.locator("[data-part=send]").click()
    got = digits(await page.locator("[data-part=received]").inner_text())
    assert held(port, usdc) - before == got == promised
    assert await page.locator("[data-part=against]").inner_text() == "0 basis points"


async def test_a_token_is_approved_and_sold_on_a_phone_in_the_dark(gateway, browse):
    url, port = gateway
    usdc = await address_of(url, "USDC")
    page = await browse(url, viewport={"width": 360, "height": 740}, color_scheme="dark")
    await quote(page, "250.25", to="DAI", pay="USDC")
    await page.get_by_role("button", name="Show what I sign").click()
    await page.locator("[data-part=send]").wait_for()
    assert await serious(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    before = held(port, usdc)
    await page.get_by_role("button", name="Approve and send").click()
    await page.locator("[data-part=received]").wait_for()
    assert before - held(port, usdc) == 250_250_000


async def test_a_wallet_of_the_browser_signs_and_sends_through_its_own_node(gateway, browse):
    url, port = gateway
    dai, asked = await address_of(url, "DAI"), []
    owner = ACCOUNTS[3].address

    def wallet(method, params):
        asked.append(method)
        if method == "eth_requestAccounts":
            return [owner]
        with Rpc(port) as rpc:
            return rpc(method, *params)

    async def prepare(page):
        await page.expose_function("ask_wallet", wallet)
        await page.add_init_script(EXTENSION)

    page = await browse(url, prepare)
    await page.get_by_label("Wallet").select_option("Wallet <b>of</b> a test")
    assert await page.get_by_text("key of this test account").count() == 0
    assert asked == [], "nothing is asked of a wallet before the person acts"
    await quote(page, "0.25", to="DAI")
    await page.get_by_role("button", name="Show what I sign").click()
    await page.locator("[data-part=send]").wait_for()
    assert "eth_sendTransaction" not in asked
    before = held(port, dai, owner)
    await page.locator("[data-part=send]").click()
    shown = await page.locator("[data-part=received]").inner_text()
    whole, _, fraction = shown.split(" ")[0].replace("\u202f", "").partition(".")
    assert held(port, dai, owner) - before == int(whole + fraction.ljust(18, "0"))
    assert asked.count("eth_sendTransaction") == 1


async def test_nothing_else_can_be_asked_while_a_wallet_sends(gateway, browse):
    url, port = gateway
    signs = asyncio.Event()

    async def wallet(method, params):
        if method == "eth_requestAccounts":
            return [ACCOUNTS[4].address]
        if method == "eth_sendTransaction":
            await signs.wait()
        with Rpc(port) as rpc:
            return rpc(method, *params)

    async def prepare(page):
        await page.expose_function("ask_wallet", wallet)
        await page.add_init_script(EXTENSION)

    page = await browse(url, prepare)
    await page.get_by_label("Wallet").select_option("Wallet <b>of</b> a test")
    await quote(page, "0.5")
    await page.get_by_role("button", name="Show what I sign").click()
    await page.locator("[data-part=send]").click()
    for label in ("Amount", "Network", "Wallet"):
        await page.wait_for_function(
            "label => [...document.querySelectorAll('label')]"
            ".find(each => each.innerText.startsWith(label)).querySelector(':disabled')",
            arg=label,
        )
    await page.get_by_role("link", name="Providers").click()
    await page.get_by_role("table").wait_for()
    await page.get_by_role("link", name="Swap").click()
    signs.set()
    assert await page.locator("[data-part=against]").inner_text() == "0 basis points"
    assert await page.get_by_label("Amount").is_enabled()


def failing(found):
    row = next(row for row in found["data"] if row["id"] == "uniswap")
    row["state"], row["healthy"], row["reason"] = "disabled", False, "<b>startup\u202e_failed</b>"


async def test_the_page_of_providers_says_what_each_does_and_why_not(proxy, browse):
    page = await browse(await proxy("/v2/providers", changed(failing)))
    await page.get_by_role("link", name="Providers").click()
    row = page.get_by_role("row").filter(has_text="uniswap").first
    text = await row.inner_text()
    for part in ("swap", "devnet", "disabled, not healthy", "<b>startup_failed</b>"):
        assert part in text
    assert await serious(page) == []


def to_a_thief(found):
    found["recipients"][0]["account"] = THIEF


def less(found):
    found["outputs"][0]["amountMin"] = "1"


def other_code(found):
    data = found["transactions"][0]["data"]
    found["transactions"][0]["data"] = data.replace(ACCOUNT[2:].lower(), THIEF[2:])
    found["transactions"][0]["value"] = hex(10**19)


@pytest.mark.parametrize("change", [to_a_thief, less, other_code])
async def test_an_action_that_was_changed_on_the_way_cannot_be_sent(proxy, browse, change):
    page = await browse(await proxy(r"/v2/swaps/[^/]+/action", changed(change)))
    await quote(page)
    await page.get_by_role("button", name="Show what I sign").click()
    alert = await page.get_by_role("alert").inner_text()
    assert "not what you asked for" in alert
    assert "Do not sign it" in alert
    assert await page.locator("[data-part=send]").count() == 0


def other_recipient(found):
    found["outputs"][0]["account"] = found["request"]["toAddress"] = THIEF


def lower_minimum(found):
    found["outputs"][0]["amountMin"] = found["toAmountMin"] = "1"


@pytest.mark.parametrize("change", [other_recipient, lower_minimum])
async def test_a_quote_for_something_else_is_refused(proxy, browse, change):
    page = await browse(await proxy("/v2/swaps/quote", changed(change)))
    await quote(page)
    assert "not what you asked for" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=receive]").count() == 0


async def test_other_decimals_than_those_of_the_amount_are_refused(proxy, browse):
    def change(found):
        for row in found["data"]:
            for contract in row["contracts"]:
                contract["decimals"] += 2

    page = await browse(await proxy("/v2/tokens", changed(change)))
    await quote(page, "100", to="DAI", pay="USDC")
    assert "USDC has 8 decimals, the quote says 6" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=receive]").count() == 0


async def test_an_upstream_that_fails_is_told(proxy, browse):
    page = await browse(
        await proxy("/v2/swaps/quote", lambda *_: web.Response(text="<h1>Bad Gateway</h1>", status=502))
    )
    await quote(page)
    assert "HTTP 502" in await page.get_by_role("alert").inner_text()


async def test_hostile_names_neither_run_nor_mislead(proxy, browse):
    def change(found):
        for row in found["data"]:
            row["symbol"], row["lookAlikeOf"] = "US\u202eDC\u0000", "usd-coin"
            row["name"] = HOSTILE

    page = await browse(await proxy("/v2/tokens", changed(change)))
    await page.get_by_label("Receive").click()
    await page.get_by_label("Search by symbol").fill("USDC")
    row = page.locator("li button[data-token]").filter(has_text="looks like another token").first
    text = await row.inner_text()
    assert "\u202e" not in text
    assert HOSTILE in text
    assert await page.locator("img").count() == 0


async def test_the_first_load_is_small_and_the_amount_is_checked(gateway, browse):
    url, _ = gateway
    async with aiohttp.ClientSession(auto_decompress=False, headers={"Accept": "text/html"}) as session:
        async with session.get(url, headers={"Accept-Encoding": "identity"}) as answer:
            index, size = await answer.text(), 0
        for name in re.findall(r'"(/site/assets/[^"]+)"', index):
            async with session.get(url + name) as answer:
                size += len(await answer.read())
    assert 50_000 < size < 300_000
    page = await browse(url)
    await quote(page, "1.0000000000000000001")
    assert "digits after the point" in await page.get_by_role("alert").inner_text()
