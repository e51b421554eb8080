"""Fees told from events equal the fees of the swap loop, step by step."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from quoteway_amm import BandExceeded, fees_of_swap, swap_exact_in, swap_exact_out
from random_pools import amounts, concentrated_pools


@given(concentrated_pools() | concentrated_pools(reach=300_000), st.booleans(), st.booleans(), amounts)
def test_all_fees_are_what_the_swap_took(pool, zero_for_one, buys, amount):
    try:
        done = (swap_exact_out if buys else swap_exact_in)(pool, zero_for_one, amount)
    except (BandExceeded, ValueError):
        assume(False)
    assume(done.amount_in)
    lp, protocol = fees_of_swap(pool, zero_for_one, done.amount_in, done.sqrt_price_x96)
    if done.complete:
        assert lp + protocol == done.fee_amount
    assert min(lp, protocol) >= 0


@given(concentrated_pools(), st.booleans(), amounts)
def test_the_split_of_v3_is_a_share_of_each_step(pool, zero_for_one, amount):
    pool = replace(pool, kind="v3", protocol_fee_zero_for_one=4, protocol_fee_one_for_zero=10)
    try:
        done = swap_exact_in(pool, zero_for_one, amount)
    except (BandExceeded, ValueError):
        assume(False)
    assume(done.amount_in and done.complete)
    lp, protocol = fees_of_swap(pool, zero_for_one, done.amount_in, done.sqrt_price_x96)
    assert lp + protocol == done.fee_amount
    assert protocol <= done.fee_amount // (4 if zero_for_one else 10)


def test_an_event_of_another_pool_is_refused():
    from quoteway_amm import ConcentratedPool, sqrt_ratio_at_tick

    pool = ConcentratedPool("v3", "p", "a", "b", 3000, 60, 2**96, 0, 10**18, ((-600, 1), (600, -1)), -1, 0)
    with pytest.raises(ValueError, match="cannot have ended"):
        fees_of_swap(pool, True, 10**6, sqrt_ratio_at_tick(60))
    with pytest.raises(ValueError, match="more than its event"):
        fees_of_swap(pool, True, 10**6, sqrt_ratio_at_tick(-50))


def test_v4_books_what_the_price_did_not_need():
    """DAI (18 decimals) for USDC (6): a price step is a million base units, so v3 and v4 tell them apart."""
    from quoteway_amm import ConcentratedPool

    price = 79228162514264337593543  # 1e-12
    pool = ConcentratedPool("v4", "p", "a", "b", 100, 1, price, -276325, 10**16, (), -1080, -1079)
    for kind in ("v3", "v4"):
        traded = replace(pool, kind=kind)
        done = swap_exact_in(traded, True, 10**18 + 12345)
        lp, protocol = fees_of_swap(traded, True, done.amount_in, done.sqrt_price_x96)
        assert (lp + protocol, protocol) == (done.fee_amount, 0)
