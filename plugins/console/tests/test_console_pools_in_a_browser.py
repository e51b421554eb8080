"""A person adds liquidity to a pool and removes it in Chromium, from the first click to the receipt."""

import asyncio
import json
import re

import aiohttp
import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import ACCOUNT, HOSTILE, THIEF, address_of, changed, held, serious
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.rpc import Rpc

pytestmark = pytest.mark.services

QUOTE = r"/v2/pools/[^/]+/quote"
ACTION = r"/v2/pools/[^/]+/action"
MINT = "0x7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde"
"""Of a v3 pool: Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper,
uint128 amount, uint256 amount0, uint256 amount1)."""


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


def leaving(page):
    return page.get_by_role("region", name="Remove or collect")


async def add(page, symbol, amount, range_name=None):
    form = adding(page)
    if range_name is not None:
        await form.locator("select[name=range]").select_option(range_name)
    await form.locator("select[name=side]").select_option(symbol)
    await form.get_by_label(f"Amount of {symbol}").fill(amount)
    await form.get_by_role("button", name="Get a quote").click()


async def amounts(part, decimals):
    """Base units of the amounts shown in a part, by symbol, with what is at most taken."""
    found = {}
    for line in (await part.inner_text()).splitlines():
        shown = [each.removeprefix("at most ") for each in line.split(", ")]
        for text, kind in zip(shown, ("", " at most"), strict=False):
            number, symbol = text.replace("\u202f", "").split(" ")
            whole, _, fraction = number.partition(".")
            places = decimals[symbol]
            found[symbol + kind] = int(whole + fraction.ljust(places, "0"))
    return found


async def send(page, form):
    """Sends what is shown, and returns the hash and the receipt."""
    await form.locator("[data-part=send]").click()
    receipt = form.get_by_role("region", name="Receipt")
    await receipt.get_by_role("heading", name="Done").wait_for()
    return await receipt.get_attribute("data-hash"), receipt


def coin(port, account=ACCOUNT):
    with Rpc(port) as rpc:
        return int(rpc("eth_getBalance", account, "latest"), 16)


def gas_since(port, first):
    """Wei that the account paid for gas in the blocks after ``first``."""
    paid = 0
    with Rpc(port) as rpc:
        for number in range(first + 1, int(rpc("eth_blockNumber"), 16) + 1):
            for receipt in rpc("eth_getBlockReceipts", hex(number)):
                if receipt["from"].lower() == ACCOUNT.lower():
                    paid += int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    return paid


def signed(word):
    value = int(word, 16)
    return value - (1 << 256) if value >> 255 else value


