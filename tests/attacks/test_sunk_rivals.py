"""Attack: requests that make a rival provider, or the node that all read from, look broken.

A caller can make any provider fail: with a wallet that holds nothing, a recipient that refuses coins, a token
that burns all gas, a price that moves between quote and action, a JSON-RPC call that no node can answer.
Whoever is asked afterwards, who wins and who counts as healthy is the same as before.
"""

import asyncio

import pytest

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import USER, client_of  # noqa: E402
from forged_tokens import close_sales, make_token  # noqa: E402
from quoteway import NATIVE  # noqa: E402
from quoteway.testing.fakes import FakePlugin, RouterSwap  # noqa: E402

NOBODY = "0x6666666666666666666666666666666666666666"
REFUSES_COINS = "0x00000000000000000000000000000000000bad01"
BURNS_GAS = "0x00000000000000000000000000000000000bad02"
CODE = {REFUSES_COINS: "0x5f5ffd", BURNS_GAS: "0x5b5f56"}
"""PUSH0, PUSH0, REVERT; and JUMPDEST, PUSH0, JUMP."""
TIMES = 5


@pytest.fixture
async def client(fresh_devnet):
    router = fresh_devnet.chains["devnet"].contracts["UniswapV2Router02"]
    rival = FakePlugin([lambda context: RouterSwap(context, 31337, router, provider_id="rival")])
    with fresh_devnet.rpc() as rpc:
        for address, code in CODE.items():
            rpc("anvil_setCode", address, code)
    patient = {"rpc": {"attempt_timeout_s": 30, "total_timeout_s": 30}}
    async with client_of(fresh_devnet, 0.0, plugins={"rival": rival}, settings=patient) as client:
        yield client


async def standing(client, uncached):
    """What is told of every provider, of its score the failures; who is asked, how each answers, who wins."""
    providers = await client.api.get(f"/v2/providers?limit={uncached}")
    ready = await soon_ready(client)
    quote = await client.quote_swap("USDC", "WETH", 10**9)
    attempts = {row["provider"]: row["outcome"] for row in quote["attempts"]}
    rows = [
        {
            **row,
            "score": (row["score"] or {}).get("failed"),
            "worstStall": None,  # of a busy machine
            "upstreams": [(node["label"], node["state"]) for node in row["upstreams"]],  # without latencies
            "methods": {m["breaker"] for m in row["methods"]} - {"closed"},
        }
        for row in providers.body["data"]
        if row["capabilities"]  # others have a row when a busy machine has stopped them
    ]
    return rows, ready.body, attempts, quote["provider"]


async def soon_ready(client):
    """Returns the answer of ``/readyz`` once all nodes answer. On a busy machine they may miss one check."""
    async with asyncio.timeout(30):
        while (ready := await client.api.get("/readyz")).status != 200 or "notAnswering" in ready.body:
            await asyncio.sleep(1)
    return ready


async def swap(client, **members):
    body = {"network": "devnet", "fromToken": client.token("USDC"), "toToken": client.token("WETH")}
    return await client.api.post(
        "/v2/swaps/quote", {**body, "amount": "1000000000", "address": USER, **members}
    )


async def a_wallet_that_holds_nothing(client):
    quote = await swap(client, address=NOBODY)
    await client.api.post(f"/v2/swaps/{quote.body['quoteId']}/action")


async def more_than_all_pools_hold(client):
    await swap(client, amount=str(2**255))


async def a_recipient_that_refuses_coins(client):
    await swap(client, toToken=NATIVE, toAddress=REFUSES_COINS, address=NOBODY)


async def a_minimum_that_cannot_move(client):
    await swap(client, slippageBps=0, address=NOBODY)


async def a_token_that_burns_all_gas(client):
    await swap(client, fromToken=BURNS_GAS)
    await swap(client, toToken=BURNS_GAS)


async def a_token_that_cannot_be_sold(client):
    token = await make_token(client, "MOON", "Moon")
    await close_sales(client, token)
    for provider in ("rival", "uniswap"):
        await swap(client, fromToken=token, provider=provider)
        await swap(client, toToken=token, provider=provider)


async def a_price_that_moves_before_the_action(client):
    quote = await client.quote_swap("WETH", "USDC", 10**18, slippageBps=0, provider="rival")
    moving = await client.quote_swap("WETH", "USDC", 10**20, provider="rival")
    await client.send(*(await client.act(moving))["transactions"])
    answer = await client.api.post(f"/v2/swaps/{quote['quoteId']}/action")
    answer.refused(502, "upstream_error", "price_moved")


async def rpc(client, method, *params):
    return await client.api.post(
        "/v2/rpc/31337", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    )


async def calls_that_revert(client):
    await rpc(client, "eth_call", {"to": REFUSES_COINS}, "latest")
    await rpc(client, "eth_estimateGas", {"to": BURNS_GAS})


async def calls_that_no_node_can_read(client):
    await rpc(client, "eth_getBalance", USER, {"blockHash": "0x" + "12" * 32})
    await rpc(client, "eth_getBlockByNumber", "0xffffffffffffffff", 5)
    await rpc(client, "eth_getBalance", "\ud7ff" * 1_000, 1e300)
    deep = "latest"
    for _ in range(300):
        deep = [deep]
    answer = await rpc(client, "eth_call", {"to": USER}, deep)
    assert (answer.status, answer.body["error"]["code"]) == (200, -32602)


OFTEN = (
    a_wallet_that_holds_nothing,
    more_than_all_pools_hold,
    a_recipient_that_refuses_coins,
    a_minimum_that_cannot_move,
    a_token_that_burns_all_gas,
    calls_that_revert,
    calls_that_no_node_can_read,
)
ONCE = (a_token_that_cannot_be_sold, a_price_that_moves_before_the_action)


@pytest.mark.slow
async def test_nothing_that_a_caller_causes_counts_against_a_provider(client):
    before = await standing(client, 100)
    assert {"rival": "quoted", "uniswap": "quoted"}.items() <= before[2].items()
    for number, attack in enumerate((*OFTEN, *ONCE)):
        await asyncio.gather(*(attack(client) for _ in range(TIMES if attack in OFTEN else 1)))
        after = await standing(client, 101 + number)
        # Where the price has moved another one may well pay most.
        compared = 3 if attack is a_price_that_moves_before_the_action else 4
        assert after[:compared] == before[:compared], attack.__name__
