"""Signed actions: what verifies, and that nothing else does."""

import base64
import sys
from types import SimpleNamespace

import jwt
import orjson
import pytest
from action_keys import pem, signer_of
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PublicFormat,
)
from quoteway.config.loading import load_config, redacted
from quoteway.config.model import Config
from quoteway.engine.action_signatures import ActionSigner, SignatureRefused, signed_claims
from quoteway.errors import ConfigError

ACTION = SimpleNamespace(created_at=1_800_000_000, expires_at=1_800_000_180)
ANSWER = {"actionId": "0x" + "ab" * 32, "amount": str(2**256 - 1), "text": "naïve \u202e", "jws": None}
SIGNED = {name: value for name, value in ANSWER.items() if name != "jws"}


@pytest.fixture
def key():
    return Ed25519PrivateKey.generate()


@pytest.fixture
def signer(key):
    return signer_of(("k1", pem(key)))


@pytest.fixture
def jws(signer):
    return signer.sign(ACTION, ANSWER)


def parts(jws):
    return [base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in jws.split(".")]


def joined(header, payload, signature):
    encoded = (base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (header, payload, signature))
    return ".".join(encoded)


def test_what_is_signed_is_the_answer_with_issuer_and_times(signer, jws):
    assert signed_claims(jws, signer.key_set) == {
        "iss": "desk.example",
        "aud": "action",
        "iat": 1_800_000_000,
        "exp": 1_800_000_180,
        "action": SIGNED,
    }
    assert signer.sign(ACTION, ANSWER | {"jws": "of before"}) == jws


def test_other_implementations_read_it(signer, key, jws):
    """The curve's own function over the bytes of RFC 7515, and a JWT library that knows the key set alone."""
    signing_input, _, _ = jws.rpartition(".")
    key.public_key().verify(parts(jws)[2], signing_input.encode())
    (row,) = signer.key_set["keys"]
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    assert row["x"] == base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    assert (row["kty"], row["crv"], row["kid"], row["alg"], row["use"]) == (
        "OKP",
        "Ed25519",
        "k1",
        "EdDSA",
        "sig",
    )
    assert "d" not in row
    public = jwt.PyJWKSet.from_dict(signer.key_set)["k1"].key
    options = {"verify_exp": False, "verify_iat": False}
    claims = jwt.decode(jws, public, algorithms=["EdDSA"], audience="action", options=options)
    assert claims["action"] == SIGNED


def test_every_changed_character_is_refused(signer, jws):
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    accepted = []
    for at, char in enumerate(jws):
        for other in {
            alphabet[(alphabet.find(char) + 1) % 64],
            alphabet[(alphabet.find(char) + 17) % 64],
            ".",
        }:
            try:
                claims = signed_claims(jws[:at] + other + jws[at + 1 :], signer.key_set)
            except SignatureRefused:
                continue
            accepted.append((at, claims))
    # Base64 has unused bits in the last character of a part: another character there may be the same bytes.
    assert all(claims["action"] == SIGNED for _, claims in accepted)
    assert len(accepted) <= 3


@pytest.mark.parametrize(
    "change",
    [
        {"alg": "none"},
        {"alg": "HS256"},
        {"alg": "RS256"},
        {"typ": "JWT"},
        {"typ": "qw-quote+jwt"},
        {"kid": "k2"},
        {"kid": None},
        {"kid": ["k1"]},
        {"crit": ["b64"], "b64": False},
    ],
)
def test_another_header_is_refused_even_when_it_is_signed(signer, key, jws, change):
    header, payload, _ = parts(jws)
    changed = orjson.dumps(orjson.loads(header) | change)
    unsigned = joined(changed, payload, b"").rpartition(".")[0]
    with pytest.raises(SignatureRefused):
        signed_claims(joined(changed, payload, key.sign(unsigned.encode())), signer.key_set)


