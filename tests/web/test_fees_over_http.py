"""The members of a swap's request that charge a fee, over HTTP."""

from dataclasses import replace
from functools import partial

import pytest
from quoteway.config.model import QuotesConfig
from quoteway.evm import permit2
from quoteway.models import Token
from quoteway.networks import Network
from quoteway.testing.fakes import (
    FAKE_CALLS,
    FAKE_TARGET,
    FakePlugin,
    FixedRateSwap,
    ListedTokens,
    MemoryRpc,
)

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
SHOP = "0x3333333333333333333333333333333333333333"
COIN = Token(7, "0x6B175474E89094C44Da98b954EedeAC495271d0F", 18, "DAI")
WRAPPED = Token(7, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18, "WETH")
PAIR = {"network": "seven", "fromToken": "native", "toToken": COIN.address, "amount": "1000000"}
SWAP = PAIR | {"address": WALLET}
FEE = {"feeBps": 25, "feeRecipient": SHOP}


class Charging(FixedRateSwap):
    """Takes the fee in its quotes. Its transactions do not pay it."""

    enforces_fees = True
    error = 0

    async def quote(self, request):
        quote = await super().quote(request)
        if request.fee is None:
            return quote
        (got,) = quote.outputs
        taken = request.fee.of(got.amount) + self.error
        least = (got.amount - taken) * (10_000 - request.slippage_bps) // 10_000
        legs = (replace(got, amount=got.amount - taken, amount_min=least),)
        return replace(quote, outputs=legs, fee_amount=taken, net_output=None)


class Overcharging(Charging):
    error = 1


class Plain(FixedRateSwap):
    """Pays more, and knows no fees."""


@pytest.fixture
def serve(serve_app, make_config):
    async def make(*kinds, quotes=None):
        networks = [
            Network("seven", 7, "Seven", wrapped_native=WRAPPED.address),
            Network("eight", 8, "Eight"),
        ]
        made = [
            partial(kind, provider_id=kind.__name__.lower(), numerator=at + 1)
            for at, kind in enumerate(kinds)
        ]
        rpc = MemoryRpc({7, 8}, tokens=[COIN, WRAPPED])
        plugin = FakePlugin(
            [rpc, ListedTokens([COIN, WRAPPED]), *made], networks=networks, calls=[FAKE_CALLS]
        )
        config = make_config()
        return await serve_app({"fake": plugin}, replace(config, quotes=quotes) if quotes else config)

    return make


@pytest.fixture
async def both(serve):
    return await serve(Charging, Plain)


async def quote(api, **members):
    return await api.post("/v2/swaps/quote", SWAP | members)


def price(**members):
    return "/v2/swaps/price?" + "&".join(f"{name}={value}" for name, value in (PAIR | members).items())


BAD = {
    "no recipient": ({"feeBps": 25}, {"feeRecipient": "missing"}),
    "no share": ({"feeRecipient": SHOP}, {"feeBps": "missing"}),
    "an empty recipient": ({"feeBps": 25, "feeRecipient": ""}, {"feeRecipient": "missing"}),
    "an empty share": ({"feeBps": "", "feeRecipient": SHOP}, {"feeBps": "missing"}),
    "null": (dict.fromkeys(FEE), dict.fromkeys(FEE, "invalid_format")),
    "0": (FEE | {"feeBps": 0}, {"feeBps": "out_of_range"}),
    "negative": (FEE | {"feeBps": -1}, {"feeBps": "out_of_range"}),
    "above the operator's maximum": (FEE | {"feeBps": 101}, {"feeBps": "out_of_range"}),
    "above every maximum": (FEE | {"feeBps": 1001}, {"feeBps": "out_of_range"}),
    "huge": (FEE | {"feeBps": 1 << 256}, {"feeBps": "invalid_format"}),
    "a fraction": (FEE | {"feeBps": 0.5}, {"feeBps": "invalid_format"}),
    "a text": (FEE | {"feeBps": "25"}, {"feeBps": "invalid_format"}),
    "a truth": (FEE | {"feeBps": True}, {"feeBps": "invalid_format"}),
    "a list": (FEE | {"feeBps": [25]}, {"feeBps": "invalid_format"}),
    "the zero address": (FEE | {"feeRecipient": "0x" + "0" * 40}, {"feeRecipient": "out_of_range"}),
    "the coin": (FEE | {"feeRecipient": "native"}, {"feeRecipient": "invalid_format"}),
    "a number": (FEE | {"feeRecipient": 7}, {"feeRecipient": "invalid_format"}),
    "a short address": (FEE | {"feeRecipient": SHOP[:-1]}, {"feeRecipient": "invalid_format"}),
    "a wrong checksum": (
        FEE | {"feeRecipient": WALLET.replace("a", "A")},
        {"feeRecipient": "invalid_format"},
    ),
    "a precompiled contract": (FEE | {"feeRecipient": "0x" + "0" * 39 + "1"}, {"feeRecipient": "conflict"}),
    "the signer": (FEE | {"feeRecipient": WALLET}, {"feeRecipient": "conflict"}),
    "who is paid": (FEE | {"toAddress": SHOP}, {"feeRecipient": "conflict"}),
    "the token bought": (FEE | {"feeRecipient": COIN.address}, {"feeRecipient": "conflict"}),
    "the router": (FEE | {"feeRecipient": FAKE_TARGET}, {"feeRecipient": "conflict"}),
    "Permit2": (FEE | {"feeRecipient": permit2.ADDRESS}, {"feeRecipient": "conflict"}),
    "another network": (
        {"network": "", "fromChain": "seven", "toChain": "eight", **FEE},
        {"feeBps": "conflict"},
    ),
    "wrapping": (FEE | {"toToken": WRAPPED.address}, {"feeBps": "conflict"}),
    "unwrapping": (FEE | {"fromToken": WRAPPED.address, "toToken": "native"}, {"feeBps": "conflict"}),
}  # fmt: skip


