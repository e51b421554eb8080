"""A person adds liquidity to a pool and removes it in Chromium, from the first click to the receipt."""

import re

import aiohttp
import pytest

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import ACCOUNT, address_of, held, serious
from console_pools import add, adding, ask, open_pool, pool_of
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.rpc import Rpc

pytestmark = pytest.mark.services

MINT = "0x7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde"
"""Of a v3 pool: Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper,
uint128 amount, uint256 amount0, uint256 amount1)."""

INCREASED = "0x3067048beee31b25b2f1681f88dac838c8bba36af25bfb2b7cf7473a5847e35f"
"""Of NonfungiblePositionManager: IncreaseLiquidity(uint256 indexed tokenId, uint128 liquidity,
uint256 amount0, uint256 amount1)."""


def changing(page):
    return page.get_by_role("region", name="Change the position")


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
    await row.get_by_role("button", name="Change").click()
    form = changing(page)
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


async def position_in(page, url, *, fee_bps, amount, around):
    """Adds USDC and WETH around the price to a pool; returns the pool and the hash of the transaction."""
    pool = await pool_of(url, "uniswap-v3", "WETH", "USDC", fee_bps=fee_bps)
    await open_pool(page, pool)
    await add(page, "USDC", amount, f"{around} to each side of the price")
    form = adding(page)
    await form.get_by_role("button", name="Show what I sign").click()
    sent, _ = await send(page, form)
    return pool, sent


async def test_liquidity_is_added_to_a_position_within_the_slippage(gateway, browse):
    """The position is found on the page of the account, whose link leads to its pool."""
    url, port = gateway
    weth, usdc = await address_of(url, "WETH"), await address_of(url, "USDC")
    decimals = {"WETH": 18, "USDC": 6}
    page = await browse(url)
    _, sent = await position_in(page, url, fee_bps=30, amount="1000", around="10 %")
    number = added(port, sent)["topics"][1]

    await page.get_by_role("link", name="Portfolio").click()
    await page.get_by_role("button", name="Show the account of my wallet").click()
    row = page.locator(f'tr[data-position="{int(number, 16)}"]')
    await row.get_by_role("link", name="Add to it, remove or collect").click()
    await page.get_by_role("button", name="Show the positions of my wallet").click()
    await row.get_by_role("button", name="Change").click()
    form = changing(page)
    await form.get_by_label("Action").select_option("Add liquidity")
    await form.locator("select[name=side]").select_option("USDC")
    await form.get_by_label("Amount of USDC").fill("500.000001")
    await form.get_by_label("Slippage, in percent").fill("50.01")
    await form.get_by_role("button", name="Get a quote").click()
    assert "from 0 to 50" in await form.get_by_role("alert").inner_text()
    await form.get_by_label("Slippage, in percent").fill("1.25")
    await form.get_by_role("button", name="Get a quote").click()
    paid = await amounts(form.locator("[data-part=pay]"), decimals)
    assert {"WETH", "USDC"} <= set(paid)
    assert await form.locator("[data-part=slippage]").inner_text() == "1.25 %"
    await form.get_by_role("button", name="Show what I sign").click()
    await form.get_by_text("Call by call").last.click()
    told = await form.get_by_role("region", name="What you sign").inner_text()
    assert "increaseLiquidity(" in told
    words = {name: int(value) for name, value in re.findall(r"(amount[01](?:Desired|Min)): (\d+)", told)}
    for side in "01":
        assert 0.5 * words[f"amount{side}Desired"] < words[f"amount{side}Min"] < words[f"amount{side}Desired"]
    assert await serious(page) == []
    before = {"WETH": held(port, weth), "USDC": held(port, usdc)}
    sent, _ = await send(page, form)
    assert before["USDC"] - held(port, usdc) == paid["USDC"]
    assert before["WETH"] - held(port, weth) == paid["WETH"]
    assert added(port, sent)["topics"][1] == number


def added(port, sent):
    """The log of liquidity that was added to a position of Uniswap v3."""
    with Rpc(port) as rpc:
        logs = rpc("eth_getTransactionReceipt", sent)["logs"]
    (found,) = [log for log in logs if log["topics"][0] == INCREASED]
    return found


async def test_fees_of_a_position_are_collected_to_the_base_unit(gateway, browse):
    """After a swap through the pool with another account of the node."""
    url, port = gateway
    weth, usdc = await address_of(url, "WETH"), await address_of(url, "USDC")
    decimals = {"WETH": 18, "USDC": 6}
    page = await browse(url)
    pool, _ = await position_in(page, url, fee_bps=5, amount="50000", around="1 %")
    await page.get_by_role("link", name="Swap", exact=True).click()
    await swap_through(url, port, pool, usdc)
    await page.go_back()
    await page.get_by_role("button", name="Show the positions of my wallet").click()
    row = page.locator("tr[data-position]").last
    await row.get_by_role("button", name="Change").click()
    form = changing(page)
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
    await page.get_by_role("button", name="Change").click()
    form = changing(page)
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
    await page.get_by_role("button", name="Change").last.click()
    form = changing(page)
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
