"""Swaps through volatile and stable pools: what is quoted is executed to the wei."""

import asyncio
import random

import pytest
from quoteway import Capability, UpstreamError
from quoteway_devnet.accounts import ACCOUNTS
from solidly_exchange import OWN

CASES = [
    ("USDC", "DAI", 1e-6, 1),
    ("DAI", "USDC", 700, 1),
    ("USDC", "DAI", 2_000_000, 1),
    ("ETH", "USDC", 30_000, 1),
    ("USDC", "ETH", 9_000, 1),
    ("ETH", "DAI", 12_345, 2),
    ("MKR", "DAI", 4_000, 2),
    ("MKR", "ETH", 50_000, 2),
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
        assert [hop.protocol for hop in path.hops] == ["aerodrome"] * hops
        # A second one, on the state that the first one left.
        await exchange.executed(gateway, request)


@pytest.mark.slow
async def test_another_recipient_is_paid(exchange, make_gateway):
    gateway = await exchange.gateway(make_gateway)
    request = exchange.request("USDC", "DAI", 10**9, routing=OWN, recipient=ACCOUNTS[7].address)
    await exchange.executed(gateway, request)


@pytest.mark.slow
async def test_its_pools_compete_with_ours(exchange, make_gateway):
    gateway = await exchange.gateway(make_gateway)
    request = exchange.request("DAI", "USDC", 200_000 * 10**18)
    answer = await gateway.quoting.quote(Capability.SWAP, request, acknowledged=[])
    quoted = {attempt.provider for attempt in answer.attempts if attempt.outcome == "quoted"}
    assert quoted >= {"uniswap", "aerodrome-routes"}


@pytest.mark.slow
async def test_nothing_is_offered_while_the_factory_is_paused(exchange, make_gateway):
    gateway = await exchange.gateway(make_gateway)
    request = exchange.request("USDC", "DAI", 10**9, routing=OWN)
    await exchange.executed(gateway, request)
    exchange.pause(True)
    with pytest.raises(UpstreamError):
        await gateway.quoting.quote(Capability.SWAP, request, acknowledged=[])
    exchange.pause(False)
    await exchange.executed(gateway, request)


@pytest.mark.slow
async def test_a_pool_is_the_same_object_until_it_changes(exchange, make_gateway):
    gateway = await exchange.gateway(make_gateway)
    source = gateway.registry.get(Capability.LIQUIDITY, "aerodrome")
    ends = exchange.token("USDC").address, exchange.token("DAI").address
    request = exchange.request("USDC", "DAI", 10**9, routing=OWN)

    async def states():
        quoted = await gateway.quoting.quote(Capability.SWAP, request, acknowledged=[])
        return {pool.id: pool for pool in await source.pools(31337, *ends, quoted.quote.block)}

    before = await states()
    assert {pool.stable for pool in before.values()} == {True, False}
    await exchange.executed(gateway, request)
    after = await states()
    changed = [name for name in before if after[name] is not before[name]]
    assert len(changed) == 1
    assert after[changed[0]].stable


@pytest.mark.slow
async def test_a_pool_that_a_reorg_has_undone_is_looked_for_again(exchange, make_gateway):
    gateway = await exchange.gateway(make_gateway)
    source = gateway.registry.get(Capability.LIQUIDITY, "aerodrome")
    request = exchange.request("USDC", "DAI", 10**9, routing=OWN)
    block = (await gateway.quoting.quote(Capability.SWAP, request, acknowledged=[])).quote.block
    ends = exchange.token("USDC").address, exchange.token("DAI").address
    known = source._addresses
    for key in known:
        known[key] = "0x000000000000000000000000000000000000bEEF"
    # In a block that is known nothing is read.
    assert len(await source.pools(31337, *ends, block)) == 3
    with exchange.devnet.rpc("devnet") as rpc:
        rpc("evm_mine")
    block = await gateway.runtime.chains[31337].head(fresh=True)
    assert len(await source.pools(31337, *ends, block)) == 3
    assert "0x000000000000000000000000000000000000bEEF" not in known.values()


@pytest.mark.slow
async def test_many_pairs_in_a_new_block_are_one_request(exchange, make_gateway, monkeypatch):
    gateway = await exchange.gateway(make_gateway)
    source, chain = gateway.registry.get(Capability.LIQUIDITY, "aerodrome"), gateway.runtime.chains[31337]
    pairs = [
        [exchange.token(symbol).address for symbol in pair]
        for pair in (("USDC", "DAI"), ("WETH", "USDC"), ("WETH", "DAI"), ("UNI", "WETH"))
    ]

    async def all_pools():
        block = await chain.head(fresh=True)
        return await asyncio.gather(*(source.pools(31337, *ends, block) for ends in pairs))

    before, calls, deployless = await all_pools(), [], chain.deployless

    async def counted(*given, **more):
        calls.append(more)
        return await deployless(*given, **more)

    monkeypatch.setattr(chain, "deployless", counted)
    with exchange.devnet.rpc("devnet") as rpc:
        rpc("evm_mine")
    assert await all_pools() == before
    assert len(calls) == 1
    assert await all_pools() == before
    assert len(calls) == 1


@pytest.mark.slow
async def test_a_router_for_another_coin_or_other_pools_is_not_used(exchange, make_gateway, caplog):
    other = type(exchange)(exchange.devnet)
    gateway = await exchange.gateway(make_gateway, factory=other.address, router=exchange.address)
    other.add("WETH", "USDC", 1_000_000, False, 30)
    with pytest.raises(UpstreamError):
        await gateway.quoting.quote(
            Capability.SWAP, exchange.request("ETH", "USDC", 10**18, routing=OWN), acknowledged=[]
        )
    assert f"{exchange.address} does not swap through the pools of {other.address}" in caplog.text
