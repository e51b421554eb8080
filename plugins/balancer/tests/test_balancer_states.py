"""The states of pools as the source reads them, against what the Vault itself answers."""

import asyncio
import random

import pytest
from balancer_chain import GIVEN_IN
from balancer_venue import ODD_RATE, ONE, RATES_THAT_FAIL, networks, plugins, sections
from chain_state import calldata
from quoteway import LiquiditySource
from quoteway.evm.abi import function
from quoteway_balancer.deployments import FAMILIES
from quoteway_balancer.pool_facts import PoolFacts
from quoteway_balancer.source import MOST_POOLS, _reachable
from quoteway_devnet.transactions import DEPLOYER

QUERY = (
    "queryBatchSwap(uint8,(bytes32,uint256,uint256,uint256,bytes)[],address[],(address,bool,address,bool))"
)


@pytest.fixture
async def gateway(venue, make_gateway):
    return await make_gateway(plugins(), networks=networks(venue), plugin_sections=sections(venue))


async def read(gateway, venue, sold="WETH", bought="USDC"):
    """Returns the pairs that the source gives at the newest block."""
    (source,) = (
        entry.provider
        for entry in gateway.registry.providers
        if entry.provider.id == "balancer" and isinstance(entry.provider, LiquiditySource)
    )
    block = await gateway.runtime.chains[31337].head(fresh=True)
    return await source.pools(31337, venue.token(sold), venue.token(bought), block)


def asked(venue, pair, zero_for_one, amount):
    """Returns what the Vault answers to a swap of a pair; None where it reverts."""
    i, j = (pair.i, pair.j) if zero_for_one else (pair.j, pair.i)
    tokens = [pair.pool.tokens[i], pair.pool.tokens[j]]
    step = (bytes.fromhex(pair.id[2:]), 0, 1, amount, b"")
    data = calldata(QUERY, GIVEN_IN, [step], tokens, (DEPLOYER, False, DEPLOYER, False))
    (found,) = venue.state.calls([(venue.vault, data)], ["int256[]"])
    return found and -found[0][1]


