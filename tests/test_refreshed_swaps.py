"""Swaps that are approved now and signed later: quoted, refreshed after the quote has expired, executed."""

import asyncio
import time

import pytest

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import OTHER, USER, client_of  # noqa: E402
from quoteway.engine.auto_slippage import LOW_BPS  # noqa: E402
from quoteway.evm import erc20  # noqa: E402

ETHER = 10**18
POOL = {"protocols": ["uniswap-v2"], "maxHops": 1}
"""One pool, so that a rival's swap moves the price of what is quoted."""


class Clock:
    """The gateway's time, which a test puts forward."""

    def __init__(self):
        self.ahead_s = 0

    def __call__(self):
        return time.time() + self.ahead_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def client(fresh_devnet, clock):
    with fresh_devnet.rpc() as rpc:
        rpc("anvil_mine", hex(21))
    async with client_of(fresh_devnet, 0.0, clock=clock) as client:
        yield client


async def lasting(client, sold="USDC", got="WETH", amount=10**9, lasts_s=7_200, **more):
    return await client.quote_swap(
        sold, got, amount, refreshableUntil=int(time.time()) + lasts_s, **{"slippageBps": 100, **POOL, **more}
    )


async def refresh(client, quote, body=None):
    return await client.ask(f"/v2/swaps/{quote['quoteId']}/refresh", body)


async def no_refresh(client, quote, reason):
    answer = await client.api.post(f"/v2/swaps/{quote['quoteId']}/refresh", None)
    assert answer.status >= 400, answer.body
    details = answer.body["error"]["details"]
    assert details["reason"] == reason, answer.body
    return details


async def move(client, clock, amount, sold="USDC", got="WETH", seconds=3_600, pool=POOL):
    """Another account trades in the pool, and time passes for the gateway and the chain."""
    more = {"slippageBps": 5_000, "acknowledge": ["high_price_impact"], "address": OTHER, **pool}
    quote = await client.quote_swap(sold, got, amount, **more)
    action = await client.act(quote)

    def mined():
        with client.devnet.rpc() as rpc:
            for transaction in action["transactions"]:
                members = {name: transaction[name] for name in ("to", "data", "value")}
                sent = rpc("eth_sendTransaction", {**members, "from": OTHER, "gas": hex(3_000_000)})
                while (receipt := rpc("eth_getTransactionReceipt", sent)) is None:
                    pass
                assert receipt["status"] == "0x1"
            rpc("evm_increaseTime", hex(seconds))
            rpc("evm_mine")

    await asyncio.to_thread(mined)
    clock.ahead_s += seconds


def pools_of(quote):
    return {hop["pool"] for path in quote["route"]["paths"] for hop in path["hops"]}


async def received(client, action, token, account=USER):
    """Sends an action's transactions; what an account gains by them."""

    def held():
        data = "0x" + erc20.BALANCE_OF.encode([account]).hex()
        with client.devnet.rpc() as rpc:
            return int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16)

    before = await asyncio.to_thread(held)
    await client.send(*action["transactions"])
    return await asyncio.to_thread(held) - before


async def test_an_exact_input_within_and_beyond_its_minimum(client, clock):
    """The price moves against it by less than the slippage, then by more."""
    first = await lasting(client)
    least = int(first["toAmountMin"])
    until = first["refreshTerms"].pop("until")
    assert until <= time.time() + 7_200
    assert first["refreshTerms"] == {"toAmountMin": str(least), "fromAmountMax": str(10**9)}
    await move(client, clock, 2_000 * 10**6)
    (await client.api.post(f"/v2/swaps/{first['quoteId']}/action")).refused(404, "not_found", "quote_expired")
    again = await refresh(client, first, {"minBlock": 1, "acknowledge": []})
    assert least < int(again["toAmount"]) < int(first["toAmount"])
    assert int(again["toAmountMin"]) == least > int(again["toAmount"]) * 99 // 100
    assert again["refreshTerms"] == {**first["refreshTerms"], "until": until}
    assert again["request"] == first["request"]
    assert again["createdAt"] != first["createdAt"]
    action = await client.act(again)
    said = next(step for step in action["steps"] if step["kind"] == "swap")
    assert str(least) in str(said["decoded"])
    shown = await client.api.get(f"/v2/swaps/quote/{again['quoteId']}")
    assert shown.body["refreshTerms"] == again["refreshTerms"]
    gained = await received(client, action, client.token("WETH"))
    assert gained == int(again["toAmount"]) >= least
    await move(client, clock, 300_000 * 10**6, seconds=1)
    details = await no_refresh(client, again, "price_moved")
    assert 0 < int(details["bestNow"]) < least
    assert details["retryable"] is True
    # The market comes back: the same terms hold.
    await move(client, clock, 150 * ETHER, "WETH", "USDC", seconds=1)
    back = await refresh(client, first)
    assert int(back["toAmountMin"]) >= least


