"""USD values in real answers of a real app: where a price source knows a price, and null elsewhere."""

import asyncio
import math

import pytest
from quoteway.models import NATIVE, Price, Token
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin, HttpRpc, ListedPrices, ListedTokens, RouterSwap

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.fixture
def priced(devnet, serve_app):
    """``await priced(source)`` gives an app that swaps over a Uniswap v2 router, with the source's prices.

    ``make_others`` makes further sources of the same arguments.
    """

    async def serve(make_source, make_others=lambda networks, usd: ()):
        chain = devnet.chains["devnet"]
        network = Network(
            "devnet",
            31337,
            "Devnet",
            wrapped_native=chain.contracts["WETH9"],
            head_poll_s=3600.0,
            endpoints=(Endpoint(devnet.urls["devnet"]),),
            contracts=chain.kinds,
        )
        rows = {symbol: chain.token(symbol) for symbol in ("USDC", "WETH", "PEPE")}
        tokens = [Token(31337, row.address, row.decimals, symbol) for symbol, row in rows.items()]
        usd = {rows["USDC"].address: 1.0, rows["WETH"].address: 3500.0}
        source = make_source({31337}, usd)
        router = chain.contracts["UniswapV2Router02"]
        providers = [
            HttpRpc,
            ListedTokens(tokens),
            source,
            *make_others({31337}, usd),
            lambda context: RouterSwap(context, 31337, router),
        ]
        api = await serve_app({"fake": FakePlugin(providers, networks=[network])})
        api.source, api.tokens = source, {symbol: row.address for symbol, row in rows.items()}
        return api

    return serve


async def quote(api, sold="USDC", bought="WETH", amount=10**9):
    body = {
        "network": "devnet",
        "fromToken": api.tokens[sold],
        "toToken": api.tokens[bought],
        "amount": str(amount),
        "address": WALLET,
    }
    return await api.post("/v2/swaps/quote", body)


async def test_a_quote_is_valued_and_a_warm_one_reads_its_price_and_the_head(priced, contract, monkeypatch):
    api = await priced(ListedPrices)
    body = contract.check("createSwapQuote", await quote(api))
    assert body["fromToken"]["priceUsd"] == 1.0
    assert body["fromAmountUsd"] == body["inputs"][0]["amountUsd"] == 1000.0
    assert body["toAmountUsd"] == int(body["toAmount"]) / 10**18 * 3500.0
    chain, priced_before, methods = api.gateway.runtime.chains[31337], len(api.source.asked), []
    forward = chain.forward

    async def recorded(method, params, timeout_s):
        methods.append(method)
        return await forward(method, params, timeout_s)

    monkeypatch.setattr(chain, "forward", recorded)
    await quote(api)
    # The head is read, the router is asked for its price again, and the swap is simulated. Sources are
    # not asked.
    assert set(methods) == {"eth_getBlockByNumber", "eth_call", "eth_simulateV1"}
    assert (methods.count("eth_call"), methods.count("eth_simulateV1")) == (1, 1)
    assert len(api.source.asked) == priced_before


async def test_a_token_without_price_is_null_and_its_quote_complete(priced, contract):
    api = await priced(ListedPrices)
    body = contract.check("createSwapQuote", await quote(api, bought="WETH", sold="PEPE", amount=10**24))
    assert body["fromAmountUsd"] is body["fromToken"]["priceUsd"] is None
    assert body["toAmountUsd"] is not None


async def test_a_source_that_hangs_delays_no_quote(priced):
    class Hanging(ListedPrices):
        async def prices(self, chain_id, addresses, block):
            await asyncio.Event().wait()

    api = await priced(Hanging)
    await quote(api)
    # The source never answers: that the quote comes at all says that it waits no longer than it may.
    body = (await quote(api)).body
    assert body["toAmountUsd"] is body["fromAmountUsd"] is None


async def test_an_action_is_the_same_bytes_whether_or_not_prices_came(priced):
    api = await priced(ListedPrices)
    token = (await quote(api)).body["quoteId"]
    first = await api.post(f"/v2/swaps/{token}/action")
    api.source.usd.clear()
    assert first.status == 201
    assert (await api.post(f"/v2/swaps/{token}/action")).raw == first.raw


async def test_token_lists_show_the_prices_that_are_known(priced, contract):
    api = await priced(ListedPrices)
    weth = api.tokens["WETH"]
    profile = contract.check("getToken", await api.get(f"/v2/tokens/31337:{weth}"))
    assert profile["priceUsd"] == 3500.0
    body = contract.check("listTokens", await api.get("/v2/tokens"))
    prices = {row["symbol"]: row["priceUsd"] for row in body["data"]}
    assert prices["WETH"] == 3500.0
    assert prices["PEPE"] is None
    rows = (await api.get("/v2/providers")).body["data"]
    assert next(row["capabilities"] for row in rows if row["id"] == "listed-prices") == ["prices"]
    assert NATIVE not in api.source.usd


class HangingPrices(ListedPrices):
    async def prices(self, chain_id, addresses, block):
        await asyncio.Event().wait()


class NotANumber(ListedPrices):
    async def prices(self, chain_id, addresses, block):
        return {address: Price(math.nan, self.id, block) for address in addresses}


class Trillion(ListedPrices):
    async def prices(self, chain_id, addresses, block):
        return {address: Price(1e12, self.id, block) for address in addresses}


@pytest.mark.parametrize("bad", [Trillion, NotANumber, HangingPrices])
async def test_one_bad_source_beside_two_honest_ones_changes_no_answer(priced, contract, bad):
    def others(networks, usd):
        return [
            ListedPrices(networks, usd, provider_id="second"),
            bad(networks, usd, provider_id="a-bad-one"),
        ]

    api = await priced(ListedPrices, others)
    async with asyncio.timeout(30):  # all three have been asked, or one hangs
        while (answer := await quote(api)).body["toAmountUsd"] is None:
            await asyncio.sleep(0)
    body = contract.check("createSwapQuote", answer)
    assert body["fromToken"]["priceUsd"] == 1.0
    assert body["fromAmountUsd"] == 1000.0
    assert body["toAmountUsd"] == int(body["toAmount"]) / 10**18 * 3500.0
    listed = contract.check("listTokens", await api.get("/v2/tokens"))
    known = {row["symbol"]: row["priceUsd"] for row in listed["data"]}
    assert (known["USDC"], known["WETH"]) == (1.0, 3500.0)
    rows = contract.check("listProviders", await api.get("/v2/providers"))["data"]
    outliers = {row["id"]: row["priceOutliers"] for row in rows}
    assert outliers["a-bad-one"] == (2 if bad is Trillion else 0)
    assert outliers["listed-prices"] == outliers["second"] == 0
    assert outliers["router"] is None
    metrics = (await api.get("/metrics")).raw.decode()
    assert ('outcome="outlier",provider="a-bad-one"' in metrics) == (bad is Trillion)
