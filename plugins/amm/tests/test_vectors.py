"""Figures published in the contracts' own test suites (v3-core TickMath and SwapMath specs, v2-periphery)."""

import pytest
from quoteway_amm import (
    MAX_SQRT_RATIO,
    MAX_TICK,
    MIN_SQRT_RATIO,
    MIN_TICK,
    V2Pool,
    combined_fee,
    exact_in_taxed,
    get_amount_in,
    get_amount_out,
    sqrt_ratio_at_tick,
    taxed_amount,
    tick_at_sqrt_ratio,
)
from quoteway_amm.swap_math import swap_step_exact_in, swap_step_exact_in_v3, swap_step_exact_out

ONE_TO_ONE = 2**96
TICKS = {
    MIN_TICK: MIN_SQRT_RATIO,
    MIN_TICK + 1: 4295343490,
    50: 79426470787362580746886972461,
    100: 79625275426524748796330556128,
    250: 80224679980005306637834519095,
    500: 81233731461783161732293370115,
    1000: 83290069058676223003182343270,
    2500: 89776708723587163891445672585,
    3000: 92049301871182272007977902845,
    4000: 96768528593268422080558758223,
    5000: 101729702841318637793976746270,
    50000: 965075977353221155028623082916,
    150000: 143194173941309278083010301478497,
    250000: 21246587762933397357449903968194344,
    500000: 5697689776495288729098254600827762987878,
    738203: 847134979253254120489401328389043031315994541,
    MAX_TICK - 1: 1461373636630004318706518188784493106690254656249,
    MAX_TICK: MAX_SQRT_RATIO,
}


@pytest.mark.parametrize(("tick", "ratio"), TICKS.items())
def test_sqrt_ratio_at_tick(tick, ratio):
    assert sqrt_ratio_at_tick(tick) == ratio
    if tick < MAX_TICK:
        assert tick_at_sqrt_ratio(ratio) == tick
        assert tick_at_sqrt_ratio(ratio + 1) == tick
    if tick > MIN_TICK:
        assert tick_at_sqrt_ratio(ratio - 1) == tick - 1


def test_ticks_out_of_range_raise_an_error():
    for tick in (MIN_TICK - 1, MAX_TICK + 1):
        with pytest.raises(ValueError, match="outside"):
            sqrt_ratio_at_tick(tick)
    for ratio in (MIN_SQRT_RATIO - 1, MAX_SQRT_RATIO):
        with pytest.raises(ValueError, match="outside"):
            tick_at_sqrt_ratio(ratio)


def test_step_exact_in_capped_at_target():
    target = 79623317895830914510639640423  # encodePriceSqrt(101, 100)
    step = swap_step_exact_in(ONE_TO_ONE, target, 2 * 10**18, 10**18, 600)
    assert step == (target, 9975124224178055, 9925619580021728, 5988667735148)


def test_step_exact_out_capped_at_target():
    target = 79623317895830914510639640423
    step = swap_step_exact_out(ONE_TO_ONE, target, 2 * 10**18, 10**18, 600)
    assert step == (target, 9975124224178055, 9925619580021728, 5988667735148)


def test_step_exact_in_fully_spent():
    target = 250541448375047931186413801569  # encodePriceSqrt(1000, 100)
    _, amount_in, amount_out, fee = swap_step_exact_in(ONE_TO_ONE, target, 2 * 10**18, 10**18, 600)
    assert (amount_in, amount_out, fee) == (999400000000000000, 666399946655997866, 600000000000000)


def test_step_exact_out_capped_at_the_amount():
    step = swap_step_exact_out(
        417332158212080721273783715441582,
        1452870262520218020823638996,
        159344665391607089467575320103,
        1,
        1,
    )
    assert step == (417332158212080721273783715441581, 1, 1, 1)


def test_step_takes_the_whole_input_as_fee():
    step = 2413, 79887613182836312, 1985041575832132834610021537970, 10, 1872
    assert swap_step_exact_in_v3(*step) == (2413, 0, 0, 10)
    # v4 counts the input less the fee as amount, although it does not move the price.
    assert swap_step_exact_in(*step) == (2413, 9, 0, 1)


def test_a_100_percent_fee_takes_an_exact_input_and_raises_for_an_exact_output():
    assert swap_step_exact_in(ONE_TO_ONE, ONE_TO_ONE // 2, 10**18, 1000, 1_000_000) == (
        ONE_TO_ONE,
        0,
        0,
        1000,
    )
    with pytest.raises(ValueError, match="fee"):
        swap_step_exact_out(ONE_TO_ONE, ONE_TO_ONE // 2, 10**18, 1000, 1_000_000)


def test_combined_fee():
    # v4-core ProtocolFeeLibrary tests: 1000 pips on top of 3000, and on top of everything.
    assert combined_fee(1000, 3000) == 3997
    assert combined_fee(1000, 1_000_000) == 1_000_000
    assert combined_fee(0, 3000) == 3000


def test_v2_library():
    # v2-periphery UniswapV2Router02.spec: getAmountOut(2, 100, 100) = 1 and getAmountIn(1, 100, 100) = 2.
    assert get_amount_out(2, 100, 100) == 1
    assert get_amount_in(1, 100, 100) == 2
    for bad in ((0, 100, 100), (2, 0, 100), (2, 100, 0)):
        with pytest.raises(ValueError, match="positive"):
            get_amount_out(*bad)
    with pytest.raises(ValueError, match="cannot give"):
        get_amount_in(100, 100, 100)


def test_v2_with_another_fee():
    assert get_amount_out(10**6, 10**9, 10**9, 9975, 10_000) == 996505
    pool = V2Pool("0xpair", "0xa", "0xb", 10**9, 10**9, 9975, 10_000)
    assert pool.exact_in(True, 10**6) == (996505, 0)
    assert pool.swap_fee_pips(True) == 2500


def test_v2_reserves_stay_within_uint112():
    pool = V2Pool("0xpair", "0xa", "0xb", 2**112 - 1, 10**9)
    assert pool.exact_in(True, 1) is None
    assert pool.exact_out(True, 1) is None
    assert pool.exact_in(False, 1) is not None


def test_transfer_tax():
    pool = V2Pool("0xpair", "0xa", "0xb", 10**9, 10**9)
    sent, tax = 10**6, 100
    arrived = exact_in_taxed(
        pool, True, sent, lambda amount: taxed_amount(amount, tax), lambda amount: amount
    )
    assert arrived == get_amount_out(990_000, 10**9, 10**9)
    assert taxed_amount(99, 100) == 99
    assert exact_in_taxed(pool, True, 1, lambda amount: 0, lambda amount: amount) is None
