"""A person deploys a vault in Chromium, manages it and rebalances it; the chain says what came of it."""

import asyncio
import json

import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import ACCOUNT, HOSTILE, THIEF, address_of, changed, choose, serious
from quoteway.evm.abi import function
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.rpc import Rpc

pytestmark = pytest.mark.services

BOT = ACCOUNTS[2].address
WAIT_S = 300


def read(port, to, signature, outputs, *values):
    call = function(f"{signature} returns {outputs}")
    with Rpc(port) as rpc:
        answer = rpc("eth_call", {"to": to, "data": "0x" + call.encode(values).hex()}, "latest")
    (value,) = call.decode_output(bytes.fromhex(answer[2:]))
    return value


def transactions(port):
    """How many transactions the account has sent."""
    with Rpc(port) as rpc:
        return int(rpc("eth_getTransactionCount", ACCOUNT, "latest"), 16)


async def open_vaults(page):
    await page.get_by_role("link", name="Vaults").click()
    await page.locator("button[data-vault]").first.wait_for()


def deploying(page):
    return page.get_by_role("region", name="Deploy a vault")


def managing(page):
    return page.get_by_role("region", name="Manage the vault")


async def ask_for_deployment(page, bot=BOT):
    await open_vaults(page)
    form = deploying(page)
    await form.get_by_role("button", name="A vault of my own").click()
    await form.locator("select[name=strategy]").select_option("steady-usdc")
    await choose(page, "Token that the vault takes", "USDC")
    await form.locator("input[name=bot]").fill(bot)
    await form.get_by_role("button", name="Get a quote").click()


async def open_management(page):
    await managing(page).get_by_role("button", name="Settings and rebalancing").click()
    await managing(page).locator("select[name=management]").wait_for()


async def open_managed(page):
    await open_vaults(page)
    await page.locator("button[data-vault]", has_text="managed").first.click()
    await open_management(page)


async def ask_to_manage(page, action, takes_all=False, **fields):
    form = managing(page)
    await form.locator("select[name=management]").select_option(action)
    if takes_all:
        await form.get_by_label("All that can be moved").check()
    for name, value in fields.items():
        await form.locator(f"input[name={name}]").fill(value)
    await form.get_by_role("button", name="Go on").click()
    await form.locator("[data-part=asked]").wait_for()
    await form.get_by_role("button", name="Show what I sign").click()


async def send(page):
    """Sends what is shown, and returns the names of the calls."""
    form = managing(page)
    await form.locator("[data-part=send]").wait_for()
    calls = (
        await form.get_by_role("region", name="What you sign").locator("details > code").all_text_contents()
    )
    await form.locator("[data-part=send]").click()
    await form.get_by_role("region", name="Receipt").get_by_text("Done").wait_for()
    return [call.partition("(")[0] for call in calls]


