"""Properties of the liquidity maths, and the same results as the v3 contracts."""

import random

import pytest
from chain_state import MAX_UINT48, calldata
from chain_state import MINT_V3 as MINT
from hypothesis import assume, given
from hypothesis import strategies as st
from quoteway_amm import (
    MAX_TICK,
    MIN_TICK,
    amounts_for_liquidity,
    amounts_to_mint,
    amounts_used,
    fee_growth_inside,
    fees_earned,
    full_range,
    least,
    least_amounts_paid,
    least_amounts_used,
    liquidity_for_amounts,
    liquidity_paying,
    nearest_usable_tick,
    settled_amounts,
    sqrt_ratio_at_tick,
    tokens_owed,
    v2_amounts_burned,
    v2_amounts_used,
    v2_protocol_shares,
    v2_shares_minted,
)
from quoteway_amm.liquidity import prices_after_slippage

SLOT0 = ["uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool"]
amounts = st.integers(0, 26).flatmap(lambda digits: st.integers(1, 10**digits))


@st.composite
def ranges(draw, reach=300_000):
    """Returns (price, lower price, upper price): inside, at the edges and outside."""
    lower = draw(st.integers(-reach, reach - 1))
    upper = lower + draw(st.integers(1, 100_000))
    tick = draw(st.integers(lower - 1000, upper + 1000))
    price = sqrt_ratio_at_tick(tick) + draw(st.integers(0, 10**6))
    return price, sqrt_ratio_at_tick(lower), sqrt_ratio_at_tick(upper)


@given(ranges(), amounts, amounts)
def test_a_mint_takes_at_most_what_is_offered_and_burning_pays_at_most_what_was_taken(
    where, amount0, amount1
):
    liquidity, taken0, taken1 = amounts_used(*where, amount0, amount1)
    assert taken0 <= amount0 or where[0] >= where[2]
    assert taken1 <= amount1 or where[0] <= where[1]
    paid0, paid1 = amounts_for_liquidity(*where, liquidity)
    assert taken0 - 2 <= paid0 <= taken0
    assert taken1 - 1 <= paid1 <= taken1
    assert liquidity == liquidity_for_amounts(*where, amount0, amount1)
    assert (taken0, taken1) == amounts_to_mint(*where, liquidity)


@given(ranges(), amounts, st.booleans())
def test_an_offer_is_at_most_the_amount_given_and_taken_whole_where_possible(where, amount, of_token0):
    try:
        offer = settled_amounts(*where, amount, of_token0)
    except ValueError:
        assert where[0] >= where[2] if of_token0 else where[0] <= where[1]
        return
    assert offer[not of_token0] <= amount
    _, taken0, taken1 = amounts_used(*where, *offer)
    assert (taken0, taken1) <= offer
    # The rest that the mint leaves is bounded by the rounded product of the prices.
    for offered, taken in zip(offer, (taken0, taken1), strict=True):
        assert (offered - taken) * 2**32 <= offered * 2**32 // (where[1] * where[2] // 2**96 + 1) + 2**66


@given(ranges(), amounts, amounts, st.integers(0, 5000), st.integers(0, 100))
def test_amounts_within_the_slippage_are_at_least_the_minimums(where, amount0, amount1, slippage_bps, at):
    price, lower, upper = where
    low, high = prices_after_slippage(price, slippage_bps)
    moved = low + (high - low) * at // 100
    least0, least1 = least_amounts_used(price, lower, upper, amount0, amount1, slippage_bps)
    _, taken0, taken1 = amounts_used(moved, lower, upper, amount0, amount1)
    # A liquidity that is off by one may cost some units of a token with cheap base units.
    slack0, slack1 = (side + 2 for side in amounts_to_mint(moved, lower, upper, 2))
    assert taken0 >= least0 - slack0
    assert taken1 >= least1 - slack1
    liquidity = liquidity_for_amounts(price, lower, upper, amount0, amount1)
    least0, least1 = least_amounts_paid(price, lower, upper, liquidity, slippage_bps)
    paid0, paid1 = amounts_for_liquidity(moved, lower, upper, liquidity)
    assert paid0 >= least0
    assert paid1 >= least1