async def test_a_range_around_the_price_is_added_and_removed_to_the_base_unit(gateway, browse):
    url, port = gateway
    pool = await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=30)
    weth, usdc = await address_of(url, "WETH"), await address_of(url, "USDC")
    decimals = {"WETH": 18, "USDC": 6}
    page = await browse(url)
    await open_pool(page, pool)
    form = adding(page)
    await add(page, "USDC", "1000.000001", "10 % to each side of the price")
    ticks = [
        int(each) for each in re.findall(r"-?\d+", await form.locator("[data-part=range]").inner_text())[:2]
    ]
    assert "takes both tokens" in await form.locator("[data-part=range]").inner_text()
    pay = form.locator("[data-part=pay]")
    paid = await amounts(pay, decimals)
    assert {"WETH", "USDC"} <= set(paid)
    assert paid.get("USDC at most", paid["USDC"]) <= 1_000_000_001
    assert f"ticks {ticks[0]} to {ticks[1]}" in await form.locator("[data-part=ticks]").inner_text()
    await form.get_by_role("button", name="Show what I sign").click()
    changes = await form.locator("[data-part=changes]").inner_text()
    assert "USDC" in changes
    assert "WETH" in changes
    await form.get_by_text("Call by call").last.click()
    told = await form.get_by_role("region", name="What you sign").inner_text()
    assert "mint(" in told
    assert ACCOUNT in told
    assert f"tickLower: {ticks[0]}\ntickUpper: {ticks[1]}\n" in re.sub(r"\s*\n\s*", "\n", told)
    assert f"recipient: {ACCOUNT}" in told
    assert await serious(page) == []
    before = {"WETH": held(port, weth), "USDC": held(port, usdc)}
    sent, receipt = await send(page, form)
    assert before["USDC"] - held(port, usdc) == paid["USDC"]
    assert before["WETH"] - held(port, weth) == paid["WETH"]
    assert await amounts(receipt.locator("[data-part=paid]"), decimals) == {
        symbol: paid[symbol] for symbol in ("WETH", "USDC")
    }
    with Rpc(port) as rpc:
        logs = rpc("eth_getTransactionReceipt", sent)["logs"]
    (minted,) = [log for log in logs if log["topics"][0] == MINT]
    assert minted["address"].lower() == pool["address"].lower()
    assert [signed(topic) for topic in minted["topics"][2:4]] == ticks

    await page.get_by_role("button", name="Show the positions of my wallet").click()
    row = page.locator("tr[data-position]", has_text=f"ticks {ticks[0]} to {ticks[1]}").last
    await row.get_by_role("button", name="Remove or collect").click()
    form = leaving(page)
    await form.get_by_label("Action").select_option("Collect fees")
    await form.get_by_role("button", name="Get a quote").click()
    assert "nothing to collect" in await form.get_by_role("alert").inner_text()
    for percent in ("40", "100"):
        await form.get_by_label("Action").select_option("Remove liquidity")
        await form.get_by_label("Part to remove, in percent").fill(percent)
        await form.get_by_role("button", name="Get a quote").click()
        promised = await amounts(form.locator("[data-part=receive]"), decimals)
        assert set(promised) == {"WETH", "USDC"}
        await form.get_by_role("button", name="Show what I sign").click()
        before = {"WETH": held(port, weth), "USDC": held(port, usdc)}
        _, receipt = await send(page, form)
        assert held(port, usdc) - before["USDC"] == promised["USDC"]
        assert held(port, weth) - before["WETH"] == promised["WETH"]
        assert await amounts(receipt.locator("[data-part=received]"), decimals) == promised
    assert promised["USDC"] > 500_000_000
    await row.wait_for(state="detached")


async def test_fees_of_a_position_are_collected_to_the_base_unit(gateway, browse):
    """After a swap through the pool with another account of the node."""
    url, port = gateway
    pool = await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=5)
    weth, usdc = await address_of(url, "WETH"), await address_of(url, "USDC")
    decimals = {"WETH": 18, "USDC": 6}
    page = await browse(url)
    await open_pool(page, pool)
    form = adding(page)
    await add(page, "USDC", "50000", "1 % to each side of the price")
    await form.get_by_role("button", name="Show what I sign").click()
    await send(page, form)
    await page.get_by_role("link", name="Swap", exact=True).click()
    await swap_through(url, port, pool, usdc)
    await page.go_back()
    await page.get_by_role("button", name="Show the positions of my wallet").click()
    row = page.locator("tr[data-position]").last
    await row.get_by_role("button", name="Remove or collect").click()
    form = leaving(page)
    await form.get_by_label("Action").select_option("Collect fees")
    await form.get_by_role("button", name="Get a quote").click()
    promised = await amounts(form.locator("[data-part=receive]"), decimals)
    assert promised["USDC"] > 0
    await form.get_by_role("button", name="Show what I sign").click()
    before = {"WETH": held(port, weth), "USDC": held(port, usdc)}
    await send(page, form)
    assert held(port, usdc) - before["USDC"] == promised["USDC"]
    assert held(port, weth) - before["WETH"] == promised.get("WETH", 0)


