"""What the core checks of a provider's ``optimality``, and ``certificate`` and ``mev`` over HTTP."""

import json
import logging
import math
from dataclasses import replace
from functools import partial

import pytest
from quoteway import Block, Certificate, CertifiedPool, Hop, Optimality, Price, PriceSource, RouteLeg, Token
from quoteway.config.model import Config
from quoteway.config.network import NetworkConfig
from quoteway.models import RoutePath
from quoteway.networks import Network
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
POOL = "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640"
OTHER_POOL = "0x8ad599c3A0ff1De082011EFDDc58f1908eb6e6D8"
COIN = Token(7, "0x6B175474E89094C44Da98b954EedeAC495271d0F", 18, "DAI")
OTHER_COIN = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
WRAPPED = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
SWAP = {"network": "seven", "fromToken": "native", "toToken": COIN.address, "amount": "1000000"}
SWAP |= {"address": WALLET}
SUBMIT = "https://private.example/fast"
MARK = "quoteway.engine.quoting"


class Certified(FixedRateSwap):
    """States the optimality that ``change`` makes of a true one."""

    def __init__(self, context, change):
        super().__init__(context, provider_id="certified")
        self.change = change

    async def quote(self, request):
        quote = await super().quote(request)
        ends = request.token_in.address, request.token_out.address
        amounts = request.amount_in, quote.outputs[0].amount
        hop = Hop(self.id, "own", POOL, *ends, *amounts)
        leg = RouteLeg(self.id, "own", POOL, *ends, *amounts, share_bps=10_000)
        pools = (
            CertifiedPool("own", POOL, (WRAPPED, COIN.address), (3000, 60), "0x" + "ab" * 32),
            CertifiedPool("own", OTHER_POOL, (WRAPPED, COIN.address), (), "0x" + "cd" * 32),
        )
        certificate = Certificate({WRAPPED: 2**255, COIN.address: 1}, pools)
        told = Optimality(
            1_000_100,
            1.0,
            0.5,
            100,
            2,
            ("own",),
            quote.block,
            "single_path",
            certificate if request.certificate else None,
        )
        told = self.change(told)
        return replace(quote, route=(RoutePath(10_000, (hop,)),), route_legs=(leg,), optimality=told)


class Dollars(PriceSource):
    """A whole token is worth 10^18 dollars: a base unit is one."""

    id = "dollars"
    title = "Dollars"
    networks = frozenset({7})

    async def prices(self, chain_id, addresses, block):
        return {address: Price(10.0**18, "dollars", block) for address in addresses}


@pytest.fixture
def serve(serve_app):
    async def make(change=lambda told: told, sources=(), **more):
        node, tokens = MemoryRpc({7}, tokens=[COIN]), ListedTokens([COIN])
        plugin = FakePlugin(
            [node, tokens, partial(Certified, change=change), *sources],
            networks=[Network("seven", 7, "Seven", private_submission="https://plugin.example")],
            calls=[FAKE_CALLS],
        )
        return await serve_app({"fake": plugin}, **more)

    return make


async def quote(api, **members):
    return await api.post("/v2/swaps/quote", SWAP | members)


async def test_a_true_optimality_is_passed_on(serve, contract):
    shown = contract.check("createSwapQuote", await quote(await serve()))
    assert shown["optimality"] == {
        "bound": "1000100",
        "gapBps": 1.0,
        "netGapBps": 0.5,
        "arbitrage": "100",
        "pools": 2,
        "families": ["own"],
        "block": shown["block"],
        "method": "single_path",
    }


WRONG = {
    "bound below the output": {"bound": 999_999},
    "bound above 2^256": {"bound": 2**257},
    "bound no number": {"bound": "1000100"},
    "gap too small": {"gap_bps": 0.9},
    "gap too large": {"gap_bps": 1.02},
    "gap negative": {"gap_bps": -0.1},
    "gap infinite": {"gap_bps": math.inf},
    "gap no number": {"gap_bps": math.nan},
    "net gap no number": {"net_gap_bps": math.nan},
    "net gap negative": {"net_gap_bps": -1.0},
    "net gap above all": {"net_gap_bps": 10_001.0},
    "arbitrage above bound": {"arbitrage": 1_000_101},
    "arbitrage negative": {"arbitrage": -1},
    "no pools": {"pools": 0},
    "pools negative": {"pools": -5},
    "another block": {"block": Block(1, "0x" + "11" * 32, 1)},
    "no block": {"block": None},
    "another method": {"method": "magic"},
    "families no text": {"families": (1,)},
    "families hidden text": {"families": ("a\u202e",)},
}


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
async def test_a_wrong_optimality_is_dropped_and_the_log_says_why(serve, contract, caplog, changes):
    api = await serve(lambda told: replace(told, **changes))
    with caplog.at_level(logging.WARNING, MARK):
        shown = contract.check("createSwapQuote", await quote(api))
        await quote(api)
    assert shown["optimality"] is None
    assert shown["toAmount"] == "1000000"
    (line,) = [record.message for record in caplog.records if "without optimality" in record.message]
    assert line.startswith("a quote of provider certified is passed on without optimality: optimality")
    (row,) = [row for row in (await api.get("/v2/providers")).body["data"] if row["id"] == "certified"]
    blamed = [each["outcomes"] for each in row["methods"] if each["method"] == "optimality"]
    assert blamed == [{"wrong": 2}]


@pytest.mark.parametrize("value", [7, "best", {"bound": 1}, (), pytest.param(object(), id="object")], ids=str)
async def test_something_else_in_its_place_is_dropped_too(serve, contract, value):
    shown = contract.check("createSwapQuote", await quote(await serve(lambda told: value)))
    assert shown["optimality"] is None


