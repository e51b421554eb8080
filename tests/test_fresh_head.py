"""A client acts on its own receipt at once: quotes and actions are no older than what its node has shown it.

The client sends its transactions to the node itself, and asks the gateway the moment it has the receipt.
Nothing here waits for the gateway to see a block.
"""

import asyncio
from collections import Counter

import pytest
from quoteway import Capability, SwapRequest, Token
from quoteway.evm import erc20, permit2

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from crossings import CHAIN_IDS  # noqa: E402
from direct_client import OTHER, USER, client_of, kinds  # noqa: E402
from quoteway_devnet.relayer import Relayer  # noqa: E402

NODE_LATENCY_S = 0.05


@pytest.fixture(params=[0.0, pytest.param(NODE_LATENCY_S, marks=pytest.mark.slow)], ids=["near", "far"])
async def client(fresh_devnet, request):
    async with client_of(fresh_devnet, request.param) as client:
        yield client


@pytest.fixture
def slow_blocks(fresh_devnet):
    """A block every two seconds, whether or not there is a transaction."""
    with fresh_devnet.rpc() as rpc:
        rpc("evm_setAutomine", False)
        rpc("evm_setIntervalMining", 2)
        yield
        rpc("evm_setIntervalMining", 0)
        rpc("evm_setAutomine", True)


def request_of(client):
    chain_id = CHAIN_IDS["devnet"]
    sold, bought = (Token(chain_id, client.token(s), d, s) for s, d in (("USDC", 6), ("WETH", 18)))
    return SwapRequest(chain_id, chain_id, sold, bought, 10**9, USER, USER, 50)


def number(answer):
    return answer["block"]["number"]


# --- quotes -----------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_no_quote_is_older_than_ones_own_receipt(client):
    stale = 0
    for amount in range(1, 26):
        mined = await client.approve(client.token("USDC"), OTHER, amount)
        stale += int(number(await client.quote_swap())) < mined
    assert stale == 0, f"{stale} of 25 quotes were of a block before the client's own"


@pytest.mark.slow
@pytest.mark.parametrize("client", [0.0], ids=["near"], indirect=True)
async def test_no_quote_is_older_than_ones_own_receipt_where_blocks_are_slow(client, slow_blocks):
    stale = 0
    for amount in range(1, 4):
        mined = await client.approve(client.token("USDC"), OTHER, amount)
        stale += int(number(await client.quote_swap())) < mined
    assert stale == 0


@pytest.mark.slow
async def test_quotes_of_many_clients_are_each_as_new_as_their_own_receipt(client):
    """What one client reads may be under way when the next one has its receipt."""
    stopped = asyncio.Event()

    async def ask_on():
        while not stopped.is_set():
            await client.quote_swap("WETH", "USDC", 10**18)

    others = [asyncio.create_task(ask_on()) for _ in range(8)]
    try:
        stale = 0
        for amount in range(1, 26):
            mined = await client.approve(client.token("USDC"), OTHER, amount)
            stale += int(number(await client.quote_swap())) < mined
    finally:
        stopped.set()
        await asyncio.gather(*others)
    assert stale == 0


async def test_a_warm_quote_reads_the_head_once_and_simulates_once(client):
    gateway = client.api.gateway
    await gateway.lists.close()  # they read the chain in the background
    request = request_of(client)
    await gateway.quoting.quote(Capability.SWAP, request)
    before, loop = Counter(client.node.asked), asyncio.get_running_loop()
    began, quotes = loop.time(), 20
    for _ in range(quotes):
        await gateway.quoting.quote(Capability.SWAP, request)
    polls = 1 + (loop.time() - began) // gateway.runtime.networks.find("devnet").head_poll_s
    asked = client.node.asked - before
    assert set(asked) == {"eth_getBlockByNumber", "eth_simulateV1"}
    assert asked["eth_getBlockByNumber"] <= quotes + polls
    assert asked["eth_simulateV1"] == quotes


async def test_quotes_that_arrive_together_share_one_read_of_the_head(client):
    gateway = client.api.gateway
    await gateway.lists.close()  # they read the chain in the background
    request = request_of(client)
    await gateway.quoting.quote(Capability.SWAP, request)
    before = Counter(client.node.asked)
    await asyncio.gather(*(gateway.quoting.quote(Capability.SWAP, request) for _ in range(50)))
    asked = client.node.asked - before
    assert set(asked) == {"eth_getBlockByNumber", "eth_simulateV1"}
    assert asked["eth_getBlockByNumber"] <= 3, "one, beside what is polled"


# --- actions ----------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_no_action_asks_again_for_an_approval_that_is_mined(client):
    again = missing = 0
    for amount in range(10**6, 10**6 + 20):
        quote = await client.quote_swap(amount=amount)
        action = await client.act(quote)
        missing += kinds(action) != ["approval", "permit2_approval", "swap"]
        await client.send(action["transactions"][0])
        action = await client.act(quote)
        again += "approval" in kinds(action)
        await client.send(action["transactions"][0])
        action = await client.act(quote)
        again += kinds(action) != ["swap"]
        await client.carry_out(quote, action)
    assert (again, missing) == (0, 0)


