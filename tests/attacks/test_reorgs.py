"""Attack: the chain of the action is not that of the quote: a reorganisation, or a node that is stale.

What the quote was made for is gone: approvals that were mined, the price, the block itself. The action is
built on the newest block that there is, or it is refused.
"""

import asyncio

import pytest
import pytest_asyncio
from cheating import AMOUNT, client_with_a_cheat, nothing_to_sign, wanted
from direct_client import USER, LaggingNode
from quoteway.evm import head

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cheated(devnet):
    """Its node may lag. The head is polled rarely, so that only requests read it."""
    node = LaggingNode(devnet.urls["devnet"])
    with devnet.restored():
        async with client_with_a_cheat(devnet, node=node, block_time_s=60.0, head_poll_s=60.0) as client:
            yield client


@pytest.fixture
def node(client):
    """The node itself, restored after the test. Only a longer chain replaces another."""
    with client.devnet.rpc() as rpc:
        before = rpc("evm_snapshot")
        yield rpc
        newest = int(rpc("eth_blockNumber"), 16)
        rpc("evm_revert", before)
        rpc("anvil_mine", hex(newest + 1 - int(rpc("eth_blockNumber"), 16)))


def replace_blocks(rpc, before, count):
    """Goes back to a snapshot and mines other blocks; the number of the newest one."""
    assert rpc("evm_revert", before)
    for _ in range(count):
        rpc("evm_mine")
    return int(rpc("eth_blockNumber"), 16)


async def move_price(client, amount=10**13):
    """A whale buys WETH."""
    quote = await client.ask(
        "/v2/swaps/quote", wanted(client, amount=str(amount), acknowledge=["high_price_impact"])
    )
    await client.send(*(await client.act(quote))["transactions"])


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["cheat", "uniswap"])
async def test_an_approval_that_a_reorganisation_took_back(client, node, provider):
    before = await asyncio.to_thread(node, "evm_snapshot")
    quote = await client.ask("/v2/swaps/quote", wanted(client, provider=provider))
    first = await client.act(quote)
    *approvals, _ = first["transactions"]
    await client.send(*approvals)
    assert len((await client.act(quote))["transactions"]) == 1
    newest = await asyncio.to_thread(replace_blocks, node, before, len(approvals) + 1)
    action = await client.act(quote)
    assert len(action["transactions"]) == len(first["transactions"])
    block = await asyncio.to_thread(node, "eth_getBlockByNumber", hex(newest), False)
    ran = action["simulation"]
    assert (ran["status"], ran["block"]["number"], ran["block"]["hash"]) == ("success", newest, block["hash"])


async def taken_back(client, node, monkeypatch, method):
    """The hashes of blocks that ``method`` asks for. The newest block is taken back before the first time."""
    before = await asyncio.to_thread(node, "evm_snapshot")
    # Two empty blocks could be the same one.
    await asyncio.to_thread(node.send, {"from": USER, "to": USER})
    asked, answer = [], client.node.answer

    def replace():
        with client.devnet.rpc() as rpc:
            replace_blocks(rpc, before, 2)

    async def interrupted(body, session):
        if body["method"] == method and isinstance(body["params"][1], dict):
            asked.append(body["params"][1]["blockHash"])
            if len(asked) == 1:
                await asyncio.to_thread(replace)
        return await answer(body, session)

    monkeypatch.setattr(client.node, "answer", interrupted)
    return asked


async def test_a_block_that_is_taken_back_while_an_action_is_built(client, node, monkeypatch):
    quote = await client.ask("/v2/swaps/quote", wanted(client))
    asked = await taken_back(client, node, monkeypatch, "eth_simulateV1")
    action = await client.act(quote)
    assert action["simulation"]["status"] == "success"
    assert action["simulation"]["block"]["hash"] == asked[-1] != asked[0]
    assert await asyncio.to_thread(node, "eth_getBlockByHash", asked[0], False) is None


async def test_a_quote_of_a_block_that_is_gone_and_whose_price_was_better(client, node):
    """The whale's purchase makes USDC cheap in WETH; then it never happened."""
    before = await asyncio.to_thread(node, "evm_snapshot")
    body = {"fromToken": client.token("WETH"), "toToken": client.token("USDC"), "amount": str(10**18)}
    await move_price(client)
    quote = await client.ask("/v2/swaps/quote", wanted(client, **body))
    await asyncio.to_thread(replace_blocks, node, before, 5)
    path = f"/v2/swaps/{quote['quoteId']}/action"
    answer = await client.api.post(path, {"acknowledge": ["high_price_impact"]})
    nothing_to_sign(answer, "price_moved")
    assert answer.body["error"]["details"]["retryable"] is False


async def test_a_price_that_moves_between_quote_and_action(client, node):
    quote = await client.ask("/v2/swaps/quote", wanted(client))
    await move_price(client)
    nothing_to_sign(await client.api.post(f"/v2/swaps/{quote['quoteId']}/action"), "price_moved")


async def test_a_node_that_is_behind_what_the_caller_has_seen(client, node, monkeypatch):
    """The price has moved; a stale node would have the action succeed on the old one."""
    monkeypatch.setattr(head, "_MAX_WAIT_S", 1.0)
    quote = await client.ask("/v2/swaps/quote", wanted(client))
    old = int(await asyncio.to_thread(node, "eth_blockNumber"), 16)
    await move_price(client)
    client.node.lag(old)
    try:
        seen = int(await asyncio.to_thread(node, "eth_blockNumber"), 16)
        for path, body in (
            (f"/v2/swaps/{quote['quoteId']}/action", {}),
            ("/v2/swaps/quote", wanted(client)),
        ):
            answer = await client.api.post(path, {**body, "minBlock": seen})
            nothing_to_sign(answer, "behind")
            assert answer.body["error"]["details"]["retryable"] is True
    finally:
        client.node.held = None
    nothing_to_sign(await client.api.post(f"/v2/swaps/{quote['quoteId']}/action"), "price_moved")


async def test_the_same_chain_gives_the_same_action(client, node):
    quote = await client.ask("/v2/swaps/quote", wanted(client))
    first = await client.act(quote)
    assert int(first["inputs"][0]["amount"]) == AMOUNT
    assert (await client.act(quote))["transactions"] == first["transactions"]