async def swap_through(url, port, pool, usdc):
    """Swaps USDC in the pool alone, by transactions of the gateway, from an account the node signs for."""
    sender = ACCOUNTS[1].address
    body = {
        "network": "devnet",
        "fromToken": usdc,
        "toToken": "WETH",
        "amount": str(20_000 * 10**6),
        "address": sender,
        "pools": [pool["id"]],
        "maxHops": 1,
    }
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{url}/v2/swaps/quote", json=body) as answer:
            quote = await answer.json()
            assert answer.status == 200, quote
        acknowledged = {"acknowledge": [each["code"] for each in quote["acknowledgementNeeded"]]}
        async with session.post(f"{url}/v2/swaps/{quote['quoteId']}/action", json=acknowledged) as answer:
            action = await answer.json()
            assert answer.status == 201, action
    with Rpc(port) as rpc:
        for transaction in action["transactions"]:
            members = {name: transaction[name] for name in ("to", "data", "value")}
            rpc("eth_sendTransaction", {"from": sender, "gas": hex(3_000_000), **members})


async def test_shares_of_a_v2_pool_are_made_and_all_are_given_back(gateway, browse):
    url, port = gateway
    pool = await pool_of(url, "uniswap-v2", "WETH", "USDC")
    weth, usdc = await address_of(url, "WETH"), await address_of(url, "USDC")
    decimals = {"WETH": 18, "USDC": 6, "UNI-V2": 18}
    page = await browse(url)
    await open_pool(page, pool)
    form = adding(page)
    assert await form.locator("select[name=range]").count() == 0
    await add(page, "WETH", "0.5")
    paid = await amounts(form.locator("[data-part=pay]"), decimals)
    assert paid["WETH"] == 5 * 10**17
    promised = await amounts(form.locator("[data-part=receive]"), decimals)
    await form.get_by_role("button", name="Show what I sign").click()
    before = [held(port, token) for token in (weth, usdc, pool["address"])]
    await send(page, form)
    after = [held(port, token) for token in (weth, usdc, pool["address"])]
    assert [before[0] - after[0], before[1] - after[1]] == [paid["WETH"], paid["USDC"]]
    assert after[2] - before[2] == promised["UNI-V2"]

    await page.get_by_role("button", name="Show the positions of my wallet").click()
    await page.get_by_role("button", name="Remove or collect").click()
    form = leaving(page)
    assert await form.get_by_label("Action").locator("option").all_inner_texts() == ["Remove liquidity"]
    await form.get_by_label("Part to remove, in percent").fill("100")
    await form.get_by_role("button", name="Get a quote").click()
    given = await amounts(form.locator("[data-part=pay]"), decimals)
    assert given == {"UNI-V2": after[2]}
    promised = await amounts(form.locator("[data-part=receive]"), decimals)
    await form.get_by_role("button", name="Show what I sign").click()
    assert await serious(page) == []
    await send(page, form)
    last = [held(port, token) for token in (weth, usdc, pool["address"])]
    assert [last[0] - after[0], last[1] - after[1]] == [promised["WETH"], promised["USDC"]]
    assert last[2] == 0
    await page.get_by_text("The wallet has no position in this pool.").wait_for()


async def test_the_coin_is_paid_into_a_v4_pool_and_taken_out_to_the_wei(gateway, browse):
    url, port = gateway
    pool = await pool_of(url, "uniswap-v4", "ETH", "USDC")
    usdc = await address_of(url, "USDC")
    decimals = {"ETH": 18, "USDC": 6}
    page = await browse(url)
    await open_pool(page, pool)
    form = adding(page)
    await add(page, "ETH", "0.25", "All prices")
    assert "all prices" in await form.locator("[data-part=ticks]").inner_text()
    paid = await amounts(form.locator("[data-part=pay]"), decimals)
    await form.get_by_role("button", name="Show what I sign").click()
    with Rpc(port) as rpc:
        block = int(rpc("eth_blockNumber"), 16)
    before = coin(port), held(port, usdc)
    await send(page, form)
    assert before[0] - coin(port) - gas_since(port, block) == paid["ETH"]
    assert before[1] - held(port, usdc) == paid["USDC"]

    await page.get_by_role("button", name="Show the positions of my wallet").click()
    await page.get_by_role("button", name="Remove or collect").last.click()
    form = leaving(page)
    await form.get_by_role("button", name="Get a quote").click()
    promised = await amounts(form.locator("[data-part=receive]"), decimals)
    await form.get_by_role("button", name="Show what I sign").click()
    with Rpc(port) as rpc:
        block = int(rpc("eth_blockNumber"), 16)
    before = coin(port), held(port, usdc)
    await send(page, form)
    assert coin(port) - before[0] + gas_since(port, block) == promised["ETH"]
    assert held(port, usdc) - before[1] == promised["USDC"]