@pytest.mark.slow
async def test_the_least_room_is_kept_to_the_wei(client, clock):
    """A first quote without slippage: after the price has moved up, the refreshed one has room above it."""
    first = await lasting(client, slippageBps=0)
    least = int(first["toAmountMin"])
    assert least == int(first["toAmount"])
    same = await refresh(client, first)
    assert int(same["toAmountMin"]) == int(same["toAmount"]) == least
    assert await received(client, await client.act(same), client.token("WETH")) == least
    assert int((await no_refresh(client, first, "price_moved"))["bestNow"]) < least, "its own swap moved it"
    await move(client, clock, 5 * ETHER, "WETH", "USDC")
    better = await refresh(client, first)
    assert int(better["toAmountMin"]) == int(better["toAmount"]) > least, "the slippage asked for is none"


@pytest.mark.slow
async def test_an_exact_output_within_and_beyond_its_maximum(client, clock):
    first = await lasting(client, amount=ETHER, side="exactOut")
    most = int(first["fromAmountMax"])
    assert first["refreshTerms"]["fromAmountMax"] == str(most)
    assert first["refreshTerms"]["toAmountMin"] == str(ETHER)
    await move(client, clock, 2_000 * 10**6)
    again = await refresh(client, first)
    assert int(first["fromAmount"]) < int(again["fromAmount"]) <= int(again["fromAmountMax"]) == most
    assert {grant["required"] for grant in again["approvals"]} == {str(most)}
    usdc = client.token("USDC")
    action = await client.act(again)
    weth = client.token("WETH")
    before = await client.balances([usdc, weth])
    await client.send(*action["transactions"])
    after = await client.balances([usdc, weth])
    assert before[usdc] - after[usdc] == int(again["fromAmount"]) <= most
    assert after[weth] - before[weth] == int(again["toAmount"]) >= ETHER
    await move(client, clock, 300_000 * 10**6, seconds=1)
    assert int((await no_refresh(client, first, "price_moved"))["bestNow"]) > most


@pytest.mark.slow
@pytest.mark.parametrize("side", ["exactIn", "exactOut"])
async def test_a_fee_a_recipient_and_a_signed_permit_stay(client, clock, side):
    shop = "0x3333333333333333333333333333333333333333"
    amount = 10**9 if side == "exactIn" else ETHER // 2
    more = {"feeBps": 50, "feeRecipient": shop, "toAddress": OTHER, "approvalMode": "permit2-signature"}
    first = await lasting(client, amount=amount, side=side, deadline=int(time.time()) + 9_000, **more)
    await move(client, clock, 1_000 * 10**6)
    again = await refresh(client, first)
    assert again["request"] == first["request"]
    assert again["deadline"] == first["deadline"]
    assert int(again["toAmountMin"]) >= int(first["toAmountMin"])
    assert int(again["fromAmountMax"]) <= int(first["fromAmountMax"])
    action = await client.act(again)
    assert action["simulation"]["status"] == "success"
    assert action["deadline"] <= first["deadline"]
    paid = {(each["account"], each["token"]) for each in action["simulation"]["assetChanges"]}
    weth, usdc = client.token("WETH"), client.token("USDC")
    assert (OTHER, weth) in paid
    assert (shop, weth if side == "exactIn" else usdc) in paid
    assert action["signatures"], "the permit is asked for again"


@pytest.mark.slow
async def test_a_chosen_slippage_is_chosen_again_within_the_terms(client, clock):
    first = await lasting(client, slippageBps="auto")
    await move(client, clock, 200 * 10**6)
    again = await refresh(client, first)
    assert int(again["toAmountMin"]) >= int(first["toAmountMin"])
    assert again["slippageBps"] >= LOW_BPS
    await move(client, clock, 300_000 * 10**6, seconds=1)
    await no_refresh(client, again, "price_moved")


@pytest.mark.slow
async def test_the_best_route_of_all_pools_is_looked_for_again(client, clock):
    """No limits: the first route loses its price, and another one keeps the terms."""
    first = await lasting(client, "ETH", "USDC", ETHER, protocols=["uniswap-v2", "uniswap-v3"], maxHops=2)
    (before,) = pools_of(first)
    await move(client, clock, 60 * ETHER, "WETH", "USDC", pool={"pools": [f"31337:{before}"]})
    again = await refresh(client, first)
    assert before not in pools_of(again)
    action = await client.act(again)
    usdc = client.token("USDC")
    gained = await received(client, action, usdc)
    assert gained == int(again["toAmount"]) >= int(first["toAmountMin"])


@pytest.mark.slow
async def test_a_block_that_the_nodes_do_not_have_yet_is_not_there(client):
    first = await lasting(client)
    answer = await client.api.post(f"/v2/swaps/{first['quoteId']}/refresh", {"minBlock": 10**9})
    answer.refused(502, "upstream_error", "behind")
