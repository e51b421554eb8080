"""Batches of quotes, indicative prices and ladders, on chains in memory."""

import asyncio
from dataclasses import replace

import pytest
from quoteway.config.model import LimitsConfig
from quoteway.errors import Reason, UpstreamError
from quoteway.models import Block, Token
from quoteway.networks import Network
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
COIN = Token(7, "0x6B175474E89094C44Da98b954EedeAC495271d0F", 18, "DAI")
PAIR = {"network": "seven", "fromToken": "native", "toToken": COIN.address}
SWAP = PAIR | {"amount": "1000", "address": WALLET}
PRICE = "/v2/swaps/price?" + "&".join(f"{name}={value}" for name, value in PAIR.items())
DEPTH = PRICE.replace("price", "depth")


class Shallow(FixedRateSwap):
    """Has one block mined before each quote, and nothing above a thousand of a token."""

    rpc, most, fails, hangs = None, 10**21, (), ()
    senders: list[str] = []

    async def quote(self, request):
        self.rpc.number = min(self.rpc.number + 1, 14)  # it has hashes for no more
        self.senders.append(request.sender)
        if request.amount_in in self.hangs:
            await asyncio.sleep(3_600)
        if request.amount_in in self.fails:
            raise RuntimeError("CANARY")
        if request.amount_in > self.most:
            raise UpstreamError("Too much.", reason=Reason.INSUFFICIENT_LIQUIDITY)
        return replace(await super().quote(request), price_impact_bps=len(str(request.amount_in)))


class Metered(FixedRateSwap):
    has_quota = True


@pytest.fixture
def serve(serve_app, make_config):
    async def make(config=None, **changes):
        rpc = MemoryRpc({7}, tokens=[COIN])
        kind = type("Own", (Shallow,), {"rpc": rpc, "senders": [], **changes})
        plugin = FakePlugin(
            [
                *(rpc, ListedTokens([COIN]), lambda context: kind(context, provider_id="own")),
                lambda context: Metered(context, provider_id="metered", numerator=9),
            ],
            networks=[Network("seven", 7, "Seven", block_time_s=0.2)],
            calls=[FAKE_CALLS],
        )
        api = await serve_app({"fake": plugin}, config or make_config())
        api.own = kind
        return api

    return make


@pytest.fixture
async def api(serve):
    return await serve()


# --- batches ------------------------------------------------------------------------------------------------


async def batch(api, *items, **more):
    return await api.post("/v2/swaps/quotes", {"quotes": list(items)}, **more)


async def test_each_quote_is_that_of_its_request_and_all_are_at_one_block(api, contract):
    answer = await batch(api, *({**SWAP, "amount": str(amount)} for amount in range(1, 21)))
    results = contract.check("createSwapQuotes", answer)["results"]
    assert [result["quote"]["fromAmount"] for result in results] == [str(n) for n in range(1, 21)]
    assert len({result["quote"]["block"]["hash"] for result in results}) == 1
    for result in results[:2]:
        shown = await api.get(f"/v2/swaps/quote/{result['quote']['quoteId']}")
        assert shown.body["request"] == result["quote"]["request"]


async def test_one_that_fails_fails_alone_with_the_error_it_would_have_alone(api, contract):
    items = [
        SWAP,
        {**SWAP, "amount": "0", "maxHops": 9},
        {**SWAP, "adress": WALLET},
        {**SWAP, "maxLegs": 2},
        {**SWAP, "protocols": ["owm"]},
        {**SWAP, "provider": "nobody"},
        7,
        {},
        {**SWAP, "minBlock": 10**9},
        SWAP,
    ]
    answer = await batch(api, *items, headers={"X-Request-ID": "mine"})
    results = contract.check("createSwapQuotes", answer)["results"]
    assert answer.status == 200
    assert [next(iter(result)) for result in results] == ["quote", *["error"] * 8, "quote"]
    for item, result in list(zip(items, results, strict=True))[1:-1]:
        if item == 7:
            assert result["error"]["code"] == "invalid_request"
            continue
        alone = (await api.post("/v2/swaps/quote", item, headers={"X-Request-ID": "mine"})).body
        assert alone == result


async def test_what_one_has_seen_holds_for_all(api):
    results = (await batch(api, SWAP, {**SWAP, "minBlock": 1})).body["results"]
    assert len({result["quote"]["block"]["number"] for result in results}) == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "missing"),
        ({"quotes": []}, "out_of_range"),
        ({"quotes": [SWAP] * 21}, "out_of_range"),
        ({"quotes": SWAP}, "invalid_format"),
        ({"quotes": None}, "invalid_format"),
        ({"quotes": [SWAP], "deadline": 1}, "unknown_member"),
    ],
)
async def test_a_batch_that_is_none_is_refused_as_a_whole(api, refused, body, reason):
    refused(await api.post("/v2/swaps/quotes", body), 422, "validation_error", reason)


async def test_a_bug_costs_one_quote_and_tells_nothing(serve):
    api = await serve(fails=(5,))
    results = (await batch(api, SWAP, {**SWAP, "amount": "5", "provider": "own"})).body["results"]
    assert next(iter(results[0])) == "quote"
    assert results[1]["error"]["details"]["reason"] == "provider_error"
    assert "CANARY" not in str(results)


async def test_a_bug_of_the_gateway_costs_one_quote(api, monkeypatch, caplog):
    quoting, honest = type(api.gateway.quoting), type(api.gateway.quoting).quote

    async def quote(self, capability, request, **more):
        if request.amount_in == 5:
            raise ZeroDivisionError
        return await honest(self, capability, request, **more)

    monkeypatch.setattr(quoting, "quote", quote)
    results = (await batch(api, SWAP, {**SWAP, "amount": "5"})).body["results"]
    assert next(iter(results[0])) == "quote"
    assert results[1]["error"]["code"] == "provider_unavailable"
    assert "ZeroDivisionError" in caplog.text


