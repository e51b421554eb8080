"""Refreshes of swap quotes over HTTP, and quotes with `refreshableUntil`: answers and refusals."""

import pytest
from drifting_market import COIN, NOW, UNIT, USER, Place

PAIR = {"network": "seven", "fromToken": "native", "toToken": COIN.address, "amount": "10000"}
SWAP = {**PAIR, "address": USER, "refreshableUntil": NOW + 3_600}


@pytest.fixture
def place():
    return Place()


@pytest.fixture
async def api(serve_app, place):
    return await serve_app(place.plugins(), clock=place.clock)


async def quote(api, **members):
    answer = await api.post("/v2/swaps/quote", {**SWAP, **members})
    assert answer.status == 200, answer.body
    return answer.body


async def refresh(api, quote_id, body=None, **kwargs):
    return await api.post(f"/v2/swaps/{quote_id}/refresh", body, **kwargs)


async def test_a_refreshed_quote_has_the_members_of_a_quote(api, place, contract):
    first = await quote(api)
    assert first["refreshTerms"] == {"until": NOW + 3_600, "toAmountMin": "9950", "fromAmountMax": "10000"}
    place.now, place.price = NOW + 400, UNIT * 9_960 // 10_000
    for body in (None, {}, {"acknowledge": ["opaque_calldata"], "minBlock": 0}):
        answer = await refresh(api, first["quoteId"], body)
        again = contract.check("refreshSwapQuote", answer)
        assert answer.headers["Cache-Control"] == "no-store"
        assert (again["toAmount"], again["toAmountMin"], again["status"]) == ("9960", "9950", "active")
        assert again["refreshTerms"] == first["refreshTerms"]
        assert again["request"] == first["request"]
    shown = await api.get(f"/v2/swaps/quote/{again['quoteId']}")
    assert contract.check("getSwapQuote", shown)["refreshTerms"] == first["refreshTerms"]


async def test_a_quote_without_the_member_has_no_terms(api, refused):
    answer = await api.post("/v2/swaps/quote", {**PAIR, "address": USER})
    assert answer.body["refreshTerms"] is None
    refused(await refresh(api, answer.body["quoteId"]), 422, "validation_error", "conflict")


async def test_a_market_outside_the_terms_says_what_it_gives(api, place, contract):
    first = await quote(api)
    place.price = UNIT * 9_000 // 10_000
    answer = await refresh(api, first["quoteId"])
    error = contract.check("refreshSwapQuote", answer)["error"]
    assert (answer.status, error["code"], error["details"]["reason"]) == (
        502,
        "upstream_error",
        "price_moved",
    )
    assert (error["details"]["bestNow"], error["details"]["retryable"]) == ("9000", True)
    assert "9950" in error["message"]


async def test_what_is_no_quote_of_here_is_not_found(api, place, refused):
    first = (await quote(api))["quoteId"]
    for wrong in ("nothing", first[:-1], first + "A", first.upper(), "a.b.c", "%00", "x" * 5_000):
        refused(await refresh(api, wrong), 404, "not_found")
    place.now = NOW + 3_600
    refused(await refresh(api, first), 404, "not_found", "quote_expired")


@pytest.mark.parametrize(
    ("body", "path", "reason"),
    [
        ({"acknowledge": "all"}, "acknowledge", "invalid_format"),
        ({"amount": "20000"}, "amount", "unknown_member"),
        ({"refreshableUntil": NOW + 7_200}, "refreshableUntil", "unknown_member"),
        ({"toAddress": USER}, "toAddress", "unknown_member"),
        ({"minBlock": -1}, "minBlock", "out_of_range"),
        ({"afterTransaction": "0x12"}, "afterTransaction", "out_of_range"),
    ],
)
async def test_nothing_of_the_request_can_be_given_anew(api, refused, body, path, reason):
    details = refused(
        await refresh(api, (await quote(api))["quoteId"], body), 422, "validation_error", reason
    )
    assert [field["path"] for field in details["fields"]] == [path]


async def test_a_body_that_is_no_object_is_refused(api, refused):
    first = (await quote(api))["quoteId"]
    headers = {"Content-Type": "application/json"}
    for raw in (b"[]", b"null", b"{", b"7", b'"x"', b"[" * 5_000):
        refused(await refresh(api, first, data=raw, headers=headers), 400, "invalid_request")


@pytest.mark.parametrize(
    ("members", "reason", "words"),
    [
        ({"refreshableUntil": NOW}, "out_of_range", "1 to 86400 seconds from now"),
        ({"refreshableUntil": NOW + 86_401}, "out_of_range", f"(now: {NOW})"),
        ({"refreshableUntil": NOW * 1_000}, "out_of_range", "Unix seconds"),
        ({"refreshableUntil": -1}, "out_of_range", ""),
        ({"refreshableUntil": 1 << 60}, "out_of_range", ""),
        ({"refreshableUntil": str(NOW + 60)}, "invalid_format", ""),
        ({"refreshableUntil": NOW + 60.5}, "invalid_format", ""),
        ({"refreshableUntil": True}, "invalid_format", ""),
        ({"refreshableUntil": None}, "invalid_format", ""),
        ({"atomicBatch": True}, "conflict", "leave atomicBatch out"),
        ({"deadline": NOW + 3_599}, "conflict", "must not be after deadline"),
        ({"network": "", "fromChain": "seven", "toChain": "eight"}, "conflict", "within one network"),
    ],
)
async def test_what_cannot_be_refreshed_is_refused_when_it_is_quoted(api, refused, members, reason, words):
    details = refused(await api.post("/v2/swaps/quote", {**SWAP, **members}), 422, "validation_error", reason)
    (field,) = details["fields"]
    assert field["path"] == "refreshableUntil"
    assert words in field["message"]


async def test_a_quote_of_a_batch_can_be_refreshed_and_a_bridge_quote_cannot(api, refused):
    answer = await api.post("/v2/swaps/quotes", {"quotes": [SWAP, {**SWAP, "refreshableUntil": NOW}]})
    good, bad = answer.body["results"]
    assert (await refresh(api, good["quote"]["quoteId"])).status == 200
    assert bad["error"]["details"]["fields"][0]["path"] == "refreshableUntil"
    bridge = {"fromChain": "seven", "toChain": "eight", "fromToken": "native", "toToken": "native"}
    bridge |= {"amount": "1", "address": USER, "refreshableUntil": NOW + 60}
    refused(await api.post("/v2/bridges/quote", bridge), 422, "validation_error", "unknown_member")