async def test_a_certificate_is_in_the_answer_where_it_is_asked_for(serve, contract):
    api = await serve()
    shown = contract.check("createSwapQuote", await quote(api, certificate="full"))
    certificate = shown["optimality"]["certificate"]
    assert certificate["prices"] == {WRAPPED: str(2**255), COIN.address: "1"}
    assert certificate["pools"][0] == {
        "pool": POOL,
        "protocol": "own",
        "tokens": [WRAPPED, COIN.address],
        "parameters": [3000, 60],
        "digest": "0x" + "ab" * 32,
    }
    assert "certificate_unavailable" not in [each["code"] for each in shown["warnings"]]
    read = contract.check("getSwapQuote", await api.get(f"/v2/swaps/quote/{shown['quoteId']}"))
    assert read["optimality"] is None
    many = await api.post("/v2/swaps/quotes", {"quotes": [SWAP | {"certificate": "full"}, SWAP]})
    first, second = contract.check("createSwapQuotes", many)["results"]
    assert first["quote"]["optimality"]["certificate"] == certificate
    assert "certificate" not in second["quote"]["optimality"]


async def test_pairs_of_one_pool_are_pools_of_their_own(serve, contract):
    def pairs(told):
        other = replace(told.certificate.pools[0], tokens=(WRAPPED, OTHER_COIN))
        return certificate_with(pools=(told.certificate.pools[0], other))(told)

    shown = contract.check("createSwapQuote", await quote(await serve(pairs), certificate="full"))
    pools = shown["optimality"]["certificate"]["pools"]
    assert [pool["pool"] for pool in pools] == [POOL, POOL]
    assert pools[0]["tokens"] != pools[1]["tokens"]


@pytest.mark.parametrize("value", ["", "FULL", "none", 1, True, ["full"], {}, "full "], ids=str)
async def test_another_value_is_refused(serve, refused, value):
    answer = await quote(await serve(), certificate=value)
    if value == "":
        assert answer.status == 200  # as every empty text, the member is absent
    else:
        refused(answer, 422, "validation_error")


@pytest.mark.parametrize(
    "change",
    [
        lambda told: None,
        lambda told: replace(told, certificate=None),
    ],
    ids=["no optimality", "no certificate"],
)
async def test_without_a_certificate_there_is_a_warning(serve, contract, change):
    shown = contract.check("createSwapQuote", await quote(await serve(change), certificate="full"))
    assert "certificate_unavailable" in [each["code"] for each in shown["warnings"]]


def certificate_with(**changes):
    return lambda told: replace(told, certificate=replace(told.certificate, **changes))


def with_pools(change):
    return lambda told: certificate_with(pools=change(told.certificate.pools))(told)


@pytest.mark.parametrize(
    "change",
    [
        certificate_with(prices={"0xabc": 1}),
        certificate_with(prices={WRAPPED: -1}),
        certificate_with(prices={WRAPPED: 2**257}),
        certificate_with(prices={WRAPPED: 0.5}),
        certificate_with(prices=None),
        certificate_with(prices={WRAPPED.lower(): 1}),
        certificate_with(pools=()),
        with_pools(lambda pools: pools[:1]),
        with_pools(lambda pools: pools[1:] * 2),
        with_pools(lambda pools: (pools[0], replace(pools[1], digest="0x12"))),
        with_pools(lambda pools: (pools[0], replace(pools[1], digest="0x" + "CD" * 32))),
        with_pools(lambda pools: (pools[0], replace(pools[1], tokens=None))),
        with_pools(lambda pools: (pools[0], replace(pools[1], parameters=(2**60,)))),
        with_pools(lambda pools: (replace(pools[0], pool="another"), pools[1])),
        with_pools(lambda pools: pools * 1_000),
    ],
)
async def test_a_malformed_certificate_is_never_passed_on(serve, contract, change):
    shown = contract.check("createSwapQuote", await quote(await serve(change), certificate="full"))
    assert shown["optimality"] is None
    assert "certificate_unavailable" in [each["code"] for each in shown["warnings"]]


async def test_a_certificate_that_was_not_asked_for_is_dropped(serve, contract):
    pools = (CertifiedPool("own", POOL, (), (), "0x" + "ab" * 32),)
    api = await serve(lambda told: replace(told, pools=1, certificate=Certificate({}, pools)))
    assert contract.check("createSwapQuote", await quote(api))["optimality"] is None


async def test_mev_is_what_the_minimum_leaves_and_no_more(serve, contract):
    api = await serve()
    shown = contract.check("createSwapQuote", await quote(api, slippageBps=100))
    assert shown["toAmountMin"] == "990000"
    assert shown["mev"] == {"atRisk": "10000", "atRiskUsd": None, "privateSubmission": None}
    exact = contract.check("createSwapQuote", await quote(api, slippageBps=0))
    assert exact["mev"]["atRisk"] == "0"
    read = contract.check("getSwapQuote", await api.get(f"/v2/swaps/quote/{shown['quoteId']}"))
    assert read["mev"] == shown["mev"]


async def test_mev_is_in_dollars_where_the_output_has_a_price(serve, contract):
    shown = contract.check("createSwapQuote", await quote(await serve(sources=[Dollars()]), slippageBps=100))
    assert shown["toAmountUsd"] == pytest.approx(1_000_000)
    assert shown["mev"]["atRiskUsd"] == pytest.approx(10_000)


async def test_mev_has_the_url_that_the_operator_configured_and_not_a_plugins(serve, contract):
    networks = {"seven": NetworkConfig(private_submission=SUBMIT)}
    api = await serve(config=Config(networks=networks))
    shown = contract.check("createSwapQuote", await quote(api))
    assert shown["mev"]["privateSubmission"] == SUBMIT
    assert "plugin.example" not in json.dumps(shown)
