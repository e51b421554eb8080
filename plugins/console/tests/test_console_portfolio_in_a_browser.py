"""The page of an account in Chromium: its balances and positions, what is missing, and what marks a token."""

import asyncio
import re

import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import ACCOUNT, EXTENSION, HOSTILE, address_of, changed, held, serious
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.rpc import Rpc

pytestmark = pytest.mark.services

BALANCES = "/v2/portfolio/balances"
POSITIONS = "/v2/portfolio/positions"


async def show(page, account=None):
    await page.get_by_role("link", name="Portfolio").click()
    if account is None:
        await page.get_by_role("button", name="Show the account of my wallet").click()
        return
    await page.get_by_label("Account", exact=True).fill(account)
    await page.get_by_role("button", name="Show this account").click()


def row_of(page, token, chain=31337):
    return page.locator(f'tr[data-token="{token}"][data-chain="{chain}"]')


async def amount_in(row, decimals):
    """Base units of a shown amount."""
    text = (await row.locator("td").first.inner_text()).replace("\u202f", "")
    whole, _, fraction = text.partition(".")
    assert len(fraction) <= decimals
    return int(whole + fraction.ljust(decimals, "0"))


async def test_the_balances_of_a_wallet_are_those_of_the_chain_to_the_base_unit(gateway, browse):
    url, port = gateway
    page = await browse(url)
    await page.get_by_role("link", name="Portfolio").click()
    await page.get_by_text("Type an address, or show the account of your wallet").wait_for()
    await show(page)
    for symbol, decimals in (("USDC", 6), ("DAI", 18)):
        token = await address_of(url, symbol)
        assert await amount_in(row_of(page, token), decimals) == held(port, token) > 0
    with Rpc(port) as rpc:
        wei = int(rpc("eth_getBalance", ACCOUNT, "latest"), 16)
    assert await amount_in(row_of(page, "0x" + "0" * 40), 18) == wei
    assert re.fullmatch(r"\$[\d,]+\.\d\d", await page.locator("[data-part=total]").inner_text())
    assert await serious(page) == []


async def test_an_address_that_is_typed_is_shown_on_a_phone_in_the_dark(gateway, browse):
    url, port = gateway
    usdc, account = await address_of(url, "USDC"), ACCOUNTS[5].address
    page = await browse(url, viewport={"width": 360, "height": 740}, color_scheme="dark")
    await show(page, account.lower())
    assert await amount_in(row_of(page, usdc), 6) == held(port, usdc, account)
    await page.get_by_label("Networks").select_option("devnet-l2")
    await row_of(page, usdc).wait_for(state="detached")
    await page.get_by_role("region", name="Balances of tokens").wait_for()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []


async def test_an_account_without_anything_is_said_to_be_empty(gateway, browse):
    page = await browse(gateway[0])
    await show(page, "0x00000000000000000000000000000000000000ee")
    await page.get_by_text("The account has no position in a pool or vault.").wait_for()
    await page.get_by_text("No balance is found.").or_(page.locator("tr[data-token]").first).first.wait_for()


async def test_a_wallet_is_asked_for_its_account_only_when_the_person_says_so(gateway, browse):
    url, _ = gateway
    asked = []

    def wallet(method, params):
        asked.append(method)
        return [ACCOUNTS[3].address]

    async def prepare(page):
        await page.expose_function("ask_wallet", wallet)
        await page.add_init_script(EXTENSION)

    page = await browse(url, prepare)
    await page.get_by_label("Wallet").select_option("Wallet <b>of</b> a test")
    await page.get_by_role("link", name="Portfolio").click()
    await page.get_by_role("button", name="Show the account of my wallet").wait_for()
    assert asked == []
    await page.get_by_role("button", name="Show the account of my wallet").click()
    await page.locator("[data-part=total]").wait_for()
    assert asked == ["eth_requestAccounts"]
    assert ACCOUNTS[3].address in await page.get_by_role("region", name="Balances", exact=True).inner_text()


async def test_what_is_missing_is_named_and_the_total_is_said_to_be_incomplete(proxy, browse):
    def change(found):
        found["totalComplete"], found["totalUsd"] = False, None
        found["partial"] = [
            {"chainId": 31338, "token": None, "reason": "rpc_error"},
            {"chainId": 31337, "token": "0x" + "12" * 20, "reason": "call_failed"},
            {"chainId": 31337, "token": None, "reason": "some_new_reason"},
        ]

    page = await browse(await proxy(BALANCES, changed(change)))
    await show(page)
    told = await page.locator("[data-part=missing]").inner_text()
    for part in (
        "its node does not answer",
        "0x121212…121212",
        "its contract does not answer",
        "some new reason",
    ):
        assert part in told
    assert "The total is not complete" in await page.locator("[data-part=incomplete]").inner_text()
    assert await page.locator("[data-part=total]").inner_text() == "not known"


