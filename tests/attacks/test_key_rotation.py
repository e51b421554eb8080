"""Attack: a quote signed by a key that leaked and was rotated out. And the reverse: rotation costs no quote.

A deployment of several replicas learns the new key first, signs with it next, and forgets the old one last.
Whatever two neighbouring states are up at the same time, each opens the other's quotes.
"""

import contextlib
from itertools import pairwise

import jwt
import pytest
import pytest_asyncio
from cheating import wanted
from direct_client import client_of
from signing_keys import SECRETS, signing

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROTATION = [("old",), ("old", "new"), ("new", "old"), ("new",)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def replicas(devnet):
    """One for each state of the rotation, with a quote of its own."""
    async with contextlib.AsyncExitStack() as stack:
        started = []
        for keys in ROTATION:
            client = await stack.enter_async_context(client_of(devnet, 0.0, quotes=signing(*keys)))
            quote = await client.ask("/v2/swaps/quote", wanted(client, provider="uniswap"))
            started.append((client, quote["quoteId"]))
        yield started


async def exchanged(client, token):
    answer = await client.api.post(f"/v2/swaps/{token}/action")
    if answer.status == 201:
        return True
    answer.refused(404, "not_found", "quote_invalid")
    return False


@pytest.mark.slow
async def test_no_quote_fails_while_keys_rotate(replicas):
    for (one, first), (other, second) in pairwise(replicas):
        for client in (one, other):
            assert await exchanged(client, first)
            assert await exchanged(client, second)


@pytest.mark.slow
async def test_a_key_that_was_rotated_out_opens_nothing(replicas):
    (before, _), *_, (after, valid) = replicas
    for _, token in replicas[:2]:
        assert jwt.get_unverified_header(token)["kid"] == "old"
        assert not await exchanged(after, token)
    assert not await exchanged(before, valid)


async def test_the_id_of_a_key_is_not_enough(replicas):
    """The thief of the old key signs under the id of the new one."""
    client, token = replicas[-1]
    claims = jwt.decode(token, options={"verify_signature": False})
    header = jwt.get_unverified_header(token)
    forged = jwt.encode(claims, SECRETS["old"], algorithm="HS256", headers=header)
    assert not await exchanged(client, forged)
    assert await exchanged(client, token)
