"""The gas limit of an action suffices when the chain is no longer as simulated.

Each transaction is sent with exactly its ``gasLimit``, after transactions that make it dearer.
"""

import asyncio
import json
import random

import pytest
from quoteway.evm import permit2
from quoteway.evm.abi import function
from quoteway.evm.address import create2_address, keccak256
from quoteway.evm.erc20 import BALANCE_OF, TRANSFER

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import USER, FarNode, client_of  # noqa: E402
from quoteway_devnet.pools import V2_PAIR_INIT_CODE_HASH  # noqa: E402

RECIPIENT = "0x5555555555555555555555555555555555555555"
MINT = function("mint(address to, uint256 amount)")
CREATE_PAIR = function("createPair(address a, address b)")
MINT_LIQUIDITY = function("mint(address to)")
LONELY = ["LINK", "UNI", "AAVE", "GHO", "MKR", "CRV", "LDO", "PEPE", "DAI"]
"""Plain tokens of 18 decimals."""
ROUNDS = 12
REFUNDS = 2 * 4_800
"""Of a swap: two allowances are used up (EIP-3529)."""


class TellsPeaks(FarNode):
    """A node that tells the gas used before refunds, as geth does: limits are no higher than they must be."""

    async def answer(self, body, session):
        answer = await super().answer(body, session)
        if body["method"] != "eth_simulateV1":
            return answer
        decoded = json.loads(answer)
        for block in decoded["result"]:
            for call in block["calls"]:
                call["maxUsedGas"] = hex(int(call["gasUsed"], 16) + REFUNDS)
        return json.dumps(decoded).encode()


@pytest.fixture(params=[FarNode, TellsPeaks], ids=["anvil", "peaks told"])
async def client(fresh_devnet, request):
    node = request.param(fresh_devnet.urls["devnet"])
    async with client_of(fresh_devnet, 0.0, node=node) as client:
        yield client


async def node(client, method, *params):
    def ask():
        with client.devnet.rpc() as rpc:
            return rpc(method, *params)

    return await asyncio.to_thread(ask)


async def balance(client, token, owner):
    call = {"to": token, "data": "0x" + BALANCE_OF.encode([owner]).hex()}
    return int(await node(client, "eth_call", call, "latest"), 16)


def called(to, call, *args):
    return {"to": to, "data": "0x" + call.encode(list(args)).hex(), "value": "0x0"}


async def fresh_pair(client, one, other):
    """A v2 pair at a price that no other path has. Nobody has swapped in it."""
    factory = client.devnet.chains["devnet"].contracts["UniswapV2Factory"]
    ends = sorted((one, other), key=lambda token: int(token, 16))
    salt = keccak256(b"".join(bytes.fromhex(token[2:]) for token in ends))
    pair = create2_address(factory, salt, V2_PAIR_INIT_CODE_HASH)
    await client.send(
        called(factory, CREATE_PAIR, one, other),
        called(one, MINT, pair, 10**21),
        called(other, MINT, pair, 10**27),
        called(pair, MINT_LIQUIDITY, USER),
    )
    return pair


async def spend_all(client, token, owner):
    """The owner's balance of a token goes to zero, by a transaction of its own."""
    held = await balance(client, token, owner)
    await node(client, "anvil_setBalance", owner, hex(10**20))
    await node(client, "anvil_impersonateAccount", owner)
    sent = called(token, TRANSFER, USER, held)
    identity = await node(client, "eth_sendTransaction", {**sent, "from": owner})
    while await node(client, "eth_getTransactionReceipt", identity) is None:
        pass


async def execute(client, action):
    """Sends every transaction with its gas limit; the share of it that was used."""
    shares = []
    for transaction, step in zip(action["transactions"], action["steps"], strict=True):
        members = {name: transaction[name] for name in ("to", "data", "value")}
        sent = {**members, "from": USER, "gas": step["gasLimit"]}
        identity = await node(client, "eth_sendTransaction", sent)
        while (receipt := await node(client, "eth_getTransactionReceipt", identity)) is None:
            pass
        used = int(receipt["gasUsed"], 16) / int(step["gasLimit"], 16)
        assert receipt["status"] == "0x1", f"{step['description']}: {used:.0%} of its gas limit used"
        shares.append(used)
    return shares


async def act(client, sold, got, **more):
    body = {"network": "devnet", "fromToken": sold, "toToken": got, "amount": str(10**18), "address": USER}
    quote = await client.ask("/v2/swaps/quote", {**body, **more})
    return quote, await client.act(quote)


@pytest.mark.slow
async def test_the_first_swap_of_a_pair_after_its_own_block(client):
    """A pair writes its price accumulators for the first time in the first block after its own."""
    sold, got = client.token("LINK"), client.token("UNI")
    pair = await fresh_pair(client, sold, got)
    quote, action = await act(client, sold, got)
    (hop,) = quote["route"]["paths"][0]["hops"]
    assert hop["pool"] == pair
    await execute(client, action)


@pytest.mark.slow
async def test_a_recipient_whose_balance_went_to_zero(client):
    sold, got = client.token("USDC"), client.token("LINK")
    await client.send(called(got, MINT, RECIPIENT, 5))
    _, action = await act(client, sold, got, amount="1000000", toAddress=RECIPIENT)
    await spend_all(client, got, RECIPIENT)
    await execute(client, action)


async def test_an_allowance_that_went_to_zero(client):
    """The rest of an earlier allowance makes an approval cheap, until it is used or revoked."""
    sold, got = client.token("USDC"), client.token("WETH")
    await client.approve(sold, permit2.ADDRESS, 7)
    _, action = await act(client, sold, got, amount="1000000")
    await client.approve(sold, permit2.ADDRESS, 0)
    await execute(client, action)


@pytest.mark.slow
async def test_many_random_swaps_in_fresh_pairs(client):
    chance = random.Random(9)
    for _ in range(ROUNDS):
        sold, got = map(client.token, chance.sample(LONELY, 2))
        if chance.random() < 0.7:
            await fresh_pair(client, sold, got)
        recipient = RECIPIENT if chance.random() < 0.7 else USER
        await client.send(called(sold, MINT, USER, 10**18), called(got, MINT, RECIPIENT, 3))
        if chance.random() < 0.5:
            await client.approve(sold, permit2.ADDRESS, 7)
        _, action = await act(client, sold, got, toAddress=recipient)
        if chance.random() < 0.7:
            await spend_all(client, got, RECIPIENT)
        if chance.random() < 0.5:
            await client.approve(sold, permit2.ADDRESS, 0)
        shares = await execute(client, action)
        assert max(shares) < 1
