"""Solidly and StableSwap pools compared with contracts of ours, in random states, to the base unit.

No package has their makers' contracts; `test_solidly.py` and `test_stable_swap.py` have figures from these.
AMM_ONCHAIN_QUOTES sets the number of states.
"""

import os
import random

import maths_chain
import pytest
from family_states import random_amount, random_solidly, random_stable_swap

STATES = 100 * int(os.environ.get("AMM_ONCHAIN_QUOTES", "8"))


@pytest.fixture(scope="module")
def chain():
    with maths_chain.running() as running:
        yield running


def compare(chain, cases, ours):
    """Asserts that the contract and we answer alike, often with an amount and often with a refusal."""
    accepted = 0
    for case, answer in zip(cases, chain.quotes(cases), strict=True):
        assert ours(*case) == answer, case
        accepted += answer is not None
    assert accepted > len(cases) // 4
    assert len(cases) - accepted > len(cases) // 50


@pytest.mark.slow
@pytest.mark.parametrize("stable", [False, True])
def test_solidly_pools_in_any_state(chain, stable):
    rng = random.Random(stable)
    cases = []
    for _ in range(STATES):
        pool, zero_for_one = random_solidly(rng, stable), rng.random() < 0.5
        reserve = pool.reserve0 if zero_for_one else pool.reserve1
        cases.append((pool, zero_for_one, random_amount(rng, reserve)))

    def ours(pool, zero_for_one, amount):
        found = pool.exact_in(zero_for_one, amount)
        return found and found[0]

    compare(chain, cases, ours)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_stable_swap_pools_in_any_state(chain, count):
    rng = random.Random(count)
    cases = []
    for _ in range(STATES):
        pool, (i, j) = random_stable_swap(rng, count), rng.sample(range(count), 2)
        cases.append((pool, i, j, random_amount(rng, pool.balances[i])))
    # A state without liquidity has nothing to compare: some contracts divide by zero, others answer 0.
    cases = [case for case in cases if case[0].has_liquidity]
    compare(chain, cases, lambda pool, i, j, amount: pool.exact_in(i, j, amount))
