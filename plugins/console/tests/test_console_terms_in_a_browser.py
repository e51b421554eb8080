"""The settings of a swap in Chromium: exact output, slippage, recipient, signed allowances, other amounts."""

import asyncio
import json

import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import (
    ACCOUNT,
    THIEF,
    Extension,
    address_of,
    ask_for_quote,
    base_units,
    changed,
    choose,
    held,
    open_settings,
    serious,
    shown,
)
from quoteway import NATIVE
from quoteway.evm.abi import encode, encode_call
from quoteway.evm.address import checksum
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.manifest import chain_manifests
from quoteway_devnet.rpc import Rpc
from quoteway_devnet.transactions import own_init_code

pytestmark = pytest.mark.services

RECIPIENT = "0x00000000000000000000000000000000c0ffee07"
QUOTE = "/v2/swaps/quote"
ACTION = r"/v2/swaps/[^/]+/action"


async def review(page):
    await page.get_by_role("button", name="Show what I sign").click()
    await page.locator("[data-part=send]").wait_for()


async def by_signatures(page):
    await open_settings(page)
    await page.get_by_label("Allowances").select_option("signatures")


async def test_an_exact_amount_is_received_and_at_most_the_maximum_paid(gateway, browse):
    url, port = gateway
    usdc, dai = await address_of(url, "USDC"), await address_of(url, "DAI")
    page = await browse(url)
    await page.get_by_label("Which is exact").select_option("I want to receive this much")
    await ask_for_quote(page, "1234.567891", "USDC", pay="DAI")
    text = await page.locator("[data-part=pay]").inner_text()
    promised, most = (base_units(part, 18) for part in text.split(", at most "))
    assert 0 < promised < most <= promised * 10_050 // 10_000 + 1
    assert await shown(page, "receive", 6) == await shown(page, "minimum", 6) == 1_234_567_891
    await review(page)
    assert await serious(page) == []
    before = held(port, dai), held(port, usdc)
    await page.locator("[data-part=send]").click()
    assert await shown(page, "received", 6) == 1_234_567_891
    assert held(port, usdc) - before[1] == 1_234_567_891
    assert before[0] - held(port, dai) == await shown(page, "paid", 18) == promised


async def test_the_slippage_decides_the_minimum_to_the_base_unit(gateway, browse):
    page = await browse(gateway[0], viewport={"width": 360, "height": 740}, color_scheme="dark")
    await open_settings(page)
    await page.get_by_label("Percent").fill("1.25")
    await ask_for_quote(page, "2", "USDC")
    promised = await shown(page, "receive", 6)
    assert await page.locator("[data-part=slippage]").inner_text() == "1.25 %"
    assert await shown(page, "minimum", 6) == promised * 9_875 // 10_000
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []
    await page.get_by_label("Slippage").select_option("auto")
    assert await page.get_by_label("Percent").count() == 0
    await page.get_by_role("button", name="Get a quote").click()
    text = await page.locator("[data-part=slippage]").inner_text()
    assert 0.1 <= float(text.removesuffix(" %")) <= 3


@pytest.mark.parametrize("percent", ["60", "0.123", "-1", "half", ""])
async def test_a_slippage_that_is_none_is_said_in_words(gateway, browse, percent):
    page = await browse(gateway[0])
    await open_settings(page)
    await page.get_by_label("Percent").fill(percent)
    await ask_for_quote(page, "2", "USDC")
    assert "a percentage from 0 to 50" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=receive]").count() == 0


async def test_somebody_else_receives_what_the_signer_pays(gateway, browse):
    url, port = gateway
    usdc = await address_of(url, "USDC")
    page = await browse(url)
    await open_settings(page)
    await page.get_by_label("Recipient").fill(RECIPIENT)
    await ask_for_quote(page, "0.75", "USDC")
    text = await page.locator("[data-part=recipient]").inner_text()
    assert "not your account" in text
    assert RECIPIENT in text.lower()
    await review(page)
    assert await serious(page) == []
    before = held(port, usdc, RECIPIENT), held(port, usdc)
    await page.locator("[data-part=send]").click()
    got = await shown(page, "received", 6)
    assert held(port, usdc, RECIPIENT) - before[0] == got > 0
    assert held(port, usdc) == before[1]


