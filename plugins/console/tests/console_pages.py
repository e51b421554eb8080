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
const request = async ({method, params}) => {
  const found = await window.ask_wallet(method, params ?? []);
  if (found?.refused) throw Object.assign(new Error(found.refused), {code: found.code});
  return found;
};
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


async def address_of(url, symbol, network="devnet", chain_id=31337):
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/v2/tokens?network={network}&query={symbol}") as answer,
    ):
        rows = (await answer.json())["data"]
    row = next(row for row in rows if row["symbol"] == symbol)
    return next(each["address"] for each in row["contracts"] if each["chainId"] == chain_id)


def base_units(text, decimals):
    """Base units of a shown amount, which has all its digits."""
    whole, _, fraction = text.split(" ")[0].replace("\u202f", "").partition(".")
    assert len(fraction) <= decimals
    return int(whole + fraction.ljust(decimals, "0"))


async def shown(page, part, decimals):
    """Base units of the amount in a part of the page, once it is there."""
    return base_units(await page.locator(f"[data-part={part}]").inner_text(), decimals)


async def ask_for_quote(page, amount, to, pay=None):
    await page.get_by_label("Amount").fill(amount)
    if pay:
        await choose(page, "Pay", pay)
    await choose(page, "Receive", to)
    await page.get_by_role("button", name="Get a quote").click()


async def open_settings(page):
    await page.get_by_text("Settings: slippage").click()


class Extension:
    """A wallet of the browser for an account whose key the node has. A subclass answers further methods."""

    def __init__(self, port, account):
        self.port, self.account, self.asked = port, account, []

    def answer(self, method, params):
        if method == "eth_requestAccounts":
            return [self.account.address]
        if method.startswith("wallet_"):
            return refused(-32601, "The wallet does not know the method.")
        with Rpc(self.port) as rpc:
            return rpc(method, *params)

    async def prepare(self, page):
        """For ``browse``: the page finds the wallet."""

        def ask(method, params):
            self.asked.append(method)
            return self.answer(method, params)

        await page.expose_function("ask_wallet", ask)
        await page.add_init_script(EXTENSION)

    async def chosen(self, page):
        await page.get_by_label("Wallet").select_option("Wallet <b>of</b> a test")


def refused(code, message):
    """An error of a wallet, as an answer of ``Extension``."""
    return {"refused": message, "code": code}
