"""The search of single paths beside the solver: what it leaves out never wins, and what proves one holds."""

import random
from fractions import Fraction

import pytest
from flow_checks import WRAPPED, check_flow, net
from hypothesis import given, settings
from hypothesis import strategies as st
from market_states import generate
from quoteway_amm import FREE, UNISWAP_GAS, BandExceeded, GasPrice, V2Pool, best_path_exact_in
from quoteway_amm.bound import check_bound
from random_pools import concentrated_pools, v2_pools

pytest.importorskip("numpy")
import numpy as np
from quoteway_amm import flows
from quoteway_amm.average import average_rates
from quoteway_amm.market import Market, integer_prices
from quoteway_amm.single import Known, better_path, prices_after, rate_after

deep_pools = st.one_of(v2_pools(least=10**15), concentrated_pools(reach=300))


def accepted(pool, zero_for_one, amount):
    """Returns what the pool gives, or None when it does not take the amount or its ticks end."""
    try:
        answer = pool.exact_in(zero_for_one, amount) if pool.has_liquidity else None
    except BandExceeded:
        return None
    return None if answer is None else answer[0]


@settings(max_examples=200)
@given(deep_pools, st.integers(1, 2**100), st.booleans())
def test_no_pool_gives_more_than_its_average_rate(pool, amount, zero_for_one):
    market = Market([pool])
    given_out = accepted(pool, zero_for_one, amount)
    if given_out is None or not len(market.index):
        return
    rate = float(average_rates(market.pieces, zero_for_one, np.array([float(amount)]))[0])
    assert given_out <= rate * amount * (1 + 1e-9)
    # Rounding costs a few base units per step of the swap.
    steps = 4 + 4 * len(getattr(pool, "ticks", ())) + 60
    assert rate * amount <= (given_out + steps) * (1 + 1e-6) + rate * steps


def test_the_rate_after_a_trade_is_that_of_the_next_units():
    state = generate(170, 20, 1)
    market = Market(state.pools, WRAPPED)
    tried = 0
    for at, index in enumerate(market.index.tolist()):
        pool = state.pools[index]
        for zero_for_one, token in ((True, pool.token0), (False, pool.token1)):
            for dollars in (10.0, 1e4, 1e6):
                amount, more = state.units(token, dollars), state.units(token, dollars / 1000)
                before, after = (
                    accepted(pool, zero_for_one, amount),
                    accepted(pool, zero_for_one, amount + more),
                )
                if more < 1000 or before is None or after is None or after - before < 10**6:
                    continue
                rate = rate_after(market.pieces, at, zero_for_one, float(amount))
                # The next thousandth of the amount moves the price too, and may cross a tick.
                assert 0.98 * rate <= (after - before) / more <= rate * (1 + 3e-6 + 2 / more)
                tried += 1
    assert tried > 500


def test_spot_prices_leave_no_pool_a_profit_and_are_what_a_small_trade_gets():
    state = generate(170, 20, 1)
    market = Market(state.pools, WRAPPED)
    for token_in, token_out in random.Random(1).sample(
        [(a, b) for a in market.nodes for b in market.nodes], 12
    ):
        if token_in == token_out:
            continue
        prices = market.spot(market.number[token_out]).prices
        exact = integer_prices(market.nodes, prices)
        amount = state.units(token_in, 1.0)
        bound = check_bound(state.pools, exact, token_in, token_out, amount, WRAPPED)
        path = best_path_exact_in(market.graph, token_in, token_out, amount, UNISWAP_GAS, FREE, 4)
        assert bound <= amount * float(prices[market.number[token_in]]) * (1 + 1e-9) + 1
        assert path.amount_out <= bound


def priced(state, token_out, dollars_per_gas):
    price = Fraction(dollars_per_gas) / Fraction(state.dollars[token_out])
    return GasPrice(price.numerator, price.denominator)


