"""The bound against every way of dividing an amount over small sets of pools, at any prices."""

import itertools

from flow_checks import best_by_trying
from hypothesis import given, settings
from hypothesis import strategies as st
from quoteway_amm.bound import check_bound
from random_pools import concentrated_pools, v2_pools

PAIRS = (("0xa", "0xb"), ("0xa", "0xb"), ("0xa", "0xc"), ("0xb", "0xc"))
"""The tokens of each pool. From 0xa to 0xb these are two direct ways, and one through 0xc."""
FORWARD = (True, True, True, False)

pool_sets = st.tuples(
    *(
        st.one_of(
            v2_pools(*pair, f"0x{at}", least=1),
            concentrated_pools(*pair, f"0x{at}", reach=2000),
        )
        for at, pair in enumerate(PAIRS)
    )
)
price = st.integers(0, 60).flatmap(lambda bits: st.integers(1, 2**bits))
any_prices = st.fixed_dictionaries({"0xa": st.just(0) | price, "0xb": price, "0xc": st.just(0) | price})
near = st.floats(0.5, 2)
sizes = st.integers(0, 24).flatmap(lambda digits: st.integers(1, 10**digits))


def greatest(pools, amount):
    """The greatest output found by trying every choice of pools, and moving shares between them."""
    return best_by_trying(
        list(zip(pools, FORWARD, strict=True)),
        "0xa",
        "0xb",
        amount,
        lambda hops: sum(hop.amount_out for hop in hops if hop.token_out == "0xb"),
    )


@settings(max_examples=60, deadline=None)
@given(pool_sets, sizes, near, near)
def test_no_way_of_dividing_an_amount_pays_more_than_the_bound_at_prices_near_the_pools(
    pools, amount, change_a, change_c
):
    best = greatest(pools, amount)
    if best is None:
        return
    # Prices from the first direct pool and the first indirect one, then changed.
    b_per_a, c_per_a = pools[0].mid_price(True), pools[2].mid_price(True)
    prices = {
        "0xa": max(int(change_a * 2**120), 1),
        "0xb": max((b_per_a[1] << 120) // max(b_per_a[0], 1), 1),
        "0xc": max(int(change_c * ((c_per_a[1] << 120) // max(c_per_a[0], 1))), 1),
    }
    assert best <= check_bound(pools, prices, "0xa", "0xb", amount)


@settings(max_examples=60, deadline=None)
@given(pool_sets, sizes, any_prices)
def test_no_way_of_dividing_an_amount_pays_more_than_the_bound_at_any_prices(pools, amount, prices):
    best = greatest(pools, amount)
    if best is not None:
        assert best <= check_bound(pools, prices, "0xa", "0xb", amount)


@settings(max_examples=30)
@given(pool_sets, any_prices)
def test_the_order_of_the_pools_does_not_matter(pools, prices):
    bounds = {check_bound(order, prices, "0xa", "0xb", 1000) for order in itertools.permutations(pools)}
    assert len(bounds) == 1
