"""A person ends approvals in Chromium. What the gateway gives to sign is compared with what was chosen."""

import asyncio
import re

import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import ACCOUNT, EXTENSION, HOSTILE, THIEF, address_of, changed, serious
from quoteway.evm import erc20, permit2
from quoteway.models import MAX_UINT256
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.rpc import Rpc

pytestmark = pytest.mark.services

APPROVALS = "/v2/portfolio/approvals"
REVOKE = "/v2/portfolio/approvals/revoke"
STRANGER = "0x00000000000000000000000000000000000057a4"
OTHER = "0x00000000000000000000000000000000000057a5"
LATER = 2**48 - 1


def send(port, to, method, *args, owner=ACCOUNT):
    with Rpc(port) as rpc:
        call = {"from": owner, "to": to, "data": "0x" + method.encode(list(args)).hex(), "gas": hex(500_000)}
        sent = rpc("eth_sendTransaction", call)
        while (receipt := rpc("eth_getTransactionReceipt", sent)) is None:
            pass
    assert receipt["status"] == "0x1"


def allowance(port, token, spender, owner=ACCOUNT):
    with Rpc(port) as rpc:
        data = "0x" + erc20.ALLOWANCE.encode([owner, spender]).hex()
        return int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16)


def permit2_allowance(port, token, spender, owner=ACCOUNT):
    with Rpc(port) as rpc:
        data = "0x" + permit2.ALLOWANCE.encode([owner, token, spender]).hex()
        return int(rpc("eth_call", {"to": permit2.ADDRESS, "data": data}, "latest")[2:66], 16)


async def open_approvals(page, account=None):
    await page.get_by_role("link", name="Portfolio").click()
    if account is None:
        await page.get_by_role("button", name="Show the account of my wallet").click()
    else:
        await page.get_by_label("Account", exact=True).fill(account)
        await page.get_by_role("button", name="Show this account").click()
    await page.get_by_role("link", name="Approvals").click()


def row_of(page, kind, token, spender):
    return page.locator(f'tr[data-kind="{kind}"][data-token="{token}" i][data-spender="{spender}" i]')


async def choose(page, kind, token, spender):
    await row_of(page, kind, token, spender).get_by_role("checkbox").check()


async def test_chosen_approvals_are_ended_and_the_allowances_on_the_chain_are_zero(gateway, browse):
    url, port = gateway
    usdc, dai = await address_of(url, "USDC"), await address_of(url, "DAI")
    send(port, usdc, erc20.APPROVE, STRANGER, MAX_UINT256)
    send(port, dai, erc20.APPROVE, STRANGER, 7)
    send(port, dai, erc20.APPROVE, permit2.ADDRESS, 10**18)
    for spender in (STRANGER, OTHER):
        send(port, permit2.ADDRESS, permit2.APPROVE, dai, spender, 25 * 10**17, LATER)
    page = await browse(url)
    await open_approvals(page)
    assert "no limit" in await row_of(page, "erc20", usdc, STRANGER).inner_text()
    assert "0.000000000000000007 DAI" in await row_of(page, "erc20", dai, STRANGER).inner_text()
    through = await row_of(page, "permit2", dai, STRANGER).inner_text()
    for part in ("2.5 DAI", "through Permit2", "too far away to show"):
        assert part in through
    assert await page.get_by_role("button", name="End 0 approvals").is_disabled()
    for kind, token, spender in (
        ("erc20", usdc, STRANGER),
        ("permit2", dai, STRANGER),
        ("permit2", dai, OTHER),
    ):
        await choose(page, kind, token, spender)
    await page.get_by_role("button", name="End 3 approvals").click()
    await page.locator("[data-part=ending]").wait_for()
    assert await page.locator("[data-part=ending] li").count() == 3
    await page.get_by_role("button", name="Show what I sign").click()
    signed = page.get_by_role("region", name="What you sign")
    await signed.wait_for()
    assert await signed.locator("ol > li").count() == 2
    await signed.get_by_text("Call by call").first.click()
    assert "approve(" in await signed.inner_text()
    assert await serious(page) == []
    assert allowance(port, usdc, STRANGER) == MAX_UINT256
    await page.get_by_role("button", name="Send", exact=True).click()
    await page.get_by_role("heading", name="Done").wait_for()
    await row_of(page, "erc20", usdc, STRANGER).wait_for(state="detached")
    assert allowance(port, usdc, STRANGER) == 0
    assert permit2_allowance(port, dai, STRANGER) == permit2_allowance(port, dai, OTHER) == 0
    # What was not chosen stays, on the chain and in the list.
    assert (allowance(port, dai, STRANGER), allowance(port, dai, permit2.ADDRESS)) == (7, 10**18)
    await row_of(page, "erc20", dai, STRANGER).wait_for()
    assert await row_of(page, "permit2", dai, STRANGER).count() == 0


