"""A person sends tokens to another network in Chromium, from the first click to arrival or refund.

Amounts are compared on both chains. What is not what was asked cannot be signed.
"""

import asyncio
from types import SimpleNamespace

import aiohttp
import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")
pytest.importorskip("quoteway_across", reason="needs the quoteway-across distribution")

from batching_wallet import BatchingWallet
from console_pages import (
    ACCOUNT,
    THIEF,
    address_of,
    ask_for_quote,
    base_units,
    changed,
    held,
    open_settings,
    serious,
    shown,
)
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_devnet.demo.server import gateway_over
from quoteway_devnet.relayer import Relayer
from quoteway_devnet.rpc import Rpc

pytestmark = pytest.mark.services

RECIPIENT = "0x00000000000000000000000000000000c0ffee08"
FAR = {"network": "devnet-l2", "chain_id": 31338}
QUOTE = "/v2/bridges/quote"
ACTION = r"/v2/bridges/[^/]+/action"
TRACKED = r"/v2/transactions/[^/]+"
WAIT_S = 180


@pytest.fixture(scope="module")
def crossing():
    """A gateway over two chains, and the relayer between them, whose conduct a test may change."""
    pytest.importorskip("playwright", reason="needs the extra `services`")
    with Devnet.running() as devnet, Relayer.running(devnet) as relayer:
        settings = {
            "QUOTEWAY_LIMITS__ENABLED": "false",
            "QUOTEWAY_QUOTES__COMPETITION_TIMEOUT_S": "20",
            "QUOTEWAY_PLUGIN__DEVNET__RELAYER_PORT": str(relayer.port),
        }
        with gateway_over(devnet, **settings) as url:
            ports = devnet.ports
            yield SimpleNamespace(
                url=url, relayer=relayer, devnet=devnet, port=ports["devnet"], far=ports["devnet-l2"]
            )


@pytest.fixture(scope="module")
def gateway(crossing):
    """As the other pages' tests have it, which ``proxy`` uses."""
    return crossing.url, crossing.port


@pytest.fixture(autouse=True)
async def routes(crossing):
    """Waits until the gateway knows what can be sent: a new one has asked nobody. The relayer fills."""
    crossing.relayer.behave(filling=True, refunding=True)
    ends_at = asyncio.get_running_loop().time() + WAIT_S
    query = f"{crossing.url}/v2/bridges/routes?fromChain=devnet&toChain=devnet-l2"
    async with aiohttp.ClientSession() as session:
        while asyncio.get_running_loop().time() < ends_at:
            async with session.get(query) as answer:
                if any(row["enabled"] for row in (await answer.json())["data"]):
                    return
            await asyncio.sleep(0.1)
    raise AssertionError("the bridge has no route")


def coin(port, account=ACCOUNT):
    with Rpc(port) as rpc:
        return int(rpc("eth_getBalance", account, "latest"), 16)


async def ask(page, amount, to="ETH", pay=None):
    await page.get_by_label("Arrives on").select_option("devnet-l2")
    await ask_for_quote(page, amount, to, pay)


async def send(page, name="Send"):
    await page.get_by_role("button", name="Show what I sign").click()
    await page.get_by_role("button", name=name, exact=True).click()


def transfer(page, status):
    return page.locator(f'[data-transfer][data-status="{status}"]').first


async def test_the_coin_is_sent_and_followed_to_its_arrival_to_the_base_unit(crossing, browse):
    page = await browse(crossing.url)
    await ask(page, "0.5")
    promised = await shown(page, "receive", 18)
    assert promised == await shown(page, "minimum", 18) < 5 * 10**17
    assert "31338" in await page.locator("[data-part=arrives]").inner_text()
    assert ACCOUNT in await page.locator("[data-part=refund]").inner_text()
    assert await serious(page) == []
    near, far = coin(crossing.port), coin(crossing.far)
    await send(page)
    await page.locator("[data-part=arrived]").wait_for()
    assert await shown(page, "paid", 18) == 5 * 10**17
    assert near - coin(crossing.port) > 5 * 10**17
    assert coin(crossing.far) - far == await shown(page, "arrived", 18) == promised
    assert await page.locator("[data-part=arrival-against]").inner_text() == "0 basis points"
    assert await transfer(page, "filled").count() == 1
    assert await serious(page) == []
    await page.get_by_role("button", name="Remove it from this list").click()
    await page.locator("[data-transfer]").wait_for(state="detached")


