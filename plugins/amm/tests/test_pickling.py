"""Pool states and gas models cross to other processes as they are, without what was derived from them."""

import pickle

from hypothesis import given
from quoteway_amm import FREE, UNISWAP_GAS, GasPrice
from random_pools import concentrated_pools, v2_pools
from test_concentrated import amounts, directions, outcome


@given(concentrated_pools(), directions, amounts)
def test_a_pool_is_pickled_without_its_running_totals(pool, zero_for_one, amount):
    before = pickle.dumps(pool)
    answer = outcome(lambda: pool.exact_in(zero_for_one, amount))
    assert pickle.dumps(pool) == before
    copy = pickle.loads(before)
    assert copy == pool
    assert outcome(lambda: copy.exact_in(zero_for_one, amount)) == answer


@given(v2_pools())
def test_a_pair_is_pickled(pool):
    assert pickle.loads(pickle.dumps(pool)) == pool


def test_gas_is_pickled():
    model = pickle.loads(pickle.dumps(UNISWAP_GAS))
    assert model == UNISWAP_GAS
    for price in (FREE, GasPrice(3, 7)):
        assert pickle.loads(pickle.dumps(price)) == price
