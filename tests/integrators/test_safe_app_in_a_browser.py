"""The console in the frame of a page that speaks for a Safe, as Safe's own web page does.

The page around it speaks the protocol of Safe Apps; what it is asked for, Safe 1.4.1 executes on the devnet,
from the bytecode that its makers publish.
"""

import itertools
import json
import shutil
import urllib.request

import pytest
from aiohttp import web

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from quoteway.evm import erc20
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.anvil import free_port
from quoteway_devnet.chains import Devnet
from quoteway_devnet.demo.server import gateway_over
from smart_accounts import Chain, Safe

pytestmark = pytest.mark.services

WAIT_MS = 180_000
PAGE = """<!doctype html><title>Safe</title><iframe src="%s/site/" width="900" height="1600"></iframe>
<script>
  const frame = document.querySelector("iframe");
  addEventListener("message", async ({ source, data }) => {
    if (source !== frame.contentWindow || !data.method) return;
    let answer;
    try {
      const found = await safeAnswer(data.method, JSON.stringify(data.params ?? null));
      answer = { success: true, data: JSON.parse(found) };
    }
    catch (error) { answer = { success: false, error: String(error) }; }
    source.postMessage({ id: data.id, version: "9.1.0", ...answer }, "*");
  });
</script>"""


@pytest.fixture(scope="module")
def devnet():
    with Devnet.running() as devnet:
        yield devnet


@pytest.fixture(scope="module")
def around():
    """The port of the page around the frame."""
    return free_port()


@pytest.fixture(scope="module")
def gateway(devnet, around):
    origins = json.dumps([f"http://127.0.0.1:{around}"])
    settings = {
        "QUOTEWAY_LIMITS__ENABLED": "false",
        "QUOTEWAY_QUOTES__COMPETITION_TIMEOUT_S": "20",
        "QUOTEWAY_SERVER__SITE_FRAME_ANCESTORS": origins,
        "QUOTEWAY_SERVER__CORS_ORIGINS": origins,
    }
    with gateway_over(devnet, **settings) as url:
        yield url


def token(devnet, symbol):
    return next(each.address for each in devnet.chains["devnet"].tokens if each.symbol == symbol)


def balance(chain, contract, owner):
    return chain.call(contract, "balanceOf(address account) returns (uint256)", owner)


@pytest.fixture(scope="module")
def safe(devnet):
    chain = Chain(devnet)
    safe = Safe(chain)
    chain.send(token(devnet, "USDC"), erc20.TRANSFER.encode([safe.address, 3 * 10**9]), ACCOUNTS[0].address)
    chain.rpc("anvil_setBalance", safe.address, hex(5 * 10**18))
    return safe


class SafePage:
    """Answers for a Safe: it executes what it gets once ``signs`` is true; ``asked`` has the methods."""

    def __init__(self, safe, threshold=1):
        self.safe, self.threshold, self.signs = safe, threshold, threshold == 1
        self.read_only, self.asked, self.waiting, self.executed = False, [], {}, {}
        self._numbers = itertools.count(1)

    def answer(self, method, params):
        self.asked.append(method)
        return json.dumps(getattr(self, method)(json.loads(params)))

    def getSafeInfo(self, _):  # noqa: N802 - the protocol's names
        owners = [ACCOUNTS[8].address, ACCOUNTS[9].address][: self.threshold]
        return {
            "safeAddress": self.safe.address,
            "chainId": 31337,
            "threshold": self.threshold,
            "owners": owners,
            "isReadOnly": self.read_only,
        }

    def sendTransactions(self, params):  # noqa: N802
        made = f"0x{next(self._numbers):064x}"
        self.waiting[made] = [
            (each["to"], int(each["value"]), bytes.fromhex(each["data"][2:])) for each in params["txs"]
        ]
        return {"safeTxHash": made}

    def getTxBySafeTxHash(self, params):  # noqa: N802
        made = params["safeTxHash"]
        if self.signs and made in self.waiting:
            self.executed[made] = self.safe.execute(self.waiting.pop(made))["transactionHash"]
        if made in self.executed:
            return {"txStatus": "SUCCESS", "txHash": self.executed[made]}
        return {"txStatus": "AWAITING_CONFIRMATIONS", "txHash": None}


