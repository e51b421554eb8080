"""Attack: a forged quote: another algorithm, key, audience, issuer or type, changed claims, odd spellings.

The forger knows the form of a token, and in some cases the key of another deployment or a key that was taken
out of use. Nothing opens but what a key in use has signed for this deployment and kind of quote.
"""

import base64
import time

import jwt
import pytest
import pytest_asyncio
from cheating import wanted
from direct_client import USER, client_of
from signing_keys import SECRETS, signing

pytestmark = pytest.mark.asyncio(loop_scope="module")
TYPE = "qw-quote+jwt"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(devnet):
    async with client_of(devnet, 0.0, quotes=signing("new")) as client:
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def token(client):
    return (await client.ask("/v2/swaps/quote", wanted(client, provider="uniswap")))["quoteId"]


@pytest.fixture
def claims(token):
    return jwt.decode(token, options={"verify_signature": False})


def forge(claims, key="new", algorithm="HS256", **header):
    secret = SECRETS.get(key, key)
    headers = {
        name: value for name, value in {"kid": "new", "typ": TYPE, **header}.items() if value is not None
    }
    return jwt.encode(claims, secret, algorithm=algorithm, headers=headers)


async def refused(client, token, reason="quote_invalid"):
    """In an action nothing is given; the quote is shown where it has merely expired."""
    answer = await client.api.post(f"/v2/swaps/{token}/action")
    answer.refused(404, "not_found", reason)
    assert set(answer.body) == {"error"}
    shown = await client.api.get(f"/v2/swaps/quote/{token}")
    if reason == "quote_invalid":
        shown.refused(404, "not_found", reason)
    else:
        assert (shown.status, shown.body["status"]) == (200, "expired")


async def test_the_forger_of_these_tests_makes_quotes_that_open_when_nothing_is_wrong(client, claims):
    answer = await client.api.post(f"/v2/swaps/{forge(claims)}/action")
    assert answer.status == 201, answer.body


FORGERIES = {
    "no signature": {"key": "", "algorithm": "none"},
    "another algorithm": {"algorithm": "HS384"},
    "a longer algorithm": {"algorithm": "HS512"},
    "another key": {"key": "other"},
    "another key under its own id": {"key": "other", "kid": "other"},
    "a key that was taken out of use": {"key": "old", "kid": "old"},
    "a key that was taken out of use, under the new id": {"key": "old"},
    "no key id": {"kid": None},
    "a path as key id": {"kid": "../../dev/null"},
    "another type": {"typ": "qw-tx+jwt"},
    "the plain type": {"typ": "JWT"},
    "no type": {"typ": None},
    "a critical extension": {"crit": ["b64"], "b64": False},
}


@pytest.mark.parametrize("how", FORGERIES.values(), ids=FORGERIES.keys())
async def test_another_key_algorithm_or_type(client, claims, how):
    await refused(client, forge(claims, **how))


CLAIMS = {
    "another deployment": {"iss": "another"},
    "another kind of quote": {"aud": "vault"},
    "no audience": {"aud": None},
    "no issuer": {"iss": None},
    "no end": {"exp": None},
    "no beginning": {"iat": None},
    "an end that is a word": {"exp": "soon"},
    "not yet": {"nbf": 2**40},
    "no content": {"q": None, "z": None},
    "content of another form": {"q": ["uniswap"], "z": None},
    "content that is no compression": {"q": None, "z": "AAAA"},
}


@pytest.mark.parametrize("change", CLAIMS.values(), ids=CLAIMS.keys())
async def test_claims_that_do_not_fit_though_the_key_is_right(client, claims, change):
    claims = {name: value for name, value in {**claims, **change}.items() if value is not None}
    await refused(client, forge(claims))


async def test_an_expired_quote_is_shown_and_not_exchanged(client, claims):
    await refused(client, forge({**claims, "exp": int(time.time()) - 1}), "quote_expired")


async def test_a_quote_of_another_capability(client, token):
    """The key, the issuer and the type are the same."""
    (await client.api.post(f"/v2/bridges/{token}/action")).refused(404, "not_found", "quote_invalid")
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    body = {"action": "deposit", "amount": "1000", "asset": client.token("USDC"), "address": USER}
    path = f"/v2/vaults/31337:{vault.address}"
    quote = await client.ask(f"{path}/quote", body)
    await refused(client, quote["quoteId"])
    answer = await client.api.post(f"{path}/action", {**body, "quoteId": token})
    answer.refused(404, "not_found", "quote_invalid")


async def test_the_id_of_a_transaction(client, token):
    action = (await client.api.post(f"/v2/swaps/{token}/action")).body
    await refused(client, action["steps"][0]["txId"])
    answer = await client.api.get(f"/v2/transactions/{token}?hash=0x{'12' * 32}")
    answer.refused(404, "not_found", "quote_invalid")


def parts_changed(token):
    """Each part with one changed byte, at every tenth place, encoded anew."""
    parts = token.split(".")
    for index, part in enumerate(parts):
        raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        for place in range(0, len(raw), 10):
            changed = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
            forged = base64.urlsafe_b64encode(changed).rstrip(b"=").decode()
            yield ".".join([*parts[:index], forged, *parts[index + 1 :]])


async def test_changed_bytes_and_other_spellings(client, token):
    """32 bytes leave two unused bits in their 43rd character: four spellings decode to the same."""
    last = ALPHABET.index(token[-1])
    twins = [ALPHABET[last - last % 4 + n] for n in range(4)]
    spellings = [token[:-1] + twin for twin in twins if twin != token[-1]]
    spellings += [token + tail for tail in ("=", "==", "A", "%00", "%20", ".", ".AAAA")]
    spellings += [token[:-1], token[1:], token.upper(), token.replace(".", "", 1), "x", "a.b.c"]
    for spelling in [*spellings, *parts_changed(token)]:
        answer = await client.api.post(f"/v2/swaps/{spelling}/action")
        assert answer.status == 404, spelling
        answer.refused(404, "not_found", "quote_invalid")


async def test_a_quote_of_a_megabyte(client, token):
    for long in ("A" * 1_000_000, token + "A" * 1_000_000, "a." * 500_000):
        async with client.api.session.post(f"{client.api.url}/v2/swaps/{long}/action") as answer:
            assert answer.status == 400
            assert (await answer.json())["error"]["code"] == "invalid_request"
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    body = {"action": "deposit", "amount": "1000", "asset": client.token("USDC"), "address": USER}
    body["quoteId"] = token + "A" * 10_000
    answer = await client.api.post(f"/v2/vaults/31337:{vault.address}/action", body)
    assert answer.status in (404, 422)
    assert set(answer.body) == {"error"}
