"""Attack: a few base units sent to the router, so that it pays more than any quote says.

UNWRAP_WETH, SWEEP and CONTRACT_BALANCE spend all that the router holds, also what others left there. For the
price of one transfer nobody would get a quote: a run that pays more than quoted is refused.
"""

import asyncio

import pytest
from direct_client import USER, client_of
from quoteway import NATIVE
from quoteway.evm import erc20
from quoteway.evm.abi import function
from quoteway.evm.calls.router_commands import EXECUTE
from quoteway.models import MAX_UINT256

RECIPIENT = "0x3333333333333333333333333333333333333333"
SWAPS = [
    ("USDC", "ETH", 10**9),
    ("USDC", "WETH", 10**9),
    ("WETH", "ETH", 10**18),
    ("ETH", "WETH", 10**18),
    ("ETH", "USDC", 10**18),
    ("WETH", "DAI", 10**18),
]
"""Through UNWRAP_WETH, WRAP_ETH and neither."""


async def leave(client, symbol, amount):
    """Leaves so much with the router."""
    router = client.devnet.chains["devnet"].contracts["UniversalRouter"]
    if symbol == "ETH":
        data = function(EXECUTE).encode((b"", [], MAX_UINT256))
        sent = {"to": router, "data": "0x" + data.hex(), "value": hex(amount)}
    else:
        data = erc20.TRANSFER.encode([router, amount])
        sent = {"to": client.token(symbol), "data": "0x" + data.hex(), "value": "0x0"}
    await client.send(sent)


async def gained(devnet, token, sent):
    """What the recipient gets while ``sent()`` is carried out."""

    def balance():
        with devnet.rpc() as rpc:
            if token == NATIVE:
                return int(rpc("eth_getBalance", RECIPIENT, "latest"), 16)
            data = "0x" + erc20.BALANCE_OF.encode([RECIPIENT]).hex()
            return int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16)

    before = await asyncio.to_thread(balance)
    await sent
    return await asyncio.to_thread(balance) - before


@pytest.mark.slow
@pytest.mark.parametrize("amount", [1, 10**7], ids=["one unit", "more"])
@pytest.mark.parametrize("dust", ["ETH", "WETH", "USDC", "DAI"])
async def test_what_others_left_in_the_router_stops_no_quote(fresh_devnet, dust, amount):
    async with client_of(fresh_devnet, 0.0) as client:
        for sold, got, sells in SWAPS:
            await leave(client, dust, amount)
            quote = await client.quote_swap(sold, got, sells, toAddress=RECIPIENT, provider="uniswap")
            action = await client.act(quote)
            assert action["simulation"]["status"] == "success"
            changed = {
                (each["account"], each["token"]): int(each["delta"])
                for each in action["simulation"]["assetChanges"]
            }
            token = client.token(got)
            assert {account for account, _ in changed} == {USER, RECIPIENT}
            assert changed[RECIPIENT, token] == int(quote["toAmount"]), "the run does not count what is left"
            paid = await gained(fresh_devnet, token, client.send(*action["transactions"]))
            assert paid >= int(quote["toAmount"]), (sold, got)
