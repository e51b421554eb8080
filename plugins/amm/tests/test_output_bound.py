"""Bounds without a flow: no flow that can be executed pays more, whatever the family of its pools.

AMM_BOUND_STATES sets the number of random states of each family.
"""

import itertools
import os
import random
from dataclasses import replace

import pytest
from family_states import random_amount, random_pool
from quoteway_amm import (
    UNISWAP_GAS,
    ConcentratedPool,
    GasModel,
    GasPrice,
    HopGas,
    NoPath,
    V2Pool,
    sqrt_ratio_at_tick,
)
from quoteway_amm.bound import check_bound
from quoteway_amm.market import Market
from quoteway_amm.output_bound import output_bound
from quoteway_amm.stable_swap import NG, StableSwapPool
from quoteway_amm.token_pair import TokenPair

STATES = int(os.environ.get("AMM_BOUND_STATES", "12"))
SAMPLED = (
    "solidly-volatile",
    "solidly-stable",
    "curve-stableswap",
    "balancer-v2-weighted",
    "balancer-v3-weighted",
    "balancer-v2-composable-stable",
)
SOLD, BOUGHT, BETWEEN = "0xin", "0xout", "0xmid"
PARTS = 8


def named(pool, name, token0, token1):
    """Returns the pool under another id and with other tokens."""
    if isinstance(pool, TokenPair):
        tokens = [f"{name}-{at}" for at in range(len(pool.pool.tokens))]
        tokens[pool.i], tokens[pool.j] = token0, token1
        return TokenPair(replace(pool.pool, id=name, tokens=tuple(tokens)), pool.i, pool.j)
    own = {"id": name} if isinstance(pool, ConcentratedPool) else {"address": name}
    return replace(pool, token0=token0, token1=token1, **own)


def reserve(pool):
    if isinstance(pool, TokenPair):
        return pool.pool.balances[pool.i]
    return pool.liquidity if isinstance(pool, ConcentratedPool) else pool.reserve0


def random_of(rng, family):
    if family == "v2":
        return V2Pool("0xp", "0xa", "0xb", *(rng.randint(10**6, 10**24) for _ in range(2)))
    if family == "v3":
        tick, liquidity = rng.randint(-500, 500), rng.randint(10**9, 10**22)
        more = rng.randint(1, liquidity)
        ticks = ((-6000, liquidity), (-1200, more), (1200, -more), (6000, -liquidity))
        price = sqrt_ratio_at_tick(tick)
        return ConcentratedPool(
            "v3", "0xp", "0xa", "0xb", 3000, 60, price, tick, liquidity + more, ticks, -3466, 3465
        )
    return random_pool(rng, family)


def executable(pools, amount):
    """Yields (output, pools used) of flows over the shares of two pools and of a path beside them."""
    first, second, begins, ends = pools

    def given(pool, amount_in):
        if not amount_in:
            return 0
        found = pool.exact_in(True, amount_in)
        return None if found is None else found[0]

    for one, two in itertools.product(range(PARTS + 1), repeat=2):
        if one + two > PARTS:
            continue
        shares = amount * one // PARTS, amount * two // PARTS
        between = given(begins, amount - sum(shares))
        if between is None:
            continue
        outputs = given(first, shares[0]), given(second, shares[1]), given(ends, between)
        if None not in outputs:
            yield sum(outputs), sum(map(bool, (*shares, between, between)))


def gas_of(pools):
    return GasModel(50_000, 20_000, 5_000, 5_000, {pool.kind: HopGas(1_000, 60_000) for pool in pools})