async def test_they_share_one_deadline(serve, make_config):
    api = await serve(make_config(request_timeout_s=1.0), hangs=(5,))
    results = (await batch(api, SWAP, {**SWAP, "amount": "5", "provider": "own"})).body["results"]
    assert next(iter(results[0])) == "quote"
    assert results[1]["error"]["details"] == {"reason": "provider_timeout", "retryable": True}


async def test_each_counts_for_the_rate_limit(serve, make_config, refused):
    config = replace(make_config(), limits=LimitsConfig(quotes="30/hour"))
    api = await serve(config)
    answer = await batch(api, *[SWAP] * 20)
    assert "r=10;" in answer.headers["RateLimit"]
    answer = await api.get(f"{DEPTH}&amount=1&rungs=8")
    assert (answer.status, "r=2;" in answer.headers["RateLimit"]) == (200, True)
    answer = await batch(api, *[SWAP] * 3)
    refused(answer, 429, "rate_limit_exceeded")
    assert int(answer.headers["Retry-After"]) > 0
    assert "r=1;" in answer.headers["RateLimit"], "what does not fit takes no more than the request itself"


# --- prices -------------------------------------------------------------------------------------------------


async def test_a_price_needs_no_wallet_and_cannot_be_exchanged(api, contract):
    answer = await api.get(f"{PRICE}&amount=1000")
    price = contract.check("getSwapPrice", answer)
    assert answer.headers["Cache-Control"] == "no-store"
    assert (price["fromAmount"], price["toAmount"], price["executionPrice"]) == ("1000", "1000", "1")
    assert (price["provider"], price["priceImpactBps"], price["indicative"]) == ("own", 4, True)
    assert price["block"]["number"] >= 1
    assert "quoteId" not in price
    assert WALLET not in api.own.senders
    # Nobody whose upstream counts requests is asked while another serves the network.
    assert [attempt["provider"] for attempt in price["attempts"]] == ["own"]


async def test_nothing_is_built_or_simulated_for_a_price(api, monkeypatch):
    def never(self, *args, **more):
        raise AssertionError

    monkeypatch.setattr(type(api.gateway.building._quoting.rehearsing), "build", never)
    monkeypatch.setattr(type(api.gateway.quote_tokens), "seal", never)
    assert (await api.get(f"{PRICE}&amount=1000")).status == 200


async def _old_quote(self, request):
    return replace(await Shallow.quote(self, request), block=Block(0, "0x" + "00" * 32, 1))


async def test_a_price_of_an_older_block_is_none(serve, refused):
    api = await serve(quote=_old_quote)
    refused(await api.get(f"{PRICE}&amount=1000"), 502, "upstream_error", "unsafe_answer")


async def test_a_ladder_at_one_block(api, contract):
    depth = contract.check("getSwapDepth", await api.get(f"{DEPTH}&amount={10**19}"))
    assert [rung["fromAmount"] for rung in depth["rungs"]] == [str(10**n) for n in range(19, 24)]
    assert [rung["amount"] for rung in depth["rungs"]] == [rung["fromAmount"] for rung in depth["rungs"]]
    assert depth["side"] == "exactIn"
    prices = [rung["price"] for rung in depth["rungs"]]
    assert [price and price["toAmount"] for price in prices] == [
        str(10**19),
        str(10**20),
        str(10**21),
        None,
        None,
    ]
    assert [price["priceImpactBps"] for price in prices[:3]] == [20, 21, 22]
    assert [rung["reason"] for rung in depth["rungs"]] == [None] * 3 + ["insufficient_liquidity"] * 2
    assert len((await api.get(f"{DEPTH}&amount=1&rungs=1")).body["rungs"]) == 1


async def test_a_ladder_without_any_price_is_an_error(api, refused):
    refused(await api.get(f"{DEPTH}&amount={10**22}"), 502, "upstream_error", "insufficient_liquidity")
    refused(await api.get(f"{PRICE}&amount={10**22}"), 502, "upstream_error", "insufficient_liquidity")


@pytest.mark.parametrize(
    ("query", "path", "reason"),
    [
        ("", "amount", "missing"),
        ("&amount=0", "amount", "out_of_range"),
        ("&amount=1e3", "amount", "invalid_format"),
        ("&amount=-1", "amount", "invalid_format"),
        ("&amount=1&address=" + WALLET, "address", "unknown_member"),
        ("&amount=1&minBlock=x", "minBlock", "invalid_format"),
        (f"&amount={2**256}", "amount", "out_of_range"),
    ],
)
async def test_bad_queries_are_refused_by_name(api, refused, query, path, reason):
    for place in (PRICE, DEPTH):
        details = refused(await api.get(place + query), 422, "validation_error", reason)
        assert [field["path"] for field in details["fields"]] == [path]


@pytest.mark.parametrize(
    ("query", "path", "reason"),
    [
        ("&amount=1&rungs=0", "rungs", "out_of_range"),
        ("&amount=1&rungs=9", "rungs", "out_of_range"),
        ("&amount=1&rungs=2.5", "rungs", "invalid_format"),
        (f"&amount={2**255}&rungs=2", "amount", "out_of_range"),
    ],
)
async def test_bad_ladders_are_refused_by_name(api, refused, query, path, reason):
    details = refused(await api.get(DEPTH + query), 422, "validation_error", reason)
    assert [field["path"] for field in details["fields"]] == [path]


async def test_the_same_token_twice_is_a_conflict(api, refused):
    same = PRICE.replace(COIN.address, "0x" + "0" * 40)
    refused(await api.get(f"{same}&amount=1"), 422, "validation_error", "conflict")