@pytest.mark.parametrize("typed", ["0x1234", "0x" + "0" * 40, "vitalik.eth", "0x" + ACCOUNT[2:].swapcase()])
async def test_a_recipient_that_is_no_address_is_refused(gateway, browse, typed):
    page = await browse(gateway[0])
    await open_settings(page)
    await page.get_by_label("Recipient").fill(typed)
    await ask_for_quote(page, "2", "USDC")
    alert = await page.get_by_role("alert").inner_text()
    assert "recipient must be an address" in alert


def to_a_thief(found):
    found["outputs"][0]["account"] = found["request"]["toAddress"] = THIEF


def to_the_signer(found):
    found["outputs"][0]["account"] = found["request"]["toAddress"] = found["request"]["address"]


def more_slippage(found):
    paid = int(found["outputs"][0]["amount"])
    found["slippageBps"] = found["request"]["slippageBps"] = 500
    found["outputs"][0]["amountMin"] = found["toAmountMin"] = str(paid * 95 // 100)


def more_shown_than_promised(found):
    found["toAmount"] = str(int(found["toAmount"]) * 2)


def of_another_network(found):
    found["outputs"][0]["token"]["chainId"] = found["toToken"]["chainId"] = 31338


@pytest.mark.parametrize(
    "change", [to_a_thief, to_the_signer, more_slippage, more_shown_than_promised, of_another_network]
)
async def test_a_quote_with_other_terms_is_refused(proxy, browse, change):
    page = await browse(await proxy(QUOTE, changed(change)))
    await open_settings(page)
    await page.get_by_label("Recipient").fill(RECIPIENT)
    await ask_for_quote(page, "2", "USDC")
    assert "not what you asked for" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=receive]").count() == 0


async def test_a_slow_quote_is_waited_for_and_a_late_one_is_not_shown(proxy, browse):
    goes_on, waiting = asyncio.Event(), asyncio.Event()

    async def change(body, headers, status):
        if not waiting.is_set():
            waiting.set()
            await goes_on.wait()
        return web.Response(body=body, headers=headers, status=status)

    page = await browse(await proxy(QUOTE, change))
    await ask_for_quote(page, "2", "USDC")
    await page.get_by_text("Asking every provider…").wait_for()
    await waiting.wait()
    assert await page.get_by_role("button", name="Get a quote").is_disabled()
    await page.get_by_label("Amount").fill("1")
    await page.get_by_role("button", name="Get a quote").click()
    promised = await shown(page, "receive", 6)
    goes_on.set()
    await page.get_by_role("button", name="Show what I sign").click()
    await page.locator("[data-part=send]").wait_for()
    assert await shown(page, "receive", 6) == promised
    assert await shown(page, "pay", 18) == 10**18


def less_received(found):
    found["outputs"][0]["amount"] = found["toAmount"] = "999999999"
    found["outputs"][0]["amountMin"] = found["toAmountMin"] = "999999999"


def more_taken(found):
    most = int(found["inputs"][0]["amount"]) * 2
    found["inputs"][0]["amountMax"] = found["fromAmountMax"] = str(most)


@pytest.mark.parametrize("change", [less_received, more_taken])
async def test_a_quote_of_another_exact_output_is_refused(proxy, browse, change):
    page = await browse(await proxy(QUOTE, changed(change)))
    await page.get_by_label("Which is exact").select_option("exactOut")
    await ask_for_quote(page, "1000", "USDC")
    assert "not what you asked for" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=receive]").count() == 0


