"""Attack: a swap that takes another fee than its integrator asked for, or keeps it.

``tests/core/test_integrator_fees.py`` has the programs that the guard refuses, and ``test_corrupted_builds``
changes honest ones. Here, over HTTP: only who enforces fees is asked, and what is signed pays what was told.
"""

import pytest
from cheating import AMOUNT
from direct_client import USER
from quoteway import NATIVE

pytestmark = pytest.mark.asyncio(loop_scope="module")
SHOP = "0x5555555555555555555555555555555555555555"
FEE = {"feeBps": 50, "feeRecipient": SHOP}


async def test_a_provider_that_cannot_enforce_the_fee_is_not_asked(client):
    quote = await client.quote_swap("USDC", "WETH", AMOUNT, **FEE)
    attempts = {each["provider"]: (each["outcome"], each["reason"]) for each in quote["attempts"]}
    assert attempts.pop("uniswap") == ("quoted", None)
    assert set(attempts.values()) == {("not_asked", "unsupported_fee")}


async def test_it_alone_cannot_be_asked(client):
    body = {"network": "devnet", "fromToken": client.token("USDC"), "toToken": client.token("WETH")}
    body |= {"amount": str(AMOUNT), "address": USER, "provider": client.cheat.id, **FEE}
    answer = await client.api.post("/v2/swaps/quote", body)
    assert (answer.status, answer.body["error"]["details"]["reason"]) == (422, "unsupported_fee")


@pytest.mark.parametrize("bought", ["ETH", "LINK"])
async def test_what_is_signed_pays_what_the_quote_and_the_action_tell(client, bought):
    token = client.token(bought)
    quote = await client.quote_swap("USDC", bought, AMOUNT, toAddress=SHOP[:-1] + "6", **FEE)
    (fee,) = [each for each in quote["fees"] if each["kind"] == "integrator"]
    paid, taken = int(quote["toAmount"]), int(fee["amount"])
    assert (fee["recipient"], fee["token"]["address"], fee["bps"], fee["included"]) == (SHOP, token, 50, True)
    assert taken == (paid + taken) * 50 // 10_000
    assert (quote["request"]["feeBps"], quote["request"]["feeRecipient"]) == (50, SHOP)
    read = await client.api.get(f"/v2/swaps/quote/{quote['quoteId']}")
    assert read.body["request"] == quote["request"]
    action = await client.act(quote)
    told = {(c["account"], c["token"]): int(c["delta"]) for c in action["simulation"]["assetChanges"]}
    assert (told[SHOP[:-1] + "6", token], told[SHOP, token]) == (paid, taken)
    assert f"sent to {SHOP}" in action["steps"][-1]["clearSigning"]["intent"]
    assert "0.5 % of all" in action["steps"][-1]["clearSigning"]["intent"]
    before = held(client, token)
    await client.send(*action["transactions"])
    assert held(client, token) - before == taken


@pytest.mark.parametrize("sold", ["ETH", "USDC"])
async def test_what_is_signed_for_an_exact_output_takes_what_the_quote_and_the_action_tell(client, sold):
    token, amount = client.token(sold), 10**18
    quote = await client.quote_swap(sold, "LINK", amount, side="exactOut", toAddress=SHOP[:-1] + "6", **FEE)
    (fee,) = [each for each in quote["fees"] if each["kind"] == "integrator"]
    spent, most, taken = (int(text) for text in (quote["fromAmount"], quote["fromAmountMax"], fee["amount"]))
    assert (fee["recipient"], fee["token"]["address"], fee["bps"], fee["included"]) == (SHOP, token, 50, True)
    assert taken == (spent - taken) * 50 // 10_000 > 0
    assert spent < most < spent * 2
    assert (quote["request"]["feeBps"], quote["request"]["feeRecipient"]) == (50, SHOP)
    action = await client.act(quote)
    told = {(c["account"], c["token"]): int(c["delta"]) for c in action["simulation"]["assetChanges"]}
    assert (told[USER, token], told[SHOP, token]) == (-spent, taken)
    assert f"is a fee, sent to {SHOP}" in action["steps"][-1]["clearSigning"]["intent"]
    before = held(client, token)
    await client.send(*action["transactions"])
    assert held(client, token) - before == taken


async def test_a_price_of_an_exact_output_has_the_fee_in_it(client):
    pair = f"network=devnet&fromToken={client.token('USDC')}&toToken={client.token('WETH')}"
    asked = f"{pair}&amount={10**17}&side=exactOut"
    charged = f"{asked}&feeBps=50&feeRecipient={SHOP}"
    free = (await client.api.get(f"/v2/swaps/price?{asked}")).body
    price = (await client.api.get(f"/v2/swaps/price?{charged}")).body
    taken = int(free["fromAmount"]) * 50 // 10_000
    assert int(price["fromAmount"]) == int(free["fromAmount"]) + taken
    assert [fee["amount"] for fee in price["fees"] if fee["kind"] == "integrator"] == [str(taken)]
    ladder = (await client.api.get(f"/v2/swaps/depth?{charged}&rungs=2")).body
    first = ladder["rungs"][0]["price"]
    assert first["fromAmount"] == price["fromAmount"]


def held(client, token):
    with client.devnet.rpc() as rpc:
        if token == NATIVE:
            return int(rpc("eth_getBalance", SHOP, "latest"), 16)
        data = "0x70a08231" + SHOP[2:].rjust(64, "0")
        return int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16)
