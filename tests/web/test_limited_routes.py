"""The members of a swap's request that limit its route, over HTTP."""

import json
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quoteway.errors import InvalidRequest
from quoteway.models import Gas, Hop, RoutePath, Token
from quoteway.networks import Network, Networks
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc
from quoteway.web.resources.swaps import SwapQuoteBody

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
POOL = "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640"
COIN = Token(7, "0x6B175474E89094C44Da98b954EedeAC495271d0F", 18, "DAI")
SWAP = {"network": "seven", "fromToken": "native", "toToken": COIN.address, "amount": "1000"}
SWAP |= {"address": WALLET}
MEMBERS = {"maxHops", "maxLegs", "protocols", "excludeProtocols", "pools", "excludePools"}
MEMBERS |= {"maxPriceImpactBps", "gasPriceWei"}


class Routed(FixedRateSwap):
    """Shows a route of one pool, and never looks at the limits."""

    honours = ("max_hops", "max_legs", "protocols", "exclude_protocols", "pools", "exclude_pools")
    honours += ("max_price_impact_bps",)
    protocols = ("uniswap-v2", "uniswap-v3")
    impact_bps = 25

    async def quote(self, request):
        quote = await super().quote(request)
        ends = request.token_in.address, request.token_out.address
        hop = Hop(self.id, "uniswap-v3", POOL, *ends, request.amount_in, quote.outputs[0].amount)
        return replace(
            quote,
            route=(RoutePath(10_000, (hop,)),),
            price_impact_bps=self.impact_bps,
            gas=Gas(100_000, 150_000, cost_wei=10**14),
        )


class Plain(FixedRateSwap):
    """Pays more, and can keep no limit."""


@pytest.fixture
def serve(serve_app):
    async def make(*providers):
        network = Network("seven", 7, "Seven")
        made = [partial(kind, **more) for kind, more in providers]
        plugin = FakePlugin(
            [MemoryRpc({7}, tokens=[COIN]), ListedTokens([COIN]), *made],
            networks=[network],
            calls=[FAKE_CALLS],
        )
        return await serve_app({"fake": plugin})

    return make


@pytest.fixture
async def routed(serve):
    return await serve((Routed, {"provider_id": "routed"}), (Plain, {"provider_id": "plain", "numerator": 2}))


async def quote(api, **members):
    return await api.post("/v2/swaps/quote", SWAP | members)


GIVEN = {
    "maxHops": 1,
    "maxLegs": 64,
    "protocols": ["uniswap-v3", "uniswap-v3"],
    "excludeProtocols": ["uniswap-v2"],
    "pools": [f"7:{POOL.lower()}", f"7:{POOL}"],
    "excludePools": ["7:0x" + "AB" * 32],
    "maxPriceImpactBps": 25,
    "gasPriceWei": "7000000000",
}


async def test_limits_are_echoed_and_read_back(routed, contract):
    quoted = contract.check("createSwapQuote", await quote(routed, **GIVEN))
    once = GIVEN | {
        "protocols": ["uniswap-v3"],
        "pools": [f"7:{POOL}"],
        "excludePools": ["7:0x" + "ab" * 32],
    }
    assert {name: quoted["request"][name] for name in MEMBERS} == once
    assert quoted["request"]["omitted"] is None
    assert quoted["gas"]["price"] == "7000000000"
    assert quoted["gas"]["cost"] == str(100_000 * 7 * 10**9)
    shown = contract.check("getSwapQuote", await routed.get(f"/v2/swaps/quote/{quoted['quoteId']}"))
    assert shown["request"] == quoted["request"]


async def test_without_limits_they_are_null_and_all_are_asked(routed):
    body = (await quote(routed)).body
    assert {body["request"][name] for name in MEMBERS} == {None}
    assert (body["provider"], len(body["attempts"])) == ("plain", 2)


async def test_who_cannot_keep_a_limit_is_told_as_not_asked(routed):
    body = (await quote(routed, maxHops=2)).body
    found = {a["provider"]: (a["outcome"], a["reason"]) for a in body["attempts"]}
    assert found == {"routed": ("quoted", None), "plain": ("not_asked", "unsupported_limit")}
    body = (await quote(routed, gasPriceWei="1")).body
    assert body["provider"] == "plain"


@pytest.mark.parametrize(
    "limits",
    [
        {"protocols": ["uniswap-v2"]},
        {"excludeProtocols": ["uniswap-v3"]},
        {"pools": ["7:0x" + "ab" * 32]},
        {"excludePools": [f"7:{POOL}"]},
    ],
)
async def test_a_provider_that_claims_to_keep_a_limit_and_does_not_never_wins(routed, refused, limits):
    details = refused(await quote(routed, **limits), 502, "upstream_error", "unsafe_answer")
    found = {a["provider"]: (a["outcome"], a["reason"]) for a in details["attempts"]}
    assert found["routed"] == ("failed", "unsafe_answer")
    assert found["plain"][0] == "not_asked"


