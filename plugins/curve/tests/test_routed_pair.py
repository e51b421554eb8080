"""What the router adds to a pair's outputs, and where a pair ends."""

import pickle

import pytest
from quoteway_amm.stable_swap import NG, TEMPLATE, StableSwapPool
from quoteway_amm.token_pair import TokenPair
from quoteway_curve.routed_pair import RoutedPair

E18 = 10**18


def pair_of(formula=TEMPLATE, multiplier=0):
    balances = (10**6 * E18, 2 * 10**6 * E18)
    pool = StableSwapPool("0xp", ("0xa", "0xb"), balances, (E18, E18), 20_000, 10**6, formula, multiplier)
    return TokenPair(pool, 0, 1)


@pytest.mark.parametrize("added", [-1, 0, 7, 10**20])
@pytest.mark.parametrize("zero_for_one", [True, False])
def test_an_output_has_what_the_router_holds(added, zero_for_one):
    pair = pair_of()
    others = (added, 5) if not zero_for_one else (5, added)
    routed = RoutedPair(pair, others)
    for amount in (3, 1000, E18, 10**5 * E18):
        got = routed.exact_in(zero_for_one, amount)[0]
        assert got == pair.exact_in(zero_for_one, amount)[0] + added
        needed = routed.exact_out(zero_for_one, got)[0]
        assert needed <= amount
        assert routed.exact_in(zero_for_one, needed)[0] >= got
    assert routed.curve(zero_for_one).excess - pair.curve(zero_for_one).excess == max(added, 0)


def test_what_a_pool_does_not_pay_is_not_paid_by_the_router():
    assert pair_of().exact_in(True, 1) == (0, 0)
    assert RoutedPair(pair_of(), (7, 7)).exact_in(True, 1) == (0, 0)


def test_more_than_nine_tenths_are_bought_only_where_the_fee_does_not_grow():
    assert RoutedPair(pair_of(), (0, 0)).exact_in(True, 10**9 * E18)
    growing = RoutedPair(pair_of(NG, 5 * 10**10), (0, 0))
    assert growing.exact_in(True, 10**9 * E18) is None
    assert growing.exact_out(True, 2 * 10**6 * E18 * 9 // 10 + 1) is None
    assert growing.exact_out(True, 2 * 10**6 * E18 * 9 // 10)


def test_another_process_gets_the_same_pair():
    routed = RoutedPair(pair_of(), (1, -1))
    assert pickle.loads(pickle.dumps(routed)) == routed
