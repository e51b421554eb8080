"""A wallet that carries out several transactions as one (EIP-5792), in Chromium, and wallets that do not."""

import pytest

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from batching_wallet import BatchingWallet
from console_pages import address_of, ask_for_quote, held, serious, shown
from quoteway_devnet.accounts import ACCOUNTS

pytestmark = pytest.mark.services

BOX = "All transactions as one"


async def reviewed(browse, url, wallet, amount="321.5", **options):
    """The page with what is signed to sell USDC for DAI."""
    page = await browse(url, wallet.prepare, **options)
    await wallet.chosen(page)
    await ask_for_quote(page, amount, "DAI", pay="USDC")
    await page.get_by_role("button", name="Show what I sign").click()
    await page.locator("[data-part=send]").wait_for()
    return page


async def test_approvals_and_swap_go_out_as_one_transaction(gateway, browse):
    url, port = gateway
    usdc, dai = await address_of(url, "USDC"), await address_of(url, "DAI")
    wallet = BatchingWallet(port, ACCOUNTS[5])
    owner = ACCOUNTS[5].address
    page = await reviewed(browse, url, wallet)
    assert await page.get_by_label(BOX).is_checked()
    promised = await shown(page, "receive", 18)
    before = held(port, usdc, owner), held(port, dai, owner)
    assert await serious(page) == []
    await page.get_by_role("button", name="Send all as one").click()
    got = await shown(page, "received", 18)
    after = held(port, usdc, owner), held(port, dai, owner)
    assert before[0] - after[0] == 321_500_000
    assert after[1] - before[1] == got == promised
    assert await shown(page, "paid", 6) == 321_500_000
    assert await page.locator("[data-part=against]").inner_text() == "0 basis points"
    assert wallet.asked.count("wallet_sendCalls") == 1
    assert len(wallet.batches[0]["calls"]) == 3
    assert "eth_sendTransaction" not in wallet.asked


async def test_who_does_not_want_a_batch_sends_one_by_one(gateway, browse):
    url, port = gateway
    dai, owner = await address_of(url, "DAI"), ACCOUNTS[6].address
    wallet = BatchingWallet(port, ACCOUNTS[6])
    page = await reviewed(browse, url, wallet)
    await page.get_by_label(BOX).uncheck()
    before = held(port, dai, owner)
    await page.get_by_role("button", name="Approve and send").click()
    got = await shown(page, "received", 18)
    assert held(port, dai, owner) - before == got > 0
    assert "wallet_sendCalls" not in wallet.asked
    assert wallet.asked.count("eth_sendTransaction") == 3


async def test_a_wallet_that_does_not_take_the_batch_is_sent_single_transactions(gateway, browse):
    url, port = gateway
    dai, owner = await address_of(url, "DAI"), ACCOUNTS[7].address
    wallet = BatchingWallet(port, ACCOUNTS[7], refuses=5760)
    page = await reviewed(browse, url, wallet)
    before = held(port, dai, owner)
    await page.locator("[data-part=send]").click()
    got = await shown(page, "received", 18)
    assert held(port, dai, owner) - before == got > 0
    assert wallet.asked.count("wallet_sendCalls") == 1
    assert wallet.asked.count("eth_sendTransaction") == 3


async def test_a_person_that_refuses_the_batch_is_asked_nothing_else(gateway, browse):
    url, port = gateway
    wallet = BatchingWallet(port, ACCOUNTS[8], refuses=4001)
    page = await reviewed(browse, url, wallet)
    await page.locator("[data-part=send]").click()
    assert "was not sent" in await page.get_by_role("alert").inner_text()
    assert wallet.asked.count("wallet_sendCalls") == 1
    assert "eth_sendTransaction" not in wallet.asked


@pytest.mark.parametrize("status", ["ready", "unsupported"])
async def test_an_account_is_not_upgraded_unasked(gateway, browse, status):
    url, port = gateway
    wallet = BatchingWallet(port, ACCOUNTS[8], status=status)
    page = await reviewed(browse, url, wallet, viewport={"width": 360, "height": 740})
    assert await page.get_by_role("button", name="Approve and send").is_enabled()
    if status == "unsupported":
        assert await page.get_by_label(BOX).count() == 0
        return
    assert not await page.get_by_label(BOX).is_checked()
    assert "upgrade the account" in await page.locator("label.consent").inner_text()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.get_by_label(BOX).check()
    await page.get_by_role("button", name="Send all as one").wait_for()
    assert "wallet_sendCalls" not in wallet.asked