@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_best_path_from_any_score_below_it_and_none_from_its_own(seed):
    state = generate(60, 10, seed)
    market = Market(state.pools, WRAPPED)
    rng = random.Random(seed)
    for _ in range(6):
        token_in, token_out = rng.sample(sorted(state.dollars), 2)
        amount = state.units(token_in, 10 ** rng.uniform(2, 6))
        gas_price = priced(state, token_out, rng.choice((0.0, 3e-5)))
        arguments = token_in, token_out, amount, UNISWAP_GAS, gas_price
        best = best_path_exact_in(market.graph, *arguments, 4)
        score = best.amount_out * gas_price.denominator - best.gas_units * gas_price.numerator
        spot = market.spot(market.number[token_out]).prices
        solved = flows.best_flow_exact_in(market, WRAPPED, *arguments, max_hops=4).optimality.prices
        scale = solved[token_out]
        dual = np.array([solved[node] / scale for node in market.nodes])
        profits = [p.profit_x96 / (scale << 96) for p in market.profits(solved)]
        for prices, gains in ((spot, ()), (dual, profits)):
            for less in (1, abs(score) // 1000 + 1, abs(score) // 10 + 1):
                found = better_path(market, *arguments, 4, Known(prices, gains, score - less))
                assert found.amount_out == best.amount_out
            assert better_path(market, *arguments, 4, Known(prices, gains, score)) is None


def test_a_path_that_its_own_prices_prove_is_returned_without_the_solver(monkeypatch):
    def refuse(*_arguments):
        raise AssertionError("the solver was asked")

    monkeypatch.setattr(flows, "solve_from_spot", refuse)
    pools = [V2Pool("0x1", "0xa", "0xb", 10**24, 10**24), V2Pool("0x2", "0xa", "0xb", 10**23, 999 * 10**20)]
    found = flows.best_flow_exact_in(pools, None, "0xa", "0xb", 10**20, UNISWAP_GAS)
    check_flow(found.flow, "0xa", "0xb", 10**20)
    assert (found.optimality.method, len(found.flow.legs)) == ("single_path", 1)
    assert found.optimality.gap_bps <= 0.1
    assert found.optimality.bound == check_bound(pools, found.optimality.prices, "0xa", "0xb", 10**20)
    # A trade that is worth splitting is not proven.
    with pytest.raises(AssertionError, match="solver"):
        flows.best_flow_exact_in(pools, None, "0xa", "0xb", 10**22, UNISWAP_GAS)
    # With gas that a second pool does not earn, it is again.
    dear = flows.best_flow_exact_in(pools, None, "0xa", "0xb", 10**21, UNISWAP_GAS, GasPrice(10**13))
    assert (len(dear.flow.legs), dear.optimality.net_gap_bps) == (1, 0.0)
    assert net(dear.flow, GasPrice(10**13)) > 0


def test_prices_after_a_path_change_those_of_its_pools_alone():
    pools = [V2Pool("0x1", "0xa", "0xb", 10**24, 10**24), V2Pool("0x2", "0xb", "0xc", 10**24, 10**24)]
    market = Market(pools)
    path = best_path_exact_in(market.graph, "0xa", "0xb", 10**22, UNISWAP_GAS, FREE, 2)
    end = market.number["0xc"]
    before, after = market.spot(end).prices, prices_after(market, path.hops, end)
    assert after[market.number["0xb"]] == before[market.number["0xb"]]
    assert after[market.number["0xa"]] < 0.99 * before[market.number["0xa"]]


def test_a_circle_of_pools_with_a_profit_keeps_no_path_out_of_the_search():
    """Longer ways round it give ever more: what the search leaves out by spot prices would be anything."""
    circle = [("0xb", "0xc", 103), ("0xc", "0xd", 103), ("0xb", "0xd", 100)]
    pools = [V2Pool(f"0x{a}{b}", a, b, 10**24, 10**22 * rate) for a, b, rate in circle]
    pools += [V2Pool("0x1", "0xa", "0xb", 10**24, 10**24), V2Pool("0x2", "0xc", "0xe", 10**24, 10**24)]
    market = Market(pools)
    assert not market.spot(market.number["0xe"]).settled
    for amount in (10**15, 10**19, 10**22):
        found = flows.best_flow_exact_in(market, None, "0xa", "0xe", amount, UNISWAP_GAS)
        check_flow(found.flow, "0xa", "0xe", amount)
        path = best_path_exact_in(market.graph, "0xa", "0xe", amount, UNISWAP_GAS, FREE, 4)
        assert found.flow.amount_out >= path.amount_out
