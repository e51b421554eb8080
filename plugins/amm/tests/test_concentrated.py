"""Properties of concentrated pools. test_onchain.py compares swaps with the contracts."""

import gc
import weakref
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quoteway_amm import (
    MAX_SQRT_RATIO,
    MIN_SQRT_RATIO,
    BandExceeded,
    ConcentratedPool,
    sqrt_ratio_at_tick,
    swap_exact_in,
    swap_exact_out,
    word_of_tick,
)
from random_pools import all_words, amounts, concentrated_pools

directions = st.booleans()


def outcome(call):
    """Returns the result, or the direction in which the known words ended."""
    try:
        return call()
    except BandExceeded as error:
        return "band", error.zero_for_one


def loop_exact_in(pool, zero_for_one, amount):
    result = swap_exact_in(pool, zero_for_one, amount)
    return (result.amount_out, result.ticks_crossed) if result.complete else None


def loop_exact_out(pool, zero_for_one, amount):
    result = swap_exact_out(pool, zero_for_one, amount)
    return (result.amount_in, result.ticks_crossed) if result.complete else None


def narrowed(pool, below, above):
    """Returns the pool with only `below` and `above` words known on each side of its price."""
    here = word_of_tick(pool.tick, pool.tick_spacing)
    lo, hi = here - below, here + above
    ticks = tuple(t for t in pool.ticks if lo <= word_of_tick(t[0], pool.tick_spacing) <= hi)
    return replace(pool, ticks=ticks, word_lo=lo, word_hi=hi)


@pytest.mark.slow
@settings(max_examples=400)
@given(concentrated_pools(), directions, amounts)
def test_ladder_equals_swap_loop(pool, zero_for_one, amount):
    assert pool.exact_in(zero_for_one, amount) == loop_exact_in(pool, zero_for_one, amount)
    assert pool.exact_out(zero_for_one, amount) == loop_exact_out(pool, zero_for_one, amount)


@pytest.mark.slow
@settings(max_examples=300)
@given(
    concentrated_pools(),
    directions,
    st.lists(amounts, min_size=1, max_size=5),
    st.integers(0, 2),
    st.integers(0, 2),
)
def test_ladder_equals_swap_loop_at_the_edge_of_the_known_words(pool, zero_for_one, asked, below, above):
    # Steps that earlier quotes added must not change later quotes.
    pool = narrowed(pool, below, above)
    for amount in asked:
        by_loop = outcome(lambda: loop_exact_in(pool, zero_for_one, amount))  # noqa: B023
        assert outcome(lambda: pool.exact_in(zero_for_one, amount)) == by_loop  # noqa: B023
        by_loop = outcome(lambda: loop_exact_out(pool, zero_for_one, amount))  # noqa: B023
        assert outcome(lambda: pool.exact_out(zero_for_one, amount)) == by_loop  # noqa: B023


@settings(max_examples=300)
@given(concentrated_pools(), directions, amounts, st.integers(0, 1), st.integers(0, 1))
def test_few_known_words_give_the_full_result_or_an_error(pool, zero_for_one, amount, below, above):
    known = outcome(lambda: narrowed(pool, below, above).exact_in(zero_for_one, amount))
    assert known == ("band", zero_for_one) or known == pool.exact_in(zero_for_one, amount)


@pytest.mark.slow
@settings(max_examples=300)
@given(concentrated_pools(), directions, amounts, amounts)
def test_more_in_never_gives_less(pool, zero_for_one, amount, more):
    small, large = pool.exact_in(zero_for_one, amount), pool.exact_in(zero_for_one, amount + more)
    if large is not None:
        assert small is not None
        assert small[0] <= large[0]
        assert small[1] <= large[1]
    small, large = pool.exact_out(zero_for_one, amount), pool.exact_out(zero_for_one, amount + more)
    if large is not None:
        assert small is not None
        assert small[0] <= large[0]


@settings(max_examples=300)
@given(concentrated_pools(), directions, amounts)
def test_the_cost_of_an_output_buys_that_output(pool, zero_for_one, amount):
    # The cost may exceed the input: rounding may require the whole step.
    given_out = pool.exact_in(zero_for_one, amount)
    if given_out is None or given_out[0] == 0:
        return
    cost = pool.exact_out(zero_for_one, given_out[0])
    assert cost is not None
    again = pool.exact_in(zero_for_one, cost[0])
    assert again is not None
    assert again[0] >= given_out[0]


@pytest.mark.slow
@settings(max_examples=200)
@given(concentrated_pools(), directions, amounts, st.integers(1, 4000))
def test_a_price_limit_stops_the_swap_there(pool, zero_for_one, amount, distance):
    limit = sqrt_ratio_at_tick(pool.tick + (-distance if zero_for_one else distance + 1))
    result = swap_exact_in(pool, zero_for_one, amount, limit)
    assert result.amount_in <= amount
    if result.complete:
        assert result.amount_in == amount
    else:
        assert result.sqrt_price_x96 == limit
    if result.amount_in:
        # The input was rounded up, so alone it may buy a little more.
        exact = swap_exact_in(pool, zero_for_one, result.amount_in)
        assert exact.complete
        assert exact.amount_out >= result.amount_out


