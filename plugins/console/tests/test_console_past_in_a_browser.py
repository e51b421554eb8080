"""The past of an account in Chromium: its value over time, gains of its positions, and its transactions."""

import asyncio

import aiohttp
import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import ACCOUNT, HOSTILE, address_of, changed, held, serious
from quoteway.evm import erc20
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.rpc import Rpc

pytestmark = pytest.mark.services

HISTORY = "/v2/portfolio/history"
PNL = "/v2/portfolio/pnl"
ACTIVITY = "/v2/portfolio/activity"
HOUR = 3_600


@pytest.fixture(autouse=True)
async def index(gateway):
    """Waits until the index of a gateway that has just started answers."""
    path = f"{gateway[0]}{HISTORY}?wallet={ACCOUNT}&network=devnet"
    async with asyncio.timeout(180), aiohttp.ClientSession() as session:
        while (await session.get(path)).status != 200:
            await asyncio.sleep(0.2)


async def open_view(page, view, account=None):
    await page.get_by_role("link", name="Portfolio").click()
    if account is None:
        await page.get_by_role("button", name="Show the account of my wallet").click()
    else:
        await page.get_by_label("Account", exact=True).fill(account)
        await page.get_by_role("button", name="Show this account").click()
    await page.get_by_role("navigation", name="Views of the account").get_by_role("link", name=view).click()


def points(*values):
    """Points of a history, an hour apart from 1,800,000,000 on. A text is a token without a price."""
    return [
        {
            "timestamp": 1_800_000_000 + at * HOUR,
            "valueUsd": None if isinstance(value, str) else value,
            "unpriced": [value] if isinstance(value, str) else [],
        }
        for at, value in enumerate(values)
    ]


def with_points(*values):
    def change(found):
        found["points"], found["tokens"] = points(*values), []
        found["partial"] = [
            {"chainId": 31337, "token": "0x" + "0" * 40, "reason": "not_indexed"},
            {"chainId": 31337, "token": None, "reason": "positions_not_counted"},
        ]

    return changed(change)


@pytest.mark.parametrize("options", [{}, {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}])
async def test_a_value_over_time_shows_its_gaps_and_has_a_table(proxy, browse, options):
    token = "0x" + "12" * 20
    values = (None, 100.5, 250.0, token, None, 0.0, None, 1_234.5)
    page = await browse(await proxy(HISTORY, with_points(*values)), **options)
    await open_view(page, "Value over time")
    picture = page.get_by_role("img", name="Value over time.")
    label = await picture.get_attribute("aria-label")
    for part in (
        "From $100.50 at 2027-01-15 09:00 UTC to $1,234.50 at 2027-01-15 15:00 UTC",
        "lowest $0.00, highest $1,234.50",
        "4 of 8 points are not known",
    ):
        assert part in label
    assert await page.locator("[data-part=gap]").count() == 3
    lines = page.locator("[data-part=line]")
    assert await lines.count() == 3
    # The lowest is at the bottom, the highest at the top; points of equal distance are so in the picture.
    runs = [(await lines.nth(at).get_attribute("points")).split() for at in range(3)]
    assert [len(run) for run in runs] == [2, 2, 2], "a single point is a line to itself"
    assert runs[1][0] == runs[1][1] == "714.29,300.00"
    assert runs[2][0] == "1000.00,0.00"
    assert runs[0][0] == f"142.86,{300 - 100.5 / 1_234.5 * 300:.2f}"
    await page.get_by_text("As a table").click()
    rows = page.get_by_role("region", name="Value over time as a table").locator("tbody tr")
    await rows.nth(7).wait_for()
    told = [await rows.nth(at).locator("td").all_inner_texts() for at in range(8)]
    assert told[0] == ["not known", "none"]
    assert told[2] == ["$250.00", "none"]
    assert told[3] == ["not known", "1 token"]
    missing = await page.locator("[data-part=missing]").inner_text()
    assert "the coin of" in missing
    assert "it is not in the index" in missing
    assert "positions in pools and vaults do not count" in missing
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []


async def test_the_chart_takes_its_place_before_it_is_there_and_nothing_moves(proxy, browse):
    goes_on, answer = asyncio.Event(), with_points(1.0, 2.0, 3.0)

    async def change(body, headers, status):
        await goes_on.wait()
        return answer(body, headers, status)

    page = await browse(await proxy(HISTORY, change))
    await open_view(page, "Value over time")
    await page.get_by_text("Reading the value over time…").wait_for()
    box = page.locator(".chart-place")
    before = await box.bounding_box()
    goes_on.set()
    await page.locator("[data-part=line]").wait_for()
    after = await box.bounding_box()
    assert (after["y"], after["height"]) == (before["y"], before["height"])


@pytest.mark.parametrize("values", [(), (None, None)])
async def test_a_history_without_values_says_so(proxy, browse, values):
    page = await browse(await proxy(HISTORY, with_points(*values)))
    await open_view(page, "Value over time")
    await page.get_by_text("No value is known in this time.").wait_for()
    assert await page.get_by_role("img").count() == 0


