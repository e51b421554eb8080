"""Attacks: a token that can be bought and not be sold, and one that keeps a part of every transfer."""

import pytest
from direct_client import USER
from forged_tokens import close_sales, make_token, warnings_of
from quoteway import NATIVE

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def purchase(client, token):
    body = {"network": "devnet", "fromToken": NATIVE, "toToken": token, "amount": "1000000000000000"}
    return await client.ask("/v2/swaps/quote", body | {"address": USER})


async def profile(client, token):
    answer = await client.api.get(f"/v2/tokens/31337:{token}")
    await client.api.check("getToken", answer)
    return answer.body


async def test_a_token_that_cannot_be_sold(client):
    token = await make_token(client, "MOON", "Moon")
    await close_sales(client, token)
    quote = await purchase(client, token)
    assert quote["taxes"] == [{"token": token, "buyBps": 0, "sellBps": None, "sellable": False}]
    (told,) = warnings_of(quote, "cannot_be_sold")
    assert token in told
    assert warnings_of(await client.act(quote), "cannot_be_sold") == [told]
    assert (await profile(client, token))["tradeTax"] == quote["taxes"][0]


async def test_a_token_that_keeps_a_hundredth_of_each_transfer(client):
    token = await make_token(client, "TAXED", "Taxed", contract="FeeOnTransferToken")
    assert (await profile(client, token))["tradeTax"] is None, "not measured yet"
    quote = await purchase(client, token)
    assert quote["taxes"] == [{"token": token, "buyBps": 100, "sellBps": 100, "sellable": True}]
    assert not warnings_of(quote, "cannot_be_sold")
    assert (await profile(client, token))["tradeTax"] == quote["taxes"][0]


async def test_an_honest_token_and_one_that_is_listed(client):
    token = await make_token(client, "HONEST", "Honest")
    assert (await purchase(client, token))["taxes"] == [
        {"token": token, "buyBps": 0, "sellBps": 0, "sellable": True}
    ]
    assert (await purchase(client, client.token("USDC")))["taxes"] == []


async def test_a_token_whose_balances_cannot_be_assumed_is_sold_by_its_buyer(client, monkeypatch):
    async def none(*args):
        return None

    monkeypatch.setattr("quoteway.simulation.token_trades.assume_balance", none)
    taxed = await make_token(client, "TAXED", "Taxed", contract="FeeOnTransferToken")
    assert (await purchase(client, taxed))["taxes"][0]["sellBps"] == 100
    moon = await make_token(client, "MOON", "Moon")
    await close_sales(client, moon)
    assert (await purchase(client, moon))["taxes"][0]["sellable"] is False


async def test_taxes_are_measured_once_and_cost_a_later_quote_nothing(client):
    """A warm quote has one simulation: that of its own transactions."""
    token = await make_token(client, "HONEST", "Honest")
    await purchase(client, token)
    for _ in range(2):
        client.node.asked.clear()
        assert (await purchase(client, token))["taxes"][0]["sellable"] is True
        assert client.node.asked["eth_simulateV1"] == 1