@pytest.fixture
async def opened(gateway, around):
    """``open(speaker)`` shows the console in a page that answers for a Safe; its frame."""
    pytest.importorskip("playwright", reason="needs the extra `services`")
    from playwright.async_api import async_playwright

    chromium = shutil.which("chromium")
    assert chromium is not None, "install chromium"

    async def show(request):
        return web.Response(text=PAGE % gateway, content_type="text/html")

    app = web.Application()
    app.router.add_get("/", show)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", around).start()
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

        async def start(speaker):
            page = await browser.new_page(viewport={"width": 960, "height": 1_700})
            page.set_default_timeout(WAIT_MS)
            await page.expose_function("safeAnswer", speaker.answer)
            await page.goto(f"http://127.0.0.1:{around}/")
            return page.frame_locator("iframe")

        yield start
        await browser.close()
    await runner.cleanup()


async def known(frame):
    """Waits until the Safe is the wallet of the page."""
    await frame.locator("header option", has_text="Safe 0x").wait_for(state="attached")


async def quoted(frame, pay, amount, receive):
    """Asks for a quote and shows what is signed."""
    for label, symbol in (("Pay", pay), ("Receive", receive)):
        await frame.get_by_label(label, exact=True).click()
        await frame.get_by_label("Search by symbol").fill(symbol)
        row = frame.locator("li button[data-token]").filter(has=frame.get_by_text(symbol, exact=True))
        await row.first.click()
    await frame.get_by_label("Amount").fill(amount)
    await frame.get_by_role("button", name="Get a quote").click()
    await frame.get_by_role("button", name="Show what I sign").click()
    await frame.locator("[data-part=send]").wait_for()


async def test_a_safe_approves_and_swaps_in_one_batch_to_the_unit(opened, devnet, safe):
    chain, usdc, weth = safe.chain, token(devnet, "USDC"), token(devnet, "WETH")
    before = [balance(chain, each, safe.address) for each in (usdc, weth)]
    frame = await opened(speaker := SafePage(safe))
    await known(frame)
    await quoted(frame, "USDC", "1000", "WETH")
    assert await frame.get_by_label("All transactions as one, all or nothing").is_checked()
    await frame.locator("[data-part=send]").click()
    told = await frame.locator("[data-part=received]").inner_text()
    after = [balance(chain, each, safe.address) for each in (usdc, weth)]
    assert before[0] - after[0] == 10**9
    got = after[1] - before[1]
    assert told.replace("\u202f", "").startswith(f"{got // 10**18}.{got % 10**18:018d}".rstrip("0"))
    assert speaker.asked.count("sendTransactions") == 1
    assert await frame.get_by_role("alert").count() == 0


async def test_other_owners_are_waited_for_and_one_transaction_needs_no_batch(opened, devnet, safe):
    chain, usdc = safe.chain, token(devnet, "USDC")
    before = balance(chain, usdc, safe.address)
    frame = await opened(speaker := SafePage(safe, threshold=2))
    await known(frame)
    await quoted(frame, "ETH", "1", "USDC")
    assert "2 owners of the Safe have to sign" in await frame.locator("main").inner_text()
    await frame.locator("[data-part=send]").click()
    await frame.get_by_text("Signing and sending…").wait_for()
    while not speaker.waiting:
        await frame.locator("main").inner_text()
    assert await frame.locator("[data-part=received]").count() == 0
    assert balance(chain, usdc, safe.address) == before
    speaker.signs = True
    await frame.locator("[data-part=received]").wait_for()
    assert balance(chain, usdc, safe.address) > before
    assert await frame.get_by_role("alert").count() == 0


async def test_a_safe_that_can_only_be_looked_at_sends_nothing(opened, safe):
    speaker = SafePage(safe)
    speaker.read_only = True
    frame = await opened(speaker)
    await known(frame)
    await quoted(frame, "ETH", "1", "USDC")
    await frame.locator("[data-part=send]").click()
    assert "not sent" in await frame.get_by_role("alert").inner_text()
    assert "sendTransactions" not in speaker.asked


def test_the_page_around_may_read_the_manifest_and_show_the_frame(gateway, around):
    asked = urllib.request.Request(
        f"{gateway}/site/manifest.json", headers={"Origin": f"http://127.0.0.1:{around}"}
    )
    with urllib.request.urlopen(asked) as answer:
        manifest = json.load(answer)
        assert answer.headers["Access-Control-Allow-Origin"] == f"http://127.0.0.1:{around}"
    assert manifest.keys() == {"name", "description", "iconPath"}
    with urllib.request.urlopen(f"{gateway}/site/{manifest['iconPath']}") as answer:
        assert answer.headers["Content-Type"] == "image/svg+xml"
    with urllib.request.urlopen(f"{gateway}/site/") as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert f"frame-ancestors http://127.0.0.1:{around};" in policy
