"""What a wallet's tokens are worth: what the total counts, what a sale pays, and sources that lie."""

import asyncio
import math
from dataclasses import replace

import pytest
from portfolio_gateway import WALLET
from quoteway.models import NATIVE, Token
from quoteway.testing.fakes import FakePlugin, ListedPrices

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")


class Paying(ListedPrices):
    """A price source that tells the depth of its prices, and what a sale pays."""

    depth, confidence, pays, gate, anchored, moved = None, 0.9, {}, None, False, None

    def __init__(self, usd, provider_id="paying", **told):
        super().__init__({31337}, usd, provider_id=provider_id)
        vars(self).update(told)

    async def prices(self, chain_id, addresses, block):
        found = await super().prices(chain_id, addresses, block)
        told = {"depth_usd": self.depth, "confidence": self.confidence}
        told |= {"anchored": self.anchored, "moved_1h_pct": self.moved}
        return {address: replace(price, **told) for address, price in found.items()}

    async def payouts(self, chain_id, amounts, block):
        if self.gate is not None:
            await self.gate.wait()
        return {
            address: usd(amounts.get(address)) if callable(usd) else usd for address, usd in self.pays.items()
        }


@pytest.fixture
def tokens(portfolio):
    return {symbol: portfolio.token(symbol).address for symbol in ("WETH", "USDC", "USDT", "DAI")}


async def asked(api, *tokens, more="", until=lambda row: row["token"]["priceUsd"]):
    names = ",".join(tokens)
    path = f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&includeNative=false&tokens={names}{more}"
    async with asyncio.timeout(20):
        while True:
            answer = await api.get(path)
            assert answer.status == 200, answer.body
            if all(until(row) for row in answer.body["data"]):
                return answer.body, {row["token"]["address"]: row for row in answer.body["data"]}
            await asyncio.sleep(0.05)


async def test_what_no_catalog_lists_is_worth_what_its_sale_pays_and_stays_outside_the_total(
    serve_app, portfolio, tokens, contract
):
    usdc, dai = tokens["USDC"], tokens["DAI"]
    source = Paying({usdc: 1.0, dai: 10**6}, depth=5_000.0, pays={usdc: 7.0, dai: 1_234.5}, anchored=True)
    api = await portfolio.serve(serve_app, source, listed=("USDC",))
    portfolio.prices.networks = frozenset()
    body, rows = await asked(api, usdc, dai)
    held = int(rows[usdc]["amount"]) / 10**6
    assert (rows[usdc]["valueUsd"], rows[usdc]["realisableUsd"], rows[usdc]["counted"]) == (held, 7.0, True)
    assert (rows[dai]["valueUsd"], rows[dai]["realisableUsd"], rows[dai]["counted"]) == (
        1_234.5,
        1_234.5,
        False,
    )
    assert (rows[dai]["confidence"], rows[dai]["liquidityUsd"], rows[dai]["sources"]) == (
        0.9,
        5_000.0,
        ["paying"],
    )
    assert (body["totalUsd"], body["totalComplete"]) == (held, True)
    whole, rows = await asked(api, usdc, dai, more="&includeUnlisted=true")
    assert rows[dai]["counted"] is True
    assert (whole["totalUsd"], whole["totalComplete"]) == (held + 1_234.5, True)


async def test_a_listed_token_is_worth_its_price_where_it_is_anchored_or_two_sources_agree(
    serve_app, portfolio, tokens
):
    usdc = tokens["USDC"]
    one = Paying({usdc: 1.0}, "one", depth=5_000.0, pays={usdc: 7.0})
    other = Paying({usdc: 1.0}, "other", depth=5_000.0)
    api = await portfolio.serve(serve_app, one, listed=("USDC",), beside={"others": FakePlugin([other])})
    portfolio.prices.networks = other.networks = frozenset()
    body, rows = await asked(api, usdc)
    row, held = rows[usdc], int(rows[usdc]["amount"]) / 10**6
    assert (row["anchored"], row["valueUsd"], row["counted"]) == (False, 7.0, False)
    assert (body["totalUsd"], body["totalComplete"]) == (None, False)
    body, rows = await asked(api, usdc, more="&includeUnlisted=true")
    assert (body["totalUsd"], body["totalComplete"], rows[usdc]["counted"]) == (7.0, True, True)
    one.pays = {}
    assert (await asked(api, usdc))[1][usdc]["valueUsd"] in (7.0, 5_000.0), "what can be sold near its price"
    other.networks = frozenset({31337})
    _, rows = await asked(api, usdc, until=lambda row: len(row["sources"]) == 2)
    assert (rows[usdc]["anchored"], rows[usdc]["valueUsd"], rows[usdc]["counted"]) == (True, held, True)