async def test_an_impact_above_the_maximum_is_told_with_the_impact(routed, refused):
    answer = await quote(routed, maxPriceImpactBps=24)
    details = refused(answer, 502, "upstream_error", "price_impact_too_high")
    assert "25 bps (provider routed)" in answer.body["error"]["message"]
    assert details["retryable"] is False
    assert [a["outcome"] for a in details["attempts"]] == ["no_route", "not_asked"]


async def test_when_nobody_can_keep_a_limit_it_is_503_with_the_attempts(serve, refused):
    api = await serve((Plain, {"provider_id": "plain"}))
    details = refused(await quote(api, maxLegs=3), 503, "provider_unavailable", "unsupported_limit")
    assert details["attempts"] == [
        {"provider": "plain", "outcome": "not_asked", "amountOut": None, "reason": "unsupported_limit"}
    ]


async def test_an_unknown_protocol_is_refused_with_the_nearest(routed, refused):
    for member in ("protocols", "excludeProtocols"):
        answer = await quote(routed, **{member: ["uniswap-v3", "unsiwap-v2"]})
        details = refused(answer, 422, "validation_error", "unsupported_protocol")
        (field,) = details["fields"]
        assert field["path"] == member
        assert "Did you mean 'uniswap-v2'?" in field["message"]
    # The id of a provider is a name too.
    assert (await quote(routed, protocols=["plain", "uniswap-v3"])).body["provider"] == "routed"


MANY = [f"7:0x{number:064x}" for number in range(65)]
BAD = [
    *(({"maxHops": value}, "maxHops", "out_of_range") for value in (0, 5, -1, 2**60)),
    *(({"maxLegs": value}, "maxLegs", "out_of_range") for value in (0, 65)),
    *(({"maxPriceImpactBps": value}, "maxPriceImpactBps", "out_of_range") for value in (-1, 10_001)),
    *(({"gasPriceWei": value}, "gasPriceWei", "out_of_range") for value in (str(10**18), "9" * 78)),
    *(({name: []}, name, "out_of_range") for name in ("protocols", "pools")),
    *(({name: MANY}, name, "out_of_range") for name in ("pools", "excludePools")),
    *(({name: [MANY[0]] * 65}, name, "out_of_range") for name in ("pools", "excludePools")),
    *(({name: ["a"] * 65}, name, "out_of_range") for name in ("protocols", "excludeProtocols")),
    *(({name: [value]}, name, "invalid_format") for name in ("pools",) for value in (1, "7", POOL, "x:0x1")),
    *(({"protocols": [value]}, "protocols", "invalid_format") for value in (1, None, "", "a b", "x\n", [])),
    ({"protocols": ["a" * 65]}, "protocols", "out_of_range"),
    *(
        ({name: value}, name, "invalid_format")
        for name in MEMBERS
        for value in (None, True, 1.5, {}, "1e3", -0.0)
    ),
    ({"protocols": ["lifi"], "excludeProtocols": ["lifi"]}, "excludeProtocols", "conflict"),
    ({"pools": MANY[:2], "excludePools": MANY[1:3]}, "excludePools", "conflict"),
    ({"pools": ["8:0x" + "ab" * 20]}, "pools", "conflict"),
    ({"excludePools": ["8:0x" + "ab" * 20]}, "excludePools", "conflict"),
]


async def test_bad_limits_are_refused_by_name(routed, refused):
    for limits, path, reason in BAD:
        details = refused(await quote(routed, **limits), 422, "validation_error", reason)
        found = [(field["path"], field["reason"]) for field in details["fields"]]
        assert found == [(path, reason)], limits


async def test_empty_text_is_not_given(routed):
    assert (await quote(routed, **dict.fromkeys(MEMBERS, ""))).status == 200


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(MEMBERS)), json_values, max_size=4))
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
def test_any_value_is_taken_or_refused(members):
    """Whatever JSON has is loaded or is a refusal with a path; nothing else is raised."""
    body = SwapQuoteBody(lambda: Networks([Network("seven", 7, "Seven")]))
    refused = set()
    try:
        body.accept(SWAP | json.loads(json.dumps(members)))
    except InvalidRequest as error:
        refused = {field.path for field in error.fields}
    assert refused <= MEMBERS


async def test_the_list_of_providers_says_what_each_can_keep(routed, contract):
    rows = contract.check("listProviders", await routed.get("/v2/providers"))["data"]
    (row,) = (row for row in rows if row["id"] == "routed")
    assert row["protocols"] == ["uniswap-v2", "uniswap-v3"]
    assert set(row["limits"]) == MEMBERS - {"gasPriceWei"}
    assert [row["limits"] for row in rows if row["id"] == "plain"] == [[]]


async def test_bridges_take_none(routed, refused):
    answer = await routed.post("/v2/bridges/quote", {**SWAP, "maxHops": 1})
    details = refused(answer, 422, "validation_error")
    assert ("maxHops", "unknown_member") in {(f["path"], f["reason"]) for f in details["fields"]}
