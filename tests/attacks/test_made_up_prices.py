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


@pytest.mark.slow
async def test_a_holding_is_worth_no_more_than_its_pools_can_pay(client):
    token = await made_up(client)

    async def priced():
        path = f"/v2/portfolio/balances?wallet={USER}&network=devnet&tokens={token}"
        body = (await client.api.get(path)).body
        (row,) = (row for row in body["data"] if row["token"]["address"] == token)
        return row if row["valueUsd"] is not None else None

    row = await until(priced)
    assert int(row["amount"]) >= (HELD - 1) * UNIT
    assert float(row["token"]["priceUsd"]) == pytest.approx(PRICE_USD, rel=0.05), "it is what the pools say"
    assert 0 < float(row["valueUsd"]) < 2 * POOLED_USD