def one_position(lower, upper, **changes):
    word_lo, word_hi = all_words(60)
    values = {
        "kind": "v3", "id": "0xpool", "token0": "0xa", "token1": "0xb", "fee_pips": 3000, "tick_spacing": 60,
        "sqrt_price_x96": 2**96, "tick": 0, "liquidity": 10**18,
        "ticks": ((lower, 10**18), (upper, -(10**18))),
        "word_lo": word_lo, "word_hi": word_hi,
    }  # fmt: skip
    return ConcentratedPool(**{**values, **changes})


def test_a_swap_beyond_all_liquidity_is_reported_as_partial():
    pool = one_position(-600, 600)
    result = swap_exact_in(pool, True, 10**30)
    assert not result.complete
    assert result.sqrt_price_x96 == MIN_SQRT_RATIO + 1
    assert result.liquidity == 0
    assert pool.exact_in(True, 10**30) is None
    assert pool.exact_out(True, result.amount_out + 1) is None
    assert pool.exact_out(True, result.amount_out) is not None
    assert swap_exact_in(pool, False, 10**30).sqrt_price_x96 == MAX_SQRT_RATIO - 1


def test_protocol_fee_moves_v4_amounts_and_not_v3():
    fees = {"protocol_fee_zero_for_one": 4, "protocol_fee_one_for_zero": 5}
    plain = one_position(-600, 600).exact_in(True, 10**12)
    assert one_position(-600, 600, **fees).exact_in(True, 10**12) == plain
    fees = {"kind": "v4", "protocol_fee_zero_for_one": 1000}
    assert one_position(-600, 600, **fees).exact_in(True, 10**12)[0] < plain[0]
    assert one_position(-600, 600, **fees).exact_in(False, 10**12)[0] == plain[0]


def test_a_pool_that_was_asked_leaves_memory_at_once():
    """Not at the next collection of garbage: each block replaces the pools that were traded."""
    pool = one_position(-600, 600)
    gc.disable()
    try:
        for zero_for_one in (True, False):
            assert pool.exact_in(zero_for_one, 10**6) is not None
        left = weakref.ref(pool)
        del pool
        assert left() is None
    finally:
        gc.enable()


def test_a_fee_of_100_percent():
    pool = one_position(-600, 600, kind="v4", fee_pips=1_000_000)
    assert pool.exact_in(True, 1000) == (0, 0) == loop_exact_in(pool, True, 1000)
    assert pool.exact_out(True, 1000) is None


def test_band_exceeded_names_the_next_tick_and_the_amounts_up_to_it():
    pool = one_position(-887220, 887220)
    narrow = replace(pool, ticks=(), word_lo=-1, word_hi=0)
    edge_tick = -256 * 60
    with pytest.raises(BandExceeded) as caught:
        narrow.exact_in(True, 10**30)
    error = caught.value
    assert (error.zero_for_one, error.direction, error.tick) == (True, "zero_for_one", edge_tick - 1)
    assert error.sqrt_price_x96 == sqrt_ratio_at_tick(edge_tick)
    to_edge = swap_exact_in(pool, True, 10**30, sqrt_ratio_at_tick(edge_tick))
    assert (error.amount_in, error.amount_out) == (to_edge.amount_in, to_edge.amount_out)
    with pytest.raises(BandExceeded) as caught:
        swap_exact_in(narrow, True, 10**30)
    assert (caught.value.tick, caught.value.amount_in) == (edge_tick - 1, error.amount_in)
    with pytest.raises(BandExceeded, match="above"):
        narrow.exact_in(False, 10**30)


@pytest.mark.parametrize(
    "changes",
    [
        {"sqrt_price_x96": 0},
        {"tick_spacing": 0},
        {"fee_pips": 1_000_001},
        {"ticks": ((60, 1), (-60, -1))},
        {"ticks": ((61, 1),)},
        {"word_lo": 0},
    ],
)
def test_an_impossible_state_raises_an_error(changes):
    with pytest.raises(ValueError, match="0xpool"):
        one_position(-600, 600, **changes)


@pytest.mark.parametrize(
    ("zero_for_one", "limit"), [(True, 2**96), (True, MIN_SQRT_RATIO), (False, MAX_SQRT_RATIO)]
)
def test_price_limits_that_revert_raise_an_error(zero_for_one, limit):
    with pytest.raises(ValueError, match="price limit"):
        swap_exact_in(one_position(-600, 600), zero_for_one, 1, limit)