@pytest.mark.parametrize("family", ["v2", "v3", *SAMPLED])
def test_no_executable_flow_exceeds_the_bound(family):
    rng = random.Random(f"flows-{family}")
    seen = near = 0
    for _ in range(STATES):
        state = random_of(rng, family)
        if not state.has_liquidity:
            continue
        # Pools of one state do not disagree about the price: the bound has no arbitrage to hide behind.
        other = random_of(rng, family) if rng.random() < 0.3 else state
        deep = min(10**3 * max(reserve(state), 10**6), 10**33)
        pools = [
            named(state, "0x1", SOLD, BOUGHT),
            named(other, "0x2", SOLD, BOUGHT),
            named(state, "0x3", SOLD, BETWEEN),
            V2Pool("0x4", BETWEEN, BOUGHT, deep, deep),
        ]
        market, gas = Market(pools), gas_of(pools)
        for _ in range(4):
            amount = random_amount(rng, reserve(state))
            flows = [*executable(pools, amount)]
            best = max((output for output, _ in flows), default=0)
            gas_price = GasPrice(rng.choice([0, 1, 10**3]), 10**6)
            found = output_bound(market, None, SOLD, BOUGHT, amount, gas, gas_price)
            assert best <= found.bound, (family, pools, amount)
            assert found.bound == check_bound(pools, found.prices, SOLD, BOUGHT, amount)
            for output, used in flows:
                if output:
                    assert output - gas_price.cost(70_000 + 61_000 * used) <= found.net_bound
            assert not found.exceeded
            seen += best > 0
            near += best * 100 > found.bound * 99
    assert seen > STATES
    assert near, "the test says nothing where no flow comes near the bound"


@pytest.mark.parametrize("family", ["v2", "v3", *SAMPLED])
def test_one_pool_alone_gives_almost_its_bound(family):
    rng = random.Random(f"alone-{family}")
    seen = 0
    for _ in range(20 * STATES):
        state = random_of(rng, family)
        # The curve of a fee that rises off the peg has the least fee.
        if not state.has_liquidity or getattr(getattr(state, "pool", None), "offpeg_fee_multiplier", 0):
            continue
        pool = named(state, "0x1", SOLD, BOUGHT)
        # The contract cuts off what 18 decimals do not hold.
        if getattr(pool, "unit0", 1) > 10**18:
            continue
        amount = reserve(pool) // rng.randint(7, 1000)
        given = pool.exact_in(True, amount) if amount > 10**9 else None
        if given is None or given[0] < 10**9 or given[0] < pool.curve(True).excess * 10**6:
            continue
        found = output_bound([pool], None, SOLD, BOUGHT, amount, gas_of([pool]))
        assert given[0] <= found.bound <= given[0] * (1 + 1e-5), pool
        seen += 1
        if seen == STATES:
            return
    raise AssertionError(f"only {seen} states have an output that tells")


def test_ends_without_a_way_have_no_bound():
    empty = V2Pool("0x1", SOLD, BOUGHT, 0, 0)
    other = V2Pool("0x2", SOLD, BETWEEN, 10**18, 10**18)
    assert output_bound([empty, other], None, SOLD, BOUGHT, 5, UNISWAP_GAS) == NoPath("no_liquidity")
    assert output_bound([other], None, SOLD, BOUGHT, 5, UNISWAP_GAS) == NoPath("no_pool")
    stuck = StableSwapPool("0x3", (SOLD, BETWEEN), (10**60, 1), (10**18, 10**18), 10_000, 0, NG)
    pools = [TokenPair(stuck, 0, 1), other]
    assert not pools[0].has_liquidity
    assert output_bound(pools, None, SOLD, BETWEEN, 10**9, gas_of(pools)).bound > 0
    with pytest.raises(ValueError, match="amount 0"):
        output_bound([other], None, SOLD, BETWEEN, 0, UNISWAP_GAS)
    with pytest.raises(ValueError, match="same token"):
        output_bound([other], None, SOLD, SOLD, 5, UNISWAP_GAS)


def test_a_bound_says_when_it_needs_unknown_ticks():
    price = sqrt_ratio_at_tick(0)
    narrow = ConcentratedPool("v3", "0x1", SOLD, BOUGHT, 500, 10, price, 0, 10**20, (), -1, 0)
    gas = gas_of([narrow])
    small = output_bound([narrow], None, SOLD, BOUGHT, 10**15, gas)
    assert not small.exceeded
    assert 0 < narrow.exact_in(True, 10**15)[0] <= small.bound
    assert output_bound([narrow], None, SOLD, BOUGHT, 10**21, gas).exceeded
