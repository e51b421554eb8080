"""Polished flows against every division in whole units, and what polishing may never do."""

import itertools

import pytest
from flow_checks import WRAPPED, check_flow, net
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from quoteway_amm import FREE, UNISWAP_GAS, BandExceeded, ConcentratedPool, GasPrice, V2Pool
from quoteway_amm.flow import SHARE_ONE, PlannedLeg, execution_order, make_flow, simulate
from quoteway_amm.polish import polished
from random_pools import all_words, v2_pools

WAYS = (("0xa", "0xb"), ("0xa", "0xc"), ("0xc", "0xb"), ("0xa", "0xb"), ("0xc", "0xb"), ("0xa", "0xc"))
"""From the input "0xa" to the output "0xb", at once and through "0xc": splits and joins."""
gas_prices = st.one_of(st.just(FREE), st.builds(GasPrice, st.integers(0, 10**6), st.integers(1, 10**6)))


def flow_of(planned, amount, gas_price=FREE):
    """Returns a flow from "0xa" to "0xb" over legs with shares; None when there is none."""
    order = execution_order(planned, "0xa", "0xb", WRAPPED)
    try:
        hops = None if order is None else simulate(order, "0xa", amount, WRAPPED)
    except BandExceeded:
        hops = None
    return hops and make_flow(hops, "0xa", "0xb", amount, UNISWAP_GAS, gas_price, WRAPPED)


@st.composite
def stepped_pools(draw, token0, token1, name):
    """Returns pools with liquidity at every price, and more of it between ticks near the price."""
    whole, near = draw(st.integers(10**23, 10**24)), draw(st.integers(0, 10**25))
    reach = draw(st.integers(1, 30)) * 10
    ticks = ((-880_000, whole), (-reach, near), (reach, -near), (880_000, -whole))
    return ConcentratedPool(
        "v3", name, token0, token1, 500, 10, 1 << 96, 0, whole + near, ticks, *all_words(10)
    )


