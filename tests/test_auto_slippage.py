"""`slippageBps: "auto"`: the gateway chooses it from what the swap's own transactions pay, within bounds."""

import json
from typing import ClassVar

import pytest
from quoteway.engine.auto_slippage import BLOCKS_BACK, HIGH_BPS, LOW_BPS, UNKNOWN_BPS, slippage_of
from quoteway.evm import erc20

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import USER, FarNode, client_of  # noqa: E402

NOBODY = "0x6666666666666666666666666666666666666666"
"""Holds nothing and has approved nothing."""


class Node(FarNode):
    """A node that may forget past states, or have no simulation at all. ``runs``: what it simulated."""

    forgets, simulates = False, True
    runs: ClassVar = set()

    async def answer(self, body, session):
        method, params = body["method"], body["params"]
        if method == "eth_simulateV1":
            self.runs.add(json.dumps(params[0]))  # a block may be named twice: by hash, by number
        if method == "eth_simulateV1" and not self.simulates:
            error = {"code": -32601, "message": "the method does not exist"}
        elif method == "eth_getBlockByNumber" and self.forgets and params[0] != "latest":
            error = {"code": -32000, "message": "missing trie node"}
        else:
            return await super().answer(body, session)
        return json.dumps({"jsonrpc": "2.0", "id": body["id"], "error": error}).encode()


@pytest.fixture
async def client(fresh_devnet):
    mine(fresh_devnet, max(BLOCKS_BACK) + 1)
    async with client_of(fresh_devnet, 0.0, node=Node(fresh_devnet.urls["devnet"])) as client:
        yield client


def mine(devnet, blocks=1):
    with devnet.rpc() as rpc:
        rpc("anvil_mine", hex(blocks))


async def swap(client, sold, got, amount):
    """Moves a pool: a swap of the user's own, in blocks of its own. CRV has one pool, of DAI."""
    quote = await client.quote_swap(sold, got, amount, slippageBps=5000, acknowledge=["high_price_impact"])
    await client.send(*(await client.act(quote))["transactions"])


def codes(answer):
    return [warning["code"] for warning in answer["warnings"]]


def minimum_of(amount, slippage_bps):
    return amount * (10_000 - slippage_bps) // 10_000


def test_the_formula():
    assert slippage_of(1_000_000, 1_000_000, [1_000_000] * 3) == LOW_BPS
    # The range of all moves, whichever way: 0.5 % up, 0.2 % down.
    assert slippage_of(1_000_000, 1_000_000, [1_005_000, 998_000]) == 70
    # A repetition loses 2 %: a rival of a quarter of the size costs 0.5 %.
    assert slippage_of(1_000_000, 980_000, [1_000_000]) == 50
    assert slippage_of(1_000_000, 980_000, [1_005_000]) == 100
    assert slippage_of(1_000_000, 1_000_000, [1_001_001]) == 11, "rounded up"
    # What reverts pays nothing.
    assert slippage_of(1_000_000, 0, [1_000_000]) == slippage_of(1_000_000, 1_000_000, [0]) == HIGH_BPS
    assert slippage_of(1_000_000, 1_000_000, []) == UNKNOWN_BPS, "no past block can be run"
    assert slippage_of(1, 0, [10**30]) == HIGH_BPS


@pytest.mark.slow
@pytest.mark.parametrize("pair", [("USDC", "WETH", 10**8), ("ETH", "USDC", 10**16)])
async def test_calm_pools_give_the_low_bound(client, pair):
    quote = await client.quote_swap(*pair, slippageBps="auto")
    assert quote["slippageBps"] == quote["request"]["slippageBps"] == LOW_BPS
    (told,) = [warning for warning in quote["warnings"] if warning["code"] == "auto_slippage"]
    assert told["message"] == f"The gateway chose {LOW_BPS} bps of slippage, between 10 and 300 bps."
    assert quote["toAmountMin"] == str(minimum_of(int(quote["toAmount"]), LOW_BPS))
    action = await client.act(quote)
    assert "auto_slippage" in codes(action)
    await client.carry_out(quote, action)


@pytest.mark.slow
async def test_a_swap_that_moves_its_pool_gets_more(client):
    found = []
    for dollars in (100, 20_000, 60_000):
        quote = await client.quote_swap("DAI", "CRV", dollars * 10**18, slippageBps="auto")
        found.append(quote["slippageBps"])
    assert LOW_BPS == found[0] < found[1] < found[2] < HIGH_BPS


