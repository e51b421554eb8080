"""Properties of Balancer v2's pools, and what they refuse. test_balancer_onchain.py asks the contracts."""

import pickle
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from quoteway_amm.balancer_stable import ComposableStablePool
from quoteway_amm.solidly import SolidlyPool
from quoteway_amm.stable_swap import NG, StableSwapPool
from quoteway_amm.token_pair import TokenPair
from quoteway_amm.weighted import WeightedPool

ONE = 10**18
TOKENS = ("0xa", "0xb", "0xc")
FACTORS = (ONE, 10**30, ONE)
BALANCES = (10**24, 3 * 10**12, 2 * 10**24)
MAX_BALANCE = 2**112 - 1

WEIGHTED = WeightedPool("0xw", TOKENS, BALANCES, FACTORS, 10**15, (ONE // 2, ONE // 4, ONE // 4))
STABLE = ComposableStablePool("0xs", TOKENS, BALANCES, FACTORS, 10**15, 200_000)
CURVE = StableSwapPool("0xc", TOKENS, BALANCES, (ONE, 10**30, ONE), 20_000, 10**6, NG, 2 * 10**10)
SOLIDLY = SolidlyPool("0xp", "0xa", "0xb", 10**24, 10**12, ONE, 10**6, True, 5)

parts = st.integers(0, 12).flatmap(lambda digits: st.integers(1, 10**digits))
ends = st.permutations(range(3)).map(lambda order: order[:2])


@st.composite
def states(draw):
    """Returns a weighted or stable pool of three tokens, within a thousand times of balance."""
    worth = 10 ** draw(st.integers(18, 30))
    balances = tuple(worth * draw(st.integers(1, 1000)) * ONE // factor // 30 for factor in FACTORS)
    fee = draw(st.integers(10**12, 10**17))
    if draw(st.booleans()):
        return replace(
            STABLE, balances=balances, swap_fee=fee, amplification=draw(st.integers(1, 5000)) * 1000
        )
    first, second = draw(st.integers(1, 98)), draw(st.integers(1, 98))
    assume(first + second < 100)
    weights = tuple(share * ONE // 100 for share in (first, second, 100 - first - second))
    return replace(
        WEIGHTED, balances=balances, swap_fee=fee, weights=weights, exact_powers=draw(st.booleans())
    )


@given(states(), ends, parts)
def test_what_is_bought_cannot_be_sold_for_more(pool, ends, part):
    i, j = ends
    wanted = max(pool.balances[j] * part // (10**13), 1)
    paid = pool.exact_out(i, j, wanted)
    assume(paid is not None)
    balances = list(pool.balances)
    balances[i] += paid
    balances[j] -= wanted
    if max(balances) > MAX_BALANCE:
        return
    back = replace(pool, balances=tuple(balances)).exact_in(j, i, wanted)
    assert back is None or back <= paid


@pytest.mark.parametrize("pool", [WEIGHTED, STABLE])
def test_what_the_vault_refuses(pool):
    for refused in (0, -1, MAX_BALANCE, 2**256):
        assert pool.exact_in(0, 1, refused) is None
    for refused in (0, -1, pool.balances[1] + 1, 2**256):
        assert pool.exact_out(0, 1, refused) is None
    empty = replace(pool, balances=(10**24, 0, 10**24))
    assert not empty.has_liquidity
    assert empty.exact_in(1, 0, 10**6) is None
    assert empty.exact_out(0, 1, 1) is None


def test_a_weighted_pool_trades_at_most_three_tenths_of_a_balance():
    most = BALANCES[0] * 3 // 10 * 1000 // 999
    assert WEIGHTED.exact_in(0, 1, most) is not None
    assert WEIGHTED.exact_in(0, 1, most + 2) is None
    assert WEIGHTED.exact_out(0, 1, BALANCES[1] * 3 // 10) is not None
    assert WEIGHTED.exact_out(0, 1, BALANCES[1] * 3 // 10 + 1) is None


@pytest.mark.parametrize(
    ("pool", "wrong"),
    [
        (WEIGHTED, {"weights": (ONE // 2, ONE // 2)}),
        (WEIGHTED, {"weights": (ONE // 2, ONE // 2, ONE // 2)}),
        (WEIGHTED, {"weights": (ONE, ONE // 2, -ONE // 2)}),
        (STABLE, {"amplification": 999}),
        *(
            (pool, wrong)
            for pool in (WEIGHTED, STABLE)
            for wrong in (
                {"balances": (1, 2)},
                {"balances": (1, 2, MAX_BALANCE + 1)},
                {"balances": (1, 2, -1)},
                {"scaling_factors": (ONE, ONE)},
                {"scaling_factors": (ONE, ONE, 0)},
                {"swap_fee": ONE},
                {"swap_fee": -1},
                {"tokens": ("0xa", "0xa", "0xb")},
            )
        ),
    ],
)
def test_a_state_that_cannot_be_is_refused(pool, wrong):
    with pytest.raises(ValueError, match=f"pool {pool.id}"):
        replace(pool, **wrong)


@pytest.mark.parametrize("pool", [WEIGHTED, STABLE, CURVE])
def test_two_tokens_of_a_pool_are_a_pool_of_two(pool):
    pair = TokenPair(pool, 2, 0)
    assert (pair.kind, pair.id, pair.token0, pair.token1) == (pool.kind, pool.id, "0xc", "0xa")
    assert pair.has_liquidity
    assert pair.swap_fee_pips(True) == pool.swap_fee_pips() == (100 if pool is CURVE else 1000)
    assert pair.exact_in(True, 10**20) == (pool.exact_in(2, 0, 10**20), 0)
    assert pair.exact_in(False, 10**20) == (pool.exact_in(0, 2, 10**20), 0)
    assert pair.exact_out(True, 10**20) == (pool.exact_out(2, 0, 10**20), 0)
    assert pair.exact_in(True, 0) is None
    assert pair.exact_out(True, 0) is None
    for i, j in ((0, 0), (0, 3), (-1, 0)):
        with pytest.raises(ValueError, match="has 3 tokens"):
            TokenPair(pool, i, j)


@pytest.mark.parametrize("pool", [WEIGHTED, STABLE, CURVE, SOLIDLY, TokenPair(CURVE, 0, 1)])
def test_states_are_pickled_and_hashed(pool):
    assert pickle.loads(pickle.dumps(pool)) == pool
    assert hash(pickle.loads(pickle.dumps(pool))) == hash(pool)