async def test_a_permit2_allowance_is_signed_in_the_place_of_a_transaction(gateway, browse):
    url, port = gateway
    usdc, dai, owner = await address_of(url, "USDC"), await address_of(url, "DAI"), ACCOUNTS[1].address
    page = await browse(url)
    await page.get_by_label("Wallet").select_option("Test account 2")
    await by_signatures(page)
    await ask_for_quote(page, "77.25", "DAI", pay="USDC")
    await review(page)
    messages = await page.locator("[data-part=messages]").inner_text()
    assert "An allowance through Permit2" in messages
    assert "may take 77.25 USDC until" in messages
    assert await serious(page) == []
    before = held(port, usdc, owner), held(port, dai, owner)
    await page.get_by_role("button", name="Sign and send").click()
    got = await shown(page, "received", 18)
    assert before[0] - held(port, usdc, owner) == 77_250_000
    assert held(port, dai, owner) - before[1] == got > 0


def token_with_permits(port):
    """Address of a new token with EIP-2612, in a Uniswap v2 pool with USDC."""
    chain = chain_manifests()["devnet"]
    usdc, router = chain.token("USDC").address, chain.contracts["UniswapV2Router02"]
    with Rpc(port) as rpc:

        def send(to, data):
            call = {"from": ACCOUNT, "data": "0x" + data.hex(), "gas": hex(6_000_000)}
            receipt = rpc.send(call | ({} if to is None else {"to": to}))
            assert receipt["status"] == "0x1"
            return receipt

        made = send(
            None,
            own_init_code("PermitToken") + encode(["string", "string", "uint8"], ["Permit Token", "PMT", 18]),
        )
        token = checksum(made["contractAddress"])
        for each, amount in ((token, 10**24), (usdc, 10**12)):
            send(each, encode_call("mint(address,uint256)", [ACCOUNT, 2 * amount]))
            send(each, encode_call("approve(address,uint256)", [router, amount]))
        ends = [token, usdc, 10**24, 10**12, 0, 0, ACCOUNT, 2**40]
        send(
            router,
            encode_call(
                "addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)", ends
            ),
        )
    return token


async def test_a_permit_is_signed_in_the_place_of_an_approval(gateway, browse):
    url, port = gateway
    token, usdc = token_with_permits(port), await address_of(url, "USDC")
    wallet = Extension(port, ACCOUNTS[0])
    page = await browse(url, wallet.prepare)
    await wallet.chosen(page)
    await by_signatures(page)
    await page.get_by_label("Pay").click()
    await page.get_by_label("Search by symbol").fill(token)
    row = page.locator(f'li button[data-token="{token}"]')
    assert "in no list" in await row.inner_text()
    await row.click()
    await choose(page, "Receive", "USDC")
    await page.get_by_label("Amount").fill("1000.5")
    await page.get_by_role("button", name="Get a quote").click()
    await page.locator("[data-part=receive]").wait_for()
    consent = page.get_by_label("I have read")
    if await consent.count():
        await consent.check()
    await review(page)
    messages = await page.locator("[data-part=messages]").inner_text()
    assert "A permit, in the place of the approval" in messages
    assert "may take 1\u202f000.5 PMT" in messages
    assert "eth_signTypedData_v4" not in wallet.asked
    before = held(port, token), held(port, usdc)
    await page.get_by_role("button", name="Sign and send").click()
    got = await shown(page, "received", 6)
    assert before[0] - held(port, token) == 1000_500000000000000000
    assert held(port, usdc) - before[1] == got > 0
    # The permit and the allowance through Permit2.
    assert wallet.asked.count("eth_signTypedData_v4") == 2
    with Rpc(port) as rpc:
        sent = [rpc("eth_getTransactionByHash", each) for each in await hashes(rpc)]
    assert any(each["input"].startswith("0xd505accf") and each["to"] == token.lower() for each in sent)


async def hashes(rpc):
    """The transactions of the newest blocks."""
    head = int(rpc("eth_blockNumber"), 16)
    blocks = [rpc("eth_getBlockByNumber", hex(number), False) for number in range(head - 3, head + 1)]
    return [each for block in blocks for each in block["transactions"]]


def unlimited_message(found):
    found["signatures"][0]["typedData"]["message"]["details"]["amount"] = str(2**160 - 1)


def message_without_end(found):
    found["signatures"][0]["typedData"]["message"]["details"]["expiration"] = str(2**48 - 1)


