"""Weighted pools of Balancer v3 compared with the makers' contracts, to the base unit.

The Vault's queries answer for any state of a pool, given with the call. AMM_ONCHAIN_QUOTES sets the number of
states.
"""

import os
import random
from dataclasses import replace

import balancer_v3_chain
import pytest
from balancer_v3_chain import GIVEN_IN, GIVEN_OUT
from family_states import log_random

pytestmark = pytest.mark.slow
STATES = 100 * int(os.environ.get("AMM_ONCHAIN_QUOTES", "8"))
ONE = 10**18
PERCENT = ONE // 100
ODD_RATE = 1_073_737_373_737_373_737
MAX_BALANCE = 2**128 - 1


@pytest.fixture(scope="module")
def chain():
    with balancer_v3_chain.running() as running:
        yield running


@pytest.fixture(scope="module")
def pools(chain):
    tokens = chain.tokens
    made = [
        chain.weighted(tokens[: len(share)], [part * PERCENT for part in share], fee, rates)
        for share, fee, rates in (
            ([50, 50], 10**13, None),
            ([80, 20], 3 * 10**15, [ODD_RATE, 0]),
            ([20, 80], 10**17, [0, 2 * ONE]),
            ([1, 99], 123_400_000_000_000, None),
            ([33, 33, 34], 10**16, [ODD_RATE, 2 * ONE - 7, 0]),
            ([60, 15, 25], 10**13, None),
            ([10, 20, 30, 25, 15], 10**15, [0, 0, ONE, ODD_RATE // 3, 0]),
        )
    ]
    odd = [314_159_265_358_979_323, ONE - 314_159_265_358_979_323]
    made.append(chain.weighted(tokens[1:3], odd, 2 * 10**15))
    filled = []
    for pool in made:
        worth = tuple(10**24 // factor for factor in pool.decimal_factors)
        filled.append(replace(pool, balances=worth))
        chain.join(filled[-1])
    return filled


def random_case(rng, pool):
    """Returns the pool in a random state, and a swap from dust to far beyond its depth."""
    units = [factor * rate for factor, rate in zip(pool.decimal_factors, pool.rates, strict=True)]
    most = [min(MAX_BALANCE * ONE // unit, MAX_BALANCE) for unit in units]
    if rng.random() < 0.1:
        balances = [log_random(rng, 0, each) for each in most]
    else:
        # Of like worth, as in pools that are in use, in the pool's own decimals.
        worth, skew = 10 ** rng.uniform(8, 28), rng.choice([0, 0.5, 3])
        balances = [
            min(each, int(worth * 10 ** rng.uniform(-skew, skew)) * ONE // unit)
            for each, unit in zip(most, units, strict=True)
        ]
    i, j = rng.sample(range(len(pool.tokens)), 2)
    kind = rng.choice([GIVEN_IN, GIVEN_OUT])
    known = balances[i] if kind == GIVEN_IN else balances[j]
    amount = rng.choice(
        [
            log_random(rng, 1, 2 * known + 2),
            known * 3 // 10 + rng.randint(-1, 1),
            known + rng.randint(-1, 1),
            1,
            10**6 + rng.randint(-2, 2),
        ]
    )
    return replace(pool, balances=tuple(balances)), kind, i, j, max(amount, 1)


def ours(pool, kind, i, j, amount):
    return pool.exact_in(i, j, amount) if kind == GIVEN_IN else pool.exact_out(i, j, amount)


@pytest.mark.parametrize("seed", [1, 2])
def test_weighted_pools_in_any_state(chain, pools, seed):
    rng = random.Random(seed)
    cases = [random_case(rng, rng.choice(pools)) for _ in range(STATES)]
    accepted = 0
    for case, answer in zip(cases, chain.quotes(cases), strict=True):
        found = ours(*case)
        # What is too small gives 0, where the Vault reverts.
        assert found == answer or (answer is None and found == 0 and case[1] == GIVEN_IN), case
        accepted += answer is not None
    assert accepted > STATES // 5
    assert STATES - accepted > STATES // 20


def test_what_is_moved_is_what_was_computed(chain, pools):
    rng = random.Random(3)
    done = 0
    for pool in pools:
        for _ in range(12):
            state = chain.now(pool)
            i, j = rng.sample(range(len(pool.tokens)), 2)
            kind = rng.choice([GIVEN_IN, GIVEN_OUT])
            known = state.balances[i] if kind == GIVEN_IN else state.balances[j]
            amount = log_random(rng, 1, known * 3 // 10)
            other = ours(state, kind, i, j, amount)
            if other:
                expected = (amount, other) if kind == GIVEN_IN else (other, amount)
                assert chain.swap(pool, kind, i, j, amount) == expected
                done += 1
    assert done > 60


def test_a_rate_that_grows_leaves_a_part_to_the_protocol_first(chain, pools):
    pool = pools[1]
    provider = f"0x{ODD_RATE:040x}"
    before = chain.now(pool)
    chain.rate_provider(ODD_RATE * 11 // 10, provider)
    try:
        state = chain.now(pool)
        assert state.rates[0] == ODD_RATE * 11 // 10
        assert state.balances[0] < before.balances[0]
        amount = state.balances[0] // 50
        expected = amount, state.exact_in(0, 1, amount)
        assert chain.swap(pool, GIVEN_IN, 0, 1, amount) == expected
    finally:
        chain.rate_provider(ODD_RATE, provider)
