"""Attack: a transaction that is held back, and executed when its price is good for somebody else.

The caller says until when it may execute. Contracts that take a deadline get that one; for others the action
says that it is not enforced.
"""

import time

import pytest
from direct_client import USER, client_of


@pytest.fixture
async def client(fresh_devnet):
    async with client_of(fresh_devnet, 0.0) as client:
        yield client


def chain_now(client):
    """The devnet may be ahead of the clock."""
    with client.devnet.rpc() as rpc:
        return max(int(time.time()), int(rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16))


def argument(action, name):
    """An argument of the last step's call."""
    decoded = action["steps"][-1]["decoded"]
    return next(each["value"] for each in decoded["args"] if each["name"] == name)


def codes(notices):
    return [each["code"] for each in notices]


async def test_a_swap_has_the_deadline_in_its_calldata(client):
    deadline = chain_now(client) + 600
    quote = await client.quote_swap(deadline=deadline)
    action = await client.act(quote)
    assert quote["deadline"] == action["deadline"] == int(argument(action, "deadline")) == deadline
    assert f"{deadline:064x}" in action["transactions"][-1]["data"]
    permit = next(step for step in action["steps"] if step["kind"] == "permit2_approval")
    assert int(permit["decoded"]["args"][-1]["value"]) == deadline
    assert "deadline_not_enforced" not in codes(action["warnings"])


@pytest.mark.slow
async def test_a_quote_does_not_live_longer_than_its_deadline(client):
    deadline = chain_now(client) + 90
    quote = await client.quote_swap(deadline=deadline)
    assert quote["expiresIn"] <= 90
    assert (await client.quote_swap())["expiresIn"] > 90


async def test_after_the_deadline_the_transaction_reverts(client):
    deadline = chain_now(client) + 600
    action = await client.act(await client.quote_swap("ETH", "USDC", 10**15, deadline=deadline))
    (transaction,) = action["transactions"]
    call = {**{name: transaction[name] for name in ("to", "data", "value")}, "from": USER}
    with client.devnet.rpc() as rpc:
        rpc("eth_call", call, "latest")
        rpc("evm_setNextBlockTimestamp", hex(deadline + 1))
        rpc("evm_mine")
        with pytest.raises(Exception, match=r"0x5bf6f916|TransactionDeadlinePassed|revert"):
            rpc("eth_call", call, "latest")


@pytest.mark.parametrize("kind", ["v2", "v3"])
async def test_liquidity_has_it_too(client, kind):
    deadline = chain_now(client) + 700
    pool = client.pool(kind, "WETH/USDC")
    body = {"action": "add", "amount": "1000000", "asset": client.token("USDC"), "address": USER}
    path = f"/v2/pools/31337:{pool.id}"
    action = await client.ask(f"{path}/action", {**body, "deadline": deadline})
    assert action["deadline"] == deadline
    assert f"{deadline:064x}" in action["transactions"][-1]["data"]
    quote = await client.ask(f"{path}/quote", {**body, "deadline": deadline})
    pinned = {**body, "quoteId": quote["quoteId"]}
    assert (await client.ask(f"{path}/action", pinned))["deadline"] == deadline
    other = await client.api.post(f"{path}/action", {**pinned, "deadline": deadline + 1})
    other.refused(422, "validation_error", "conflict")


@pytest.mark.parametrize(
    ("offset", "reason"), [(-10, "out_of_range"), (30, "out_of_range"), (90_000, "out_of_range")]
)
async def test_a_deadline_outside_the_bounds_is_refused(client, offset, reason):
    body = {"network": "devnet", "fromToken": client.token("USDC"), "toToken": client.token("WETH")}
    body |= {"amount": "1000000", "address": USER, "deadline": chain_now(client) + offset}
    (await client.api.post("/v2/swaps/quote", body)).refused(422, "validation_error", reason, "deadline")


async def test_a_transfer_that_may_execute_later_says_so(fresh_devnet, relayer):
    async with client_of(fresh_devnet, 0.0, relayer.port) as client:
        body = {"fromChain": "devnet", "toChain": "devnet-l2", "amount": "1000000000", "address": USER}
        body |= {"fromToken": client.token("USDC"), "toToken": client.token("USDC", "devnet-l2")}
        quote = await client.ask("/v2/bridges/quote", {**body, "deadline": chain_now(client) + 90})
        action = await client.ask(f"/v2/bridges/{quote['quoteId']}/action", None)
        assert "deadline_not_enforced" in codes(action["warnings"])
