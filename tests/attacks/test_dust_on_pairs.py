"""Attack: a few base units sent to a v2 pair, so that a sale through it pays more than any quote says.

The Universal Router counts as sold what a pair has above its reserves, also what others left there. For the
price of one transfer nobody could sell that token through that pair: a run that pays more than quoted is
refused. The run begins with ``skim``, by which anybody takes out what is above the reserves.
"""

import asyncio

import pytest
from direct_client import USER, client_of
from quoteway.evm import erc20
from quoteway.evm.abi import function
from quoteway.models import NATIVE

RECIPIENT = "0x3333333333333333333333333333333333333333"
UNIT = {"ETH": 10**18, "WETH": 10**18, "USDC": 10**6, "DAI": 10**18}
SWAPS = [
    ("USDC", "WETH", 10**9, {}),
    ("USDC", "ETH", 10**9, {}),
    ("WETH", "USDC", 10**18, {}),
    ("ETH", "USDC", 10**18, {}),
    ("USDC", "DAI", 10**9, {}),
    ("DAI", "ETH", 10**21, {}),
    ("USDC", "WETH", 10**18, {"side": "exactOut"}),
    ("ETH", "USDC", 10**9, {"side": "exactOut"}),
]
"""Both directions, the native coin at both ends, two pairs in a row (USDC, WETH, DAI), exact outputs."""
PAIRS = ("WETH/USDC", "WETH/DAI")
V2_ALONE = {"toAddress": RECIPIENT, "provider": "uniswap", "protocols": ["uniswap-v2"]}


async def leave(client, symbol, amount, pair):
    """Leaves so much with the pair, above its reserves."""
    data = erc20.TRANSFER.encode([client.pool("v2", pair).id, amount])
    await client.send({"to": client.token(symbol), "data": "0x" + data.hex(), "value": "0x0"})


async def received(client, token):
    def read():
        with client.devnet.rpc() as rpc:
            if token == NATIVE:
                return int(rpc("eth_getBalance", RECIPIENT, "latest"), 16)
            data = "0x" + erc20.BALANCE_OF.encode([RECIPIENT]).hex()
            return int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16)

    return await asyncio.to_thread(read)


async def simulated(client, quote):
    """An action for a quote whose run gives the recipient exactly what the quote says."""
    action = await client.act(quote)
    assert action["simulation"]["status"] == "success"
    changed = {
        (each["account"], each["token"]): int(each["delta"]) for each in action["simulation"]["assetChanges"]
    }
    assert {account for account, _ in changed} == {USER, RECIPIENT}
    assert changed[RECIPIENT, quote["toToken"]["address"]] == int(quote["toAmount"])
    return action


async def executed(client, quote, action):
    """What the recipient gets above the quoted output."""
    token = quote["toToken"]["address"]
    before = await received(client, token)
    await client.send(*action["transactions"])
    return await received(client, token) - before - int(quote["toAmount"])


@pytest.mark.slow
@pytest.mark.parametrize("amount", [1, 10**7], ids=["one unit", "more"])
@pytest.mark.parametrize("dust", ["sold", "bought", "both"])
async def test_what_others_left_in_a_pair_stops_no_quote(fresh_devnet, dust, amount):
    async with client_of(fresh_devnet, 0.0) as client:
        for sold, got, wanted, more in SWAPS:
            for pair in PAIRS:
                named = {"sold": sold, "bought": got}
                symbols = {"WETH" if each == "ETH" else each for each in named.values()}
                if dust != "both":
                    symbols = {"WETH" if named[dust] == "ETH" else named[dust]}
                for symbol in sorted(symbols & set(pair.split("/"))):
                    await leave(client, symbol, amount, pair)
            quote = await client.quote_swap(sold, got, wanted, **V2_ALONE, **more)
            action = await simulated(client, quote)
            assert await executed(client, quote, action) >= 0, (sold, got)


@pytest.mark.slow
async def test_what_is_left_between_quote_action_and_execution_never_lowers_what_is_paid(fresh_devnet):
    async with client_of(fresh_devnet, 0.0) as client:
        for sold, got, wanted, more in SWAPS:
            quote = await client.quote_swap(sold, got, wanted, **V2_ALONE, **more)
            for pair in PAIRS:
                for symbol in pair.split("/"):
                    await leave(client, symbol, UNIT[symbol] // 1000, pair)
            action = await simulated(client, quote)
            for pair in PAIRS:
                for symbol in pair.split("/"):
                    await leave(client, symbol, UNIT[symbol] // 1000, pair)
            assert await executed(client, quote, action) > 0, (sold, got)


@pytest.mark.slow
async def test_what_is_taken_out_of_a_pair_before_execution_costs_the_swap_nothing(fresh_devnet):
    async with client_of(fresh_devnet, 0.0) as client:
        await leave(client, "USDC", 10**7, "WETH/USDC")
        quote = await client.quote_swap("USDC", "WETH", 10**9, **V2_ALONE)
        action = await simulated(client, quote)
        data = function("skim(address to)").encode([USER])
        pair = client.pool("v2", "WETH/USDC").id
        await client.send({"to": pair, "data": "0x" + data.hex(), "value": "0x0"})
        assert await executed(client, quote, action) == 0
