"""What is read of Balancer v3's pools: their states, which are left out, and how they are found."""

import random
from dataclasses import replace

import pytest
from balancer_v3_chain import GIVEN_IN, ZERO
from balancer_v3_venue import reverted, v3_venue_on
from balancer_venue import ODD_RATE, ONE, RATES_THAT_FAIL, networks, plugins, sections
from chain_state import calldata
from quoteway import LiquiditySource

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def venue(devnet):
    with v3_venue_on(devnet) as made:
        yield made


@pytest.fixture
def make(venue, make_gateway):
    async def made(**row):
        return await make_gateway(plugins(), networks=networks(venue), plugin_sections=sections(venue, **row))

    return made


@pytest.fixture
async def gateway(make):
    return await make()


async def read(gateway, venue, sold="WETH", bought="USDC"):
    """Returns the pairs that the source gives at the newest block."""
    (source,) = (
        entry.provider
        for entry in gateway.registry.providers
        if entry.provider.id == "balancer-v3" and isinstance(entry.provider, LiquiditySource)
    )
    block = await gateway.runtime.chains[31337].head(fresh=True)
    return await source.pools(31337, venue.token(sold), venue.token(bought), block)


def ids(pairs):
    return {pair.id for pair in pairs}


def compare(venue, pairs, seed, count):
    rng, answered, cases = random.Random(seed), 0, []
    for _ in range(count):
        pair, zero_for_one = rng.choice(pairs), rng.random() < 0.5
        i, j = (pair.i, pair.j) if zero_for_one else (pair.j, pair.i)
        amount = max(int(pair.pool.balances[i] ** rng.random()) // rng.choice([1, 2, 3]), 1)
        cases.append((pair, zero_for_one, (pair.pool, GIVEN_IN, i, j, amount)))
    for (pair, zero_for_one, case), theirs in zip(cases, venue.answers([c[2] for c in cases]), strict=True):
        ours = pair.exact_in(zero_for_one, case[4])
        assert (ours[0] if ours else 0) == (theirs or 0), case
        answered += bool(theirs)
    assert answered > count // 3


async def test_every_pool_swaps_as_its_state_says(venue, gateway):
    pairs = await read(gateway, venue)
    assert ids(pairs) == {pool.id for pool in venue.pools.values()}
    assert len(pairs) == sum(len(p.tokens) * (len(p.tokens) - 1) // 2 for p in venue.pools.values())
    compare(venue, pairs, 1, 60)


async def test_a_state_is_read_once_a_block_and_kept_while_nothing_changed(venue, gateway, monkeypatch):
    chain, calls = gateway.runtime.chains[31337], []
    deployless = chain.deployless

    async def counted(*given, **more):
        calls.append(more)
        return await deployless(*given, **more)

    monkeypatch.setattr(chain, "deployless", counted)
    with reverted(venue):
        before = {(pair.id, pair.i, pair.j): pair for pair in await read(gateway, venue)}
        pool = venue.pools["three"]
        with venue.sending():
            venue.swap(pool, GIVEN_IN, 0, 1, 10**17)
        calls.clear()
        after = {(pair.id, pair.i, pair.j): pair for pair in await read(gateway, venue)}
        assert len(calls) == 1
        assert {key[0] for key in before if before[key] is not after[key]} == {pool.id}
        compare(venue, [pair for pair in after.values() if pair.id == pool.id], 2, 6)


async def test_a_paused_pool_is_left_out_and_with_the_vault_all_are(venue, gateway):
    with reverted(venue):
        whole = ids(await read(gateway, venue))
        paused = venue.pools["80/20"].id
        with venue.sending():
            venue._send(venue.vault, calldata("pausePool(address)", paused))
        assert whole - ids(await read(gateway, venue)) == {paused}
        with venue.sending():
            venue._send(venue.vault, calldata("pauseVault()"))
        assert await read(gateway, venue) == []


async def test_a_changed_fee_and_a_rate_that_has_grown_count_from_their_block(venue, gateway):
    with reverted(venue):
        fee, rate = venue.pools["50/50"].id, venue.pools["rate"].id
        before = {pair.id: pair.pool for pair in await read(gateway, venue)}
        with venue.sending():
            change = "setStaticSwapFeePercentage(address,uint256)"
            venue._send(venue.vault, calldata(change, fee, 7 * 10**15))
        venue.rate_provider(ODD_RATE * 2, f"0x{ODD_RATE:040x}")
        pairs = await read(gateway, venue)
        after = {pair.id: pair.pool for pair in pairs}
        assert after[fee].swap_fee == 7 * 10**15
        assert sorted(after[rate].rates) == [ONE, 2 * ODD_RATE]
        # A part of the yield is the protocol's before anybody swaps.
        assert sum(after[rate].balances) < sum(before[rate].balances)
        compare(venue, [pair for pair in pairs if pair.id in (fee, rate)], 3, 20)
        venue.rate_provider(ODD_RATE, f"0x{ODD_RATE:040x}")


@pytest.mark.parametrize("code", RATES_THAT_FAIL)
async def test_a_rate_provider_that_misbehaves_costs_its_pool_alone(venue, gateway, code):
    with reverted(venue):
        whole = ids(await read(gateway, venue))
        venue.transactions.rpc("anvil_setCode", f"0x{ODD_RATE:040x}", code)
        venue.transactions.rpc("evm_mine")
        assert whole - ids(await read(gateway, venue)) == {venue.pools["rate"].id}
    venue.rate_provider(ODD_RATE, f"0x{ODD_RATE:040x}")


async def test_pools_with_hooks_in_swaps_and_of_other_releases_are_not_used(venue, make, caplog):
    with reverted(venue):
        with venue.sending():
            hooked = hooked_pool(venue)
            plain = venue.add("new", {"LDO": 50, "CRV": 50}, 100_000, 10**15)
            older = venue.add("older", {"LDO": 60, "CRV": 40}, 100_000, 10**15)
        del venue.pools["new"], venue.pools["older"]
        # Earlier releases have no least balances, and round otherwise.
        code = venue.transactions.rpc("eth_getCode", older.id, "latest")
        selector = calldata("getMinTokenBalances()").hex()
        assert selector in code
        venue.transactions.rpc("anvil_setCode", older.id, code.replace(selector, "00000000"))
        gateway = await make()
        assert ids(await read(gateway, venue, "LDO", "CRV")) == {plain.id}
        for pool in (hooked.id, older.id):
            assert f"{pool} is no weighted pool of a known release" in caplog.text


def hooked_pool(venue):
    """Makes a pool whose hooks set its fee."""
    hooks = "0x" + "48" * 20
    # MSTORE at 0 of the word 1: the answer to every call but the one.
    answer = f"7f{1:064x}600052" + "60206000f3"
    # To getHookFlags() ten flags, of which the fourth is set: the fee is computed by the hooks.
    is_flags = "60003560e01c63" + calldata("getHookFlags()").hex() + "14"
    place = len(is_flags) // 2 + 4 + len(answer) // 2
    flags = f"5b7f{1:064x}606052" + "6101406000f3"
    code = f"{is_flags}61{place:04x}57{answer}{flags}"
    venue.transactions.rpc("anvil_setCode", hooks, "0x" + code)
    return venue.add("hooked", {"LDO": 50, "CRV": 50}, 100_000, 10**15, hooks=hooks)


async def test_pools_are_those_listed_where_no_block_is_given(venue, make):
    wanted = {venue.pools[name].id for name in ("50/50", "rate")}
    gateway = await make(since_block=None, pools=[*wanted, ZERO.replace("0x00", "0x5c")])
    assert ids(await read(gateway, venue)) == wanted


async def test_a_pool_without_liquidity_is_left_out_until_it_is_initialised(venue, make):
    with reverted(venue):
        with venue.sending():
            tokens, _ = venue.rows({"LDO": 50, "CRV": 50})
            pool = venue.weighted(tokens, [ONE // 2, ONE // 2], 10**15)
        gateway = await make()
        assert await read(gateway, venue, "LDO", "CRV") == []
        with venue.sending():
            venue.join(replace(pool, balances=(10**21, 10**21)))
        assert {each.lower() for each in ids(await read(gateway, venue, "LDO", "CRV"))} == {pool.id}
