"""The curves of the families without pieces of constant liquidity: never below the contract, and near it.

AMM_CURVE_STATES sets the number of random states of each family.
"""

import os
import pickle
import random
from fractions import Fraction
from itertools import pairwise

import pytest
from family_states import random_amount, random_pool
from quoteway_amm.bound import check_bound, pool_profits
from quoteway_amm.sampled_curve import MAX_ERROR
from quoteway_amm.solidly import SolidlyPool
from quoteway_amm.stable_swap import NG, THREE_POOL, StableSwapPool
from quoteway_amm.token_pair import TokenPair

STATES = int(os.environ.get("AMM_CURVE_STATES", "25"))
FAMILIES = (
    "solidly-volatile",
    "solidly-stable",
    "curve-stableswap",
    "balancer-v2-weighted",
    "balancer-v3-weighted",
    "balancer-v2-composable-stable",
)


def output(curve, amount_in):
    """Returns what the segments give for an input, exactly."""
    left, given = Fraction(amount_in * curve.fee_numerator, curve.fee_denominator), Fraction(0)
    for low, high, liquidity in curve.segments:
        whole0 = Fraction(liquidity * (high - low) << 96, high * low)
        whole1 = Fraction(liquidity * (high - low), 1 << 96)
        paid, gained = (whole0, whole1) if curve.zero_for_one else (whole1, whole0)
        if left < paid:
            # x * y = liquidity^2 from the start of the segment, in the direction of the trade.
            start = Fraction(high if curve.zero_for_one else 1 << 96, 1 << 96 if curve.zero_for_one else low)
            return given + liquidity * (start - 1 / (1 / start + left / liquidity))
        left, given = left - paid, given + gained
    return given


def cases(family, seed):
    """Yields (pool, direction, its curve, amount in, exact amount out) of random trades that are accepted."""
    rng = random.Random(seed)
    for _ in range(STATES):
        pool = random_pool(rng, family)
        if not pool.has_liquidity:
            continue
        for zero_for_one in (True, False):
            curve = pool.curve(zero_for_one)
            for _ in range(15):
                amount = random_amount(rng, reserves(pool, zero_for_one)[0])
                found = pool.exact_in(zero_for_one, amount)
                if found is not None:
                    yield pool, zero_for_one, curve, amount, found[0]


def reserves(pool, zero_for_one):
    both = (
        (pool.reserve0, pool.reserve1)
        if isinstance(pool, SolidlyPool)
        else (pool.pool.balances[pool.i], pool.pool.balances[pool.j])
    )
    return both if zero_for_one else both[::-1]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_no_input_gives_more_than_the_curve_and_prices_fall(family):
    seen = 0
    for pool, zero_for_one, curve, amount, given in cases(family, 1):
        assert given <= output(curve, amount) + curve.excess, (pool, zero_for_one, amount)
        seen += 1
        for before, after in pairwise(curve.segments):
            assert (
                before.sqrt_price_lo_x96 >= after.sqrt_price_hi_x96
                if zero_for_one
                else before.sqrt_price_hi_x96 <= after.sqrt_price_lo_x96
            )
        assert all(segment.sqrt_price_lo_x96 < segment.sqrt_price_hi_x96 for segment in curve.segments)
    assert seen > STATES * 10


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_curve_is_near_the_contract_from_a_millionth_to_nine_tenths_of_the_reserve(family):
    seen = 0
    for pool, zero_for_one, curve, amount, given in cases(family, 2):
        reserve_out = reserves(pool, zero_for_one)[1]
        if getattr(getattr(pool, "pool", None), "offpeg_fee_multiplier", 0):
            # The curve has the least fee: see StableSwapPool.curve.
            continue
        # Before a fee that is taken from the output.
        moved = given * curve.fee_denominator // curve.fee_numerator
        most_out = min(reserve_out, output(curve, 2**250))
        if not reserve_out <= given * 10**6 or moved * 10 > most_out * 9:
            continue
        numerator, denominator = pool.mid_price(zero_for_one)
        # The contract cuts off base units of both tokens, and powers at 14 digits.
        rounding = 2 * Fraction(numerator, denominator) + 2 * curve.excess + 2 + Fraction(reserve_out, 10**13)
        most = given * (1 + Fraction(MAX_ERROR)) + rounding
        assert output(curve, amount) <= most, (pool, zero_for_one, amount)
        seen += 1
    assert seen > STATES


DAI, USDC, USDT = "0xa", "0xb", "0xc"
THREE = StableSwapPool(
    "0x3", (DAI, USDC, USDT), (10**24, 10**12, 2 * 10**12), (10**18, 10**30, 10**30), 2000, 10**6, THREE_POOL
)


@pytest.mark.parametrize("zero_for_one", [True, False])
def test_both_directions_begin_at_the_mid_price(zero_for_one):
    for pool in (
        TokenPair(THREE, 0, 1),
        SolidlyPool("0xp", DAI, USDC, 10**24, 3 * 10**12, 10**18, 10**6, True, 5),
    ):
        numerator, denominator = pool.mid_price(zero_for_one)
        first = pool.curve(zero_for_one).segments[0]
        root = first.sqrt_price_hi_x96 if zero_for_one else first.sqrt_price_lo_x96
        price = Fraction(root * root, 1 << 192) ** (1 if zero_for_one else -1)
        assert abs(price * denominator / numerator - 1) < Fraction(1, 10**15)


def test_a_curve_is_made_once_and_is_not_pickled():
    pair = TokenPair(THREE, 0, 1)
    before = pickle.dumps(pair)
    assert pair.curve(True) is pair.curve(True)
    assert pair == TokenPair(THREE, 0, 1)
    assert pickle.dumps(pair) == before
    assert pickle.loads(before).curve(True) == pair.curve(True)


def test_the_bound_counts_what_rounding_gives_at_any_prices():
    pool = SolidlyPool("0xp", DAI, USDC, 10**6, 10**6, 10**6, 10**6, False, 30)
    given = pool.exact_in(True, 999)[0]
    assert given > output(pool.curve(True), 999)
    for price in (10**6, 997_000, 2 * 10**6):
        assert given <= check_bound([pool], {DAI: price, USDC: 10**6}, DAI, USDC, 999)
    assert len(list(pool_profits([pool], {DAI: 1, USDC: 1}))) == 2


def test_a_pool_that_cannot_be_traded_with_has_no_price():
    stuck = StableSwapPool("0x3", (DAI, USDC), (10**60, 1), (10**18, 10**18), 10_000, 0, NG)
    assert TokenPair(stuck, 0, 1).mid_price(True) == (0, 1)
    assert not TokenPair(stuck, 0, 1).has_liquidity