async def test_a_vault_is_deployed_then_managed_and_rebalanced(gateway, browse):
    url, port = gateway
    usdc = await address_of(url, "USDC")
    page = await browse(url)
    await ask_for_deployment(page)
    form = deploying(page)
    assert await form.locator("[data-part=owner]").inner_text() == ACCOUNT
    assert await form.locator("[data-part=bot]").inner_text() == BOT
    vault = await form.locator("[data-part=predicted]").inner_text()
    factory = await form.locator("[data-part=factory]").inner_text()
    steady = await form.locator("[data-part=strategy]").inner_text()
    assert not read(port, factory, "isVault(address)", "(bool)", vault)
    await form.get_by_role("button", name="Show what I sign").click()
    await form.get_by_text("Call by call").click()
    signed = await form.get_by_role("region", name="What you sign").inner_text()
    assert "deploy(address,address,address,address,bytes32)" in signed
    assert f"owner: {ACCOUNT}" in signed
    assert await serious(page) == []
    await form.locator("[data-part=send]").click()
    await form.locator("[data-part=deployed] a").click()
    await page.locator("p code", has_text=vault).first.wait_for()
    assert read(port, factory, "isVault(address)", "(bool)", vault)
    assert read(port, vault, "owner()", "(address)").lower() == ACCOUNT.lower()
    assert read(port, vault, "bot()", "(address)").lower() == BOT.lower()
    assert read(port, vault, "asset()", "(address)").lower() == usdc.lower()
    assert [each.lower() for each in read(port, vault, "strategies()", "(address[])")] == [steady.lower()]
    # The list is read in the background.
    async with asyncio.timeout(WAIT_S):
        while not await page.locator(f"button[data-vault='31337:{vault}']").count():
            await page.get_by_role("button", name="Ask again").click()
            await asyncio.sleep(0.5)

    await open_management(page)
    await ask_to_manage(page, "setCap", amount="5000.000001")
    assert await send(page) == ["setCap"]
    assert read(port, vault, "cap()", "(uint256)") == 5_000_000_001
    await ask_to_manage(page, "setBot", bot=ACCOUNTS[3].address)
    assert await send(page) == ["setBot"]
    assert read(port, vault, "bot()", "(address)").lower() == ACCOUNTS[3].address.lower()
    await ask_to_manage(page, "addStrategy", strategy="bold-usdc")
    assert await send(page) == ["addStrategy"]
    listed = [each.lower() for each in read(port, vault, "strategies()", "(address[])")]
    assert len(listed) == 2
    assert listed[0] == steady.lower()

    deposit = page.get_by_role("region", name="Deposit or redeem")
    await deposit.get_by_label("Amount of USDC").fill("1000")
    await deposit.get_by_role("button", name="Get a quote").click()
    await deposit.get_by_role("button", name="Show what I sign").click()
    await deposit.locator("[data-part=send]").click()
    await deposit.locator("[data-part=received]").wait_for()
    assert read(port, vault, "idleAssets()", "(uint256)") == 1_000_000_000
    await ask_to_manage(page, "rebalance", amount="400", strategy=listed[1])
    assert await send(page) == ["rebalance"]
    assert read(port, vault, "idleAssets()", "(uint256)") == 600_000_000
    assert read(port, listed[1], "balanceOf(address)", "(uint256)", vault) > 0
    assert read(port, steady, "balanceOf(address)", "(uint256)", vault) == 0
    # All of it, from two places, is two calls.
    await ask_to_manage(page, "rebalance", takes_all=True, strategy="steady-usdc")
    assert await send(page) == ["rebalance", "rebalance"]
    assert read(port, vault, "idleAssets()", "(uint256)") == 0
    assert read(port, steady, "balanceOf(address)", "(uint256)", vault) > 0
    assert await serious(page) == []


def another_owner(found):
    found["request"]["owner"] = found["params"]["owner"] = THIEF


def another_bot(found):
    found["request"]["bot"] = found["params"]["bot"] = THIEF


def another_network(found):
    found["chainId"] = 1


@pytest.mark.parametrize("change", [another_owner, another_bot, another_network])
async def test_a_quote_of_another_vault_than_asked_for_is_not_shown(gateway, proxy, browse, change):
    page = await browse(await proxy("/v2/vaults/deploy/quote", changed(change)))
    await ask_for_deployment(page)
    assert "not what you asked for" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=owner]").count() == 0


def owned_by_a_thief(found):
    (transaction,) = found["transactions"]
    owner = ACCOUNT[2:].lower()
    assert owner in transaction["data"]
    transaction["data"] = transaction["data"].replace(owner, THIEF[2:])


def another_factory(found):
    found["transactions"][0]["to"] = THIEF


def one_more_call(found):
    found["transactions"].append(dict(found["transactions"][0]))
    found["steps"].append(found["steps"][0])


@pytest.mark.parametrize("change", [owned_by_a_thief, another_factory, one_more_call])
async def test_a_deployment_that_was_changed_on_the_way_cannot_be_sent(gateway, proxy, browse, change):
    before = transactions(gateway[1])
    page = await browse(await proxy("/v2/vaults/deploy/action", changed(change)))
    await ask_for_deployment(page)
    await deploying(page).get_by_role("button", name="Show what I sign").click()
    assert "Do not sign it" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=send]").count() == 0
    assert transactions(gateway[1]) == before


def another_vault(found):
    found["transactions"][0]["to"] = THIEF