async def test_the_coin_is_paid_in_place_of_its_wrapped_form(gateway, browse):
    url, port = gateway
    pool = await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=30)
    weth, usdc = await address_of(url, "WETH"), await address_of(url, "USDC")
    page = await browse(url)
    await open_pool(page, pool)
    form = adding(page)
    await form.get_by_label("Pay ETH in place of its wrapped form").check()
    await add(page, "WETH", "0.1", "25 % to each side of the price")
    paid = await amounts(form.locator("[data-part=pay]"), {"ETH": 18, "USDC": 6})
    await form.get_by_role("button", name="Show what I sign").click()
    with Rpc(port) as rpc:
        block = int(rpc("eth_blockNumber"), 16)
    before = coin(port), held(port, weth), held(port, usdc)
    await send(page, form)
    assert before[0] - coin(port) - gas_since(port, block) == paid["ETH"]
    assert held(port, weth) == before[1]
    assert before[2] - held(port, usdc) == paid["USDC"]


async def test_an_own_range_is_chosen_with_the_keyboard_and_by_its_prices(gateway, browse):
    url, _ = gateway
    pool = await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=30)
    spacing = 60
    page = await browse(url)
    await open_pool(page, pool)
    form = adding(page)
    await form.locator("select[name=range]").select_option("My own range")
    slider = form.get_by_label("Lowest price, by hand or with the arrow keys")

    async def ticks():
        text = await form.locator("[data-part=range]").inner_text()
        return [int(each) for each in re.findall(r"-?\d+", text)[:2]]

    before = await ticks()
    await slider.focus()
    await page.keyboard.press("ArrowRight")
    after = await ticks()
    assert sorted(abs(one - other) for one, other in zip(before, after, strict=True)) == [0, spacing]
    assert "per" in await slider.get_attribute("aria-valuetext")
    price = float(await form.get_by_label("Lowest price", exact=True).input_value())
    await form.get_by_label("Highest price", exact=True).fill(str(price * 0.9))
    await form.get_by_text("The lowest price must be below the highest.").wait_for()
    assert await form.get_by_role("button", name="Get a quote").is_disabled()
    await form.get_by_label("Highest price", exact=True).fill(str(price * 1.05))
    await form.get_by_text("alone.").wait_for()
    chosen = await ticks()
    assert all(tick % spacing == 0 for tick in chosen)
    symbol = re.search(r"takes (\w+) alone", await form.locator("[data-part=range]").inner_text()).group(1)
    await form.locator("select[name=side]").select_option(symbol)
    await form.get_by_label(f"Amount of {symbol}").fill("1")
    await form.get_by_role("button", name="Get a quote").click()
    assert f"ticks {chosen[0]} to {chosen[1]}" in await form.locator("[data-part=ticks]").inner_text()
    assert (await form.locator("[data-part=pay]").inner_text()).count("\n") == 0
    await form.get_by_text("The liquidity as a table").click()
    table = await form.get_by_role("region", name="Liquidity as a table").inner_text()
    known = await ask(url, f"/v2/pools/{pool['id']}/liquidity")
    assert known["liquidity"] in table


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
    await coverage.get_by_text("2 of 3 values are known, from 1970-01-01 to 1970-01-04 UTC.").wait_for()
    label = await page.locator("svg[role=img]").first.get_attribute("aria-label")
    assert label == "Value locked: lowest $0.00, highest $2,001.00, last $2,001.00"
    await page.get_by_text("The values as a table").click()
    text = await page.get_by_role("region", name="Value locked as a table").inner_text()
    assert re.search(r"1970-01-02\s+not known", text)


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
