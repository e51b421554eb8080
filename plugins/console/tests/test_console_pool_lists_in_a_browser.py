"""The table of pools, the pictures of a pool over time, and how the page fits, in Chromium."""

import json
import re

import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import THIEF, changed, serious
from console_pools import add, adding, complete, open_pool, pool_of

pytestmark = pytest.mark.services


async def test_pools_are_filtered_and_a_filter_that_nothing_meets_is_said(gateway, browse):
    url, _ = gateway
    everything = await complete(url)
    page = await browse(url)
    await page.get_by_role("link", name="Pools").click()
    table = page.get_by_role("region", name="Pools of the network")
    await table.wait_for()
    await page.get_by_text(f"{everything['total']} pools", exact=True).wait_for()
    assert await serious(page) == []
    search = page.get_by_role("search", name="Pools")
    await search.get_by_label("Token").fill("DAI")
    await search.get_by_label("Protocol").fill("uniswap-v3")
    await page.keyboard.press("Enter")
    wanted = await complete(url, "&protocol=uniswap-v3&token=DAI")
    count = f"{wanted['total']} pools" if wanted["total"] > 1 else "1 pool"
    await page.get_by_text(count, exact=True).wait_for()
    rows = await table.locator("tbody tr").all_inner_texts()
    assert len(rows) == wanted["total"] >= 1
    assert all("DAI" in row and "uniswap-v3" in row for row in rows)
    await search.get_by_label("Value locked, at least").fill("999999999999")
    await search.get_by_role("button", name="Show these pools").click()
    await page.get_by_text("No pool of this network is like that.").wait_for()
    assert await table.count() == 0
    await search.get_by_label("Protocol").fill("uniswap-v9")
    await search.get_by_role("button", name="Show these pools").click()
    assert "uniswap-v" in await page.get_by_role("alert").inner_text()


async def test_the_table_is_turned_page_by_page(gateway, proxy, browse):
    """The cursor is that of the server between: it gives two rows on the first page, one on the second."""
    await complete(gateway[0])
    whole = []

    def change(body, headers, status):
        is_first = status == 200
        if is_first:
            whole[:] = [json.loads(body)]
        rows = whole[0]["data"]
        page = (
            {"data": rows[:2], "nextCursor": "next"} if is_first else {"data": rows[2:3], "nextCursor": None}
        )
        found = {**whole[0], **page, "total": 27}
        return web.json_response(found, headers={"X-Request-ID": headers["X-Request-ID"]})

    url = await proxy("/v2/pools", change)
    page = await browse(url)
    await page.get_by_role("link", name="Pools").click()
    rows = page.get_by_role("region", name="Pools of the network").locator("tbody tr")
    await page.get_by_text("Page 1 of 2").wait_for()
    assert await page.get_by_role("button", name="Page before").is_disabled()
    await page.get_by_role("button", name="Next page").click()
    await page.get_by_text("Page 2 of 2").wait_for()
    await rows.nth(1).wait_for(state="detached")
    assert await page.get_by_role("button", name="Next page").is_disabled()
    await page.get_by_role("button", name="Page before").click()
    await rows.nth(1).wait_for()


async def test_a_series_shows_its_coverage_and_every_value_as_text(gateway, browse):
    url, _ = gateway
    pool = await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=30)
    page = await browse(url)
    await open_pool(page, pool)
    charts = page.get_by_role("region", name="Charts of the pool")
    coverage = charts.locator("[data-part=coverage]")
    await coverage.get_by_text(re.compile(r"values are known|No value")).wait_for()
    await charts.locator("select[name=metric]").select_option("Volume")
    await charts.locator("select[name=interval]").select_option("Hours, of two days")
    await coverage.get_by_text(re.compile(r"of 4[78] values|No value")).wait_for()
    await charts.get_by_text("The values as a table").click()
    table = charts.get_by_role("region", name="Volume as a table")
    assert len(await table.locator("tbody tr").all()) in (47, 48)
    assert await charts.locator("svg[role=img]").get_attribute("aria-label")
    assert await serious(page) == []