def word(value):
    return hex(value)[2:].rjust(64, "0")


def approves(found):
    found["transactions"][0]["data"] = found["transactions"][0]["data"][:-64] + word(1)


def approves_all(found):
    found["transactions"][0]["data"] = found["transactions"][0]["data"][:-64] + "f" * 64


def another_spender(found):
    data = found["transactions"][0]["data"]
    found["transactions"][0]["data"] = data[:10] + word(int(THIEF, 16)) + data[-64:]


def another_token(found):
    found["transactions"][0]["to"] = THIEF


def transfers(found):
    data = found["transactions"][0]["data"]
    found["transactions"][0]["data"] = "0xa9059cbb" + data[10:-64] + word(10**6)


def one_more(found):
    found["transactions"].append({**found["transactions"][0], "to": THIEF})
    found["steps"].append(found["steps"][0])


def of_another_sender(found):
    found["from"] = ACCOUNTS[1].address


@pytest.mark.parametrize(
    "change",
    [approves, approves_all, another_spender, another_token, transfers, one_more, of_another_sender],
)
async def test_an_end_of_approvals_that_does_something_else_is_refused(gateway, proxy, browse, change):
    url, port = gateway
    usdc = await address_of(url, "USDC")
    send(port, usdc, erc20.APPROVE, STRANGER, 10**6)
    page = await browse(await proxy(REVOKE, changed(change)))
    await open_approvals(page)
    await choose(page, "erc20", usdc, STRANGER)
    await page.get_by_role("button", name="End this approval").click()
    await page.get_by_role("button", name="Show what I sign").click()
    assert "Do not sign it" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=send]").count() == 0
    assert allowance(port, usdc, STRANGER) == 10**6
    assert allowance(port, usdc, THIEF) == 0


def another_pair(found):
    data = found["transactions"][0]["data"]
    found["transactions"][0]["data"] = data[:-64] + word(int(THIEF, 16))


def a_false_permit2(found):
    found["transactions"][0]["to"] = THIEF


@pytest.mark.parametrize("change", [another_pair, a_false_permit2])
async def test_an_end_through_permit2_that_does_something_else_is_refused(gateway, proxy, browse, change):
    url, port = gateway
    usdc = await address_of(url, "USDC")
    send(port, permit2.ADDRESS, permit2.APPROVE, usdc, STRANGER, 5, LATER)
    page = await browse(await proxy(REVOKE, changed(change)))
    await open_approvals(page)
    await choose(page, "permit2", usdc, STRANGER)
    await page.get_by_role("button", name="End this approval").click()
    await page.get_by_role("button", name="Show what I sign").click()
    assert "Do not sign it" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=send]").count() == 0
    assert permit2_allowance(port, usdc, STRANGER) == 5


async def test_approvals_of_another_account_cannot_be_ended_with_this_wallet(gateway, browse):
    url, port = gateway
    usdc, owner = await address_of(url, "USDC"), ACCOUNTS[5].address
    send(port, usdc, erc20.APPROVE, STRANGER, 3, owner=owner)
    page = await browse(url)
    await open_approvals(page, owner)
    await choose(page, "erc20", usdc, STRANGER)
    await page.get_by_role("button", name="End this approval").click()
    alert = await page.get_by_role("alert").inner_text()
    assert owner in alert
    assert ACCOUNT in alert
    assert await page.get_by_role("button", name="Show what I sign").count() == 0


