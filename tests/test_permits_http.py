"""Permits of EIP-2612 over HTTP: signed, sent by a relayer, and executed on the devnet to the wei."""

import asyncio
import re

import pytest

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import OTHER, USER, client_of, kinds  # noqa: E402
from permit_tokens import AMOUNT, Chain, deployed, signature_of, with_permits  # noqa: E402
from quoteway.evm import permit2  # noqa: E402
from quoteway.evm.abi import encode_call  # noqa: E402
from quoteway.evm.address import checksum  # noqa: E402
from quoteway_devnet.relayer import Relayer  # noqa: E402

OFFER = {"offerPermits": True}


@pytest.fixture
async def client(fresh_devnet):
    async with client_of(fresh_devnet, 0.0) as client:
        yield client


def signed(offer, **changes):
    """An item of ``permits`` for one of ``permitOffers``."""
    return {**offer["permit"], "signature": "0x" + signature_of(offer["typedData"]).hex(), **changes}


async def sell(client, token, **more):
    return await client.quote_swap("WETH", "USDC", AMOUNT, fromToken=token, **more)


async def act(client, quote, **body):
    return await client.ask(f"/v2/swaps/{quote['quoteId']}/action", body)


@pytest.mark.slow
async def test_a_relayer_sends_the_permit_and_the_swap_pays_to_the_wei(client, contract):
    chain, token = Chain(client.devnet), await deployed(client.devnet)
    quote = await sell(client, token)
    offering = await act(client, quote, **OFFER)
    assert kinds(offering) == ["approval", "permit2_approval", "swap"]
    (offer,) = offering["permitOffers"]
    assert offer["permit"]["spender"] == permit2.ADDRESS
    answer = await client.api.post(f"/v2/swaps/{quote['quoteId']}/action", {"permits": [signed(offer)]})
    action = contract.check("createSwapAction", answer)
    assert kinds(action) == ["permit", "permit2_approval", "swap"]
    assert action["walletSendCalls"]["calls"][0]["to"] == token
    permit, *others = action["transactions"]
    assert action["steps"][0]["decoded"]["args"][0] == {"name": "owner", "type": "address", "value": USER}
    await asyncio.to_thread(chain.send, token, bytes.fromhex(permit["data"][2:]), OTHER)
    assert chain.allowance(token, permit2.ADDRESS) == AMOUNT
    await client.carry_out(quote, {**action, "transactions": others})
    assert chain.allowance(token, permit2.ADDRESS) == 0
    assert chain.call(token, "nonces(address)", USER) == 1


@pytest.mark.slow
async def test_both_signatures_leave_one_permit_and_the_swap(client):
    token = await deployed(client.devnet)
    quote = await sell(client, token, approvalMode="permit2-signature")
    (offer,) = (await act(client, quote, **OFFER))["permitOffers"]
    action = await act(client, quote, permits=[signed(offer)])
    assert kinds(action) == ["permit", "swap"]
    (wanted,) = action["signatures"]
    place = wanted["appliesTo"]
    swap = action["transactions"][place["transaction"]]
    data, signature = bytearray.fromhex(swap["data"][2:]), signature_of(wanted["typedData"])
    data[place["offset"] : place["offset"] + place["length"]] = signature
    swap["data"] = "0x" + data.hex()
    await client.carry_out(quote, action)


@pytest.mark.slow
async def test_the_shares_of_a_uniswap_v2_pool_are_permitted_in_its_removal(client):
    chain = Chain(client.devnet)
    token = await deployed(client.devnet)
    factory, usdc = chain.contracts["UniswapV2Factory"], client.token("USDC")
    pair = checksum(f"0x{chain.call(factory, 'getPair(address,address)', token, usdc):040x}")
    body = {"action": "remove", "asset": usdc, "amount": str(10**9), "address": USER}
    path = f"/v2/pools/31337:{pair}"
    quote = await client.ask(f"{path}/quote", body)
    body["quoteId"] = quote["quoteId"]
    offering = await client.ask(f"{path}/action", {**body, **OFFER})
    assert kinds(offering) == ["approval", "remove"]
    (offer,) = offering["permitOffers"]
    assert (offer["permit"]["token"], offer["typedData"]["domain"]["name"]) == (pair, "Uniswap V2")
    action = await client.ask(f"{path}/action", {**body, "permits": [signed(offer)]})
    assert kinds(action) == ["permit", "remove"]
    await client.carry_out(quote, action)
    assert chain.allowance(pair, offer["permit"]["spender"]) == 0


