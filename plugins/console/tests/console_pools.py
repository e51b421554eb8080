"""What the tests of the page of pools do in the browser."""

import asyncio

import aiohttp


async def ask(url, path):
    async with aiohttp.ClientSession() as session, session.get(url + path) as answer:
        return await answer.json()


async def complete(url, query=""):
    """The rows of a list that every provider has answered for: a server that has just begun may lack some."""
    async with asyncio.timeout(180):
        while (page := await ask(url, f"/v2/pools?network=devnet&limit=200{query}"))["partial"]:
            await asyncio.sleep(0.5)
    return page


async def pool_of(url, protocol, *symbols, fee_bps=None):
    page = await complete(url, f"&protocol={protocol}&sort=-tvlUsd")
    (found, *_) = [
        row
        for row in page["data"]
        if {token["symbol"] for token in row["tokens"]} == set(symbols)
        and row["hooks"] is None
        and fee_bps in (None, row["feeBps"])
    ]
    return found


async def open_pool(page, pool):
    """Goes to the pool by the address of its page, as by a link of the table."""
    await page.get_by_role("link", name="Pools").click()
    await page.locator("a[data-pool]").first.wait_for()
    await page.evaluate("id => { location.hash = '#pools/' + id }", pool["id"])
    await page.get_by_role("region", name="Add liquidity").wait_for()


def adding(page):
    return page.get_by_role("region", name="Add liquidity")


async def add(page, symbol, amount, range_name=None):
    form = adding(page)
    if range_name is not None:
        await form.locator("select[name=range]").select_option(range_name)
    await form.locator("select[name=side]").select_option(symbol)
    await form.get_by_label(f"Amount of {symbol}").fill(amount)
    await form.get_by_role("button", name="Get a quote").click()
