"""What the tests of the console's pages do in the browser, and read from the chain."""

import asyncio
import json
from pathlib import Path

import aiohttp
from aiohttp import web
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.rpc import Rpc

AXE = Path(__file__).parents[1] / "web" / "node_modules" / "axe-core" / "axe.min.js"
ACCOUNT = ACCOUNTS[0].address
THIEF = "0x00000000000000000000000000000000000bad00"
HOSTILE = "<img src=x onerror=alert(1)>"

EXTENSION = """
const info = {uuid: "5f1d8c0b", name: "Wallet <b>of</b> a test", icon: "", rdns: "example.wallet"};
const request = ({method, params}) => window.ask_wallet(method, params ?? []);
const announce = () => window.dispatchEvent(
  new CustomEvent("eip6963:announceProvider", {detail: Object.freeze({info, provider: {request}})}));
window.addEventListener("eip6963:requestProvider", announce);
"""


def changed(change):
    """Answers with what ``change`` makes of the body."""

    def answer(body, headers, status):
        found = json.loads(body)
        change(found)
        return web.json_response(found, headers={"X-Request-ID": headers["X-Request-ID"]}, status=status)

    return answer


async def choose(page, label, query):
    await page.get_by_label(label).click()
    await page.get_by_label("Search by symbol").fill(query)
    await page.locator("li button[data-token]", has=page.get_by_text(query, exact=True)).first.click()


async def serious(page):
    """Rules of axe that the page breaks seriously."""
    # Evaluated through the debugger: the page's own policy allows no script but its own.
    await page.evaluate(await asyncio.to_thread(AXE.read_text))
    found = await page.evaluate("axe.run()")
    return [each["id"] for each in found["violations"] if each["impact"] in ("serious", "critical")]


def held(port, token, account=ACCOUNT):
    data = "0x70a08231" + account[2:].lower().rjust(64, "0")
    with Rpc(port) as rpc:
        return int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16)


async def address_of(url, symbol):
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/v2/tokens?network=devnet&query={symbol}") as answer,
    ):
        rows = (await answer.json())["data"]
    row = next(row for row in rows if row["symbol"] == symbol)
    return next(each["address"] for each in row["contracts"] if each["chainId"] == 31337)