@pytest.mark.parametrize(("members", "found"), BAD.values(), ids=BAD.keys())
async def test_a_wrong_fee_is_refused_and_named(both, refused, members, found):
    details = refused(await quote(both, **members), 422, "validation_error")
    assert {field["path"]: field["reason"] for field in details["fields"]} == found


@pytest.mark.parametrize(
    ("members", "path", "reason"),
    [
        ({"feeBps": "25"}, "feeRecipient", "missing"),
        ({"feeRecipient": SHOP}, "feeBps", "missing"),
        (FEE | {"feeBps": "101"}, "feeBps", "out_of_range"),
        (FEE | {"feeBps": "1e1"}, "feeBps", "invalid_format"),
        (FEE | {"feeRecipient": COIN.address}, "feeRecipient", "conflict"),
        (FEE | {"toToken": WRAPPED.address}, "feeBps", "conflict"),
    ],
)
async def test_a_wrong_fee_of_a_price_is_refused_and_named(both, refused, members, path, reason):
    details = refused(await both.get(price(**members)), 422, "validation_error", reason)
    assert [field["path"] for field in details["fields"]] == [path]


async def test_bridges_have_no_fee(both, refused):
    body = SWAP | {"fromChain": "seven", "toChain": "eight"} | FEE
    del body["network"]
    details = refused(await both.post("/v2/bridges/quote", body), 422, "validation_error")
    assert {"feeBps", "feeRecipient"} <= {field["path"] for field in details["fields"]}


async def test_a_price_is_after_the_fee_and_tells_it(both, contract):
    shown = contract.check("getSwapPrice", await both.get(price(**FEE)))
    assert (shown["provider"], shown["toAmount"]) == ("charging", "997500")
    (fee,) = shown["fees"]
    assert (fee["kind"], fee["amount"], fee["bps"]) == ("integrator", "2500", 25)
    assert (fee["recipient"], fee["included"], fee["name"]) == (SHOP, True, "Integrator's fee")
    found = {each["provider"]: (each["outcome"], each["reason"]) for each in shown["attempts"]}
    assert found == {"charging": ("quoted", None), "plain": ("not_asked", "unsupported_fee")}
    free = contract.check("getSwapPrice", await both.get(price()))
    assert (free["provider"], free["toAmount"], free["fees"]) == ("plain", "2000000", [])


async def test_a_ladder_of_prices_is_after_the_fee(both, contract):
    answer = await both.get(price(**FEE, rungs=2).replace("price", "depth"))
    rungs = contract.check("getSwapDepth", answer)["rungs"]
    assert [rung["price"]["toAmount"] for rung in rungs] == ["997500", "9975000"]


async def test_a_provider_whose_transactions_do_not_pay_the_fee_never_wins(both, refused):
    details = refused(await quote(both, **FEE), 502, "upstream_error", "unsafe_answer")
    assert [each["reason"] for each in details["attempts"]] == ["unsafe_answer", "unsupported_fee"]


async def test_a_provider_that_takes_more_than_the_fee_never_wins(serve, refused):
    api = await serve(Overcharging)
    details = refused(await quote(api, **FEE), 502, "upstream_error", "unsafe_answer")
    assert [each["outcome"] for each in details["attempts"]] == ["failed"]
    refused(await api.get(price(**FEE)), 502, "upstream_error", "unsafe_answer")


async def test_when_nobody_enforces_fees_it_is_422_with_the_attempts(serve, refused):
    api = await serve(Plain)
    for answer in (await quote(api, **FEE), await api.get(price(**FEE))):
        details = refused(answer, 422, "validation_error", "unsupported_fee")
        assert [field["path"] for field in details["fields"]] == ["feeBps"]
        assert [each["outcome"] for each in details["attempts"]] == ["not_asked"]
    assert (await quote(api)).status == 200


async def test_in_a_batch_a_wrong_fee_costs_its_own_quote_only(both, contract):
    answer = await both.post("/v2/swaps/quotes", {"quotes": [SWAP | {"feeBps": 25}, SWAP]})
    first, second = contract.check("createSwapQuotes", answer)["results"]
    assert first["error"]["details"]["fields"][0]["path"] == "feeRecipient"
    assert second["quote"]["toAmount"] == "2000000"


@pytest.mark.parametrize(("most", "bps", "status"), [(0, 1, 422), (1000, 1000, 200), (999, 1000, 422)])
async def test_the_operator_sets_the_maximum(serve, most, bps, status):
    api = await serve(Charging, quotes=QuotesConfig(max_fee_bps=most))
    assert (await api.get(price(feeBps=bps, feeRecipient=SHOP))).status == status


async def test_providers_tell_whether_they_enforce_fees(both):
    rows = (await both.get("/v2/providers")).body["data"]
    found = {row["id"]: row["enforcesFees"] for row in rows}
    assert (found["charging"], found["plain"]) == (True, False)


async def test_without_a_fee_the_request_says_so(both):
    body = (await quote(both)).body
    assert (body["request"]["feeBps"], body["request"]["feeRecipient"]) == (None, None)