async def test_the_history_of_a_real_index_is_shown(gateway, browse):
    page = await browse(gateway[0])
    await open_view(page, "Value over time")
    view = page.get_by_role("region", name="Value over time", exact=True)
    await view.get_by_label("Time").select_option("1h")
    drawn = page.get_by_role("img", name="Value over time.")
    await drawn.or_(page.get_by_text("No value is known in this time.")).first.wait_for()
    assert await page.get_by_role("alert").count() == 0
    assert await serious(page) == []


def off(body, headers, status):
    error = {
        "code": "provider_unavailable",
        "message": "This deployment keeps no index of this network.",
        "requestId": headers["X-Request-ID"],
        "details": {"reason": "capability_disabled"},
    }
    return web.json_response({"error": error}, headers={"X-Request-ID": headers["X-Request-ID"]}, status=503)


@pytest.mark.parametrize(
    ("path", "view", "words"),
    [
        (HISTORY, "Value over time", "so the value over time is not known"),
        (PNL, "Gains", "so gains and losses are not known"),
        (ACTIVITY, "Activity", "so its transactions are not known"),
    ],
)
async def test_without_an_index_the_views_say_so(proxy, browse, path, view, words):
    page = await browse(await proxy(path, off))
    await open_view(page, view)
    await page.get_by_text(words).wait_for()
    assert await page.get_by_role("alert").count() == 0
    assert await serious(page) == []


@pytest.mark.parametrize(
    ("path", "view"), [(HISTORY, "Value over time"), (PNL, "Gains"), (ACTIVITY, "Activity")]
)
async def test_a_view_that_fails_can_be_asked_again(proxy, browse, path, view):
    answers = iter([502, 502])

    def change(body, headers, status):
        code = next(answers, status)
        return web.Response(body=body if code == status else b"<h1>no</h1>", headers=headers, status=code)

    page = await browse(await proxy(path, change))
    await open_view(page, view)
    region = page.get_by_role("region", name=view, exact=True)
    await region.get_by_role("alert").get_by_text("HTTP 502").wait_for()
    await region.get_by_role("button", name="Read again").click()
    await region.get_by_role("alert").wait_for(state="detached")


async def test_a_deposit_has_gains_and_leads_back_to_the_vault(gateway, browse):
    url, port = gateway
    page = await browse(url)
    await page.get_by_role("link", name="Vaults").click()
    button = page.locator("button[data-vault]", has_text="Steady USDC").first
    await button.click()
    vault = await button.get_attribute("data-vault")
    form = page.get_by_role("region", name="Deposit or redeem")
    await form.get_by_label("Amount of USDC").fill("321")
    await form.get_by_role("button", name="Get a quote").click()
    await page.get_by_role("button", name="Show what I sign").click()
    await page.locator("[data-part=send]").click()
    await page.locator("[data-part=received]").wait_for()

    await open_view(page, "Gains")
    row = page.get_by_role("region", name="Gains and losses of the positions").locator("tbody tr").first
    await row.wait_for()
    await row.get_by_text("Amounts").click()
    text = await row.inner_text()
    assert "Vault 31337:" in text
    assert "Deposited:" in text
    assert await serious(page) == []

    await page.get_by_role("link", name="Holdings").click()
    link = page.get_by_role("link", name="Redeem from this vault")
    await link.click()
    action = form.get_by_label("Action")
    await form.wait_for()
    assert await page.locator("button[data-vault][aria-pressed=true]").get_attribute("data-vault") == vault
    await action.select_option("redeem")
    await form.get_by_label("All shares").check()
    await form.get_by_role("button", name="Get a quote").click()
    await page.get_by_role("button", name="Show what I sign").click()
    await page.locator("[data-part=send]").click()
    await page.locator("[data-part=received]").wait_for()
    assert held(port, vault.partition(":")[2]) == 0


async def test_a_link_of_a_position_opens_its_vault_on_its_network_to_redeem(gateway, browse):
    url, _ = gateway
    page = await browse(url)
    await page.get_by_role("link", name="Vaults").click()
    button = page.locator("button[data-vault]", has_text="Steady USDC").first
    vault = await button.get_attribute("data-vault")
    # A link is opened as a new page too, and names the network.
    await page.goto(f"{url}/#vaults/{vault.replace(':', '%3A')}/redeem")
    await page.reload()
    form = page.get_by_role("region", name="Deposit or redeem")
    await form.wait_for()
    assert await form.get_by_label("Action").input_value() == "redeem"
    await page.goto(f"{url}/#vaults/31337%3A0x{'0' * 39}1/redeem")
    await page.get_by_text("The gateway does not list the vault 31337:0x").wait_for()
    await page.goto(f"{url}/#vaults/%E0%A4%A")
    await page.get_by_label("Amount", exact=True).wait_for()