def message_for_a_thief(found):
    found["signatures"][0]["typedData"]["message"]["spender"] = THIEF


@pytest.mark.parametrize("change", [unlimited_message, message_without_end, message_for_a_thief])
async def test_a_message_that_gives_more_is_refused_before_it_is_shown(proxy, browse, change):
    page = await browse(await proxy(ACTION, changed(change)))
    await by_signatures(page)
    await ask_for_quote(page, "12.5", "DAI", pay="USDC")
    await page.get_by_role("button", name="Show what I sign").click()
    assert "Do not sign it" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=send]").count() == 0


async def test_the_route_is_a_picture_of_each_pool_with_its_share(proxy, browse):
    told = []
    page = await browse(await proxy(QUOTE, changed(told.append)))
    await ask_for_quote(page, "1500000", "WBTC", pay="USDC")
    await page.locator("[data-part=receive]").wait_for()
    legs = told[0]["route"]["legs"]
    picture = page.locator("figure.route svg")
    assert await picture.locator("g[data-pool]").count() == len(legs) > 1
    label = await picture.get_attribute("aria-label")
    for leg in legs:
        assert f"{leg['shareBps'] / 100:.2f} % of " in label
        assert leg["pool"][:8] in label
    rows = await page.evaluate("fetch('/v2/networks').then((answer) => answer.json())")
    wrapped = next(row["wrappedNative"] for row in rows["data"] if row["chainId"] == 31337)
    # The coin and its wrapped form are one.
    tokens = {leg[side] for leg in legs for side in ("tokenIn", "tokenOut")}
    assert await picture.locator("g.coin").count() == len(
        {NATIVE if each == wrapped else each for each in tokens}
    )
    # What the contracts of the tokens between call themselves comes later.
    await page.wait_for_function(
        "![...document.querySelectorAll('.route .coin')].some((each) => each.textContent.startsWith('0x'))"
    )
    assert await serious(page) == []


OTHER_AMOUNTS = "Output and price impact for other amounts"


async def test_output_and_impact_of_other_amounts_as_curves_and_as_a_table(proxy, browse):
    told = []
    page = await browse(
        await proxy("/v2/swaps/depth", changed(told.append)), viewport={"width": 360, "height": 740}
    )
    await ask_for_quote(page, "10", "USDC")
    await page.get_by_text(OTHER_AMOUNTS).click()
    table = page.get_by_role("region", name="Output and price impact by size")
    await table.wait_for()
    rows = [await row.locator("td").all_inner_texts() for row in await table.locator("tbody tr").all()]
    paid = [base_units(row[0], 18) for row in rows]
    assert paid == [10**17 * 10**rung for rung in range(5)]
    (answer,) = told
    assert [base_units(row[1], 6) for row in rows] == [
        int(rung["price"]["toAmount"]) for rung in answer["rungs"]
    ]
    impacts = [float(row[2].removesuffix(" %")) for row in rows]
    assert impacts == sorted(impacts)
    assert impacts[-1] > impacts[0]
    charts = page.locator("svg[role=img]")
    labels = [await each.get_attribute("aria-label") for each in await charts.all()]
    assert any(each.startswith("Output: ") and each.count(";") == 4 for each in labels)
    assert any(each.startswith("Price impact: ") for each in labels)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []


async def test_prices_of_something_else_are_not_shown_and_an_amount_without_one_is_told(proxy, browse):
    answers = []

    def change(found):
        answers.append(json.dumps(found))
        if len(answers) == 1:
            found["toToken"]["address"] = THIEF
        else:
            found["rungs"][4].update(price=None, reason="insufficient_liquidity")

    page = await browse(await proxy("/v2/swaps/depth", changed(change)))
    await ask_for_quote(page, "10", "USDC")
    await page.get_by_text(OTHER_AMOUNTS).click()
    assert "prices of something else" in await page.get_by_role("alert").inner_text()
    await page.get_by_role("button", name="Try again").click()
    table = page.get_by_role("region", name="Output and price impact by size")
    assert "no price: insufficient liquidity" in await table.inner_text()
    assert await page.locator("svg[role=img]").count() >= 2