async def test_spam_is_apart_and_hostile_names_neither_run_nor_mislead(proxy, browse):
    def change(found):
        spam, unlisted, priced = found["data"][1:4]
        spam["token"].update(symbol="US\u202eDC\u0000", name=HOSTILE)
        spam.update(spam=True, spamReasons=["link", "mass_gift"], listed=False, valueUsd=None, counted=False)
        unlisted["token"].update(symbol="\u0405\u0405", name="https://example.com")
        unlisted.update(listed=False, counted=False, spam=False)
        priced.update(valueUsd=None, realisableUsd=None)

    page = await browse(await proxy(BALANCES, changed(change)))
    await show(page)
    summary = page.get_by_text("1 token is marked as spam")
    await summary.wait_for()
    table = page.get_by_role("region", name="Balances of spam tokens")
    assert not await table.is_visible()
    await summary.click()
    text = await table.inner_text()
    assert "\u202e" not in text
    assert HOSTILE in text
    assert "spam: link, mass gift" in text
    others = await page.get_by_role("region", name="Balances of tokens").inner_text()
    for part in ("in no list of this gateway", "not in the total", "not known"):
        assert part in others
    assert await page.locator("img, section a").count() == 0
    assert await serious(page) == []


def leg(symbol, amount, decimals=6):
    token = {
        "address": "0x" + "34" * 20,
        "chainId": 31337,
        "network": "devnet",
        "symbol": symbol,
        "name": symbol,
        "decimals": decimals,
        "isNative": False,
        "logoUri": None,
        "priceUsd": None,
    }
    none = {"amountMin": None, "amountMax": None, "amountUsd": None}
    return {"token": token, "amount": amount, "account": ACCOUNT, **none}


async def test_positions_show_what_they_hold_and_their_fees_to_the_base_unit(proxy, browse):
    def change(found):
        found["partial"] = [{"provider": "aave", "reason": "provider_timeout"}]
        found["data"] = [
            {
                "positionId": "77",
                "poolId": "31337:0x" + "56" * 20,
                "vaultId": None,
                "owner": ACCOUNT,
                "kind": "nft",
                "liquidity": "123456789012345678901234567890",
                "share": 0.1,
                "amounts": [leg("USDC", "9007199254740993000001"), leg("DAI", "1", 18)],
                "uncollectedFees": [leg("USDC", "2")],
                "range": {"tickLower": -60, "tickUpper": 60},
                "inRange": False,
                "valueUsd": None,
                "asOfBlock": {"number": 1, "hash": "0x" + "00" * 32, "timestamp": 1},
                "provider": "uniswap",
                "network": "devnet",
                "chainId": 31337,
            }
        ]

    page = await browse(await proxy(POSITIONS, changed(change)))
    await show(page)
    row = page.locator('tr[data-position="77"]')
    text = (await row.inner_text()).replace("\u202f", "")
    for part in (
        "9007199254740993.000001 USDC",
        "0.000000000000000001 DAI",
        "0.000002 USDC",
        "ticks -60 to 60",
        "it earns no fees",
        "not known",
    ):
        assert part in text
    assert (
        "the provider aave: it does not answer in time"
        in await page.locator("[data-part=missing]").inner_text()
    )


@pytest.mark.parametrize("path", [BALANCES, POSITIONS])
async def test_an_upstream_that_fails_leaves_the_other_half_and_can_be_asked_again(proxy, browse, path):
    answers = iter([502, 502])

    def change(body, headers, status):
        code = next(answers, status)
        return web.Response(
            body=body if code == status else b"<h1>Bad Gateway</h1>", headers=headers, status=code
        )

    page = await browse(await proxy(path, change))
    await show(page)
    assert "HTTP 502" in await page.get_by_role("alert").inner_text()
    other = "[data-part=total]" if path == POSITIONS else "text=The account has no position"
    await page.locator(other).wait_for()
    await page.get_by_role("button", name="Read again").click()
    await page.get_by_role("alert").wait_for(state="detached")
    await page.locator("[data-part=total]").wait_for()


async def test_a_slow_answer_is_waited_for_and_one_to_an_earlier_question_is_not_shown(proxy, browse):
    goes_on, first = asyncio.Event(), []

    async def change(body, headers, status):
        if not first:
            first.append(body)
            await goes_on.wait()
        return web.Response(body=body, headers=headers, status=status)

    page = await browse(await proxy(BALANCES, change))
    await show(page, ACCOUNTS[6].address)
    await page.get_by_text("Reading the balances…").wait_for()
    await show(page, ACCOUNTS[7].address)
    region = page.get_by_role("region", name="Balances", exact=True)
    await region.get_by_text(ACCOUNTS[7].address).wait_for()
    goes_on.set()
    assert await region.get_by_text(ACCOUNTS[6].address).count() == 0


async def test_an_address_that_is_none_is_refused_in_words_and_being_offline_is_said(gateway, browse):
    page = await browse(gateway[0])
    await show(page, "0x1234")
    assert "wallet" in await page.get_by_role("alert").first.inner_text()
    await page.context.set_offline(True)
    await page.get_by_text("The browser is offline.").wait_for()
    await show(page, ACCOUNT)
    assert "No answer came" in await page.get_by_role("alert").first.inner_text()
    await page.context.set_offline(False)
    await page.get_by_text("The browser is offline.").wait_for(state="detached")
    await page.get_by_role("button", name="Read again").click()
    await page.locator("[data-part=total]").wait_for()
