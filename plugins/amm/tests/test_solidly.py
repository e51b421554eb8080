"""Pools of Solidly's descendants: published figures and properties."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from quoteway_amm import V2Pool
from quoteway_amm.solidly import SolidlyPool

ONE = 10**18
amounts = st.integers(0, 30).flatmap(lambda digits: st.integers(1, 10**digits))
UNITS = st.sampled_from([1, 10**2, 10**6, 10**8, ONE, 10**24])


def pool_of(reserve0, reserve1, unit0=ONE, unit1=ONE, stable=True, fee=5):
    return SolidlyPool("0xp", "0xa", "0xb", reserve0, reserve1, unit0, unit1, stable, fee)


@st.composite
def pools(draw):
    units = draw(UNITS), draw(UNITS)
    fee = draw(st.sampled_from([0, 1, 5, 30, 100, 9999]))
    if draw(st.booleans()):
        reserves = [draw(amounts) for _ in units]
        return pool_of(*reserves, *units, False, fee)
    # Far from balance, or with next to nothing in the pool, the iteration ends for some amounts only.
    tokens = draw(st.integers(10**4, 10**12))
    reserves = [tokens * unit * draw(st.integers(100, 10_000)) // 1000 for unit in units]
    return pool_of(*reserves, *units, True, fee)


def test_figures_of_the_makers_tests():
    # Aerodrome, test/Imbalance.t.sol and test/Pool.t.sol: 1 USDC into pools of 2, 3 and 4 USDC and FRAX, with
    # the fee of 0.01 % that the tests set.
    figures = {2: 945128557522723966, 3: 982117769725505988, 4: 992220948146798746}
    for tokens, expected in figures.items():
        assert pool_of(tokens * 10**6, tokens * ONE, 10**6, fee=1).exact_in(True, 10**6) == (expected, 0)


def test_the_fee_is_rounded_apart_from_the_trade():
    pool = pool_of(10**6, 10**6, stable=False, fee=30)
    pair = V2Pool("0xp", "0xa", "0xb", 10**6, 10**6)
    # 999 base units pay a fee of 2 (2.997 rounded down), so 997 are traded; a v2 pair trades 996.003.
    assert pool.exact_in(True, 999) == (996, 0)
    assert pair.exact_in(True, 999) == (995, 0)


def test_what_the_pool_refuses():
    pool = pool_of(10**9, 10**9)
    for refused in (0, -1, 2**255, 2**256):
        assert pool.exact_in(True, refused) is None
    for refused in (0, -1, 10**9, 10**9 + 1, 2**256):
        assert pool.exact_out(True, refused) is None
    for empty in (pool_of(0, 10**9), pool_of(10**9, 0)):
        assert not empty.has_liquidity
        assert empty.exact_in(True, 1000) is None
        assert empty.exact_out(True, 1000) is None
    # An output of nothing.
    assert pool_of(10**18, 10**3, stable=False).exact_in(True, 10) is None


@pytest.mark.parametrize(
    "wrong", [{"fee": -1}, {"fee": 10_000}, {"unit0": 0}, {"reserve0": -1}, {"reserve1": -1}]
)
def test_a_state_that_cannot_be_is_refused(wrong):
    state = {"reserve0": 1, "reserve1": 1, "unit0": 1} | wrong
    with pytest.raises(ValueError, match="pool 0xp"):
        pool_of(**state)


@given(pools(), st.booleans(), amounts)
def test_the_invariant_never_falls_and_nothing_is_gained(pool, zero_for_one, amount):
    found = pool.exact_in(zero_for_one, amount)
    assume(found is not None)
    fee = amount * pool.fee // pool.fee_denominator
    paid, kept = found[0], amount - fee
    moved = (kept, -paid) if zero_for_one else (-paid, kept)
    after = pool_of(
        pool.reserve0 + moved[0], pool.reserve1 + moved[1], pool.unit0, pool.unit1, pool.stable, pool.fee
    )
    assert after._level(after.reserve0, after.reserve1) >= pool._level(pool.reserve0, pool.reserve1)
    back = after.exact_in(not zero_for_one, paid)
    assert back is None or back[0] <= amount
