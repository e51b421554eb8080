"""StableSwap pools of Curve: figures of the makers' code and properties."""

import math
import warnings

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from quoteway_amm.bound import curve_profit
from quoteway_amm.pieces import make_pieces
from quoteway_amm.stable_swap import FIRST, NG, TEMPLATE, THREE_POOL, StableSwapPool
from quoteway_amm.token_pair import TokenPair

ONE = 10**18
E30 = 10**30
TOKENS = tuple(f"0x{at}" for at in range(8))

# What the makers' source answers in random states, compiled with vyper 0.3.10 and a function that sets
# balances, rates, A and fee before it calls `exchange` (StableSwap3Pool.vy, SwapTemplateBase.vy) or
# `__exchange` (CurveStableSwapNG.vy).
# Formula, balances, rates, A, fee, offpeg fee multiplier, i, j, dx, dy.
FIGURES = [
    (THREE_POOL, (1609231365963, 1609231365963, 1635051547739880511504384),
     (E30, E30, 984208337766610688), 1, 30000000, 0, 0, 2, 37724, 38214294795058826),
    (THREE_POOL, (577503056951740071936, 13496875634864600, 1741097513397367),
     (28490760687566071421124739072, 10**34, 10**34), 1, 4000000, 0, 1, 0, 26, 2424767),
    (THREE_POOL, (2105200862992395476664320, 477035199696706666496, 4),
     (ONE, ONE, ONE), 1, 30000000, 0, 2, 1, 1, 95103579084855029748),
    (TEMPLATE, (2105200862992395476664320, 477035199696706666496, 4),
     (ONE, ONE, ONE), 1, 30000000, 0, 2, 1, 1, None),
    (TEMPLATE, (115637695926718, 115637695926718, 205508531152489979586805760),
     (E30, E30, 562690489189054272), 8257, 30000000, 0, 2, 1, 51724091080338500631920641, 29016395992761),
    (TEMPLATE, (1905833, 1905833803157, 32714673879),
     (10**34, 10**28, 582562372526587837621079113728), 10, 1, 0, 0, 2, 125788, 2146295209),
    (TEMPLATE, (12276739669440886, 6806771946285061),
     (554444594376175995606272049152, E30), 1, 4000000, 0, 0, 1, 15, 8),
    (TEMPLATE, (248835710140, 452226452650, 10222325, 52534254658),
     (E30, 10**28, 19371303807047864509510326696280064, E30), 2, 30000000, 0, 3, 1, 7835791028, 71841844224),
    (NG, (3124876102723991532325300076544, 304495855682312994816),
     (1041172038880851584, 29078596537805798185724018688), 200, 4000000, 13 * 10**10, 1, 0, 1209650,
     33517772352048077),
    (NG, (339227925172280327606894592, 841257957650789099167023104),
     (2479919532637378560, ONE), 200, 5 * 10**9, 2 * 10**10, 1, 0, 2906141018945, 585934539548),
    (NG, (102169528225629, 1354803755351, 40924372),
     (24520048796746740502840783526690816, 10**28, 9442968205892825462673608947007488), 10, 5 * 10**9,
     5 * 10**10, 2, 1, 8096900, None),
    (NG, (114238501676301980532736, 449728304158159776251904, 2523459944085, 321563396594912, 7346596538838),
     (ONE, ONE, 10**28, 12385420068286866347318575104, 10**28), 200, 1, 5 * 10**10, 1, 2, 2535989207549, 18),
]  # fmt: skip


@pytest.mark.parametrize("row", FIGURES)
def test_figures_of_the_makers_code(row):
    formula, balances, rates, a, fee, multiplier, i, j, amount, expected = row
    tokens = TOKENS[: len(balances)]
    pool = StableSwapPool("0xp", tokens, balances, rates, a * formula.a_precision, fee, formula, multiplier)
    assert pool.exact_in(i, j, amount) == expected


def pool_of(**changes):
    state = {
        "id": "0xp", "tokens": TOKENS[:3], "balances": (10**24, 10**12, 10**12), "rates": (ONE, E30, E30),
        "amplification": 2000, "fee": 10**6, "formula": THREE_POOL,
    }  # fmt: skip
    return StableSwapPool(**(state | changes))


def test_the_fee_comes_before_the_conversion_to_the_tokens_decimals():
    # 1 token of 18 decimals for one of 6: of 999999.9995 base units the fraction goes after the fee of 0.4 %.
    # `get_dy`, which cuts it off first, answers 996000.
    assert pool_of(fee=0).exact_in(0, 1, 10**18 + 1) == 999999
    assert pool_of(fee=4 * 10**7).exact_in(0, 1, 10**18 + 1) == 995999


