"""The solver: prices found from spot prices, flows without a limit of hops, pools that are used up."""

import random

import pytest
from flow_checks import WRAPPED, check_flow
from market_states import HUBS, generate
from quoteway_amm import FREE, UNISWAP_GAS, Graph, V2Pool, best_path_exact_in
from quoteway_amm.flow import SHARE_ONE, PlannedLeg, simulate

pytest.importorskip("numpy")
from quoteway_amm.approach import solve_from_spot
from quoteway_amm.dual import solve
from quoteway_amm.flows import best_flow_exact_in
from quoteway_amm.market import Market


@pytest.mark.parametrize("dollars", [1e3, 1e5, 1e7])
def test_prices_from_spot_prices_are_no_worse_than_prices_from_any_start(dollars):
    state = generate(170, 20, 2)
    market = Market(state.pools, WRAPPED)
    rng = random.Random(2)
    for _ in range(3):
        token_in, token_out = rng.sample(sorted(state.dollars), 2)
        ends = market.number[token_in], market.number[token_out]
        amount = float(state.units(token_in, dollars))
        found = solve_from_spot(market.pieces, market.spot(ends[1]).prices, *ends, amount)
        other = solve(market.pieces, market.idle[0], *ends, amount)
        assert found.value <= other.value * (1 + 1e-8)
        assert found.residual < 1e-2


def test_a_flow_without_a_limit_of_hops_reaches_the_bound_where_four_hops_do_not():
    state = generate(170, 20, 1)
    market = Market(state.pools, WRAPPED)
    rng = random.Random(1)
    missed, deepest = [], 0.0
    for number in range(10):
        token_in, token_out = rng.sample(HUBS if number % 2 else sorted(state.dollars), 2)
        amount = state.units(token_in, 10 ** rng.uniform(4, 6))
        arguments = market, WRAPPED, token_in, token_out, amount, UNISWAP_GAS, FREE
        free, four = best_flow_exact_in(*arguments, None, 64), best_flow_exact_in(*arguments, 4, 64)
        check_flow(free.flow, token_in, token_out, amount, None, 64)
        check_flow(four.flow, token_in, token_out, amount, 4, 64)
        path = best_path_exact_in(market.graph, token_in, token_out, amount, UNISWAP_GAS, FREE, 4)
        assert free.flow.amount_out >= path.amount_out
        missed.append(free.optimality.gap_bps)
        deepest = max(deepest, four.optimality.gap_bps)
    assert max(missed) <= 0.1 < deepest


def test_pools_with_a_profit_in_a_circle_give_a_flow_without_one():
    """The bound counts the circle, which no flow goes round."""
    pools = [
        V2Pool("0x1", "0xa", "0xb", 10**24, 10**24),
        V2Pool("0x2", "0xb", "0xc", 10**24, 11 * 10**23),
        V2Pool("0x3", "0xa", "0xc", 10**24, 10**24),
        V2Pool("0x4", "0xb", "0xd", 10**24, 10**24),
        V2Pool("0x5", "0xc", "0xd", 10**24, 10**24),
    ]
    for amount in (10**18, 10**21, 10**23):
        for pair in (("0xa", "0xd"), ("0xd", "0xa"), ("0xb", "0xc")):
            found = best_flow_exact_in(pools, None, *pair, amount, UNISWAP_GAS)
            check_flow(found.flow, *pair, amount)
            path = best_path_exact_in(Graph(pools), *pair, amount, UNISWAP_GAS, FREE, 4)
            assert found.flow.amount_out >= path.amount_out


def test_a_leg_with_a_limit_leaves_the_rest_to_the_last():
    small, large = V2Pool("0x1", "0xa", "0xb", 10**20, 10**20), V2Pool("0x2", "0xa", "0xb", 10**24, 10**24)
    legs = [
        PlannedLeg(small, True, SHARE_ONE // 2, True, 10**18),
        PlannedLeg(large, True, SHARE_ONE // 2, most=1),
    ]
    hops = simulate(legs, "0xa", 10**21, None)
    assert [hop.amount_in for hop in hops] == [10**18, 10**21 - 10**18]
