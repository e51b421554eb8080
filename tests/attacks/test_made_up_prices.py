"""Attack: pools of an own token, which nobody wants, that make a holding of it look worth any sum.

The attacker needs the other half of the pools only, and has it back at any time.
"""

import asyncio

import pytest
from direct_client import USER, client_of
from forged_tokens import MINT
from quoteway.evm import erc20
from quoteway.evm.abi import function

ADD_LIQUIDITY = function(
    "addLiquidity(address one, address other, uint256 amountOne, uint256 amountOther, uint256 minimumOne,"
    " uint256 minimumOther, address to, uint256 deadline)"
)
AMOUNTS_OUT = function("getAmountsOut(uint256 amount, address[] path) returns (uint256[] amounts)")
POOLED_USD, PRICE_USD, HELD = 600_000, 1_000_000, 5 * 10**11
UNIT = 10**6


@pytest.fixture
async def client(fresh_devnet):
    async with client_of(fresh_devnet, 0.0) as client:
        yield client


async def made_up(client):
    """A token at ``PRICE_USD`` in two deep pools with dollar tokens, for as long as prices look back."""
    token = client.devnet.deploy("MintableToken", "(string,string,uint8)", "Riches", "RICH", 6)
    router = client.devnet.chains["devnet"].contracts["UniswapV2Router02"]
    await call(client, token, MINT.encode([USER, (HELD + 2 * POOLED_USD // PRICE_USD + 2) * UNIT]))
    for symbol in ("USDC", "USDT"):
        dollars, pooled = client.token(symbol), POOLED_USD * UNIT // PRICE_USD
        for asset, amount in ((token, pooled), (dollars, POOLED_USD * UNIT)):
            await call(client, asset, erc20.APPROVE.encode([router, amount]))
        offer = [token, dollars, pooled, POOLED_USD * UNIT, 0, 0, USER, 2**40]
        await call(client, router, ADD_LIQUIDITY.encode(offer))
    with client.devnet.rpc() as rpc:
        await asyncio.to_thread(rpc, "anvil_mine", hex(130))
    return token


async def call(client, to, data):
    await client.send({"to": to, "data": "0x" + data.hex(), "value": "0x0"})


async def until(look):
    async with asyncio.timeout(60):
        while (found := await look()) is None:
            await asyncio.sleep(0.2)
    return found


async def balances(client, token, more=""):
    path = f"/v2/portfolio/balances?wallet={USER}&network=devnet&tokens={token}{more}"
    body = (await client.api.get(path)).body
    (row,) = (row for row in body["data"] if row["token"]["address"] == token)
    return body, row


async def paid_by(client, token, symbol, amount):
    """What the contracts say that a sale for one of the dollar tokens pays, in dollars."""
    router = client.devnet.chains["devnet"].contracts["UniswapV2Router02"]
    data = AMOUNTS_OUT.encode([amount, [token, client.token(symbol)]])
    with client.devnet.rpc() as rpc:
        answer = await asyncio.to_thread(rpc, "eth_call", {"to": router, "data": "0x" + data.hex()}, "latest")
    return int(answer[-64:], 16) / UNIT


@pytest.mark.slow
async def test_a_holding_is_worth_no_more_than_its_pools_pay_and_stays_outside_totals(client):
    token = await made_up(client)

    async def priced():
        _, row = await balances(client, token)
        return row if row["valueUsd"] is not None and row["realisableUsd"] is not None else None

    row = await until(priced)
    held = int(row["amount"])
    assert held >= (HELD - 1) * UNIT
    assert float(row["token"]["priceUsd"]) == pytest.approx(PRICE_USD, rel=0.05), "it is what the pools say"
    paid = sum([await paid_by(client, token, symbol, held // 2) for symbol in ("USDC", "USDT")])
    assert row["realisableUsd"] == pytest.approx(paid, rel=0.002)
    assert 0 < row["valueUsd"] == row["realisableUsd"] < 2 * POOLED_USD
    assert row["counted"] is False
    assert row["sources"] == ["uniswap"]
    body, _ = await balances(client, token)
    assert body["totalUsd"] == pytest.approx(sum(r["valueUsd"] for r in body["data"] if r["counted"]))
    assert body["totalComplete"] is True
    whole, counted = await balances(client, token, "&includeUnlisted=true")
    assert counted["counted"] is True
    assert whole["totalUsd"] == pytest.approx(body["totalUsd"] + row["valueUsd"])
    (price,) = (await client.api.get(f"/v2/prices?network=devnet&tokens={token}")).body["data"]
    assert price["priceUsd"] == row["token"]["priceUsd"]
    assert price["liquidityUsd"] < 0.05 * POOLED_USD, "what tells a reader how little the price means"
