"""Tokens of quotes: what was sealed comes back."""

import base64
import json
import random
import zlib
from dataclasses import fields, replace

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quoteway.engine.quote_rows import quote_to_row
from quoteway.engine.quote_tokens import (
    MAX_TOKEN_CHARS,
    KeyRing,
    same_request,
)
from quoteway.errors import Reason, UpstreamError
from quoteway.guard.quotes import MAX_PLAN_CHARS
from quoteway.models import (
    MAX_UINT256,
    NATIVE,
    Block,
    Capability,
    DeployRequest,
    IntegratorFee,
    Leg,
    ManageRequest,
    Notice,
    PoolRequest,
    RefreshTerms,
    SealedQuote,
    SwapRequest,
    Token,
    VaultRequest,
)
from sealed_quotes import ETHER, KEY, NOW, USDC, USER, sealer, swap_quote

amounts = st.integers(0, MAX_UINT256)
addresses = st.binary(min_size=20, max_size=20).map(lambda b: "0x" + b.hex())
chains = st.integers(1, 2**53 - 1)
symbols = st.none() | st.text(max_size=32)
tokens = st.builds(Token, chains, addresses, st.integers(0, 255), symbols)
legs = st.builds(Leg, tokens, amounts, addresses, st.none() | amounts, st.none() | amounts)
ticks = st.none() | st.integers(-887272, 887272)
words = st.text(max_size=24)
bps = st.integers(0, 5000)
pool_requests = st.builds(
    PoolRequest,
    words,
    chains,
    words,
    addresses,
    st.none() | amounts,
    addresses,
    addresses,
    bps,
    ticks,
    ticks,
    words,
)
vault_requests = st.builds(
    VaultRequest, words, chains, words, addresses, st.none() | amounts, addresses, addresses, bps
)
manage_requests = st.builds(
    ManageRequest,
    words,
    chains,
    words,
    addresses,
    st.none() | addresses,
    st.none() | amounts,
    bps,
    st.none() | words,
    st.none() | addresses,
)
requests = (
    st.builds(SwapRequest, chains, chains, tokens, tokens, amounts, addresses, addresses, bps, st.booleans())
    | pool_requests
    | vault_requests
    | manage_requests
    | st.builds(DeployRequest, chains, addresses, addresses, words, st.none() | addresses)
)
plans = st.dictionaries(
    st.text(max_size=8), st.integers() | st.text(max_size=20) | st.lists(amounts, max_size=3), max_size=4
)
quotes = st.builds(
    SealedQuote,
    st.sampled_from([Capability.SWAP, Capability.BRIDGE, Capability.POOL, Capability.VAULT]),
    words,
    requests,
    st.lists(legs, max_size=2).map(tuple),
    st.lists(legs, max_size=2).map(tuple),
    bps,
    plans,
    st.builds(Block, st.integers(0, 2**63), words, st.integers(0, 2**40)),
    st.just(NOW),
    st.integers(NOW + 1, NOW + 900),
)
notices = st.lists(st.builds(Notice, words, words), max_size=2).map(tuple)
refresh_terms = st.builds(RefreshTerms, amounts, amounts, amounts, st.none() | words, st.booleans())
joined_quotes = st.builds(
    lambda quote, parts, needs, codes, deadline, fee_amount, terms: replace(
        quote,
        parts=tuple(parts),
        needs=needs,
        acknowledged=codes,
        deadline=deadline,
        plugin="p",
        plan_version=3,
        fee_amount=fee_amount,
        refresh_terms=terms,
    ),
    quotes,
    st.lists(quotes, max_size=2),
    notices,
    st.lists(words, max_size=2).map(tuple),
    st.none() | st.integers(0, 2**53),
    st.none() | amounts,
    st.none() | refresh_terms,
)


@given(joined_quotes)
def test_what_was_sealed_comes_back(quote):
    seal = sealer()
    sealed = seal.seal(quote)
    assert len(sealed.token) <= MAX_TOKEN_CHARS
    # The whole is good for a time; its parts have no life of their own.
    until = {"created_at": quote.created_at, "expires_at": quote.expires_at}
    quote = replace(quote, parts=tuple(replace(part, **until) for part in quote.parts))
    sealed = replace(sealed, parts=quote.parts)
    assert seal.open(quote.capability, sealed.token) == sealed
    assert replace(sealed, token="") == quote
    assert seal.seal(quote).token == sealed.token


