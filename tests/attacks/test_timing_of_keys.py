"""Attack: a caller who guesses a key byte by byte, from how long each wrong guess takes to be refused.

API keys are looked up by their digests: a guess that is near to a key has a digest that is not. Signatures
are compared by ``hmac.compare_digest`` alone, whole. Differences of a few nanoseconds cannot be measured
here: the comparisons themselves are recorded.
"""

import base64
import hashlib
import hmac
from dataclasses import replace

import pytest
from quoteway.config.model import AuthConfig
from quoteway.secrets import Secret
from quoteway.web.http.middleware import MIDDLEWARE

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
KEYS = ["canary-key-0123456789abcdef", "second-key-fedcba9876543210", "a-third-one-of-another-length-0f"]


@pytest.fixture
def compared(monkeypatch):
    """What was compared in constant time, in order."""
    seen, real = [], hmac.compare_digest

    def compare(one, other):
        seen.append((bytes(one), bytes(other)))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    return seen


GUESSES = {
    "right": KEYS[0],
    "right, the last": KEYS[-1],
    "wrong in the first byte": "X" + KEYS[0][1:],
    "wrong in the last byte": KEYS[0][:-1] + "X",
    "short": KEYS[0][:-1],
    "long": KEYS[0] + "X",
    "one byte": "c",
}


async def test_no_key_is_compared_with_a_guess(serve_app, make_config, compared):
    secrets = tuple(Secret(key) for key in KEYS)
    api = await serve_app(config=replace(make_config(), auth=AuthConfig(keys=secrets)))
    answers = {}
    for name, guess in GUESSES.items():
        answer = await api.get("/v2/providers", headers={"Authorization": f"Bearer {guess}"})
        if name.startswith("right"):
            assert answer.status == 200
            continue
        error = {**answer.body["error"], "requestId": None}
        answers[name] = answer.status, error, answer.headers["WWW-Authenticate"]
    assert len({str(answer) for answer in answers.values()}) == 1, "the answer does not tell how near it was"
    assert compared == []
    digests = {hashlib.sha256(key.encode()).digest() for key in KEYS}
    assert set(api.app[MIDDLEWARE].keys._by_digest) == digests, "what a guess is looked up in"


async def test_the_signature_of_a_quote_is_compared_whole(fakes, compared):
    body = {"network": "devnet", "fromToken": "native", "toToken": fakes.weth, "amount": "1"}
    quote = (await fakes.post("/v2/swaps/quote", {**body, "address": WALLET})).body["quoteId"]
    content, _, signature = quote.rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "=")
    for wrong in (bytes([raw[0] ^ 1]) + raw[1:], raw[:-1] + bytes([raw[-1] ^ 1]), bytes(32)):
        compared.clear()
        forged = base64.urlsafe_b64encode(wrong).decode().rstrip("=")
        answer = await fakes.get(f"/v2/swaps/quote/{content}.{forged}")
        assert answer.status == 404
        assert {wrong, raw} in [set(pair) for pair in compared]