@given(ranges(), st.integers(1, 2**100), st.booleans(), st.integers(0, 10_000))
def test_the_least_liquidity_pays_the_amount_and_one_less_does_not(where, available, of_token0, part):
    principal = amounts_for_liquidity(*where, available)[not of_token0]
    amount = principal * part // 10_000
    assume(amount)
    liquidity = liquidity_paying(*where, available, amount, of_token0)
    assert amounts_for_liquidity(*where, liquidity)[not of_token0] >= amount
    assert amounts_for_liquidity(*where, liquidity - 1)[not of_token0] < amount
    assert liquidity_paying(*where, available, principal + 1, of_token0) is None


def test_ticks_on_the_spacing():
    assert full_range(60) == (-887220, 887220)
    assert full_range(1) == (MIN_TICK, MAX_TICK)
    assert [nearest_usable_tick(t, 60) for t in (29, 31, -31, -29, 10**6, -(10**6))] == [
        0, 60, -60, 0, 887220, -887220,
    ]  # fmt: skip


def test_fee_growth_wraps_as_in_the_contracts():
    top = 2**256
    assert fee_growth_inside(0, -10, 10, 100, 30, 20) == 50
    assert fee_growth_inside(-20, -10, 10, 100, 30, 20) == 10
    assert fee_growth_inside(20, -10, 10, 100, 30, 20) == (20 - 30) % top
    inside_last, inside = top - 5, 3
    assert fees_earned(inside, inside_last, 2**128) == 8
    assert tokens_owed(2**128 - 1, 2) == 1


@given(amounts, amounts, amounts, amounts, st.booleans())
def test_the_v2_router_takes_in_proportion(amount0, amount1, reserve0, reserve1, first):
    taken0, taken1 = v2_amounts_used(amount0, amount1, reserve0, reserve1, first)
    assert taken0 <= amount0
    assert taken1 <= amount1
    assert taken0 == amount0 or taken1 == amount1


@given(amounts, amounts, amounts, amounts, st.integers(10**3, 10**24))
def test_v2_shares_pay_at_most_what_they_cost(amount0, amount1, reserve0, reserve1, supply):
    shares = v2_shares_minted(amount0, amount1, reserve0, reserve1, supply)
    paid = v2_amounts_burned(shares, reserve0 + amount0, reserve1 + amount1, supply + shares)
    assert paid[0] <= amount0
    assert paid[1] <= amount1
    assert v2_protocol_shares(reserve0, reserve1, supply, reserve0 * reserve1) == 0
    assert v2_protocol_shares(reserve0, reserve1, supply, 0) == 0


def test_the_v2_protocol_fee_is_a_sixth_of_the_growth():
    # From 1,000,000 to 1,060,000 of root k: the new shares are worth 10,000 of it.
    supply = 10**18
    minted = v2_protocol_shares(1_060_000, 1_060_000, supply, 10**12)
    assert minted * 1_060_000 // (supply + minted) in (9_999, 10_000)


def test_least_returns_the_first_argument():
    assert least(lambda n: n * n, 17, 100) == 5
    assert least(lambda n: n * n, 0, 100) == 0
    assert least(lambda n: n * n, 10_001, 100) is None


@pytest.mark.slow
def test_the_v3_position_manager_mints_the_same(devnet, chain):
    """Compares eth_calls of ``mint`` over random ranges of every v3 pool."""
    manager = chain.contracts["NonfungiblePositionManager"]
    chance, expected, calls = random.Random(1), [], []
    for pool in devnet.chains["devnet"].pools:
        if pool.protocol != "uniswap-v3":
            continue
        price, tick = chain.call(pool.id, "slot0()", returns=SLOT0)[:2]
        for _ in range(12):
            spacing = pool.tick_spacing
            lower = (tick // spacing - chance.randint(-20, 200)) * spacing
            upper = lower + chance.randint(1, 300) * spacing
            offer = [int(10 ** chance.uniform(0, 10)) for _ in range(2)]
            bounds = sqrt_ratio_at_tick(lower), sqrt_ratio_at_tick(upper)
            expected.append(amounts_used(price, *bounds, *offer))
            position = (pool.token0, pool.token1, pool.fee, lower, upper, *offer, 0, 0, chain.sender)
            calls.append((manager, calldata(MINT, (*position, MAX_UINT48))))
    answers = chain.calls(calls, ["uint256", "uint128", "uint256", "uint256"])
    assert sum(answer is not None for answer in answers) > 200
    for amounts, answer in zip(expected, answers, strict=True):
        assert answer is None if amounts[0] == 0 else answer[1:] == amounts
