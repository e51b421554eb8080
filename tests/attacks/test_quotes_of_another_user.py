"""Attack: a quote of one user exchanged by another, for a transaction of the other's own.

The account is in the sealed quote. The action of a swap takes no other one. A request for a pool or a vault
that names a quote must be the request that was quoted.
"""

import pytest
from cheating import attempt, wanted
from direct_client import OTHER, USER

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_swap_is_built_for_the_user_of_the_quote(client):
    quote = await client.ask("/v2/swaps/quote", wanted(client))
    path = f"/v2/swaps/{quote['quoteId']}/action"
    for body in ({"address": OTHER}, {"toAddress": OTHER}, {"recipient": OTHER}, {"from": OTHER}):
        answer = await client.api.post(path, body)
        answer.refused(422, "validation_error", "unknown_member", next(iter(body)))
        assert set(answer.body) == {"error"}
    answer = await client.api.post(
        path,
        {},
    )
    assert answer.body["from"] == USER
    assert OTHER[2:].lower() not in str(answer.body).lower()


async def test_nothing_in_the_action_of_another_user_is_good_for_the_thief(client):
    """Sent by the thief, who has no allowance, it reverts; with one it would pay the user."""
    action = (await attempt(client)).body
    call = {name: action["transactions"][-1][name] for name in ("to", "data", "value")}
    with client.devnet.rpc() as rpc, pytest.raises(Exception, match=r"revert|TRANSFER"):
        rpc("eth_call", {**call, "from": OTHER}, "latest")
    paid = {arg["name"]: arg["value"] for arg in action["steps"][-1]["decoded"]["args"]}["to"]
    assert paid == USER


def vault_request(client):
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    return f"/v2/vaults/31337:{vault.address}", {"action": "deposit"}


def pool_request(client):
    return f"/v2/pools/31337:{client.pool('v2', 'WETH/USDC').id}", {"action": "add"}


@pytest.mark.parametrize("request_of", [vault_request, pool_request])
async def test_a_quote_that_a_request_names_is_for_the_same_request(client, request_of):
    path, body = request_of(client)
    body |= {"amount": "1000000", "asset": client.token("USDC"), "address": USER}
    named = {**body, "quoteId": (await client.ask(f"{path}/quote", body))["quoteId"]}
    changes = {"address": OTHER, "recipient": OTHER, "amount": "1000001", "slippageBps": 49}
    for member, value in changes.items():
        answer = await client.api.post(f"{path}/action", {**named, member: value})
        answer.refused(422, "validation_error", "conflict")
        assert set(answer.body) == {"error"}
    assert (await client.ask(f"{path}/action", named))["from"] == USER