@st.composite
def flows(draw):
    """Returns a random flow with a gas price: its shares are nothing like the best ones."""
    planned = []
    for number, (source, target) in enumerate(WAYS[: draw(st.integers(3, len(WAYS)))]):
        token0, token1 = sorted((source, target))
        name = f"0x{number}"
        pool = draw(
            st.one_of(v2_pools(token0, token1, name, least=10**23), stepped_pools(token0, token1, name))
        )
        planned.append(PlannedLeg(pool, token0 == source, draw(st.integers(SHARE_ONE // 50, SHARE_ONE // 6))))
    gas_price = draw(gas_prices)
    flow = flow_of(planned, draw(st.integers(10**7, 10 ** draw(st.integers(8, 22)))), gas_price)
    assume(flow is not None)
    return flow, gas_price


@settings(max_examples=200)
@given(flows(), st.integers(0, 400))
def test_a_polished_flow_pays_no_less_and_can_be_executed(made, evaluations):
    flow, gas_price = made
    found = polished(flow, UNISWAP_GAS, gas_price, WRAPPED, most_evaluations=evaluations)
    assert net(found, gas_price) >= net(flow, gas_price)
    assert [(leg.pool, leg.zero_for_one) for leg in found.legs] == [
        (leg.pool, leg.zero_for_one) for leg in flow.legs
    ]
    check_flow(found, "0xa", "0xb", flow.amount_in)
    assert found.gas_cost == gas_price.cost(found.gas_units)


def by_trying(flow):
    """Returns the greatest output over every division of the input between parallel legs."""
    pools = [(leg.pool, leg.zero_for_one) for leg in flow.legs]
    paid = [
        [0, *((pool.exact_in(falling, units) or (0,))[0] for units in range(1, flow.amount_in))]
        for pool, falling in pools
    ]
    cuts = itertools.combinations(range(1, flow.amount_in), len(pools) - 1)
    ends = ((0, *cut, flow.amount_in) for cut in cuts)
    return max(
        sum(amounts[end - begin] for amounts, begin, end in zip(paid, cut, cut[1:], strict=False))
        for cut in ends
    )


@st.composite
def parallel_flows(draw, out):
    """Returns a flow of few units through two or three pools of "0xa" and "0xb"."""
    reserves = st.integers(20, 400)
    names = ("0x0", "0x1", "0x2")[: draw(st.integers(2, 3))]
    pools = [V2Pool(name, "0xa", "0xb", draw(reserves), draw(out)) for name in names]
    shares = st.integers(SHARE_ONE // 12, SHARE_ONE // 4)
    flow = flow_of([PlannedLeg(pool, True, draw(shares)) for pool in pools], draw(st.integers(24, 48)))
    assume(flow is not None)
    return flow


@settings(max_examples=100, deadline=None)
@given(parallel_flows(st.integers(10**18, 3 * 10**18)))
def test_a_few_units_are_divided_as_well_as_by_trying_every_division(flow):
    """Outputs so fine that rounding them does not matter: the best division is found to the unit."""
    found = polished(flow, UNISWAP_GAS, FREE, WRAPPED, most_evaluations=10_000)
    assert found.amount_out == by_trying(flow)


def test_units_move_where_they_pay_the_other_way_through_a_token():
    """The last leg out of a token takes what more or less arrives there."""
    rich, poor = 10**24, 10**21
    planned = [
        PlannedLeg(V2Pool("0x0", "0xa", "0xc", rich, rich), True, SHARE_ONE // 2),
        PlannedLeg(V2Pool("0x1", "0xa", "0xc", poor, poor), True, SHARE_ONE // 2),
        PlannedLeg(V2Pool("0x2", "0xb", "0xc", rich, rich), False, SHARE_ONE // 2),
        PlannedLeg(V2Pool("0x3", "0xb", "0xc", poor, poor), False, SHARE_ONE // 2),
    ]
    flow = flow_of(planned, 10**21)
    found = polished(flow, UNISWAP_GAS, FREE, WRAPPED, most_evaluations=10_000)
    taken = {leg.pool.id: leg.amount_in for leg in found.legs}
    check_flow(found, "0xa", "0xb", 10**21)
    assert taken["0x0"] > taken["0x1"]
    assert taken["0x2"] > taken["0x3"]
    assert found.amount_out > flow.amount_out


def test_a_tick_that_costs_more_gas_than_it_brings_is_not_crossed():
    spacing = 10
    low, high = all_words(spacing)
    pools = [
        ConcentratedPool(
            "v3", f"0x{number}", "0xa", "0xb", 500, spacing, 1 << 96, 0, 2 * 10**24,
            ((-1_000, 10**24), (-10, 10**24), (1_000, -2 * 10**24)), low, high,
        )
        for number in range(2)
    ]  # fmt: skip
    most = next(units for units in range(10**21, 10**22, 10**18) if pools[0].exact_in(True, units)[1])
    # The most that a pool takes before its price reaches the tick, by halving.
    most, beyond = 1, 10**22
    while beyond - most > 1:
        middle = (most + beyond) // 2
        most, beyond = (middle, beyond) if not pools[0].exact_in(True, middle)[1] else (most, middle)
    amount = 2 * most - most // 10_000
    gas_price = GasPrice(10**12)
    planned = [
        PlannedLeg(pools[0], True, SHARE_ONE),
        PlannedLeg(pools[1], True, SHARE_ONE // 2 - SHARE_ONE // 25_000),
    ]
    flow = flow_of(planned, amount, gas_price)
    found = polished(flow, UNISWAP_GAS, gas_price, WRAPPED, most_evaluations=10_000)
    assert sum(leg.ticks_crossed for leg in flow.legs) == 1
    assert sum(leg.ticks_crossed for leg in found.legs) == 0
    assert net(found, gas_price) > net(flow, gas_price)


class Counting:
    """A pool that counts its simulations."""

    def __init__(self, pool):
        self.pool, self.count = pool, 0

    def __getattr__(self, name):
        return getattr(self.pool, name)

    def exact_in(self, zero_for_one, amount):
        self.count += 1
        return self.pool.exact_in(zero_for_one, amount)


@pytest.mark.parametrize("most", [0, 1, 50, 400])
def test_the_simulations_are_bounded(most):
    pools = [Counting(V2Pool(f"0x{number}", "0xa", "0xb", 10**24, 10**24 + number)) for number in range(10)]
    planned = [PlannedLeg(pool, True, SHARE_ONE // 20) for pool in pools]
    flow = flow_of(planned, 10**23)
    for pool in pools:
        pool.count = 0
    found = polished(flow, UNISWAP_GAS, FREE, WRAPPED, most_evaluations=most)
    # What has begun is finished: each leg with more and with less, and one move.
    assert sum(pool.count for pool in pools) <= (most + 2 * 2 * len(pools) + 2 if most else 0)
    assert found.amount_out >= flow.amount_out


def test_nothing_moves_when_the_time_is_over_or_there_is_nothing_to_move():
    pools = [V2Pool(f"0x{number}", "0xa", "0xb", 10**24, 10**24) for number in range(2)]
    flow = flow_of([PlannedLeg(pool, True, SHARE_ONE // 9) for pool in pools], 10**23)
    assert polished(flow, UNISWAP_GAS, FREE, WRAPPED, lambda: True) is flow
    assert polished(flow, UNISWAP_GAS, FREE, WRAPPED).amount_out > flow.amount_out
    path = flow_of([PlannedLeg(pools[0], True, SHARE_ONE)], 10**23)
    assert polished(path, UNISWAP_GAS, FREE, WRAPPED) is path
