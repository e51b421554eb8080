"""Tokens of quotes and ids of transactions: nothing opens but what was sealed with a key in use."""

import base64
import random
import tracemalloc
import zlib

import jwt
import pytest
from quoteway.engine.quote_tokens import (
    KeyRing,
    Sealer,
    TransactionCommitment,
)
from quoteway.errors import ConfigError, NotFound, Reason
from quoteway.models import (
    MAX_UINT256,
    NATIVE,
    Capability,
)
from sealed_quotes import KEY, NOW, OLD, USDC, USER, refused, sealer, swap_quote


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
    tx_id = sealer().seal_transaction(COMMITMENT)
    assert sealer().open_transaction(tx_id) == COMMITMENT
    assert sealer().seal_transaction(COMMITMENT) == tx_id
    with pytest.raises(NotFound) as refusal:
        sealer(now=COMMITMENT.expires_at).open_transaction(tx_id)
    assert refusal.value.reason is Reason.QUOTE_EXPIRED


def test_quote_and_transaction_tokens_never_stand_in_for_each_other():
    seal = sealer()
    refused(seal, seal.seal_transaction(COMMITMENT))
    for token in (seal.seal(swap_quote()).token, "", "x", "A" * 1_000_000):
        with pytest.raises(NotFound) as refusal:
            seal.open_transaction(token)
        assert refusal.value.reason is Reason.QUOTE_INVALID
