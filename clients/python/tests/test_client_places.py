"""Quotes of pools and vaults are compared with their requests: honest ones pass, others are refused."""

import asyncio

import httpx
import pytest
from quoteway_client import QuoteMismatch, Quoteway
from quoteway_client.comparing_places import place_quoted
from test_client_tampering import THIEF, Between, at

pytestmark = pytest.mark.slow
AMOUNT = 10**9


async def pools_of(chain, protocol):
    async with asyncio.timeout(120):
        while True:  # the list is read in the background after the start
            rows = [row async for row in chain.client.pools.list(network="devnet", protocol=protocol)]
            if found := [row for row in rows if {"USDC", "WETH"} <= set(row.pair.split("/"))]:
                return found
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("protocol", ["uniswap-v2", "uniswap-v3"])
@pytest.mark.parametrize("use_native", [False, True])
async def test_honest_quotes_of_pools_pass(chain, protocol, use_native):
    pool = (await pools_of(chain, protocol))[0]
    terms = {"action": "add", "address": chain.account.address, "use_native": use_native}
    coin = "native" if use_native else chain.token("WETH")
    for asset, amount in ((chain.token("USDC"), AMOUNT), (coin, 10**17)):
        quote = await chain.client.pools.quote(pool.id, amount=amount, asset=asset, **terms)
        assert quote.request.use_native is use_native
    if protocol == "uniswap-v3":
        ticks = {"tick_lower": -887160, "tick_upper": 887160}
        place = pool.id.upper().replace("X", "x")
        quote = await chain.client.pools.quote(place, amount=AMOUNT, asset="USDC", **terms, **ticks)
        assert (quote.request.tick_lower, quote.request.tick_upper) == (-887160, 887160)


async def test_honest_quotes_of_vaults_pass(chain):
    vaults = [row async for row in chain.client.vaults.list(network="devnet")]
    for vault in vaults:
        if vault.asset.symbol != "USDC":
            continue
        terms = {"address": chain.account.address, "amount": AMOUNT}
        quote = await chain.client.vaults.quote(vault.id, action="deposit", asset="USDC", **terms)
        assert quote.inputs[0].amount == AMOUNT


POOL = {
    "pool": (["request", "poolId"], f"31337:{THIEF}", "request.id"),
    "action": (["request", "action"], "remove", "request.action"),
    "payer": (["request", "address"], THIEF, "request.address"),
    "owner": (["request", "recipient"], THIEF, "request.recipient"),
    "asset": (["request", "asset"], THIEF, "request.asset"),
    "amount": (["request", "amount"], str(2 * AMOUNT), "request.amount"),
    "everything": (["request", "amount"], "max", "request.amount"),
    "lower tick": (["request", "tickLower"], -120, "request.tickLower"),
    "upper tick": (["request", "tickUpper"], 120, "request.tickUpper"),
    "range": (["request", "tickLower"], None, "request.tickLower"),
    "coin": (["request", "useNative"], True, "request.useNative"),
    "slippage": (["slippageBps"], 5_000, "slippageBps must be at most 30"),
    "network": (["chainId"], 1, "chainId must be 31337"),
    "payer of an input": (["inputs", 0, "account"], THIEF, "inputs.account"),
    "output": (["outputs", 0, "account"], THIEF, "outputs.account"),
}


async def changed(chain, change, kind, place, **body):
    def quote():
        with Quoteway(chain.url, http=httpx.Client(transport=Between("/quote", change))) as client:
            getattr(client, kind).quote(place, address=chain.account.address, amount=AMOUNT, **body)

    await asyncio.to_thread(quote)


def paying_more(found):
    for leg in found["inputs"]:
        leg["amount"] = leg["amountMax"] = str(int(leg["amount"]) + 2 * AMOUNT)
    return found


async def test_a_quote_of_a_pool_for_something_else_is_refused(chain):
    pool = (await pools_of(chain, "uniswap-v3"))[0].id
    body = {"action": "add", "asset": chain.token("USDC"), "slippage_bps": 30}
    body |= {"tick_lower": -887160, "tick_upper": 887160}
    for path, value, said in POOL.values():

        def change(found, path=path, value=value):
            if not found["outputs"]:  # liquidity pays nothing out
                found["outputs"] = [dict(found["inputs"][0])]
            return at(found, path, value)

        with pytest.raises(QuoteMismatch, match=said):
            await changed(chain, change, "pools", pool, **body)
    with pytest.raises(QuoteMismatch, match="inputs of the asset must be at most"):
        await changed(chain, paying_more, "pools", pool, **body)
    asked = {**body, "address": chain.account.address, "amount": AMOUNT}
    quote = await chain.client.pools.quote(pool, **asked)
    with pytest.raises(QuoteMismatch, match=r"request\.positionId must be 7"):
        place_quoted(pool, {**asked, "position_id": "7"}, quote)


async def test_a_quote_of_a_vault_for_something_else_is_refused(chain):
    vaults = [row async for row in chain.client.vaults.list(network="devnet")]
    vault = next(row for row in vaults if row.asset.symbol == "USDC").id
    body = {"action": "deposit", "asset": chain.token("USDC")}
    for path, value, said in (
        (["request", "vaultId"], f"31337:{THIEF}", "request.id"),
        (["request", "recipient"], THIEF, "request.recipient"),
        (["request", "amount"], None, "request.amount"),
        (["slippageBps"], 51, "slippageBps must be at most 50"),
        (["outputs", 0, "account"], THIEF, "outputs.account"),
    ):

        def change(found, path=path, value=value):
            return at(found, path, value)

        with pytest.raises(QuoteMismatch, match=said):
            await changed(chain, change, "vaults", vault, **body)
    with pytest.raises(QuoteMismatch, match="inputs of the asset must be at most"):
        await changed(chain, paying_more, "vaults", vault, **body)
