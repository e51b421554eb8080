"""The example of a plugin with an HTTP upstream: a server that is honest, slow, hostile or gone."""

import asyncio
import json
import sys
import time
import zlib
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from quoteway import Block, Capability, Network, Reason, UpstreamError
from quoteway.deadlines import ends_at_s
from quoteway.testing.fakes import FakePlugin, MemoryRpc

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples" / "upstream"))

KEY = "key-of-rates-0123456789abcdef"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
BLOCK = Block(1, "0x" + "11" * 32, 0)


class Upstream:
    """Answers with ``answers``, one after the other; the last one goes on."""

    def __init__(self):
        self.answers, self.asked, self.delay_s = [{"body": json.dumps({USDC: 1.0})}], [], 0.0

    async def answer(self, request):
        self.asked.append(request)
        await asyncio.sleep(self.delay_s)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return web.Response(**answer)


@pytest.fixture
async def upstream():
    made = Upstream()
    app = web.Application()
    app.router.add_get("/v1/prices", made.answer)
    app.router.add_get("/elsewhere", made.answer)
    async with TestServer(app) as server:
        made.url = str(server.make_url("/v1"))
        yield made


@pytest.fixture
def prices(upstream, make_gateway, monkeypatch):
    """``await prices(url=..., left_s=...)``: the prices of the example, asked as the core does."""
    import rates

    monkeypatch.setenv("RATES_KEY", KEY)

    async def ask(url=None, left_s=2.0):
        if not hasattr(ask, "source"):
            section = {"url": url or upstream.url, "api_key": {"env": "RATES_KEY"}}
            chain = FakePlugin([MemoryRpc({1})], networks=[Network("one", 1, "One")])
            gateway = await make_gateway({"rates": rates, "chain": chain}, plugin_sections={"rates": section})
            ask.source = gateway.registry.get(Capability.PRICES, "rates")
        ends_at_s.set(asyncio.get_running_loop().time() + left_s)
        found = await ask.source.prices(1, [USDC, WETH], BLOCK)
        return {address: price.usd for address, price in found.items()}

    return ask


async def test_it_asks_once_with_the_key_in_a_header(prices, upstream):
    assert await prices() == {USDC: 1.0}
    (asked,) = upstream.asked
    assert asked.headers["x-api-key"] == KEY
    assert asked.query == {"chain": "1", "tokens": f"{USDC},{WETH}"}


@pytest.mark.parametrize(
    "told", [0, -1.0, True, "1.0", None, [1], {"usd": 1}, 10**400, 1e16], ids=lambda told: str(told)[:8]
)
async def test_a_price_that_is_none_is_left_out(prices, upstream, told):
    body = json.dumps({USDC: told}) if told != 10**400 else f'{{"{USDC}": {"9" * 300}}}'
    upstream.answers = [{"body": body}]
    assert await prices() == {}


BOMB = {"body": zlib.compress(b" " * 20_000_000), "headers": {"Content-Encoding": "deflate"}}


@pytest.mark.parametrize(
    ("answer", "says", "retryable", "requests"),
    [
        ({"status": 503}, "status 503", True, 2),
        ({"status": 401}, "status 401", False, 1),
        ({"status": 302, "headers": {"Location": "/elsewhere"}}, "status 302", False, 1),
        (BOMB, "more than 1048576 bytes", True, 1),
        ({"body": "<html>"}, "no JSON", True, 1),
        ({"body": "[" * 100_000}, "no JSON", True, 1),
        ({"body": "[]"}, "another document", True, 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_cannot_be_used_is_an_error_of_ours(
    prices, upstream, answer, says, retryable, requests, caplog
):
    upstream.answers = [answer]
    with pytest.raises(UpstreamError, match=says) as raised:
        await prices()
    assert (raised.value.reason, raised.value.retryable) == (Reason.PROVIDER_ERROR, retryable)
    assert len(upstream.asked) == requests
    for shown in (raised.value.message, caplog.text):
        assert KEY not in shown
        assert upstream.url not in shown


async def test_one_failure_is_tried_again(prices, upstream):
    upstream.answers = [{"status": 500}, *upstream.answers]
    assert await prices() == {USDC: 1.0}
    assert len(upstream.asked) == 2


async def test_a_rate_limit_is_kept(prices, upstream):
    upstream.answers = [{"status": 429, "headers": {"Retry-After": "60"}}, *upstream.answers]
    for _ in range(3):
        with pytest.raises(UpstreamError, match="status 429"):
            await prices()
    assert len(upstream.asked) == 1


async def test_it_gives_up_before_its_caller_does(prices, upstream):
    await prices()
    upstream.delay_s = 5.0
    began = time.monotonic()
    with pytest.raises(UpstreamError) as raised:
        await prices(left_s=0.3)
    assert raised.value.reason is Reason.PROVIDER_TIMEOUT
    assert time.monotonic() - began < 3.0


async def test_a_server_that_is_gone_is_told_without_its_address(prices, caplog):
    with pytest.raises(UpstreamError, match="cannot be reached") as raised:
        await prices(url="http://127.0.0.1:9")
    assert "127.0.0.1:9" not in raised.value.message
    assert "127.0.0.1:9" not in caplog.text


async def test_the_session_itself_bounds_nothing_of_an_answer(upstream, make_gateway):
    """What the page says of ``context.http``: a plugin has to count, and to refuse redirects."""
    gateway = await make_gateway({"chain": FakePlugin([MemoryRpc({1})], networks=[Network("one", 1, "One")])})
    session = gateway.runtime.session
    assert session.timeout.total == 30
    upstream.answers = [{"status": 302, "headers": {"Location": "/elsewhere"}}, BOMB]
    async with session.get(f"{upstream.url}/prices") as response:
        assert len(await response.read()) == 20_000_000
    assert [each.path for each in upstream.asked] == ["/v1/prices", "/elsewhere"]