async def test_a_token_is_sent_to_somebody_else_on_a_phone_in_the_dark(crossing, browse):
    url = crossing.url
    near, far = await address_of(url, "USDC"), await address_of(url, "USDC", **FAR)
    page = await browse(url, viewport={"width": 360, "height": 740}, color_scheme="dark")
    await open_settings(page)
    await page.get_by_label("Recipient").fill(RECIPIENT)
    await ask(page, "250.75", to="USDC", pay="USDC")
    assert "not your account" in await page.locator("[data-part=recipient]").inner_text()
    promised = await shown(page, "receive", 6)
    before = held(crossing.port, near), held(crossing.far, far, RECIPIENT)
    await send(page, "Approve and send")
    assert await shown(page, "arrived", 6) == promised
    assert before[0] - held(crossing.port, near) == 250_750_000
    assert held(crossing.far, far, RECIPIENT) - before[1] == promised
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []


async def test_a_transfer_is_followed_on_another_network_and_after_a_reload(crossing, browse):
    crossing.relayer.behave(filling=False)
    page = await browse(crossing.url)
    await ask(page, "0.25")
    promised = await shown(page, "receive", 18)
    far = coin(crossing.far)
    await send(page)
    await transfer(page, "fill_pending").wait_for()
    await page.get_by_label("Network").select_option("devnet-l2")
    await transfer(page, "fill_pending").wait_for()
    await page.reload()
    await transfer(page, "fill_pending").wait_for()
    assert await page.locator("[data-part=arrived]").count() == 0
    crossing.relayer.behave(filling=True)
    assert await shown(page, "arrived", 18) == promised
    assert coin(crossing.far) - far == promised


async def test_another_token_there_goes_in_parts_that_the_person_accepts(crossing, browse):
    far = await address_of(crossing.url, "USDC", **FAR)
    page = await browse(crossing.url)
    await ask(page, "0.3", to="USDC")
    promised = await shown(page, "receive", 6)
    assert await page.locator("[data-part=parts] li").count() == 2
    left = base_units(await page.locator("[data-part=left]").inner_text(), 6)
    await page.get_by_role("button", name="Show what I sign").click()
    button = page.locator("[data-part=send]")
    assert await button.is_disabled()
    await page.get_by_label("Send the parts one by one").check()
    near = await address_of(crossing.url, "USDC")
    before = held(crossing.far, far), held(crossing.port, near)
    await button.click()
    assert await shown(page, "arrived", 6) == promised
    assert held(crossing.far, far) - before[0] == promised
    assert held(crossing.port, near) - before[1] == left == await shown(page, "received", 6)
    assert await shown(page, "paid", 18) == 3 * 10**17


async def test_parts_go_as_one_from_a_wallet_that_batches(crossing, browse):
    owner = ACCOUNTS[5].address
    far = await address_of(crossing.url, "USDC", **FAR)
    wallet = BatchingWallet(crossing.port, ACCOUNTS[5])
    page = await browse(crossing.url, wallet.prepare)
    await wallet.chosen(page)
    await ask(page, "0.2", to="USDC")
    promised = await shown(page, "receive", 6)
    left = base_units(await page.locator("[data-part=left]").inner_text(), 6)
    before = held(crossing.far, far, owner)
    await send(page, "Send all as one")
    assert await shown(page, "arrived", 6) == promised
    assert held(crossing.far, far, owner) - before == promised
    assert await shown(page, "received", 6) == left
    assert await shown(page, "paid", 18) == 2 * 10**17
    assert wallet.asked.count("wallet_sendCalls") == 1
    assert "eth_sendTransaction" not in wallet.asked


def to_a_thief(found):
    found["outputs"][0]["account"] = found["request"]["toAddress"] = THIEF


def to_another_chain(found):
    found["outputs"][0]["token"]["chainId"] = 1


def of_another_token(found):
    found["outputs"][0]["token"]["address"] = found["request"]["toToken"] = THIEF


def smaller_minimum(found):
    found["outputs"][0]["amountMin"] = "1"


def more_taken(found):
    found["inputs"][0]["amount"] = found["request"]["amount"] = str(10**19)


def refund_to_a_thief(found):
    found["refund"]["address"] = found["request"]["refundAddress"] = THIEF


def refund_shown_to_a_thief(found):
    found["refund"]["address"] = THIEF