async def test_malformed_permits_are_refused_by_name(client):
    quote = await client.quote_swap()
    good = {
        "token": client.token("USDC"),
        "spender": OTHER,
        "value": "1",
        "nonce": "0",
        "deadline": 2**31,
        "signature": "0x" + "11" * 65,
    }
    cases = [
        ({}, "list of at most 8"),
        ([good] * 9, "list of at most 8"),
        (["0x"], "item 1 must be an object of exactly token"),
        ([good, {**good, "typedData": {}}], "item 2 must be an object of exactly token"),
        ([{**good, "token": "USDC"}], "item 1 token must be an address"),
        ([{**good, "spender": "0x" + "00" * 20}], "item 1 spender must not be the zero address"),
        ([{**good, "value": 1}], "item 1 value must be base units"),
        ([{**good, "value": "1" * 5_000}], "item 1 value must be base units"),
        ([{**good, "nonce": "01"}], "item 1 nonce must be a string of decimal digits"),
        ([{**good, "nonce": "9" * 78}], "item 1 nonce must be at most 2"),
        ([{**good, "deadline": "1"}], "item 1 deadline must be an integer"),
        ([{**good, "signature": "0x" + "11" * 64}], "item 1 signature must be 65 bytes"),
        ([good], "spender .* takes nothing of token"),
    ]
    for permits, words in cases:
        answer = await client.api.post(f"/v2/swaps/{quote['quoteId']}/action", {"permits": permits})
        assert answer.status == 422, permits
        (field,) = answer.body["error"]["details"]["fields"]
        assert field["path"] == "permits"
        assert re.search(words, field["message"]), field
    answer = await client.api.post(f"/v2/swaps/{quote['quoteId']}/action", {"offerPermits": "yes"})
    assert (answer.status, answer.body["error"]["details"]["fields"][0]["path"]) == (422, "offerPermits")


async def test_a_token_without_permits_is_approved_and_the_action_tells_why(client):
    action = await act(client, await client.quote_swap(), **OFFER)
    assert (kinds(action)[0], action["permitOffers"]) == ("approval", [])
    (told,) = [each for each in action["warnings"] if each["code"] == "permit_unsupported"]
    assert told["message"] == "USDC is approved by a transaction, since it has no permit of EIP-2612."


@pytest.fixture
async def permitting(fresh_devnet):
    """A client, and a relayer that fills transfers, where the devnet's USDC has permits."""
    await asyncio.to_thread(with_permits, fresh_devnet, "USDC")
    with Relayer.running(fresh_devnet) as relayer:
        async with client_of(fresh_devnet, 0.0, relayer.port) as client:
            yield client


@pytest.mark.slow
async def test_a_deposit_in_a_vault_by_a_permit_is_executed_to_the_wei(permitting, contract):
    client, chain, usdc = permitting, Chain(permitting.devnet), permitting.token("USDC")
    vault = next(each for each in client.devnet.chains["devnet"].vaults if each.id == "steady-usdc").address
    path = f"/v2/vaults/31337:{vault}"
    body = {"action": "deposit", "asset": usdc, "amount": str(10**9), "address": USER}
    quote = await client.ask(f"{path}/quote", body)
    body["quoteId"] = quote["quoteId"]
    offering = await client.ask(f"{path}/action", {**body, **OFFER})
    assert kinds(offering) == ["approval", "deposit"]
    (offer,) = offering["permitOffers"]
    answer = await client.api.post(f"{path}/action", {**body, "permits": [signed(offer)]})
    action = contract.check("createVaultAction", answer)
    assert kinds(action) == ["permit", "deposit"]
    await client.carry_out(quote, action)
    assert chain.allowance(usdc, vault) == 0
    assert chain.call(usdc, "nonces(address)", USER) == 1


@pytest.mark.slow
async def test_a_transfer_to_another_network_by_a_permit_is_executed_and_arrives(permitting, contract):
    client, chain, usdc = permitting, Chain(permitting.devnet), permitting.token("USDC")
    body = {"fromChain": "devnet", "toChain": "devnet-l2", "fromToken": usdc, "address": USER}
    body |= {"toToken": client.token("USDC", "devnet-l2"), "amount": str(10**9), "toAddress": OTHER}
    quote = await client.ask("/v2/bridges/quote", body)
    path = f"/v2/bridges/{quote['quoteId']}/action"
    offering = await client.ask(path, OFFER)
    assert kinds(offering) == ["approval", "transfer"]
    (offer,) = offering["permitOffers"]
    action = contract.check("createBridgeAction", await client.api.post(path, {"permits": [signed(offer)]}))
    assert kinds(action) == ["permit", "transfer"]
    far, (arriving,) = client.token("USDC", "devnet-l2"), quote["outputs"]
    before, had = await asyncio.to_thread(far_balance, client.devnet, far), await client.balances([usdc])
    await client.send(*action["transactions"])
    assert had[usdc] - (await client.balances([usdc]))[usdc] == 10**9
    assert chain.allowance(usdc, offer["permit"]["spender"]) == 0
    assert chain.call(usdc, "nonces(address)", USER) == 1
    async with asyncio.timeout(90):
        while await asyncio.to_thread(far_balance, client.devnet, far) == before:
            await asyncio.sleep(0.05)
    assert await asyncio.to_thread(far_balance, client.devnet, far) - before == int(arriving["amount"])


def far_balance(devnet, token):
    with devnet.rpc("devnet-l2") as rpc:
        call = {"to": token, "data": "0x" + encode_call("balanceOf(address)", [OTHER]).hex()}
        return int(rpc("eth_call", call, "latest"), 16)
