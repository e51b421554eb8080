"""A person deposits into a vault and redeems in Chromium, from the first click to the receipt."""

import asyncio
import re

import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import HOSTILE, THIEF, address_of, changed, held, serious

pytestmark = pytest.mark.services

QUOTE = r"/v2/vaults/[^/]+/quote"
ACTION = r"/v2/vaults/[^/]+/action"


async def open_vault(page, name="Steady USDC"):
    await page.get_by_role("link", name="Vaults").click()
    button = page.locator("button[data-vault]", has_text=name).first
    await button.click()
    return (await button.get_attribute("data-vault")).partition(":")[2]


async def deposit(page, amount="1234.567891"):
    form = page.get_by_role("region", name="Deposit or redeem")
    await form.get_by_label("Amount of USDC").fill(amount)
    await form.get_by_role("button", name="Get a quote").click()


def base_units(text):
    """Base units of six decimals of a shown amount."""
    whole, _, fraction = text.split(" ")[0].replace("\u202f", "").partition(".")
    return int(whole + fraction.ljust(6, "0"))


async def test_a_deposit_and_the_redemption_of_all_shares_to_the_base_unit(gateway, browse):
    url, port = gateway
    usdc = await address_of(url, "USDC")
    page = await browse(url)
    vault = await open_vault(page)
    row = page.get_by_role("row").filter(has_text="Steady USDC").first
    # A gateway that has just started has no yield yet.
    async with asyncio.timeout(180):
        while "%" not in await row.inner_text():
            await page.get_by_role("button", name="Ask again").click()
            await asyncio.sleep(0.5)
    await deposit(page)
    assert await page.locator("[data-part=pay]").inner_text() == "1\u202f234.567891 USDC"
    assert "USDC" in await page.locator("[data-part=price]").inner_text()
    promised = base_units(await page.locator("[data-part=receive]").inner_text())
    await page.get_by_role("button", name="Show what I sign").click()
    assert "-1\u202f234.567891 USDC" in await page.locator("[data-part=changes]").inner_text()
    assert await serious(page) == []
    before, shares = held(port, usdc), held(port, vault)
    await page.locator("[data-part=send]").click()
    got = base_units(await page.locator("[data-part=received]").inner_text())
    assert before - held(port, usdc) == 1_234_567_891
    assert held(port, vault) - shares == got == promised

    await page.get_by_label("Action").select_option("redeem")
    await page.get_by_label("All shares").check()
    await page.get_by_role("button", name="Get a quote").last.click()
    await page.get_by_role("button", name="Show what I sign").click()
    before = held(port, usdc)
    await page.locator("[data-part=send]").click()
    got = base_units(await page.locator("[data-part=received]").inner_text())
    assert held(port, vault) == 0
    assert held(port, usdc) - before == got > 1_234_000_000


async def test_the_page_fits_a_phone_in_the_dark(gateway, browse):
    page = await browse(gateway[0], viewport={"width": 360, "height": 740}, color_scheme="dark")
    await open_vault(page)
    await deposit(page)
    await page.locator("[data-part=pay]").wait_for()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []


def more(found):
    found["inputs"][0]["amount"] = "999999999999"


def to_a_thief(found):
    found["outputs"][0]["account"] = found["request"]["recipient"] = THIEF


@pytest.mark.parametrize("change", [more, to_a_thief])
async def test_a_quote_for_something_else_is_refused(proxy, browse, change):
    page = await browse(await proxy(QUOTE, changed(change)))
    await open_vault(page)
    await deposit(page)
    assert "not what you asked for" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=pay]").count() == 0


def action_to_a_thief(found):
    found["recipients"][0]["account"] = THIEF


def more_allowed(found):
    data = found["transactions"][0]["data"]
    found["transactions"][0]["data"] = data[:-64] + "f" * 64


@pytest.mark.parametrize("change", [action_to_a_thief, more_allowed])
async def test_an_action_that_was_changed_on_the_way_cannot_be_sent(proxy, browse, change):
    page = await browse(await proxy(ACTION, changed(change)))
    await open_vault(page)
    await deposit(page)
    await page.get_by_role("button", name="Show what I sign").click()
    assert "Do not sign it" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=send]").count() == 0


async def test_an_upstream_that_fails_is_told_before_anything_is_signed(proxy, browse):
    page = await browse(await proxy(QUOTE, lambda *_: web.Response(text="<h1>Bad Gateway</h1>", status=502)))
    await open_vault(page)
    await deposit(page)
    assert "HTTP 502" in await page.get_by_role("alert").inner_text()


async def test_hostile_names_neither_run_nor_mislead(proxy, browse):
    def change(found):
        for row in found["data"]:
            row["name"], row["asset"]["symbol"] = HOSTILE, "US\u202eDC"

    page = await browse(await proxy("/v2/vaults", changed(change)))
    await page.get_by_role("link", name="Vaults").click()
    text = await page.get_by_role("region", name="Vaults of the network").inner_text()
    assert HOSTILE in text
    assert "\u202e" not in text
    assert await page.locator("img").count() == 0


async def test_vaults_are_filtered_and_their_yield_and_share_price_are_drawn(gateway, browse):
    page = await browse(gateway[0])
    await page.get_by_role("link", name="Vaults").click()
    table = page.get_by_role("region", name="Vaults of the network")
    await table.wait_for()
    search = page.get_by_role("search", name="Vaults")
    await search.get_by_label("Token that is taken").fill("USDC")
    await search.get_by_label("Name or protocol").fill("Steady")
    await search.get_by_role("button", name="Show these vaults").click()
    await table.locator("tbody tr", has_not_text="Steady").first.wait_for(state="detached")
    rows = await table.locator("tbody tr").all_inner_texts()
    assert rows
    assert all("USDC" in row for row in rows)
    await page.locator("button[data-vault]").first.click()
    charts = page.get_by_role("region", name="Charts of the vault")
    coverage = charts.locator("[data-part=coverage]")
    known = re.compile(r"values are known, from|No value of this time is known\.$")
    await coverage.get_by_text(known).wait_for()
    await charts.locator("select[name=metric]").select_option("Share price")
    await coverage.get_by_text(known).wait_for()
    await charts.get_by_text("The values as a table").click()
    prices = charts.get_by_role("region", name="Share price as a table")
    assert "USDC" in await prices.inner_text()
    assert await serious(page) == []
    await search.get_by_label("Token that is taken").fill("DAI")
    await search.get_by_role("button", name="Show these vaults").click()
    await page.get_by_text("No vault of this network is like that.").wait_for()
