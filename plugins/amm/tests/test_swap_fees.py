"""Fees computed from events equal those of the swap loop."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from quoteway_amm import (
    BandExceeded,
    ConcentratedPool,
    fees_of_swap,
    sqrt_ratio_at_tick,
    swap_exact_in,
    swap_exact_out,
)
from random_pools import amounts, concentrated_pools


@given(concentrated_pools() | concentrated_pools(reach=300_000), st.booleans(), st.booleans(), amounts)
def test_lp_and_protocol_fee_add_up_to_the_fee_of_the_swap(pool, zero_for_one, buys, amount):
    try:
        done = (swap_exact_out if buys else swap_exact_in)(pool, zero_for_one, amount)
    except (BandExceeded, ValueError):
        assume(False)
    assume(done.amount_in)
    lp, protocol = fees_of_swap(pool, zero_for_one, done.amount_in, done.sqrt_price_x96)
    if done.complete:
        assert lp + protocol == done.fee_amount
    assert min(lp, protocol) >= 0


@pytest.mark.slow
@given(concentrated_pools(), st.booleans(), amounts)
def test_the_v3_protocol_fee_is_a_share_of_each_step(pool, zero_for_one, amount):
    pool = replace(pool, kind="v3", protocol_fee_zero_for_one=4, protocol_fee_one_for_zero=10)
    try:
        done = swap_exact_in(pool, zero_for_one, amount)
    except (BandExceeded, ValueError):
        assume(False)
    assume(done.amount_in and done.complete)
    lp, protocol = fees_of_swap(pool, zero_for_one, done.amount_in, done.sqrt_price_x96)
    assert lp + protocol == done.fee_amount
    assert protocol <= done.fee_amount // (4 if zero_for_one else 10)


def test_an_event_that_does_not_fit_the_pool_raises_an_error():
    pool = ConcentratedPool("v3", "p", "a", "b", 3000, 60, 2**96, 0, 10**18, ((-600, 1), (600, -1)), -1, 0)
    with pytest.raises(ValueError, match="is not beyond"):
        fees_of_swap(pool, True, 10**6, sqrt_ratio_at_tick(60))
    with pytest.raises(ValueError, match="takes more than its input"):
        fees_of_swap(pool, True, 10**6, sqrt_ratio_at_tick(-50))


def test_fees_where_one_price_step_is_worth_many_base_units():
    """DAI (18 decimals) for USDC (6), where v3 and v4 split the input differently."""
    price = 79228162514264337593543  # 1e-12
    pool = ConcentratedPool("v4", "p", "a", "b", 100, 1, price, -276325, 10**16, (), -1080, -1079)
    for kind in ("v3", "v4"):
        traded = replace(pool, kind=kind)
        done = swap_exact_in(traded, True, 10**18 + 12345)
        lp, protocol = fees_of_swap(traded, True, done.amount_in, done.sqrt_price_x96)
        assert (lp + protocol, protocol) == (done.fee_amount, 0)