def test_every_member_of_every_request_survives():
    """A member added to a request but not to the token would be lost without a word."""
    filled = [
        SwapRequest(
            *(1, 10, USDC, ETHER, MAX_UINT256, USER, NATIVE, 77, True, NATIVE),
            fee=IntegratorFee(25, USER),
            amount_out=MAX_UINT256,
        ),
        PoolRequest("1:0xab", 1, "add", NATIVE, MAX_UINT256, USER, NATIVE, 9, -887272, 887272, "7"),
        VaultRequest("1:0xab", 1, "deposit", NATIVE, MAX_UINT256, USER, NATIVE, 9),
        ManageRequest("1:0xab", 1, "setBot", USER, NATIVE, MAX_UINT256, 9, "carry", USER),
        DeployRequest(1, NATIVE, USER, "carry", NATIVE),
    ]
    seal = sealer()
    for request in filled:
        assert all(getattr(request, f.name) is not None for f in fields(request))
        token = seal.seal(swap_quote(request=request)).token
        assert seal.open(Capability.SWAP, token).request == request


def test_a_token_from_before_refund_addresses_is_read():
    """Nine members then, as today without a refund address; the refund was the sender's."""
    known = sealer().seal(swap_quote())
    claims = jwt.decode(known.token, options={"verify_signature": False})
    packed = claims.pop("z", None)
    content = claims.pop("q", None) or json.loads(zlib.decompress(base64.urlsafe_b64decode(packed + "==")))
    assert len(content[1][1]) == 9
    older = KeyRing([("a", KEY)]).sign({**claims, "q": content}, "qw-quote+jwt")
    opened = sealer().open(Capability.SWAP, older)
    assert replace(opened, token=known.token) == known
    assert opened.request.refund_account == opened.request.sender


def test_a_quote_without_refresh_terms_is_sealed_as_before():
    """So tokens from before there were any are read, and servers of then read those of now."""
    for quote, more in ((swap_quote(), []), (swap_quote(fee_amount=7), [{"f": 7}])):
        assert quote_to_row(quote)[15:] == more


def test_a_plan_comes_back_to_the_builder_the_same_with_and_without_a_token():
    sealed = sealer().seal(swap_quote(plan={"fees": (500, 3000), 7: True}))
    assert sealed.plan == {"fees": [500, 3000], "7": True}
    assert sealer().open(Capability.SWAP, sealed.token).plan == sealed.plan


@pytest.mark.parametrize(
    "plan", [{"a": b"x"}, {"a": float("nan")}, {"a": "x" * MAX_PLAN_CHARS}, {"a": {1, 2}}]
)
def test_a_plan_that_cannot_be_sealed_is_the_provider_s_error(plan):
    with pytest.raises(UpstreamError) as refusal:
        sealer().seal(swap_quote(plan=plan))
    assert refusal.value.reason is Reason.PROVIDER_ERROR


def test_a_realistic_route_of_three_hops_fits_with_room_to_spare():
    rng = random.Random(7)
    hops = [
        {
            "p": "v4",
            "id": "0x" + rng.randbytes(32).hex(),
            "f": 3000,
            "s": 60,
            "h": "0x" + rng.randbytes(20).hex(),
        }
        for _ in range(9)
    ]
    plan = {"v": 1, "paths": [[7000, hops[:3]], [2000, hops[3:6]], [1000, hops[6:]]]}
    assert len(json.dumps(plan)) < MAX_PLAN_CHARS
    assert len(sealer().seal(swap_quote(plan=plan)).token) <= MAX_TOKEN_CHARS


def test_the_longest_plans_of_two_parts_fit():
    """As long as both may be together (``engine.joining``), of nothing but addresses and ids in hex."""
    rng = random.Random(7)

    def token(chain_id):
        return Token(
            chain_id, "0x" + rng.randbytes(20).hex(), 18, base64.b64encode(rng.randbytes(24)).decode()
        )

    def quote(sold, got, plan):
        request = SwapRequest(sold.chain_id, got.chain_id, sold, got, rng.getrandbits(128), USER, NATIVE, 50)
        outputs = (Leg(got, rng.getrandbits(128), NATIVE, rng.getrandbits(128)),)
        return swap_quote(
            request=request, inputs=(Leg(sold, request.amount_in, USER),), outputs=outputs, plan=plan
        )

    sold, between, got = token(1), token(1), token(10)
    noise = rng.randbytes(1000).hex()
    plans = {"x": noise[:1000]}, {"x": noise[1000:]}
    assert len(json.dumps({"parts": plans})) in range(MAX_PLAN_CHARS - 50, MAX_PLAN_CHARS)
    parts = quote(sold, between, plans[0]), quote(between, got, plans[1])
    outputs = (*parts[1].outputs, Leg(between, rng.getrandbits(128), USER, 0))
    whole = replace(quote(sold, got, {}), outputs=outputs, parts=parts)
    assert len(sealer().seal(whole).token) <= MAX_TOKEN_CHARS


def test_requests_are_the_same_when_only_what_tokens_leave_out_differs():
    one = swap_quote().request
    assert same_request(one, replace(one, token_in=replace(ETHER, name="Ether", price_usd=3500.0)))
    assert not same_request(one, replace(one, amount_in=1))
    assert not same_request(one, DeployRequest(1, NATIVE, USER, "x"))