async def test_a_series_that_is_being_read_is_asked_for_again(proxy, browse):
    answers = iter(["provider_timeout", "provider_timeout"])

    def change(found):
        reason = next(answers, None)
        points = [(86_400 * day, None if reason or day == 1 else 1000.5 * day) for day in range(3)]
        found["points"] = [{"timestamp": at, "value": value} for at, value in points]
        found["unit"], found["reason"] = "usd", reason
        found["coverage"] = None if reason else {"from": 0, "to": 86_400 * 3}

    url = await proxy(r"/v2/pools/[^/]+/tvl", changed(change))
    pool = await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=30)
    page = await browse(url)
    await open_pool(page, pool)
    coverage = page.locator("[data-part=coverage]")
    await coverage.get_by_text("the page asks again").wait_for()
    await coverage.get_by_text(
        "2 of 3 values are known, from 1970-01-01 00:00 UTC to 1970-01-04 00:00 UTC."
    ).wait_for()
    label = await page.locator("svg[role=img]").first.get_attribute("aria-label")
    assert label == (
        "Value locked. From $0.00 at 1970-01-01 00:00 UTC to $2,001.00 at 1970-01-03 00:00 UTC; "
        "lowest $0.00, highest $2,001.00; 1 of 3 points are not known."
    )
    await page.get_by_text("The values as a table").click()
    text = await page.get_by_role("region", name="Value locked as a table").inner_text()
    assert re.search(r"1970-01-02 00:00 UTC\s+not known", text)


@pytest.mark.parametrize(
    ("path", "title", "said"),
    [("pools", "Pools", "No pool could be read yet."), ("vaults", "Vaults", "No vault could be read yet.")],
)
async def test_a_list_of_a_provider_that_is_late_is_asked_for_again(proxy, browse, path, title, said):
    lates = iter(range(2))

    def change(found):
        if next(lates, None) is not None:
            missing = {"provider": "uniswap", "reason": "provider_timeout"}
            found.update(data=[], partial=[missing], total=0, nextCursor=None)

    page = await browse(await proxy(f"/v2/{path}", changed(change)))
    await page.get_by_role("link", name=title).click()
    await page.get_by_text(said).wait_for()
    await page.get_by_role("region", name=f"{title} of the network").locator("tbody tr").first.wait_for()
    assert await page.get_by_text(said).count() == 0


async def test_a_page_of_a_pool_fits_a_phone_in_the_dark(gateway, browse):
    url, _ = gateway
    pool = await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=30)
    page = await browse(url, viewport={"width": 360, "height": 740}, color_scheme="dark")
    await page.get_by_role("link", name="Pools").click()
    await page.locator("a[data-pool]").first.wait_for()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []
    await page.locator(f'a[data-pool="{pool["id"]}"]').click()
    await adding(page).locator("select[name=range]").select_option("My own range")
    await add(page, "USDC", "100")
    await page.locator("[data-part=pay]").wait_for()
    await page.get_by_role("button", name="Show the positions of my wallet").click()
    await page.get_by_role("button", name="Read again").wait_for()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []


async def test_nothing_moves_while_a_chart_and_a_page_are_asked_for(gateway, browse):
    url, _ = gateway
    await complete(url)
    page = await browse(url)
    await page.get_by_role("link", name="Pools").click()
    await page.locator("a[data-pool]").first.wait_for()
    await page.evaluate(
        """() => { window.moved = 0; new PerformanceObserver((list) => {
             for (const entry of list.getEntries()) window.moved += entry.value;
           }).observe({type: "layout-shift", buffered: false}); }"""
    )
    await page.get_by_role("search", name="Pools").get_by_role("button", name="Show these pools").click()
    await page.get_by_text("Asking the gateway for its pools…").wait_for(state="detached")
    await page.get_by_text(re.compile(r"\d+ pools")).wait_for()
    assert await page.evaluate("window.moved") < 0.1


async def test_a_pool_of_the_address_is_opened_and_one_that_is_unknown_is_said(gateway, browse):
    url, _ = gateway
    pool = await pool_of(url, "uniswap-v4", "ETH", "USDC")
    page = await browse(url)
    await page.evaluate("id => { location.hash = '#pools/' + id }", pool["id"])
    await page.get_by_role("heading", name=pool["pair"]).wait_for()
    await page.evaluate("id => { location.hash = '#pools/' + id }", f"31337:{THIEF}")
    assert "unknown" in await page.get_by_role("alert").inner_text()
    await page.get_by_role("link", name="All pools").click()
    await page.get_by_role("region", name="Pools of the network").wait_for()