def compare(venue, pairs, seed, count):
    rng, answered = random.Random(seed), 0
    for _ in range(count):
        pair, zero_for_one = rng.choice(pairs), rng.random() < 0.5
        depth = pair.pool.balances[pair.i if zero_for_one else pair.j]
        amount = max(int(depth ** rng.random()) // rng.choice([1, 2, 3]), 1)
        theirs = asked(venue, pair, zero_for_one, amount)
        ours = pair.exact_in(zero_for_one, amount)
        assert (ours and ours[0]) == theirs, (pair.kind, amount)
        answered += bool(theirs)
    assert answered > count // 3


async def test_every_pool_swaps_as_its_state_says(venue, gateway):
    pairs = await read(gateway, venue)
    assert {pair.id for pair in pairs} == {pool.id for pool in venue.pools.values()}
    # The pool's own token is no token of a route.
    assert all(pair.id[:42] not in (pair.token0.lower(), pair.token1.lower()) for pair in pairs)
    assert len(pairs) == sum(len(p.tokens) * (len(p.tokens) - 1) // 2 for p in venue.pools.values())
    compare(venue, pairs, 1, 60)


async def test_a_state_is_read_once_a_block_and_kept_while_nothing_changed(venue, gateway, monkeypatch):
    chain = gateway.runtime.chains[31337]
    calls = []
    deployless = chain.deployless

    async def counted(*given, **more):
        calls.append(more)
        return await deployless(*given, **more)

    monkeypatch.setattr(chain, "deployless", counted)
    first = {(pair.id, pair.i, pair.j): pair for pair in await read(gateway, venue)}
    pool = venue.pools["three"]
    with venue.sending():
        venue.swap(pool, GIVEN_IN, 0, 1, 10**17)
    calls.clear()
    second = {(pair.id, pair.i, pair.j): pair for pair in await read(gateway, venue)}
    assert len(calls) == 1
    changed = {key[0] for key in first if first[key] is not second[key]}
    assert changed == {pool.id}
    compare(venue, [pair for pair in second.values() if pair.id == pool.id], 2, 6)
    await read(gateway, venue, "MKR", "UNI")
    assert len(calls) == 1


async def test_many_pairs_in_a_new_block_are_one_request(venue, gateway, monkeypatch):
    ends = (("MKR", "WETH"), ("UNI", "LINK"), ("DAI", "USDT"), ("wstETH", "USDC"), ("USDC", "MKR"))
    for pair in ends:
        await read(gateway, venue, *pair)
    chain, calls = gateway.runtime.chains[31337], []
    deployless = chain.deployless

    async def counted(*given, **more):
        calls.append(more)
        return await deployless(*given, **more)

    monkeypatch.setattr(chain, "deployless", counted)
    for _ in range(3):
        venue.transactions.rpc("evm_mine")
        calls.clear()
        found = await asyncio.gather(*(read(gateway, venue, *pair) for pair in ends))
        assert all(found)
        assert len(calls) == 1


async def test_pools_that_no_route_can_reach_are_left_out(venue, gateway):
    near = await read(gateway, venue, "DAI", "USDT")
    names = {name for name, pool in venue.pools.items() if pool.id in {pair.id for pair in near}}
    assert names == {"three stable", "first", "50/50"}
    assert await read(gateway, venue, "PEPE", "CRV") == []


def owner_calls(venue, contract, signature, *values):
    with venue.sending():
        venue._send(contract, calldata(signature, *values))


def allowed(venue, contract, signature):
    """Lets the deployer call a function that the authorizer guards."""
    action = venue.state.call(
        contract, "getActionId(bytes4)", function(signature).selector, returns=["bytes32"]
    )
    (authorizer,) = venue.state.call(venue.vault, "getAuthorizer()", returns=["address"])
    owner_calls(venue, authorizer, "grantRole(bytes32,address)", action[0], DEPLOYER)


@pytest.fixture
def restored(venue):
    rpc = venue.transactions.rpc
    snapshot = rpc("evm_snapshot")
    yield venue
    assert rpc("evm_revert", snapshot)


async def test_a_paused_pool_and_one_in_recovery_mode_are_left_out(restored, gateway):
    venue = restored
    whole = {pair.id for pair in await read(gateway, venue)}
    paused, recovering = venue.pools["80/20"].id, venue.pools["three stable"].id
    for pool, call in ((paused, "pause()"), (recovering, "enableRecoveryMode()")):
        allowed(venue, pool[:42], call)
        owner_calls(venue, pool[:42], call)
    assert whole - {pair.id for pair in await read(gateway, venue)} == {paused, recovering}
    allowed(venue, venue.vault, "setPaused(bool)")
    owner_calls(venue, venue.vault, "setPaused(bool)", True)
    assert await read(gateway, venue) == []
    owner_calls(venue, venue.vault, "setPaused(bool)", False)
    assert len({pair.id for pair in await read(gateway, venue)}) == len(whole) - 2


async def test_a_fee_and_an_amplification_count_from_the_block_of_their_change(restored, gateway):
    venue = restored
    stable, weighted = venue.pools["three stable"].id, venue.pools["50/50"].id
    owner_calls(venue, weighted[:42], "setSwapFeePercentage(uint256)", 7 * 10**15)
    rpc = venue.transactions.rpc
    now = int(rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
    change = "startAmplificationParameterUpdate(uint256,uint256)"
    owner_calls(venue, stable[:42], change, 300, now + 2 * 86_400)
    pairs = await read(gateway, venue)
    # While it changes by the second, nobody knows what a swap will give.
    assert stable not in {pair.id for pair in pairs}
    compare(venue, [pair for pair in pairs if pair.id == weighted], 3, 6)
    rpc("evm_increaseTime", hex(3 * 86_400))
    rpc("evm_mine")
    pairs = [pair for pair in await read(gateway, venue) if pair.id == stable]
    assert {pair.pool.amplification for pair in pairs} == {300_000}
    compare(venue, pairs, 4, 6)


async def test_a_rate_is_that_of_the_cache_until_it_expires(restored, gateway):
    venue = restored
    rpc = venue.transactions.rpc
    with venue.sending():
        day = venue.add_stable("a day", {"LDO": ODD_RATE + 1, "CRV": 0}, 1_000_000, cached_s=86_400)
        none = venue.add_stable("none", {"LDO": ODD_RATE + 2, "CRV": 0}, 1_000_000)
    for rate in (ODD_RATE + 1, ODD_RATE + 2):
        venue.rate_provider(2 * ONE, f"0x{rate:040x}")
    del venue.pools["a day"], venue.pools["none"]
    pairs = {pair.id: pair for pair in await read(gateway, venue, "LDO", "CRV")}

    def factors(pool):
        return sorted(pairs[pool.id].pool.scaling_factors)

    assert factors(day) == [ONE, ODD_RATE + 1]
    assert factors(none) == [ONE, 2 * ONE]
    rpc("evm_increaseTime", hex(2 * 86_400))
    rpc("evm_mine")
    pairs = {pair.id: pair for pair in await read(gateway, venue, "LDO", "CRV")}
    assert factors(day) == [ONE, 2 * ONE]
    for pool in (day, none):
        pair = pairs[pool.id]
        amount = pair.pool.balances[0] // 7
        expected = pair.exact_in(True, amount)[0]
        assert asked(venue, pair, True, amount) == expected


@pytest.mark.parametrize("code", RATES_THAT_FAIL)
async def test_a_rate_provider_that_misbehaves_costs_its_pool_alone(restored, gateway, code):
    venue = restored
    whole = {pair.id for pair in await read(gateway, venue)}
    venue.transactions.rpc("anvil_setCode", f"0x{ODD_RATE:040x}", code)
    venue.transactions.rpc("evm_mine")
    assert whole - {pair.id for pair in await read(gateway, venue)} == {venue.pools["two stable"].id}


def test_of_many_pools_those_of_both_tokens_are_read_first():
    a, b, c, d = (f"0x{digit * 40}" for digit in "1234")
    weighted = FAMILIES["weighted"]

    def facts(at, *tokens):
        return PoolFacts(f"0x{at:064x}", f"0x{at:040x}", weighted, tokens, (1,) * len(tokens))

    pools = [facts(at, a, c) for at in range(MOST_POOLS)]
    pools += [facts(300, c, d), facts(301, a, b), facts(302, d, a, b), facts(303, c, b)]
    wanted, near = _reachable(pools, {a, b})
    assert len(wanted) == MOST_POOLS
    assert [int(each.id, 16) for each in wanted[:3]] == [301, 302, 0]
    assert near == {a, b, c, d}
    wanted, near = _reachable([facts(1, a, c), facts(2, d, c)], {a, b})
    assert ([int(each.id, 16) for each in wanted], near) == ([1], {a, b, c})
