"""Tokens: what was sealed comes back, and nothing else opens."""

import base64
import json
import random
import tracemalloc
import zlib
from dataclasses import fields, replace

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quoteway.engine.quote_tokens import (
    MAX_TOKEN_CHARS,
    KeyRing,
    Sealer,
    same_request,
)
from quoteway.engine.transaction_ids import TransactionCommitment
from quoteway.errors import ConfigError, NotFound, Reason, UpstreamError
from quoteway.guard.plans import MAX_PLAN_CHARS
from quoteway.models import (
    MAX_UINT256,
    NATIVE,
    Block,
    Capability,
    DeployRequest,
    Leg,
    ManageRequest,
    PoolRequest,
    SealedQuote,
    SwapRequest,
    Token,
    VaultRequest,
)

NOW = 1_800_000_000
KEY = b"k" * 32
OLD = b"o" * 32
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USDC = Token(1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6, "USDC")
ETHER = Token(1, NATIVE, 18, "ETH")


def sealer(*keys, issuer="quoteway", now=NOW):
    return Sealer(KeyRing(keys or [("a", KEY)]), issuer=issuer, clock=lambda: now)


def swap_quote(**changes):
    request = SwapRequest(1, 1, ETHER, USDC, 10**18, USER, USER, 50)
    quote = SealedQuote(
        Capability.SWAP,
        "uniswap",
        request,
        (Leg(ETHER, 10**18, USER),),
        (Leg(USDC, 3_500 * 10**6, USER, amount_min=3_482 * 10**6),),
        50,
        {"v": 1, "path": ["0x" + "ab" * 20, 500]},
        Block(20_000_000, "0x" + "cd" * 32, NOW - 5),
        NOW,
        NOW + 180,
    )
    return replace(quote, **changes)


def refused(seal, token, capability=Capability.SWAP, reason=Reason.QUOTE_INVALID):
    with pytest.raises(NotFound) as refusal:
        seal.open(capability, token)
    assert refusal.value.reason is reason
    assert len(token) < 20 or token[:50] not in refusal.value.message
    assert refusal.value.__cause__ is None


# --- round trip --------------------------------------------------------------------------------------------

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


