"""Attack: drifting refreshes: less arrives than was approved, after many refreshes or with changed terms.

The attacker has a `quoteId` with refresh terms, chooses when it is refreshed, and may move the market before.
"""

import base64
import json
import zlib

import jwt
import pytest
from drifting_market import COIN, NOW, UNIT, USER, Place

ASKED = {"network": "seven", "fromToken": "native", "toToken": COIN.address, "address": USER}
ASKED |= {"amount": "1000000", "refreshableUntil": NOW + 3_600}
APPROVED = 995_000
"""The minimum of the first quote, after 50 bps of slippage."""


@pytest.fixture
def place():
    return Place()


@pytest.fixture
async def api(serve_app, place):
    return await serve_app(place.plugins(), clock=place.clock)


@pytest.fixture
async def first(api):
    answer = await api.post("/v2/swaps/quote", ASKED)
    assert answer.body["toAmountMin"] == str(APPROVED)
    return answer.body["quoteId"]


async def refresh(api, token, body=None):
    return await api.post(f"/v2/swaps/{token}/refresh", body)


async def test_a_refresh_of_a_refresh_in_a_falling_market(api, place, first):
    """One basis point a time, always from the newest quote. It ends at the first minimum, and stays there."""
    token, made, paid = first, 0, 1_000_000
    while (answer := await refresh(api, token)).status == 200:
        assert int(answer.body["toAmountMin"]) >= APPROVED
        token, made, paid = answer.body["quoteId"], made + 1, paid - 100
        place.price = UNIT * paid // 1_000_000
    assert (made, paid) == (51, APPROVED - 100)
    for each in (first, token):
        details = (await refresh(api, each)).body["error"]["details"]
        assert (details["reason"], details["bestNow"]) == ("price_moved", str(paid))


async def test_a_market_that_rises_and_falls(api, place, first):
    """The higher minimum of a quote in between does not become the terms, and the first one stays."""
    place.price = 2 * UNIT
    high = (await refresh(api, first)).body
    assert high["toAmountMin"] == "1990000"
    place.price = UNIT * 996 // 1_000
    low = (await refresh(api, high["quoteId"])).body
    assert low["toAmountMin"] == str(APPROVED)


def content_of(claims):
    packed = claims.pop("z", None)
    if packed is None:
        return claims.pop("q")
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))))


@pytest.mark.parametrize("changed", [{0: NOW + 86_400}, {1: 1}, {2: 10**30}, {3: "market"}, {4: True}])
async def test_terms_that_were_changed_in_the_token(api, first, changed, refused):
    claims = jwt.decode(first, options={"verify_signature": False})
    content = content_of(claims)
    terms = content[-1]["r"]
    assert terms[:2] == [NOW + 3_600, APPROVED]
    for at, value in changed.items():
        terms[at] = value
    claims["q"] = content
    headers = {name: jwt.get_unverified_header(first)[name] for name in ("kid", "typ")}
    forged = jwt.encode(claims, "k" * 32, algorithm="HS256", headers=headers)
    old_signature = f"{forged.rpartition('.')[0]}.{first.rpartition('.')[2]}"
    for token in (forged, old_signature):
        refused(await refresh(api, token), 404, "not_found", "quote_invalid")
        refused(await api.post(f"/v2/swaps/{token}/action"), 404, "not_found", "quote_invalid")


@pytest.mark.parametrize(
    "body",
    [
        {"toAmountMin": "1"},
        {"slippageBps": 5_000},
        {"refreshTerms": {"toAmountMin": "1"}},
        {"refreshableUntil": NOW + 86_400},
        {"toAddress": COIN.address},
        {"provider": "market"},
        {"deadline": NOW + 86_400},
    ],
    ids=lambda body: next(iter(body)),
)
async def test_terms_that_are_sent_with_a_refresh(api, first, body, refused):
    refused(await refresh(api, first, body), 422, "validation_error", "unknown_member")