async def test_a_listed_token_that_moved_counts_for_what_its_sale_pays(serve_app, portfolio, tokens):
    usdc = tokens["USDC"]
    source = Paying({usdc: 1.0}, pays={usdc: 7.0}, anchored=True, moved=2.5)
    api = await portfolio.serve(serve_app, source, listed=("USDC",))
    portfolio.prices.networks = frozenset()
    body, rows = await asked(api, usdc, until=lambda row: row["realisableUsd"])
    assert (rows[usdc]["valueUsd"], rows[usdc]["counted"]) == (7.0, True)
    assert (body["totalUsd"], body["totalComplete"]) == (7.0, True)


async def test_what_ought_to_have_a_limit_and_has_none_is_not_counted(serve_app, portfolio, tokens):
    usdc = tokens["USDC"]
    source = Paying({usdc: 1.0}, anchored=True, moved=2.5)
    api = await portfolio.serve(serve_app, source, listed=("USDC",))
    portfolio.prices.networks = frozenset()
    for more in ("", "&includeUnlisted=true"):
        body, rows = await asked(api, usdc, more=more)
        assert (rows[usdc]["realisableUsd"], rows[usdc]["counted"]) == (None, False)
        assert (body["totalUsd"], body["totalComplete"]) == (None, False)


async def test_the_first_answer_says_that_its_total_is_not_complete(serve_app, portfolio, tokens):
    usdc, gate = tokens["USDC"], asyncio.Event()

    class Late(Paying):
        async def prices(self, chain_id, addresses, block):
            await gate.wait()
            return await super().prices(chain_id, addresses, block)

    api = await portfolio.serve(serve_app, Late({usdc: 1.0}, anchored=True), listed=("USDC",))
    portfolio.prices.networks = frozenset()
    body, rows = await asked(api, usdc, until=lambda row: True)
    assert (rows[usdc]["valueUsd"], rows[usdc]["counted"]) == (None, False)
    assert (body["totalUsd"], body["totalComplete"]) == (None, False)
    gate.set()
    body, rows = await asked(api, usdc)
    assert (body["totalUsd"], body["totalComplete"]) == (rows[usdc]["valueUsd"], True)


async def test_a_move_within_the_hour_is_a_warning_everywhere(serve_app, portfolio, tokens, contract):
    usdc, dai = tokens["USDC"], tokens["DAI"]
    source = Paying({usdc: 1.0, dai: 1.0}, moved=-3.5)
    api = await portfolio.serve(serve_app, source)
    portfolio.prices.networks = frozenset()
    _, rows = await asked(api, usdc)
    body = contract.check("getPrices", await api.get(f"/v2/prices?network=devnet&tokens={usdc}"))
    for row in (rows[usdc], *body["data"]):
        assert (row["moved1hPct"], row["anchored"]) == (-3.5, False)
        assert [warning["code"] for warning in row["warnings"]] == ["price_moved"]
    source.moved = 1.9
    body = contract.check("getPrices", await api.get(f"/v2/prices?network=devnet&tokens={dai}"))
    assert (body["data"][0]["moved1hPct"], body["data"][0]["warnings"]) == (1.9, [])


async def test_a_total_is_complete_only_with_every_value_it_counts(serve_app, portfolio, tokens):
    usdc, weth = tokens["USDC"], tokens["WETH"]
    api = await portfolio.serve(serve_app, usd={usdc: 1.0})
    path = f"/v2/portfolio/balances?wallet={WALLET}&network=devnet&includeNative=false&tokens="
    await asked(api, usdc)
    for query, complete in (
        (usdc, True),
        (f"{usdc},{tokens['DAI']}", True),  # not listed, so not counted
        (f"{usdc},{tokens['DAI']}&includeUnlisted=true", False),
        (f"{usdc},{weth}", False),  # listed and held, but not priced
        (f"{usdc},{portfolio.token('WETH').address[:-1]}0", False),
    ):
        answer = await api.get(path + query)
        if answer.status == 200:
            assert answer.body["totalComplete"] is complete, query
            assert answer.body["totalUsd"] == next(r["valueUsd"] for r in answer.body["data"] if r["counted"])