joined_quotes = st.builds(
    lambda quote, parts: replace(quote, parts=tuple(parts)), quotes, st.lists(quotes, max_size=2)
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
        SwapRequest(1, 10, USDC, ETHER, MAX_UINT256, USER, NATIVE, 77, True, NATIVE),
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
    """Nine members then; the refund was the sender's."""
    known = sealer().seal(swap_quote())
    claims = jwt.decode(known.token, options={"verify_signature": False})
    packed = claims.pop("z", None)
    content = claims.pop("q", None) or json.loads(zlib.decompress(base64.urlsafe_b64decode(packed + "==")))
    assert content[1][1].pop() is None
    older = KeyRing([("a", KEY)]).sign({**claims, "q": content}, "qw-quote+jwt")
    opened = sealer().open(Capability.SWAP, older)
    assert replace(opened, token=known.token) == known
    assert opened.request.refund_account == opened.request.sender


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


# --- attacks -----------------------------------------------------------------------------------------------


def test_no_flipped_character_is_accepted():
    seal = sealer()
    token = seal.seal(swap_quote()).token
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
    for place in range(len(token)):
        for other in random.Random(place).sample(alphabet, 3):
            if other != token[place]:
                refused(seal, token[:place] + other + token[place + 1 :])


def test_no_flipped_byte_of_any_part_is_accepted():
    seal = sealer()
    parts = seal.seal(swap_quote()).token.split(".")
    for index, part in enumerate(parts):
        raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        for place in range(len(raw)):
            changed = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
            forged = [*parts]
            forged[index] = base64.urlsafe_b64encode(changed).rstrip(b"=").decode()
            refused(seal, ".".join(forged))


def test_no_truncated_or_extended_token_is_accepted():
    seal = sealer()
    token = seal.seal(swap_quote()).token
    for length in range(len(token)):
        refused(seal, token[:length])
    for tail in ("=", "A", ".", " ", "\n", "\0", ".AAAA"):
        refused(seal, token + tail)


def test_trailing_bits_of_the_last_character_are_not_ignored():
    """32 bytes leave two unused bits in their 43rd character: four spellings decode to the same."""
    seal = sealer()
    token = seal.seal(swap_quote()).token
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    last = alphabet.index(token[-1])
    twins = [alphabet[last - last % 4 + n] for n in range(4)]
    assert token[-1] in twins
    for twin in twins:
        if twin != token[-1]:
            refused(seal, token[:-1] + twin)


def claims_of(seal_token, key=KEY):
    return jwt.decode(
        seal_token,
        key,
        algorithms=["HS256"],
        audience="swap",
        options={"verify_exp": False, "verify_iat": False},
    )


HEADERS = {"kid": "a", "typ": "qw-quote+jwt"}


@pytest.fixture
def authentic():
    return claims_of(sealer().seal(swap_quote()).token)


def test_the_forger_of_these_tests_makes_tokens_that_open_when_nothing_is_wrong(authentic):
    token = jwt.encode(authentic, KEY, algorithm="HS256", headers=HEADERS)
    assert sealer().open(Capability.SWAP, token).request == swap_quote().request


@pytest.mark.parametrize(
    ("key", "algorithm", "headers"),
    [
        ("", "none", HEADERS),
        (KEY, "HS384", HEADERS),
        (KEY, "HS512", HEADERS),
        (b"x" * 32, "HS256", HEADERS),
        (KEY, "HS256", {**HEADERS, "kid": "b"}),
        (KEY, "HS256", {**HEADERS, "kid": "../../dev/null"}),
        (KEY, "HS256", {"typ": HEADERS["typ"]}),
        (KEY, "HS256", {**HEADERS, "typ": "qw-tx+jwt"}),
        (KEY, "HS256", {**HEADERS, "typ": "JWT"}),
        (KEY, "HS256", {**HEADERS, "crit": ["b64"], "b64": False}),
    ],
)
def test_another_algorithm_key_or_type_is_refused(authentic, key, algorithm, headers):
    refused(sealer(), jwt.encode(authentic, key, algorithm=algorithm, headers=headers))


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "another"},
        {"aud": "pool"},
        {"aud": None},
        {"iss": None},
        {"exp": None},
        {"iat": None},
        {"exp": "soon"},
        {"q": [], "z": None},
        {"q": {"a": 1}, "z": None},
        {"q": None, "z": None},
        {"z": "AAAA", "q": None},
    ],
)
def test_claims_that_do_not_fit_are_refused_even_when_authentic(authentic, change):
    claims = {name: value for name, value in {**authentic, **change}.items() if value is not None}
    refused(sealer(), jwt.encode(claims, KEY, algorithm="HS256", headers=HEADERS))


def test_a_token_of_another_capability_or_deployment_is_refused():
    token = sealer().seal(swap_quote()).token
    for capability in (Capability.BRIDGE, Capability.POOL, Capability.VAULT):
        refused(sealer(), token, capability)
    refused(sealer(issuer="other"), token)


def test_keys_rotate_without_one_failed_token_and_a_rotated_out_key_opens_nothing():
    before = sealer(("old", OLD)).seal(swap_quote()).token
    during = sealer(("new", KEY), ("old", OLD))
    assert during.open(Capability.SWAP, before).request == swap_quote().request
    after = during.seal(swap_quote()).token
    assert jwt.get_unverified_header(after)["kid"] == "new"
    alone = sealer(("new", KEY))
    assert alone.open(Capability.SWAP, after).request == swap_quote().request
    refused(alone, before)
    refused(sealer(("old", b"z" * 32), ("new", KEY)), before)  # the id alone is not enough


