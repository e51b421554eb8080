"""The example of ``ListCatalog``: a JSON list with prices, from a server that is honest, hostile or gone."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from quoteway import Capability, UpstreamError
from quoteway.testing.conformance import CatalogConformance
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.networks import devnet_networks

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))


def coin(row, **changes):
    made = {"chain": 31337, "contract": row.address, "ticker": row.symbol, "name": f"A {row.symbol}"}
    return made | {"digits": row.decimals, "usd": float(row.price_usd)} | changes


@pytest.fixture
def listed(devnet):
    manifest = devnet.chains["devnet"]
    return [coin(manifest.token(symbol)) for symbol in ("USDC", "DAI", "UNI")]


@pytest.fixture
async def upstream(listed):
    """Serves ``document``; None answers 503."""

    class Upstream:
        document = {"coins": listed}

    async def answer(request):
        if Upstream.document is None:
            return web.Response(status=503)
        return web.Response(body=json.dumps(Upstream.document))

    app = web.Application()
    app.router.add_get("/coins.json", answer)
    async with TestServer(app) as server:
        Upstream.url = str(server.make_url("/coins.json"))
        yield Upstream


@pytest.fixture
def make(devnet, make_gateway, upstream):
    async def gateway():
        import coin_list

        chains = FakePlugin([HttpRpc], networks=devnet_networks(devnet.ports))
        sections = {"coin-list": {"url": upstream.url}}
        made = await make_gateway({"chains": chains, "coin-list": coin_list}, plugin_sections=sections)
        catalog = made.registry.get(Capability.TOKENS, "coin-list")
        if upstream.document is not None:
            async with asyncio.timeout(20):
                while catalog.revision() == "0":
                    await asyncio.sleep(0.005)
        return made

    return gateway


class TestCoinList(CatalogConformance):
    provider_id = "coin-list"

    @pytest.fixture
    async def gateway(self, make):
        return await make()

    @pytest.fixture
    def unlisted(self, devnet):
        return 31337, devnet.chains["devnet"].token("LINK").address


async def test_tokens_and_prices_are_those_of_the_list(make, listed):
    gateway = await make()
    catalog = gateway.registry.get(Capability.TOKENS, "coin-list")
    profiles = await catalog.tokens(None)
    assert [(p.symbol, p.name, p.price_usd) for p in profiles] == [
        (row["ticker"], row["name"], row["usd"]) for row in listed
    ]
    addresses = [row["contract"] for row in listed]
    chain = gateway.runtime.chain(31337)
    prices = gateway.registry.get(Capability.PRICES, "coin-list")
    found = await prices.prices(31337, [*addresses, "0x" + "9" * 40], await chain.head())
    assert {address: price.usd for address, price in found.items()} == {
        row["contract"]: row["usd"] for row in listed
    }
    assert {price.source for price in found.values()} == {"coin-list"}
    assert await prices.prices(31338, addresses, await chain.head()) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"contract": "0x1234"},
        {"contract": 7},
        {"contract": "0x" + "0" * 40},
        {"contract": "0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266"},
        {"chain": "31337"},
        {"chain": True},
        {"digits": -1},
        {"digits": 256},
        {"digits": 6.0},
        {"ticker": ""},
        {"ticker": "USD\u202eC"},
        {"ticker": None},
        {"name": "a" * 101},
        {"name": ["a"]},
    ],
)
async def test_a_row_that_cannot_be_read_costs_itself(make, upstream, listed, change, caplog):
    upstream.document = {"coins": [listed[0] | change, *listed[1:], "no row", None, []]}
    catalog = (await make()).registry.get(Capability.TOKENS, "coin-list")
    assert [p.symbol for p in await catalog.tokens(None)] == ["DAI", "UNI"]
    assert "4 rows of the list cannot be read" in caplog.text


@pytest.mark.parametrize("usd", [None, "1", -1, 0, True, []])
async def test_a_price_that_is_none_is_not_known(make, upstream, listed, usd):
    upstream.document = {"coins": [listed[0] | {"usd": usd}, *listed[1:]]}
    catalog = (await make()).registry.get(Capability.TOKENS, "coin-list")
    (usdc, *others) = await catalog.tokens(31337)
    assert usdc.price_usd is None
    assert all(each.price_usd for each in others)


async def test_other_networks_and_repeated_tokens_are_left_out_in_silence(make, upstream, listed, caplog):
    again = listed[0] | {"ticker": "FAKE", "contract": listed[0]["contract"].lower()}
    upstream.document = {"coins": [*listed, again, listed[0] | {"chain": 999}]}
    catalog = (await make()).registry.get(Capability.TOKENS, "coin-list")
    assert [p.symbol for p in await catalog.tokens(None)] == ["USDC", "DAI", "UNI"]
    assert "rows of the list" not in caplog.text


async def test_a_server_that_is_gone_gives_no_tokens_and_no_prices(make, upstream, listed, caplog):
    upstream.document = None
    gateway = await make()
    assert list(await gateway.registry.get(Capability.TOKENS, "coin-list").tokens(None)) == []
    prices = gateway.registry.get(Capability.PRICES, "coin-list")
    with pytest.raises(UpstreamError, match="status 503"):
        await prices.prices(31337, [listed[0]["contract"]], await gateway.runtime.chain(31337).head())
    assert upstream.url not in caplog.text