async def test_a_wallet_that_refuses_ends_nothing_and_can_be_asked_again(gateway, browse):
    url, port = gateway
    usdc, owner = await address_of(url, "USDC"), ACCOUNTS[6].address
    send(port, usdc, erc20.APPROVE, STRANGER, 9, owner=owner)
    refusals = iter([True])

    def wallet(method, params):
        if method == "eth_requestAccounts":
            return [owner]
        if method == "eth_sendTransaction" and next(refusals, False):
            raise RuntimeError("the person refuses")
        with Rpc(port) as rpc:
            return rpc(method, *params)

    async def prepare(page):
        await page.expose_function("ask_wallet", wallet)
        await page.add_init_script(EXTENSION)

    page = await browse(url, prepare)
    await page.get_by_label("Wallet").select_option("Wallet <b>of</b> a test")
    await open_approvals(page)
    await choose(page, "erc20", usdc, STRANGER)
    for is_refused in (True, False):
        await page.get_by_role("button", name="End this approval").click()
        await page.get_by_role("button", name="Show what I sign").click()
        await page.get_by_role("button", name="Send", exact=True).click()
        if is_refused:
            assert "Sending failed" in await page.get_by_role("alert").inner_text()
            assert allowance(port, usdc, STRANGER, owner) == 9
    await page.get_by_role("heading", name="Done").wait_for()
    assert allowance(port, usdc, STRANGER, owner) == 0


async def test_hostile_names_of_approvals_on_a_phone_in_the_dark(gateway, proxy, browse):
    url, port = gateway
    for symbol in ("USDC", "DAI", "WETH"):
        send(port, await address_of(url, symbol), erc20.APPROVE, STRANGER, 5)

    def change(found):
        first, second, third = found["data"][:3]
        first["token"].update(symbol="US\u202eDC\u0000", name=HOSTILE)
        first.update(listed=False, label=HOSTILE, kind="permit2", expiration=1)
        second["token"].update(symbol="\u0405\u0405")
        second.update(listed=True, label="https://example.com", kind="permit2", expiration=LATER)
        third["token"].update(symbol="X" * 300)
        third.update(label="Y" * 3_000, amount=str(2**255))
        found["partial"] = [{"chainId": 31337, "token": None, "reason": "logs_unavailable"}]

    page = await browse(
        await proxy(APPROVALS, changed(change)),
        viewport={"width": 360, "height": 740},
        color_scheme="dark",
    )
    await open_approvals(page)
    await page.locator("[data-part=missing]").wait_for()
    text = await page.get_by_role("region", name="Approvals", exact=True).inner_text()
    for part in (
        "in no list of this gateway",
        "1970-01-01 00:00 UTC, which is over",
        "unusual letters",
        "gives no logs",
    ):
        assert part in text
    for part in ("\u202e", "\u0000", "X" * 20, "Y" * 50):
        assert part not in text
    assert await page.locator("img, section a").count() == 0
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []


async def test_an_account_without_approvals_and_one_while_it_is_read(proxy, browse):
    goes_on = asyncio.Event()

    async def change(body, headers, status):
        await goes_on.wait()
        return web.Response(body=body, headers=headers, status=status)

    page = await browse(await proxy(APPROVALS, change))
    await open_approvals(page, "0x00000000000000000000000000000000000000ee")
    await page.get_by_text("Reading the approvals…").wait_for()
    goes_on.set()
    await page.get_by_text(re.compile("No spender is known|No approval is found")).wait_for()


async def test_approvals_that_fail_to_be_read_can_be_asked_again(proxy, browse):
    answers = iter([502, 502])

    def change(body, headers, status):
        code = next(answers, status)
        return web.Response(body=body if code == status else b"<h1>no</h1>", headers=headers, status=code)

    page = await browse(await proxy(APPROVALS, change))
    await open_approvals(page, ACCOUNTS[9].address)
    await page.get_by_role("alert").get_by_text("HTTP 502").wait_for()
    await page.get_by_role("button", name="Read again").last.click()
    await page.get_by_role("alert").wait_for(state="detached")
    await page.get_by_text(re.compile("No spender is known|No approval is found")).wait_for()