def test_a_secret_made_of_the_public_key_signs_nothing(signer, key, jws):
    """The confusion of algorithms: HMAC with the public key's own text."""
    (row,) = signer.key_set["keys"]
    headers = {"kid": "k1", "typ": "qw-action+jwt"}
    forged = jwt.encode({"aud": "action", "action": {}}, row["x"], algorithm="HS256", headers=headers)
    with pytest.raises(SignatureRefused):
        signed_claims(forged, signer.key_set)


@pytest.mark.parametrize("payload", [b"[]", b"{}", b'{"aud": "quote"}', b"not json", b"[" * 100_000, b"\xff"])
def test_something_else_that_the_key_signed_is_no_action(signer, key, jws, payload):
    header = parts(jws)[0]
    unsigned = joined(header, payload, b"").rpartition(".")[0]
    with pytest.raises(SignatureRefused):
        signed_claims(joined(header, payload, key.sign(unsigned.encode())), signer.key_set)


@pytest.mark.parametrize(
    "key_set",
    [
        None,
        [],
        "keys",
        {},
        {"keys": []},
        {"keys": None},
        {"keys": [None]},
        {"keys": [{"kty": "OKP"}]},
        {"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": "AA"}]},
        {"keys": [{"kty": "oct", "kid": "k1", "k": "c2VjcmV0"}]},
    ],
)
def test_a_key_set_that_is_none_verifies_nothing(jws, key_set):
    with pytest.raises(SignatureRefused):
        signed_claims(jws, key_set)


def test_two_keys_of_one_name_verify_nothing(signer, jws):
    other = signer_of(("k1", pem(Ed25519PrivateKey.generate())))
    both = {"keys": [*other.key_set["keys"], *signer.key_set["keys"]]}
    with pytest.raises(SignatureRefused, match="2 Ed25519 keys"):
        signed_claims(jws, both)


def test_a_new_key_signs_and_the_one_before_still_verifies(key, jws):
    new = Ed25519PrivateKey.generate()
    rotated = signer_of(("k2", pem(new)), ("k1", pem(key)))
    assert signed_claims(jws, rotated.key_set)["action"] == SIGNED
    again = rotated.sign(ACTION, ANSWER)
    assert jwt.get_unverified_header(again)["kid"] == "k2"
    assert signed_claims(again, rotated.key_set)["action"] == SIGNED


@pytest.mark.parametrize(
    "text", ["canary", "", "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----"]
)
def test_what_is_no_key_is_named_without_its_text(text):
    with pytest.raises(ConfigError, match="openssl genpkey -algorithm ed25519") as raised:
        signer_of(("k1", text))
    assert "canary" not in str(raised.value)


def test_a_key_of_another_kind_or_with_a_password_is_refused(key):
    for text in (pem(generate_private_key(65537, 2048)), pem(key, BestAvailableEncryption(b"canary"))):
        with pytest.raises(ConfigError, match="'k1' is no unencrypted Ed25519 key"):
            signer_of(("k1", text))


def test_two_keys_need_two_names(key):
    with pytest.raises(ConfigError, match="same id"):
        signer_of(("k1", pem(key)), ("k1", pem(Ed25519PrivateKey.generate())))


def test_without_the_package_the_remedy_is_named(key, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(ConfigError, match=r"install quoteway\[signing\]"):
        signer_of(("k1", pem(key)))


def test_the_key_is_read_from_a_file_and_shown_to_nobody(key, tmp_path):
    (tmp_path / "action.pem").write_text(pem(key))
    path = tmp_path / "quoteway.toml"
    path.write_text(
        '[quotes]\nkeys = [{id = "q", secret = {env = "QUOTES"}}]\n'
        '[actions]\nkeys = [{id = "k1", private_key = {file = "action.pem"}}]\n'
    )
    config = load_config(path, {"QUOTES": "4f1c9a07e2d85b36c0a7914ed3f8625b"})
    claims = signed_claims(ActionSigner.of(config).sign(ACTION, ANSWER), ActionSigner.of(config).key_set)
    assert claims["action"] == SIGNED
    secret = pem(key).splitlines()[1]
    assert secret not in str(redacted(config))
    assert secret not in repr(config)


def test_without_keys_nothing_is_signed():
    assert ActionSigner.of(Config()) is None
