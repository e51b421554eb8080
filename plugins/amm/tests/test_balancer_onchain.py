"""Weighted and stable pools of Balancer v2 compared with their makers' bytecode, to the base unit.

A pool's `onSwap` takes balances and amount as arguments: called from the Vault's address, the pool's code
answers for any state. AMM_ONCHAIN_QUOTES sets the number of states.
"""

import os
import random
from dataclasses import replace

import balancer_chain
import pytest
from balancer_chain import GIVEN_IN, GIVEN_OUT

STATES = 100 * int(os.environ.get("AMM_ONCHAIN_QUOTES", "8"))
ONE = 10**18
PERCENT = ONE // 100


@pytest.fixture(scope="module")
def chain():
    pytest.importorskip("quoteway_devnet.packages")
    with balancer_chain.running() as running:
        yield running


@pytest.fixture(scope="module")
def weighted(chain):
    tokens = chain.tokens
    shares = ([50, 50], [80, 20], [20, 80], [1, 99], [33, 33, 34], [60, 15, 25], [10, 20, 30, 25, 15])
    pools = [
        chain.weighted(tokens[: len(share)], [part * PERCENT for part in share], fee, first)
        for share, fee in zip(
            shares, (10**12, 3 * 10**15, 10**17, 123456789012345, 10**16, 1, 1), strict=True
        )
        for fee in [max(fee, 10**12)]
        for first in (False, True)
    ]
    odd = [314159265358979323, ONE - 314159265358979323]
    return [*pools, chain.weighted(tokens[1:3], odd, 2 * 10**15)]


@pytest.fixture(scope="module")
def stable(chain):
    tokens = chain.tokens
    one, some, other = ONE, 1_073_737_373_737_373_737, 2 * ONE - 7
    return [
        chain.composable_stable(tokens[:2], 1, 10**12, [one, one]),
        chain.composable_stable(tokens[1:3], 200, 10**17, [some, one]),
        chain.composable_stable(tokens[:3], 5000, 4 * 10**14, [one, some, other]),
        chain.composable_stable(tokens[1:5], 60, 10**15, [some, one, other, one]),
        chain.composable_stable(tokens[:5], 777, 10**14, [one] * 5),
    ]


def log_random(rng, least, most):
    """Returns an integer of any size up to `most`, all sizes alike."""
    return min(most, max(least, int(most ** rng.random())))


def random_case(rng, pool):
    """Returns the pool in a random state, and a swap from dust to far beyond its depth."""
    if rng.random() < 0.1:
        balances = [log_random(rng, 0, 2**112 - 1) for _ in pool.tokens]
    else:
        # Of like worth, as in pools that are in use, in the pool's own decimals.
        worth = 10 ** rng.uniform(2, 28)
        skew = rng.choice([0, 0.5, 3])
        balances = [
            min(2**112 - 1, int(worth * 10 ** rng.uniform(-skew, skew) * ONE) // factor)
            for factor in pool.scaling_factors
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
        ]
    )
    return replace(pool, balances=tuple(balances)), kind, i, j, max(amount, 1)


def ours(pool, kind, i, j, amount):
    return pool.exact_in(i, j, amount) if kind == GIVEN_IN else pool.exact_out(i, j, amount)


def within_the_vault(pool, kind, i, j, amount, other):
    """Returns the pool's answer, or None where the Vault refuses what the pool accepts."""
    if other is None:
        return None
    amount_in, amount_out = (amount, other) if kind == GIVEN_IN else (other, amount)
    fits = pool.balances[i] + amount_in < 2**112 and amount_out <= pool.balances[j]
    return other if fits else None


def compare(chain, pools, seed, states):
    """Returns (accepted, refused): how many random swaps the contracts and we answer alike."""
    rng = random.Random(seed)
    cases = [random_case(rng, rng.choice(pools)) for _ in range(states)]
    accepted = 0
    for case, answer in zip(cases, chain.quotes(cases), strict=True):
        expected = within_the_vault(*case, answer)
        assert ours(*case) == expected, case
        accepted += expected is not None
    return accepted, states - accepted


def trade(chain, pool, seed, trades):
    """Executes random swaps in the Vault and compares what moved with what was computed."""
    rng = random.Random(seed)
    chain.join(pool)
    for _ in range(trades):
        pool = replace(pool, balances=chain.balances(pool))
        i, j = rng.sample(range(len(pool.tokens)), 2)
        kind = rng.choice([GIVEN_IN, GIVEN_OUT])
        known = pool.balances[i] if kind == GIVEN_IN else pool.balances[j]
        amount = log_random(rng, 1, known * 3 // 10)
        other = ours(pool, kind, i, j, amount)
        if other:
            expected = (amount, other) if kind == GIVEN_IN else (other, amount)
            assert chain.swap(pool, kind, i, j, amount) == expected
    return pool


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_weighted_pools_in_any_state(chain, weighted, seed):
    accepted, refused = compare(chain, weighted, seed, STATES)
    assert accepted > STATES // 4
    assert refused > STATES // 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_stable_pools_in_any_state(chain, stable, seed):
    accepted, refused = compare(chain, stable, seed, STATES)
    assert accepted > STATES // 4
    assert refused > STATES // 20


@pytest.mark.slow
def test_what_the_vault_moves_is_what_was_computed(chain, weighted, stable):
    for seed, pool in enumerate((weighted[0], weighted[3], weighted[8], *stable[1:4])):
        worth = [10**24, 3 * 10**24, 2 * 10**24, 10**24, 10**24]
        balances = tuple(w * ONE // f for w, f in zip(worth, pool.scaling_factors, strict=False))
        trade(chain, replace(pool, balances=balances), seed, 12)
