"""Swaps through StableSwap pools: what is quoted is executed to the wei."""

import random

import pytest
from curve_exchange import OWN
from quoteway import Capability, UpstreamError
from quoteway.evm.abi import encode_call
from quoteway_devnet.accounts import ACCOUNTS

CASES = [
    ("USDC", "DAI", 1e-6, 1),
    ("DAI", "USDT", 700, 1),
    ("USDT", "USDC", 400_000, 1),
    ("GHO", "USDC", 300_000, 1),
    ("USDC", "GHO", 25_000, 1),
    ("WETH", "wstETH", 1_000_000, 1),
    ("wstETH", "WETH", 30_000, 1),
    ("USDT", "GHO", 12_345, 2),
    ("GHO", "USDT", 9_000, 2),
]


@pytest.mark.slow
async def test_what_is_quoted_is_executed_to_the_wei(exchange, make_gateway):
    gateway = await exchange.gateway(make_gateway)
    chance = random.Random(7)
    for sold, bought, dollars, hops in CASES:
        amount = max(int(exchange.units(sold, dollars) * chance.uniform(0.8, 1.25)), 1)
        request = exchange.request(sold, bought, amount, routing=OWN)
        answer = await exchange.executed(gateway, request)
        (path,) = answer.quote.route
        assert {hop.protocol for hop in path.hops} == {"curve-stableswap"}
        assert hops <= len(path.hops) <= 3
        # A second one, on the states that the first one left: of the pools, and of the router.
        await exchange.executed(gateway, request)


@pytest.mark.slow
async def test_what_others_left_in_the_router_is_quoted(exchange, make_gateway):
    gateway = await exchange.gateway(make_gateway)
    for symbol, left in (("USDC", 7), ("DAI", 123_456), ("GHO", 10**17)):
        call = encode_call("transfer(address,uint256)", [exchange.router, left])
        exchange.send(exchange.address(symbol), call)
    # Through USDC or DAI, of which the router has some, to GHO.
    await exchange.executed(gateway, exchange.request("USDT", "GHO", 10**9, routing=OWN))
    assert exchange.held(exchange.address("GHO"), exchange.router) == 1
    await exchange.executed(gateway, exchange.request("GHO", "USDT", 10**21, routing=OWN))
    assert exchange.held(exchange.address("USDT"), exchange.router) == 1


@pytest.mark.slow
async def test_another_recipient_is_paid(exchange, make_gateway):
    gateway = await exchange.gateway(make_gateway)
    request = exchange.request("USDC", "DAI", 10**9, routing=OWN, recipient=ACCOUNTS[7].address)
    await exchange.executed(gateway, request)


@pytest.mark.slow
async def test_the_native_coin_is_not_offered(exchange, make_gateway):
    gateway = await exchange.gateway(make_gateway)
    request = exchange.request("ETH", "wstETH", 10**18, routing=OWN)
    with pytest.raises(UpstreamError):
        await gateway.quoting.quote(Capability.SWAP, request, acknowledged=[])


@pytest.mark.slow
async def test_a_pool_whose_amplification_changes_is_left_out_until_it_ends(exchange, make_gateway, caplog):
    gateway = await exchange.gateway(make_gateway)
    request = exchange.request("WETH", "wstETH", 10**18, routing=OWN)
    await exchange.executed(gateway, request)
    ramp = encode_call("setRampUntil(uint256)", [2**40])
    exchange.send(exchange.pools["eth"], ramp)
    with pytest.raises(UpstreamError):
        await gateway.quoting.quote(Capability.SWAP, request, acknowledged=[])
    assert f"pool {exchange.pools['eth']} on chain 31337 is not used: its amplification" in caplog.text
    exchange.send(exchange.pools["eth"], encode_call("setRampUntil(uint256)", [1]))
    await exchange.executed(gateway, request)


@pytest.mark.slow
async def test_pairs_are_the_same_objects_until_they_change(exchange, make_gateway):
    gateway = await exchange.gateway(make_gateway)
    source = gateway.registry.get(Capability.LIQUIDITY, "curve")
    ends = exchange.address("USDC"), exchange.address("USDT")
    await exchange.executed(gateway, exchange.request("USDC", "USDT", 10**9, routing=OWN))

    async def states():
        block = await gateway.runtime.chain(31337).head()
        found = await source.pools(31337, *ends, block)
        return {(pool.id, pool.token0, pool.token1): pool for pool in found}

    before = await states()
    exchange.send(exchange.pools["ng"], encode_call("setRampUntil(uint256)", [1]))
    again = await states()
    assert all(again[key] is pool for key, pool in before.items())
    await exchange.executed(gateway, exchange.request("USDC", "USDT", 10**9, routing=OWN))
    after = await states()
    assert {key[0] for key in before if after[key] is not before[key]} == {exchange.pools["three"]}