@pytest.mark.slow
async def test_an_allowance_that_was_just_withdrawn_is_asked_for(client):
    usdc, missing = client.token("USDC"), 0
    for _ in range(20):
        await client.approve(usdc, permit2.ADDRESS, 10**6)
        quote = await client.quote_swap(amount=10**6)
        assert [each["needed"] for each in quote["approvals"]] == [False]
        await client.approve(usdc, permit2.ADDRESS, 0)
        missing += "approval" not in kinds(await client.act(quote))
    assert missing == 0


@pytest.mark.slow
async def test_a_quote_tells_the_balance_after_ones_own_transfer(client):
    usdc = client.token("USDC")
    held = (await client.balances([usdc]))[usdc]
    for sent in range(1, 11):
        data = "0x" + erc20.TRANSFER.encode([OTHER, 1]).hex()
        await client.send({"to": usdc, "data": data, "value": "0x0"})
        quote = await client.quote_swap(amount=held)
        (issue,) = [issue for issue in quote["issues"] if issue["code"] == "insufficient_balance"]
        assert int(issue["actual"]) == held - sent


# --- flows, executed --------------------------------------------------------------------------------------


async def test_swaps_one_after_another_do_what_they_say_to_the_wei(client):
    pairs = [
        ("USDC", "WETH", 10**9),
        ("WETH", "USDC", 10**18),
        ("DAI", "WETH", 10**21),
        ("WETH", "DAI", 10**17),
    ]
    for turn in range(16):
        quote = await client.quote_swap(*pairs[turn % len(pairs)], slippageBps=0)
        await client.carry_out(quote, await client.act(quote))


@pytest.mark.slow
@pytest.mark.parametrize("client", [0.0], ids=["near"], indirect=True)
async def test_swaps_are_exact_where_blocks_are_slow(client, slow_blocks):
    quote = await client.quote_swap(slippageBps=0)
    await client.carry_out(quote, await client.act(quote))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "pair"), [("v2", "WETH/USDC"), ("v3", "WETH/USDC"), ("v4", "USDC/USDT")])
async def test_liquidity_is_added_and_removed_at_once(client, kind, pair):
    pool = client.pool(kind, pair)
    path = f"/v2/pools/{CHAIN_IDS['devnet']}:{pool.id}"
    body = {"asset": pool.token1, "address": USER, "slippageBps": 50}

    async def do(action, **more):
        wanted = {**body, "action": action, **more}
        quote = await client.ask(f"{path}/quote", wanted)
        made = await client.ask(f"{path}/action", {**wanted, "quoteId": quote["quoteId"]})
        assert await client.carry_out(quote, made) > int(number(quote))

    for _ in range(3):
        await do("add", amount=str(10**9))
        await do("remove", amount="max")


@pytest.mark.slow
async def test_a_deposit_is_withdrawn_at_once(client):
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    path = f"/v2/vaults/{CHAIN_IDS['devnet']}:{vault.address}"

    async def do(action, amount, asset):
        wanted = {"action": action, "amount": amount, "asset": asset, "address": USER, "slippageBps": 10}
        quote = await client.ask(f"{path}/quote", wanted)
        made = await client.ask(f"{path}/action", {**wanted, "quoteId": quote["quoteId"]})
        assert await client.send(*made["transactions"]) > int(number(quote))
        return quote

    for _ in range(5):
        quote = await do("deposit", str(10**9), client.token("USDC"))
        # What was there before the deposit is no shares: an older block would refuse to redeem any.
        (taken,) = (await do("redeem", "max", client.token("USDC")))["inputs"]
        assert taken["amount"] == quote["outputs"][0]["amount"]
        assert await client.balances([vault.address]) == {vault.address: 0}


# --- transfers between networks -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("path", "sold"), [("bridges", "USDC"), ("swaps", "DAI")])
async def test_transfers_and_joined_swaps_are_of_ones_own_block(fresh_devnet, path, sold):
    with Relayer.running(fresh_devnet) as relayer:
        async with client_of(fresh_devnet, 0.0, relayer.port) as client:
            token = client.token(sold)
            decimals = fresh_devnet.chains["devnet"].token(sold).decimals
            body = {
                "fromChain": "devnet",
                "toChain": "devnet-l2",
                "fromToken": token,
                "toToken": client.token("USDC", "devnet-l2"),
                "amount": str(1000 * 10**decimals),
                "address": USER,
            }
            for _ in range(10):
                quote = await client.ask(f"/v2/{path}/quote", body)
                (needed,) = [each for each in quote["approvals"] if each["token"] == token]
                mined = await client.approve(token, needed["spender"], int(needed["required"]))
                action = await client.ask(f"/v2/{path}/{quote['quoteId']}/action", None)
                first = next(step for step in action["steps"] if step["kind"] != "permit2_approval")
                assert first["kind"] in ("swap", "transfer"), kinds(action)
                assert int(action["simulation"]["block"]["number"]) >= mined
                mined = await client.approve(token, needed["spender"], 0)
                quote = await client.ask(f"/v2/{path}/quote", body)
                assert int(number(quote)) >= mined
                assert quote["approvals"][0]["needed"] is True