def test_what_the_pool_refuses():
    pool = pool_of()
    for refused in (0, -1, 2**256):
        assert pool.exact_in(0, 1, refused) is None
    for refused in (0, -1, 10**12, 2**256):
        assert pool.exact_out(0, 1, refused) is None
    # Of a token with twelve decimals more: nothing comes out.
    assert pool.exact_in(0, 1, 1) == 0
    empty = pool_of(balances=(10**24, 0, 10**12))
    assert not empty.has_liquidity
    assert empty.exact_in(0, 1, 10**18) is None
    assert empty.exact_out(0, 1, 10**6) is None


def test_a_fee_of_all_the_output_leaves_a_curve_without_a_trade():
    # Off the peg the fee of 50 % becomes 166 %.
    pool = pool_of(
        tokens=TOKENS[:2], balances=(6549 * ONE, 454 * ONE), rates=(ONE, ONE), fee=5 * 10**9,
        formula=NG, offpeg_fee_multiplier=13 * 10**10,
    )  # fmt: skip
    assert [pool.exact_in(0, 1, amount) for amount in (1, 10, ONE)] == [0, None, None]
    away, towards = pool.curve(0, 1, True), pool.curve(1, 0, False)
    assert curve_profit(away, 1, 10**9) == (0, False)
    assert pool.exact_in(1, 0, ONE) is None
    assert pool.exact_in(1, 0, 6000 * ONE) > 3000 * ONE  # to the other side, past the peg
    assert curve_profit(towards, 10**9, 1)[0] > 10**9 * ONE << 96
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pieces = make_pieces([TokenPair(pool, 0, 1)], [(towards, away)], [(0, 1)])
    assert pieces.low[0] == -math.inf < pieces.high[0] < math.inf


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": ("0x1",)},
        {"tokens": ("0x1", "0x1", "0x2")},
        {"balances": (1, 2)},
        {"balances": (1, 2, -1)},
        {"rates": (ONE, ONE)},
        {"rates": (ONE, 0, ONE)},
        {"amplification": 0},
        {"amplification": 99, "formula": TEMPLATE},
        {"fee": -1},
        {"fee": 10**10},
        {"offpeg_fee_multiplier": -1},
    ],
)
def test_a_state_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match="pool 0xp"):
        pool_of(**wrong)


@st.composite
def pools(draw):
    count = draw(st.integers(2, 5))
    formula = draw(st.sampled_from([FIRST, THREE_POOL, TEMPLATE, NG]))
    rates = [10 ** (36 - draw(st.sampled_from([6, 8, 18]))) for _ in range(count)]
    rates = [rate * draw(st.integers(90, 250)) // 100 for rate in rates]
    # Ten to a hundred trillion tokens of each, up to a thousand times apart.
    worth = draw(st.integers(4, 14))
    balances = [10 ** (worth + draw(st.integers(0, 3)) + 18) * ONE // rate for rate in rates]
    balances = [balance * draw(st.integers(100, 999)) // 100 for balance in balances]
    return StableSwapPool(
        "0xp", TOKENS[:count], tuple(balances), tuple(rates),
        formula.a_precision * draw(st.integers(1, 5000)), draw(st.sampled_from([0, 1, 10**6, 4 * 10**7])),
        formula, draw(st.sampled_from([0, 2 * 10**10, 8 * 10**10])) if formula is NG else 0,
    )  # fmt: skip


ends = st.permutations(range(5)).map(lambda order: order[:2])
shares = st.integers(0, 12).flatmap(lambda digits: st.integers(1, 10**digits))


def a_swap(pool, ends, share):
    """Returns two positions and an amount that is a share of the first balance, of 10^12."""
    i, j = (end % len(pool.tokens) for end in ends)
    assume(i != j)
    return i, j, max(pool.balances[i] * share // 10**12, 1)


@given(pools(), ends, shares)
def test_exact_out_is_enough_and_one_less_is_not(pool, ends, share):
    j, i, amount = a_swap(pool, ends, share)
    least = pool.exact_out(i, j, amount)
    assume(least is not None)
    assert pool.exact_in(i, j, least) >= amount
    less = pool.exact_in(i, j, least - 1)
    assert less is None or less < amount


@given(pools(), ends, shares, st.integers(1, 10**12))
def test_more_in_gives_no_less_but_for_the_rounding_of_the_iteration(pool, ends, share, more):
    i, j, amount = a_swap(pool, ends, share)
    few, many = pool.exact_in(i, j, amount), pool.exact_in(i, j, amount + more)
    assume(few is not None)
    assert many is not None
    assert many >= few - 1 - ONE // pool.rates[j]