async def test_unknown_members_of_gains_are_told_in_words(proxy, browse):
    def change(found):
        found["data"] = [
            {
                "positionId": "77" + HOSTILE,
                "provider": "uni\u202eswap",
                "poolId": "31337:0x" + "56" * 20,
                "vaultId": None,
                "network": "devnet",
                "chainId": 31337,
                "openedAt": None,
                "deposited": None,
                "withdrawn": [],
                "collectedFees": None,
                "uncollectedFees": [],
                "costUsd": None,
                "valueUsd": 12.5,
                "realisedUsd": -0.001,
                "unrealisedUsd": -1_000.5,
                "feesUsd": 0.001,
                "impermanentLossUsd": None,
                "reasons": ["not_indexed", "price_unknown", "some_new_reason", "constructor"],
            }
        ]
        found["partial"] = [{"provider": "aave", "reason": "index_unavailable"}]

    page = await browse(
        await proxy(PNL, changed(change)), viewport={"width": 360, "height": 740}, color_scheme="dark"
    )
    await open_view(page, "Gains")
    row = page.get_by_role("region", name="Gains and losses of the positions").locator("tbody tr").first
    await row.wait_for()
    cells = await row.locator("td").all_inner_texts()
    assert cells == ["not known", "$12.50", "-$1,000.50", "above -$0.01", "below $0.01", "not known"]
    reasons = await row.locator("[data-part=reasons]").inner_text()
    for part in (
        "the index does not have its events",
        "a token has no known price",
        "some new reason",
        "constructor",
    ):
        assert part in reasons
    assert "\u202e" not in await row.inner_text()
    assert "no index has its events" in await page.locator("[data-part=missing]").inner_text()
    await row.get_by_text("Amounts").click()
    assert "Deposited: not known" in await row.inner_text()
    assert await page.locator("img").count() == 0
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []


async def test_the_activity_has_a_transfer_to_the_base_unit(gateway, browse):
    url, port = gateway
    usdc, receiver = await address_of(url, "USDC"), ACCOUNTS[7].address
    with Rpc(port) as rpc:
        data = "0x" + erc20.TRANSFER.encode([receiver, 1_234_567]).hex()
        sent = rpc("eth_sendTransaction", {"from": ACCOUNT, "to": usdc, "data": data, "gas": hex(200_000)})
        while rpc("eth_getTransactionReceipt", sent) is None:
            pass
    page = await browse(url)
    await open_view(page, "Activity")
    row = page.locator(f'li[data-hash="{sent}"]')
    # The index follows the chain: what it does not have yet is asked for again.
    async with asyncio.timeout(120):
        while not await row.count():
            await page.get_by_role("region", name="Activity").get_by_role("button", name="Read again").click()
            await asyncio.sleep(0.5)
    text = await row.inner_text()
    assert "sent 1.234567 USDC to" in text
    assert "fee 0." in text
    assert await serious(page) == []


async def test_activity_goes_on_to_older_transactions_and_marks_hearsay(proxy, browse):
    cursors = []

    def entry(number, **members):
        token = {"symbol": "US\u202eDC", "name": HOSTILE, "decimals": 6, "isNative": False}
        place = {"address": "0x" + "34" * 20, "chainId": 31337, "network": "devnet"}
        movement = {
            "tokenAddress": "0x" + "34" * 20,
            "token": {**token, **place, "logoUri": None, "priceUsd": None},
            "listed": False,
            "direction": "out",
            "amount": "1",
            "amountFormatted": "0.000001",
            "counterparty": ACCOUNTS[2].address,
            "hearsay": True,
        }
        return {
            "hash": "0x" + f"{number:064x}",
            "block": number,
            "timestamp": 1_800_000_000,
            "status": "reverted",
            "from": ACCOUNT,
            "to": None,
            "call": None,
            "description": HOSTILE,
            "transfers": [movement],
            "transfersLeftOut": 3,
            "events": [],
            "feeWei": None,
            **members,
        }

    def change(found):
        cursors.append(len(cursors))
        found["data"] = [entry(100 - len(cursors))]
        found["nextCursor"] = "more" if len(cursors) == 1 else None
        found["coverage"] = {"fromBlock": 17, "toBlock": 100, "complete": False}
        found["partial"] = [{"hash": "0x" + "ab" * 32, "reason": "transaction_not_found"}]

    async def answer(body, headers, status):
        if status != 200:
            # The cursor of this test is none of the gateway's: the first page is its shape.
            body = first[0]
        first.append(body)
        return changed(change)(body, headers, 200)

    first = []
    page = await browse(
        await proxy(ACTIVITY, answer), viewport={"width": 360, "height": 740}, color_scheme="dark"
    )
    await open_view(page, "Activity")
    await page.get_by_role("button", name="Show older transactions").click()
    await page.locator("li[data-hash]").nth(1).wait_for()
    text = await page.get_by_role("region", name="Activity").inner_text()
    for part in ("it reverted", "the token says so", "and 3 more", "begins at block 17", "could not be read"):
        assert part in text
    assert "\u202e" not in text
    assert await page.get_by_role("button", name="Show older transactions").count() == 0
    assert await page.locator("img").count() == 0
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await serious(page) == []