def test_expired_and_garbled_are_told_apart_and_an_expired_one_can_still_be_read():
    token = sealer().seal(swap_quote()).token
    for now in (NOW + 180, NOW + 10**6):
        late = sealer(now=now)
        refused(late, token, reason=Reason.QUOTE_EXPIRED)
        assert late.open(Capability.SWAP, token, allow_expired=True).provider == "uniswap"
        refused(late, token[:-2] + "AA")
    sealer(now=NOW + 179).open(Capability.SWAP, token)
    garbled = token[:-2] + "AA"
    with pytest.raises(NotFound):
        sealer().open(Capability.SWAP, garbled, allow_expired=True)


def test_a_megabyte_is_refused_without_reading_it(monkeypatch):
    seal = sealer()
    monkeypatch.setattr("quoteway.engine.quote_tokens._SHAPE", None)
    monkeypatch.setattr("quoteway.engine.quote_tokens._unb64", None)
    for token in ("A" * 1_000_000, "." * 1_000_000, "a." * 500_000, "e30." + "A" * 1_000_000 + ".e30"):
        refused(seal, token)


def test_a_compressed_bomb_is_not_inflated_even_when_authentic(authentic):
    bomb = zlib.compress(b"[" + b"0," * 40_000_000 + b"0]", 9)[:2000]
    bomb = base64.urlsafe_b64encode(bomb).rstrip(b"=").decode()
    claims = {name: authentic[name] for name in ("iss", "aud", "iat", "exp")} | {"z": bomb}
    token = jwt.encode(claims, KEY, algorithm="HS256", headers=HEADERS)
    tracemalloc.start()
    refused(sealer(), token)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "é.é.é",
        "\0.\0.\0",
        "null",
        "e30.e30.e30",
        "W10.W10.W10",
        "[" * 4000,
        " a.b.c",
        "a.b.c\n",
    ],
)
def test_garbage_is_refused(token):
    refused(sealer(), token)


def test_a_header_of_deep_nesting_is_refused():
    deep = base64.urlsafe_b64encode(b"[" * 2900).rstrip(b"=").decode()
    refused(sealer(), f"{deep}.e30.AAAA")


# --- keys --------------------------------------------------------------------------------------------------


def test_short_missing_and_twin_keys_are_refused_and_the_secret_is_not_shown():
    with pytest.raises(ConfigError, match="31 bytes") as refusal:
        KeyRing([("a", b"hunter2" + b"x" * 24)])
    assert "hunter2" not in str(refusal.value)
    with pytest.raises(ConfigError, match="empty"):
        KeyRing([])
    with pytest.raises(ConfigError, match="same id"):
        KeyRing([("a", KEY), ("a", OLD)])


def test_random_rings_do_not_open_each_other_s_tokens():
    one, two = (Sealer(KeyRing.random(), issuer="quoteway", clock=lambda: NOW) for _ in range(2))
    refused(two, one.seal(swap_quote()).token)


# --- transactions ------------------------------------------------------------------------------------------

COMMITMENT = TransactionCommitment(
    1,
    USER,
    USDC.address,
    MAX_UINT256,
    "0x" + "ab" * 32,
    "0x" + "cd" * 32,
    2,
    NOW + 7 * 24 * 3600,
    ((USDC.address, USER, MAX_UINT256), (NATIVE, USER, 0)),
    ((68, 65),),
)


def test_a_transaction_id_gives_back_its_commitment_and_expires():
    tx_id = sealer().seal_transaction(COMMITMENT, issued_at=NOW)
    assert sealer().open_transaction(tx_id) == COMMITMENT
    assert sealer().seal_transaction(COMMITMENT, issued_at=NOW) == tx_id
    with pytest.raises(NotFound) as refusal:
        sealer(now=COMMITMENT.expires_at).open_transaction(tx_id)
    assert refusal.value.reason is Reason.QUOTE_EXPIRED


def test_quote_and_transaction_tokens_never_stand_in_for_each_other():
    seal = sealer()
    refused(seal, seal.seal_transaction(COMMITMENT, issued_at=NOW))
    for token in (seal.seal(swap_quote()).token, "", "x", "A" * 1_000_000):
        with pytest.raises(NotFound) as refusal:
            seal.open_transaction(token)
        assert refusal.value.reason is Reason.QUOTE_INVALID
