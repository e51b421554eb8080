"""Attack: an address with one wrong digit, of another form or of nobody, where the money goes.

A wrong digit breaks the EIP-55 checksum. Names, short and long forms, other digits and the zero address are
refused, in every member and path that has an address.
"""

import pytest
from cheating import wanted
from direct_client import USER

pytestmark = pytest.mark.asyncio(loop_scope="module")
WRONG_DIGIT = USER[:-1] + ("5" if USER[-1] != "5" else "6")
ODD = [
    WRONG_DIGIT, USER.replace("f39F", "F39f"), USER[2:], USER[:-1], USER + "0", USER[:-1] + "g",
    "0X" + USER[2:], "0x" + "\uff11" * 40, "0x" + "\u0430" * 40, USER[:-1] + "\u0000", " " + USER,
    USER + "\n", USER + "\u200b", "0x" + "0" * 24 + USER[2:], "vitalik.eth",
    "eip155:31337:" + USER, 7, None, ["a"], {},
]  # fmt: skip
NOBODY = "0x" + "0" * 40


@pytest.mark.parametrize("member", ["address", "toAddress", "fromToken", "toToken"])
async def test_members(client, member):
    for odd in ODD:
        answer = await client.api.post("/v2/swaps/quote", wanted(client, **{member: odd}))
        assert answer.status == 422, (odd, answer.body)
        assert {field["path"] for field in answer.body["error"]["details"]["fields"]} == {member}, odd


@pytest.mark.parametrize("member", ["address", "toAddress"])
async def test_nobody(client, member):
    answer = await client.api.post("/v2/swaps/quote", wanted(client, **{member: NOBODY}))
    answer.refused(422, "validation_error", None, member)


@pytest.mark.parametrize("kind", ["pools", "vaults"])
async def test_paths(client, kind):
    body = {"action": "add" if kind == "pools" else "deposit", "amount": "1000", "address": USER}
    body["asset"] = client.token("USDC")
    for odd in (WRONG_DIGIT, USER[:-1], USER + "0", "0x" + "\uff11" * 40, "vitalik.eth", NOBODY):
        answer = await client.api.post(f"/v2/{kind}/31337:{odd}/quote", body)
        assert answer.status in (404, 422), (odd, answer.body)
        assert set(answer.body) == {"error"}


async def test_the_same_address_in_every_consistent_case_is_the_same_account(client):
    for form in (USER, USER.lower(), "0x" + USER[2:].upper()):
        quote = await client.ask("/v2/swaps/quote", wanted(client, address=form))
        assert quote["outputs"][0]["account"] == USER
