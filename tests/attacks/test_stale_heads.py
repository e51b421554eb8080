"""Attack: a client that acts on its own receipt at once is given a state from before it; its swap reverts.

Quotes and actions are no older than what the client's node has shown it. Nothing here waits for the gateway.
``tests/test_fresh_head.py`` does the same for all kinds of requests, in many rounds.
"""

import pytest

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import USER, client_of, kinds  # noqa: E402
from quoteway.evm import permit2  # noqa: E402

AMOUNT = 10**9


@pytest.fixture
async def client(fresh_devnet):
    async with client_of(fresh_devnet, 0.0) as client:
        yield client


def number(answer):
    return int(answer["block"]["number"])


async def test_the_approval_of_a_moment_ago_counts(client):
    usdc = client.token("USDC")
    for _ in range(2):
        mined = await client.approve(usdc, permit2.ADDRESS, AMOUNT)
        quote = await client.quote_swap(slippageBps=0)
        assert number(quote) >= mined
        action = await client.act(quote)
        assert "approval" not in kinds(action), "it is mined"
        assert number(action["simulation"]) >= mined
        await client.carry_out(quote, action)
        mined = await client.approve(usdc, permit2.ADDRESS, 0)
        assert "approval" in kinds(await client.act(await client.quote_swap())), "it was withdrawn"


async def test_swaps_by_signature_follow_each_other_at_once(client):
    """Each signature uses the nonce after the last one's: on an older block the next would revert."""
    await client.approve(client.token("USDC"), permit2.ADDRESS, 3 * AMOUNT)
    mined = 0
    for _ in range(2):
        quote = await client.quote_swap(slippageBps=0, approvalMode="permit2-signature")
        assert number(quote) >= mined
        action = await client.act(quote)
        assert number(action["simulation"]) >= mined
        (asked,) = action["signatures"]
        with client.devnet.rpc() as rpc:
            signature = rpc("eth_signTypedData_v4", USER, asked["typedData"])
        place, transaction = asked["appliesTo"], action["transactions"][asked["appliesTo"]["transaction"]]
        begin = 2 + 2 * place["offset"]
        data = transaction["data"]
        transaction["data"] = data[:begin] + signature[2:] + data[begin + 2 * place["length"] :]
        mined = await client.carry_out(quote, action)