@pytest.mark.parametrize(
    "change",
    [
        *(to_a_thief, to_another_chain, of_another_token, smaller_minimum, more_taken),
        *(refund_to_a_thief, refund_shown_to_a_thief),
    ],
)
async def test_a_quote_of_another_transfer_is_refused(proxy, browse, change):
    page = await browse(await proxy(QUOTE, changed(change)))
    await ask(page, "0.5")
    assert "not what you asked for" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=receive]").count() == 0


def recipient_is_a_thief(found):
    found["recipients"][0]["account"] = THIEF


def less_arrives(found):
    found["outputs"][0]["amountMin"] = "1"


def followed_elsewhere(found):
    found["tracking"]["destinationChainId"] = 1


def more_coin(found):
    found["transactions"][0]["value"] = hex(10**19)


@pytest.mark.parametrize("change", [recipient_is_a_thief, less_arrives, followed_elsewhere, more_coin])
async def test_an_action_of_another_transfer_cannot_be_sent(proxy, browse, change):
    page = await browse(await proxy(ACTION, changed(change)))
    await ask(page, "0.5")
    await page.get_by_role("button", name="Show what I sign").click()
    assert "Do not sign it" in await page.get_by_role("alert").inner_text()
    assert await page.locator("[data-part=send]").count() == 0


async def test_a_bridge_that_fails_is_told_before_anything_is_signed(proxy, browse):
    page = await browse(await proxy(QUOTE, lambda *_: web.Response(text="<h1>Bad Gateway</h1>", status=502)))
    await ask(page, "0.5")
    assert "HTTP 502" in await page.get_by_role("alert").inner_text()


async def test_an_arrival_that_the_chain_does_not_have_is_told(crossing, proxy, browse):
    with Rpc(crossing.far) as rpc:
        other = rpc.send({"from": ACCOUNTS[9].address, "to": ACCOUNTS[8].address, "value": "0x1"})

    def change(found):
        found.update(status="filled", fillHash=other["transactionHash"])

    crossing.relayer.behave(filling=False)
    page = await browse(await proxy(TRACKED, changed(change)))
    await ask(page, "0.125")
    await send(page)
    assert await shown(page, "arrived", 18) == 0
    assert "Less has arrived" in await page.get_by_role("alert").inner_text()


async def test_a_state_that_cannot_be_had_is_told_and_asked_for_again(crossing, proxy, browse):
    answers = iter([404])

    def change(body, headers, status):
        found = next(answers, status)
        error = '{"error": {"code": "not_found", "message": "No bridge knows it.", "requestId": "r-1"}}'
        text = body if found == status else error.encode()
        return web.Response(body=text, headers=headers, status=found)

    page = await browse(await proxy(TRACKED, change))
    await ask(page, "0.0625")
    await send(page)
    assert "No bridge knows it." in await page.get_by_role("alert").inner_text()
    await page.get_by_role("button", name="Follow it again").click()
    await page.locator("[data-part=arrived]").wait_for()
    assert await page.get_by_role("alert").count() == 0


async def test_what_another_page_has_stored_is_not_shown(crossing, browse):
    async def prepare(page):
        await page.add_init_script("""localStorage.setItem("quoteway.transfers", '[{"txId": 1}, null, 7]')""")

    page = await browse(crossing.url, prepare)
    assert await page.locator("[data-transfer]").count() == 0


async def test_a_transfer_that_nobody_fills_is_followed_to_its_refund(crossing, browse):
    """The last one: it moves the clocks of both chains."""
    crossing.relayer.behave(filling=False, refunding=False)
    weth = await address_of(crossing.url, "WETH")
    page = await browse(crossing.url)
    await ask(page, "0.375")
    await send(page)
    await transfer(page, "fill_pending").wait_for()
    before = held(crossing.port, weth)
    for port in (crossing.port, crossing.far):
        with Rpc(port) as rpc:
            rpc("evm_increaseTime", hex(7_300))
            rpc("evm_mine")
    await transfer(page, "refund_pending").wait_for()
    crossing.relayer.behave(refunding=True)
    assert await shown(page, "back", 18) == 375 * 10**15
    assert held(crossing.port, weth) - before == 375 * 10**15
    text = await transfer(page, "refunded").inner_text()
    assert "wrapped ETH" in text
    assert ACCOUNT in text
    assert await serious(page) == []
