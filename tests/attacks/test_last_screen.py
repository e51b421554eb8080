"""Attack: a quote whose warning the signer never sees, because the wallet shows the action only.

An order far larger than the pools costs most of its value. The quote says so. The action is what a wallet
shows before it asks for the signature: it has to say so too.
"""

import pytest
from direct_client import USER

pytestmark = pytest.mark.asyncio(loop_scope="module")
ACCEPTED = {"acknowledge": ["high_price_impact"]}


def codes(notices):
    return [each["code"] for each in notices]


async def test_an_action_repeats_that_the_price_is_bad(client):
    quote = await client.quote_swap("USDC", "WETH", 10**14)
    (told,) = [issue for issue in quote["issues"] if issue["code"] == "high_price_impact"]
    assert quote["priceImpactBps"] > 1_000
    answer = await client.api.post(f"/v2/swaps/{quote['quoteId']}/action", ACCEPTED)
    assert [issue for issue in answer.body["issues"] if issue["code"] == "high_price_impact"] == [told]
    await client.api.check("createSwapAction", answer)


async def test_an_action_repeats_the_warnings_once(client):
    quote = await client.quote_swap("USDC", "WETH", 10**9, slippageBps=400)
    assert "high_slippage" in codes(quote["warnings"])
    action = await client.act(quote)
    assert codes(action["warnings"]).count("high_slippage") == 1
    assert set(codes(quote["warnings"])) <= set(codes(action["warnings"]))


async def test_an_action_without_a_quote_before_tells_them_too(client):
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    body = {"action": "deposit", "amount": "1000000", "asset": client.token("USDC"), "address": USER}
    path, wanted = f"/v2/vaults/31337:{vault.address}", body | {"slippageBps": 400}
    quote, action = await client.ask(f"{path}/quote", wanted), await client.ask(f"{path}/action", wanted)
    assert set(codes(quote["warnings"])) <= set(codes(action["warnings"]))
    assert "high_slippage" in codes(action["warnings"])


async def test_balances_and_allowances_are_told_once_and_as_they_are_now(client):
    quote = await client.quote_swap("USDC", "WETH", 10**14, **ACCEPTED)
    action = await client.act(quote)
    keys = [(issue["code"], issue["token"]) for issue in action["issues"]]
    assert len(set(keys)) == len(keys)