@pytest.mark.slow
@pytest.mark.parametrize("pair", [("DAI", "CRV"), ("CRV", "DAI")], ids=["against it", "in favour of it"])
async def test_a_pool_that_moved_gives_more_until_it_is_calm_again(client, pair):
    await swap(client, "DAI", "CRV", 2_000 * 10**18)
    mine(client.devnet)
    quote = await client.quote_swap(*pair, 10**20, slippageBps="auto")
    assert LOW_BPS < quote["slippageBps"] < HIGH_BPS
    await client.carry_out(quote, await client.act(quote))
    mine(client.devnet, max(BLOCKS_BACK))
    quote = await client.quote_swap(*pair, 10**20, slippageBps="auto")
    assert quote["slippageBps"] == LOW_BPS


@pytest.mark.slow
@pytest.mark.parametrize("pair", [("DAI", "CRV"), ("CRV", "DAI")], ids=["against it", "in favour of it"])
@pytest.mark.parametrize("dollars", [80_000, 200_000])
async def test_nothing_gives_more_than_the_high_bound(client, pair, dollars):
    await swap(client, "DAI", "CRV", dollars * 10**18)
    quote = await client.quote_swap(*pair, 10**20, slippageBps="auto")
    assert quote["slippageBps"] == HIGH_BPS
    assert "high_slippage" not in codes(quote)


@pytest.mark.slow
async def test_what_is_received_is_never_below_the_chosen_minimum(client):
    """The pool moves between quote and action, by what a rival of a tenth of the size trades."""
    crv = client.token("CRV")
    for _ in range(3):
        quote = await client.quote_swap("DAI", "CRV", 20_000 * 10**18, slippageBps="auto")
        await swap(client, "DAI", "CRV", 2_000 * 10**18)
        action = await client.act(quote)
        assert "auto_slippage" in codes(action)
        before = (await client.balances([crv]))[crv]
        await client.send(*action["transactions"])
        received = (await client.balances([crv]))[crv] - before
        assert int(quote["toAmountMin"]) <= received < int(quote["toAmount"])


async def test_nothing_of_the_wallet_counts(client):
    quotes = [
        await client.quote_swap("DAI", "CRV", 20_000 * 10**18, slippageBps="auto", **more)
        for more in (
            {},
            {"address": NOBODY},
            {"approvalMode": "permit2-signature"},
            {"toAddress": NOBODY},
        )
    ]
    assert len({quote["slippageBps"] for quote in quotes}) == 1
    assert LOW_BPS < quotes[0]["slippageBps"] < HIGH_BPS
    assert quotes[2]["request"]["approvalMode"] == "permit2-signature"


async def test_an_approval_of_another_amount_does_not_count(client):
    """USDT refuses to change an allowance that is not zero."""
    calm = await client.quote_swap("USDT", "USDC", 10**9, slippageBps="auto")
    for spender in {each["spender"] for each in calm["approvals"]}:
        data = "0x" + erc20.APPROVE.encode([spender, 10**6]).hex()
        await client.send({"to": client.token("USDT"), "data": data, "value": "0x0"})
    again = await client.quote_swap("USDT", "USDC", 10**9, slippageBps="auto")
    assert again["slippageBps"] == calm["slippageBps"] < UNKNOWN_BPS


async def test_where_nothing_can_be_measured_the_default_is_chosen(client):
    client.node.forgets = True
    quote = await client.quote_swap(amount=10**8, slippageBps="auto")
    assert UNKNOWN_BPS <= quote["slippageBps"] < UNKNOWN_BPS + LOW_BPS, "the depth is still known"
    client.node.simulates = False
    chain = client.api.gateway.runtime.chain(int(quote["chainId"]))
    chain._simulation_known_until = 0.0  # as after a start
    quote = await client.quote_swap(amount=10**8, slippageBps="auto")
    assert quote["slippageBps"] == UNKNOWN_BPS
    assert {"auto_slippage", "not_simulated"} <= set(codes(quote))


async def test_it_costs_its_own_requests_and_one_more_quote(client):
    gateway = client.api.gateway
    await gateway.lists.close()  # they read the chain in the background
    runs = []
    for _ in range(3):
        client.node.runs = set()
        await client.quote_swap(amount=10**8, slippageBps="auto")
        runs.append(len(client.node.runs))
    # A slow node is asked again, or left out.
    assert max(runs) == 2 + 1 + len(BLOCKS_BACK)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "more"),
    [("swaps", {"fromChain": "devnet", "toChain": "devnet-l2"}), ("bridges", {})],
)
async def test_auto_is_refused_elsewhere(client, path, more):
    body = {"fromChain": "devnet", "toChain": "devnet-l2", "address": USER, "amount": "1000000", **more}
    body |= {"fromToken": client.token("USDC"), "toToken": client.token("USDC", "devnet-l2")}
    answer = await client.api.post(f"/v2/{path}/quote", {**body, "slippageBps": "auto"})
    error = answer.refused(422, "validation_error")
    (field,) = error["details"]["fields"]
    assert field["path"] == "slippageBps"
    assert "swaps within one network" in field["message"]