@pytest.mark.parametrize(
    "odd", [-1.0, math.nan, math.inf, True, "12", None, 10**400, lambda amount: 1 / 0], ids=range(8)
)
async def test_a_source_that_lies_about_a_sale_tells_nothing(serve_app, portfolio, tokens, odd):
    dai = tokens["DAI"]
    source = Paying({dai: 1.0}, depth=5_000.0, pays={dai: odd})
    api = await portfolio.serve(serve_app, source, listed=())
    portfolio.prices.networks = frozenset()
    _, rows = await asked(api, dai)
    assert rows[dai]["realisableUsd"] is None
    assert rows[dai]["valueUsd"] == 5_000.0, "capped by the depth of its price"


async def test_of_several_sources_the_median_counts_and_the_lower_of_two(serve_app, portfolio, tokens):
    dai = tokens["DAI"]
    sources = [Paying({dai: 1.0}, f"source{pays}", pays={dai: float(pays)}) for pays in (900, 30, 10**9)]
    api = await portfolio.serve(serve_app, *sources, listed=())
    portfolio.prices.networks = frozenset()
    _, rows = await asked(api, dai)
    assert rows[dai]["realisableUsd"] == 900
    sources[0].networks = frozenset()
    _, rows = await asked(api, dai)
    assert rows[dai]["realisableUsd"] == 30


async def test_nobody_waits_long_for_what_a_sale_pays(serve_app, portfolio, tokens):
    dai = tokens["DAI"]
    source = Paying({dai: 1.0}, pays={dai: 8.0}, gate=asyncio.Event())
    api = await portfolio.serve(serve_app, source, listed=())
    portfolio.prices.networks = frozenset()
    _, rows = await asked(api, dai)
    assert rows[dai]["realisableUsd"] is None
    source.gate.set()
    async with asyncio.timeout(20):
        while rows[dai]["realisableUsd"] != 8.0:
            _, rows = await asked(api, dai)


async def test_prices_name_their_sources(serve_app, portfolio, tokens, contract):
    usdc, dai, usdt = tokens["USDC"], tokens["DAI"], tokens["USDT"]
    sources = [
        Paying({usdc: 1.0, dai: 1.0}, "one", depth=100.0, confidence=0.5),
        Paying({usdc: 1.001, dai: 3.0}, "other", depth=300.0, confidence=0.7),
    ]
    api = await portfolio.serve(serve_app, *sources)
    portfolio.prices.networks = frozenset()
    nobody = "0x" + "00" * 19 + "77"
    path = f"/v2/prices?network=devnet&tokens={usdc},{dai},{usdt},{nobody}"
    body = contract.check("getPrices", await api.get(path))
    rows = {row["token"]["address"]: row for row in body["data"]}
    assert list(rows) == [usdc, dai, usdt]
    assert rows[usdc]["priceUsd"] == pytest.approx(1.0005)
    assert rows[usdc]["sources"] == ["one", "other"]
    assert (rows[usdc]["confidence"], rows[usdc]["liquidityUsd"]) == (0.5, 100.0)
    assert rows[usdc]["asOfBlock"]["number"] > 0
    for unknown in (dai, usdt):
        assert (rows[unknown]["priceUsd"], rows[unknown]["sources"], rows[unknown]["asOfBlock"]) == (
            None,
            [],
            None,
        )
    assert [(row["reason"], row["chainId"]) for row in body["partial"]] == [("no_token", 31337)]


async def test_prices_refuse_what_they_cannot_answer(serve_app, portfolio, tokens, refused):
    api = await portfolio.serve(serve_app)
    refused(await api.get("/v2/prices?network=devnet"), 422, "validation_error")
    refused(await api.get(f"/v2/prices?tokens={NATIVE}"), 422, "validation_error")
    many = ",".join(Token(31337, f"0x{number:040x}", 18).address for number in range(1, 102))
    refused(
        await api.get(f"/v2/prices?network=devnet&tokens={many}"), 422, "validation_error", "out_of_range"
    )
    portfolio.prices.networks = frozenset()
    refused(await api.get(f"/v2/prices?network=devnet&tokens={NATIVE}"), 503, "provider_unavailable")
