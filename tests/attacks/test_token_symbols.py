"""Attack: a token that carries another one's symbol.

Anyone can deploy a token with any symbol and make a pool with any price for it. A wallet that shows the
symbol alone shows a lie: the quote and its action name the address and say what is wrong.
"""

import asyncio
from dataclasses import replace

import pytest
from direct_client import USER
from forged_tokens import make_token, pool_of, sentences, warnings_of
from quoteway import NATIVE, Capability

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def quote_of(client, token, **more):
    body = {"network": "devnet", "fromToken": NATIVE, "toToken": token, "amount": "1000000000000000"}
    return await client.ask("/v2/swaps/quote", body | {"address": USER, **more})


@pytest.mark.parametrize("symbol", ["USDC", "usdc", "$USDC", "U5DC", "U\u0405DC", "\uff35\uff33\uff24\uff23"])
async def test_a_token_with_the_symbol_of_a_listed_one(client, symbol):
    forged = await make_token(client, symbol)
    quote = await quote_of(client, forged)
    (unlisted,) = warnings_of(quote, "unlisted_token")
    (clash,) = warnings_of(quote, "symbol_clash")
    assert forged in unlisted
    assert forged in clash
    assert client.token("USDC") in clash
    action = await client.act(quote)
    assert warnings_of(action, "unlisted_token") == [unlisted]
    assert warnings_of(action, "symbol_clash") == [clash]
    for text in sentences(action):
        assert forged in text or not {"USDC", symbol} & set(text.replace('"', " ").split()), text
    assert any(forged in step["clearSigning"]["intent"] for step in action["steps"])


async def test_the_token_itself_and_the_coin_bring_no_warning(client):
    for token in ("USDC", "WETH"):
        quote = await quote_of(client, client.token(token))
        codes = {warning["code"] for warning in quote["warnings"]}
        assert not codes & {"unlisted_token", "symbol_clash"}
        action = await client.act(quote)
        assert not any('"' in text or client.token(token) in text for text in sentences(action))


async def test_a_token_with_the_symbol_of_the_coin(client):
    forged = await make_token(client, "ETH", "Ether", 18)
    (clash,) = warnings_of(await quote_of(client, forged), "symbol_clash")
    assert "the native coin" in clash


async def test_selling_an_unlisted_token_names_it_in_every_sentence_and_approval(client):
    forged = await make_token(client, "AIRDROP", "Airdrop")
    body = {"network": "devnet", "fromToken": forged, "toToken": NATIVE, "amount": "1000000", "address": USER}
    quote = await client.ask("/v2/swaps/quote", body)
    assert len(warnings_of(quote, "unlisted_token")) == 1
    assert not warnings_of(quote, "symbol_clash")
    action = await client.act(quote)
    assert action["steps"][0]["kind"] == "approval"
    told = [text for text in sentences(action) if "AIRDROP" in text]
    assert told
    assert all(f'"AIRDROP" ({forged})' in text for text in told)


async def test_a_provider_cannot_rename_a_token_in_its_build(client, monkeypatch):
    provider = client.api.gateway.registry.get(Capability.SWAP, "uniswap")
    honest = provider.build

    async def build(sealed):
        made = await honest(sealed)
        (got,) = made.outputs
        return replace(made, outputs=(replace(got, token=replace(got.token, symbol="DAI", listed=True)),))

    monkeypatch.setattr(provider, "build", build)
    action = await client.act(await quote_of(client, client.token("USDC")))
    assert action["outputs"][0]["token"]["symbol"] == "USDC"


async def test_liquidity_of_an_unlisted_token(client):
    forged = await make_token(client, "USDC")
    body = {"action": "add", "asset": forged, "amount": "1000000", "address": USER, "useNative": True}
    quote = await client.ask(f"/v2/pools/31337:{await pool_of(client, forged)}/quote", body)
    assert forged in warnings_of(quote, "unlisted_token")[0]
    assert client.token("USDC") in warnings_of(quote, "symbol_clash")[0]


async def test_a_vault_of_an_unlisted_asset(client):
    forged = await make_token(client, "USDC")
    vault = await asyncio.to_thread(
        client.devnet.deploy, "YieldVault", "(address,string,string)", forged, "Safe dollars", "vUSDC"
    )
    body = {"action": "deposit", "amount": "1000000", "asset": forged, "address": USER}
    quote = await client.ask(f"/v2/vaults/31337:{vault}/quote", body)
    (unlisted,) = warnings_of(quote, "unlisted_token")
    assert forged in unlisted
    assert client.token("USDC") in warnings_of(quote, "symbol_clash")[0]
    action = await client.ask(f"/v2/vaults/31337:{vault}/action", body)
    assert warnings_of(action, "unlisted_token") == [unlisted]