def ownership(found):
    found["transactions"][0]["data"] = "0xf2fde38b" + THIEF[2:].rjust(64, "0")


def no_bound(found):
    data = found["transactions"][0]["data"]
    found["transactions"][0]["data"] = data[:-64] + "0" * 64


@pytest.mark.parametrize(
    ("path", "action", "change"),
    [
        ("manage", "setCap", another_vault),
        ("manage", "setCap", one_more_call),
        ("manage", "setCap", ownership),
        ("rebalance", "rebalance", another_vault),
        ("rebalance", "rebalance", no_bound),
    ],
)
async def test_management_that_was_changed_on_the_way_cannot_be_sent(
    gateway, proxy, browse, path, action, change
):
    before = transactions(gateway[1])
    page = await browse(await proxy(f"/v2/vaults/[^/]+/{path}/action", changed(change)))
    await open_managed(page)
    await ask_to_manage(page, action, amount="7")
    assert "Do not sign it" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=send]").count() == 0
    assert transactions(gateway[1]) == before


async def test_an_account_without_the_role_is_told_whose_it_is(gateway, browse):
    page = await browse(gateway[0])
    await page.get_by_label("Wallet").select_option("Test account 2")
    await open_managed(page)
    await ask_to_manage(page, "setCap", amount="7")
    told = managing(page).locator("[data-part=role]")
    assert "lets only its owner do this" in await told.inner_text()
    assert ACCOUNT in await told.inner_text()
    assert await page.locator("[data-part=send]").count() == 0


async def test_a_vault_whose_provider_does_not_manage_it_has_no_such_form(gateway, browse):
    page = await browse(gateway[0])
    await open_managed(page)
    await page.locator("button[data-vault]", has_text="Steady USDC").first.click()
    await page.get_by_role("region", name="Deposit or redeem").wait_for()
    await managing(page).wait_for(state="detached")


async def test_management_fits_a_phone_and_hostile_ids_do_not_run(proxy, browse):
    def hostile(found):
        for row in found["data"]:
            for each in row["strategies"]:
                each["id"] = f"{HOSTILE}\u202e{each['id']}" if each["id"] != "steady-usdc" else each["id"]

    url = await proxy("/v2/providers", changed(hostile))
    page = await browse(url, viewport={"width": 360, "height": 740}, color_scheme="dark")
    await ask_for_deployment(page)
    await page.locator("[data-part=predicted]").wait_for()
    options = await deploying(page).locator("select[name=strategy] option").all_text_contents()
    assert any(HOSTILE in each for each in options)
    assert not any("\u202e" in each for each in options)
    await deploying(page).get_by_role("button", name="Show what I sign").click()
    await deploying(page).locator("[data-part=send]").wait_for()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []
    await page.locator("button[data-vault]", has_text="managed").first.click()
    await open_management(page)
    await ask_to_manage(page, "rebalance", amount="7")
    await managing(page).locator("[data-part=send]").wait_for()
    assert await page.locator("img").count() == 0
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []


async def test_a_gateway_that_deploys_nothing_and_one_that_fails_say_so(proxy, browse):
    def none(found):
        for row in found["data"]:
            row["strategies"] = []

    page = await browse(await proxy("/v2/providers", changed(none)))
    await open_vaults(page)
    await deploying(page).get_by_role("button", name="A vault of my own").click()
    await (
        deploying(page).get_by_text("No provider of this gateway deploys vaults on this network.").wait_for()
    )

    answers = []

    def failing(body, headers, status):
        answers.append(status)
        if len(answers) < 3:
            return web.Response(text="<h1>Bad Gateway</h1>", status=502)
        return web.json_response(json.loads(body), headers={"X-Request-ID": headers["X-Request-ID"]})

    page = await browse(await proxy("/v2/providers", failing))
    await open_vaults(page)
    form = deploying(page)
    await form.get_by_role("button", name="A vault of my own").click()
    assert "HTTP 502" in await form.get_by_role("alert").inner_text()
    await form.get_by_role("button", name="Ask for the providers again").click()
    await form.locator("select[name=strategy]").wait_for()
