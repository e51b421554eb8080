"""The price that several pools make, each of which may be off by its fee."""

import pytest
from quoteway_uniswap.aged_prices import AGE_S, AgedPool, Spot, weighed
from quoteway_uniswap.price_looks import Look, PoolPrice

DOLLAR = "0x" + "11" * 20
KNOWN = {DOLLAR: Spot(1.0, 10.0**7, 1, 0.0)}


def price_of(*pools, age_s=AGE_S):
    """The price that pools make, given as (price, depth in dollars, fee), which are so old."""
    said = {str(at): PoolPrice(DOLLAR, ratio, depth, fee) for at, (ratio, depth, fee) in enumerate(pools)}
    aged = [AgedPool(name, DOLLAR, pool.depth, age_s) for name, pool in said.items()]
    return weighed(aged, Look(said), KNOWN).usd


def test_a_pool_alone_says_its_own_price():
    for fee in (0.0, 0.0005, 0.01, 1.0):
        assert price_of((12.0, 10**6, fee)) == pytest.approx(12.0, rel=1e-12)


def test_a_deep_pool_with_a_high_fee_does_not_overrule_the_cheap_pool_that_is_traded():
    # Buying is cheapest at 99.3 in the second, selling pays most, 99.01, in the first: the market is between.
    price = price_of((100.0, 96_000, 0.01), (99.0, 20_000, 0.003))
    assert 99.0 < price < 99.3


def test_pools_that_agree_within_their_fees_make_the_middle_of_what_all_may_mean():
    pools = [(100.0, 30_000, 0.003), (100.1, 40_000, 0.003), (100.2, 30_000, 0.003)]
    assert price_of(*pools) == pytest.approx((100.2 / 1.003 * 100.0 * 1.003) ** 0.5, rel=1e-12)


@pytest.mark.parametrize("fee", [0.0001, 0.003, 0.01])
@pytest.mark.parametrize("factor", [1e-6, 0.5, 1.004, 30.0, 1e6])
@pytest.mark.parametrize("own_fee", [0.0, 0.003, 1.0])
def test_less_than_half_of_the_depth_moves_a_price_by_the_fee_of_the_others_at_most(fee, factor, own_fee):
    price = price_of((50.0, 51_000, fee), (50.0 * factor, 49_000, own_fee))
    assert abs(price / 50.0 - 1) <= fee + 1e-12


@pytest.mark.parametrize("factor", [0.5, 1.004, 30.0])
def test_less_than_half_of_the_depth_moves_no_price_of_pools_that_are_not_aged(factor):
    pools = (50.0, 51_000, 0.01), (50.0 * factor, 49_000, 0.003)
    assert price_of(*pools, age_s=AGE_S - 1) == pytest.approx(50.0, rel=1e-12)
