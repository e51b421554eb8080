"""Flows against trying everything, the best single path, and the bound in exact arithmetic."""

import random
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest
from flow_checks import WRAPPED, best_by_trying, check_flow, net, node, small_case
from hypothesis import given, settings
from hypothesis import strategies as st
from market_states import generate
from quoteway_amm import (
    FREE,
    NATIVE,
    UNISWAP_GAS,
    BandsExceeded,
    ConcentratedPool,
    GasPrice,
    Graph,
    NoPath,
    V2Pool,
    best_path_exact_in,
    word_of_tick,
)
from quoteway_amm.bound import check_bound, curve_profit
from quoteway_amm.flow import flow_gas, make_flow
from random_pools import amounts, concentrated_pools, v2_pools

pytest.importorskip("numpy")
from quoteway_amm.flows import best_flow_exact_in
from quoteway_amm.market import Market

TOKENS = ["0xa", "0xb", "0xc", "0xd", NATIVE, WRAPPED]
prices = st.integers(0, 60).flatmap(lambda bits: st.integers(1, 2**bits))


def test_the_package_does_not_import_numpy():
    code = "import sys, quoteway_amm, quoteway_amm.bound, quoteway_amm.flow; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@settings(max_examples=100)
@given(st.one_of(v2_pools(), concentrated_pools()), prices, prices, amounts, st.booleans())
def test_no_trade_has_a_greater_profit_than_the_curve_says(pool, price0, price1, amount, zero_for_one):
    profit_x96, exceeded = curve_profit(pool.curve(zero_for_one), price0, price1)
    assert not exceeded
    price_in, price_out = (price0, price1) if zero_for_one else (price1, price0)
    answer = pool.exact_in(zero_for_one, amount) if pool.has_liquidity else None
    if answer is not None:
        assert (price_out * answer[0] - price_in * amount) << 96 <= profit_x96


@settings(max_examples=60)
@given(st.one_of(v2_pools(least=10**15), concentrated_pools(reach=300)), st.floats(0.8, 0.99), st.booleans())
def test_the_curve_says_no_more_than_the_best_trade_gives(pool, share, zero_for_one):
    numerator, denominator = pool.mid_price(zero_for_one)
    price_in, price_out = int(numerator * share * 2**80) // denominator, 2**80
    if not zero_for_one:
        profit_x96, _ = curve_profit(pool.curve(False), price_out, price_in)
    else:
        profit_x96, _ = curve_profit(pool.curve(True), price_in, price_out)

    def profit(amount):
        answer = pool.exact_in(zero_for_one, amount) if pool.has_liquidity else None
        return -1 if answer is None else price_out * answer[0] - price_in * amount

    # The profit is concave in the amount, but for rounding.
    low, high = 1, 2**112
    while high - low > max(low // 10**9, 2):
        third = (high - low) // 3
        a, b = low + third, high - third
        low, high = (a, high) if 0 <= profit(a) < profit(b) else (low, b)
    best = max(profit(low), profit(high), 0)
    # Rounding costs a few base units per step of the swap.
    steps = 2 + 2 * len(getattr(pool, "ticks", ())) + 60
    assert profit_x96 >> 96 <= best * 1.000001 + steps * (price_in + price_out)


@st.composite
def pool_sets(draw):
    pools = []
    for number in range(draw(st.integers(1, 9))):
        token0, token1 = sorted(draw(st.lists(st.sampled_from(TOKENS), min_size=2, max_size=2, unique=True)))
        name = f"0xpool{number}"
        one = st.one_of(v2_pools(token0, token1, name), concentrated_pools(token0, token1, name, reach=300))
        pools.append(draw(one))
    return pools


gas_prices = st.one_of(st.just(FREE), st.builds(GasPrice, st.integers(0, 10**6), st.integers(1, 10**6)))


def check_result(pools, token_in, token_out, amount, gas_price, max_hops, max_legs=25):
    path = best_path_exact_in(
        Graph(pools, WRAPPED), token_in, token_out, amount, UNISWAP_GAS, gas_price, max_hops
    )
    found = best_flow_exact_in(
        pools, WRAPPED, token_in, token_out, amount, UNISWAP_GAS, gas_price, max_hops, max_legs
    )
    if isinstance(found, NoPath):
        assert path == found
        return None
    flow, optimality = found.flow, found.optimality
    check_flow(flow, token_in, token_out, amount, max_hops, max_legs)
    assert isinstance(path, NoPath) or net(flow, gas_price) >= net(path, gas_price)
    assert flow.gas_cost == gas_price.cost(flow.gas_units)
    assert flow.gas_units == flow_gas(flow.legs, token_in, token_out, UNISWAP_GAS, WRAPPED)
    assert flow.amount_out <= optimality.bound
    assert optimality.bound == check_bound(pools, optimality.prices, token_in, token_out, amount, WRAPPED)
    missing = Fraction(optimality.bound - flow.amount_out, optimality.bound) * 10_000
    assert missing <= Fraction(optimality.gap_bps) <= missing + Fraction(1, 9_999)
    return found


@pytest.mark.slow
@settings(max_examples=300)
@given(pool_sets(), amounts, gas_prices, st.integers(1, 4), st.permutations(TOKENS))
def test_flows_over_random_pools(pools, amount, gas_price, hops, tokens):
    if node(tokens[0]) != node(tokens[1]):
        check_result(pools, tokens[0], tokens[1], amount, gas_price, hops)


def test_a_circle_of_pools_with_a_profit_that_overflows():
    pools = [
        V2Pool("0x0", "0xa", "0xb", 1, 1),
        V2Pool("0x1", "0xa", "0xc", 1, 1),
        V2Pool("0x2", "0xa", "0xc", 357_210_366_584_159_004_903, 1),
    ]
    check_result(pools, "0xa", "0xb", 1, FREE, 1)
    check_result(pools, "0xa", "0xb", 10**6, FREE, 4)


def test_a_token_whose_only_pool_is_empty_at_its_price():
    pools = [
        V2Pool("0x0", NATIVE, "0xd", 1, 1_033_157),
        ConcentratedPool("v3", "0x1", NATIVE, "0xa", 100, 1, 1 << 96, 0, 0, ((1, 1), (2, -1)), -3466, 3465),
    ]
    assert check_result(pools, "0xa", "0xd", 174, FREE, 2) is None


@pytest.mark.parametrize("seed", range(3))
def test_flows_over_generated_markets(seed):
    state = generate(60, 10, seed)
    rng = random.Random(seed)
    for _ in range(4):
        token_in, token_out = rng.sample(sorted(state.dollars), 2)
        amount = state.units(token_in, 10 ** rng.uniform(3, 6))
        dollars = Fraction(state.dollars[token_out])
        gas = Fraction(rng.choice((0, 3e-5))) / dollars
        gas_price = GasPrice(gas.numerator, gas.denominator)
        found = check_result(state.pools, token_in, token_out, amount, gas_price, 4, 40)
        assert found.optimality.arbitrage <= found.optimality.bound / 10**9
        assert found.optimality.families == ("v2", "v3", "v4")


@pytest.mark.slow
@settings(max_examples=100)
@given(st.integers(0, 10**6), st.lists(st.floats(-0.02, 0.02), min_size=10, max_size=10))
def test_any_prices_give_a_bound(seed, changes):
    """The flow found never exceeds the bound of prices that have nothing to do with it."""
    state = generate(60, 10, seed)
    token_in, token_out = random.Random(seed).sample(sorted(state.dollars), 2)
    amount = state.units(token_in, 1e5)
    found = best_flow_exact_in(state.pools, WRAPPED, token_in, token_out, amount, UNISWAP_GAS)
    changed = {
        token: int(price * (1 + change))
        for (token, price), change in zip(found.optimality.prices.items(), changes, strict=True)
    }
    bound = check_bound(state.pools, changed, token_in, token_out, amount, WRAPPED)
    assert found.flow.amount_out <= bound
    # The prices that were found are the best: no others prove more, but for the last digits.
    assert found.optimality.bound <= bound * (1 + 1e-8) + 1


def check_small_case(seed, count=6):
    directed, amount, gas_price = small_case(seed, count)

    def score(hops):
        flow = make_flow(hops, "0xa", "0xb", amount, UNISWAP_GAS, gas_price, None)
        assert flow.amount_out <= found.optimality.bound
        return net(flow, gas_price)

    pools = [pool for pool, _ in directed]
    found = best_flow_exact_in(pools, None, "0xa", "0xb", amount, UNISWAP_GAS, gas_price)
    best = best_by_trying(directed, "0xa", "0xb", amount, score)
    reached = net(found.flow, gas_price)
    assert reached >= best * (1 - Fraction(1, 20_000))
    # What the certificate claims of the net holds of the best that was found by trying.
    claimed = reached / (1 - Fraction(found.optimality.net_gap_bps) / 10_000)
    assert best <= claimed * (1 + Fraction(1, 10**12))


def test_a_small_case_is_within_half_a_basis_point_of_trying_everything():
    check_small_case(3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_small_cases_are_within_half_a_basis_point_of_trying_everything(seed):
    check_small_case(seed)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "count"), [(200, 7), (201, 8)])
def test_cases_of_up_to_eight_pools_are_within_half_a_basis_point_of_trying_everything(seed, count):
    check_small_case(seed, count)


def test_pools_of_a_few_base_units():
    dust = [V2Pool("0x1", "0xa", "0xb", 1, 1), V2Pool("0x2", "0xa", "0xb", 3, 10**6)]
    for pools in (dust[:1], dust[1:], dust):
        for amount in (1, 2, 10**6, 2**111):
            check_result(pools, "0xa", "0xb", amount, FREE, 2)


def test_a_node_whose_pools_onwards_are_used_up_keeps_nothing():
    """The trade is worth more than all liquidity from the third token on."""
    state = generate(170, 20, 1)
    amount = state.units("0x10003", 1e7)
    found = check_result(state.pools, "0x10003", "0x10005", amount, FREE, 3)
    path = best_path_exact_in(Graph(state.pools, WRAPPED), "0x10003", "0x10005", amount, UNISWAP_GAS, FREE, 3)
    assert found.flow.amount_out > 2 * path.amount_out


def test_two_pools_are_used_when_that_gives_more_and_one_when_gas_costs_more():
    pools = [V2Pool(f"0x{n}", "0xa", "0xb", 10**24, 10**24) for n in (1, 2)]
    split = best_flow_exact_in(pools, None, "0xa", "0xb", 10**22, UNISWAP_GAS)
    assert [leg.amount_in for leg in split.flow.legs] == pytest.approx([5 * 10**21] * 2, rel=1e-6)
    assert (split.optimality.method, split.optimality.pools) == ("split", 2)
    assert split.optimality.gap_bps < 0.01
    costly = best_flow_exact_in(pools, None, "0xa", "0xb", 10**22, UNISWAP_GAS, GasPrice(10**18 // 1000))
    assert (len(costly.flow.legs), costly.optimality.method) == (1, "single_path")


def test_arbitrage_is_told_and_not_subtracted():
    pools = [V2Pool("0x1", "0xa", "0xb", 10**24, 10**24), V2Pool("0x2", "0xa", "0xb", 10**24, 11 * 10**23)]
    found = best_flow_exact_in(pools, None, "0xa", "0xb", 10**20, UNISWAP_GAS)
    assert found.optimality.arbitrage > 10**20
    assert found.optimality.bound > found.flow.amount_out + found.optimality.arbitrage // 2


def test_pools_that_would_win_beyond_their_known_ticks_are_named():
    state = generate(60, 10, 5)
    narrow = []
    for pool in state.pools:
        if pool.kind == "v2":
            narrow.append(pool)
            continue
        word = word_of_tick(pool.tick, pool.tick_spacing)
        ticks = tuple(t for t in pool.ticks if word_of_tick(t[0], pool.tick_spacing) == word)
        narrow.append(replace(pool, ticks=ticks, word_lo=word, word_hi=word))
    arguments = WRAPPED, WRAPPED, "0x01", state.units(WRAPPED, 1e7), UNISWAP_GAS
    with pytest.raises(BandsExceeded) as caught:
        best_flow_exact_in(narrow, *arguments)
    named = caught.value.exceeded
    assert named
    assert all(any(error.pool is pool for pool in narrow) for error in named)
    check_flow(caught.value.settled.flow, WRAPPED, "0x01", arguments[3])
    # With the ticks of the named pools the trade is settled as with all ticks, after a few rounds.
    for _ in range(10):
        known = {error.pool.id for error in caught.value.exceeded}
        narrow = [full if full.id in known else pool for full, pool in zip(state.pools, narrow, strict=True)]
        try:
            settled = best_flow_exact_in(narrow, *arguments)
            break
        except BandsExceeded as error:
            caught.value.exceeded = error.exceeded
    assert settled.flow.amount_out == best_flow_exact_in(state.pools, *arguments).flow.amount_out


def test_a_deadline_that_has_passed_gives_a_flow_at_once():
    state = generate(60, 10, 1)
    amount = state.units(WRAPPED, 1e6)
    found = best_flow_exact_in(
        state.pools, WRAPPED, WRAPPED, "0x01", amount, UNISWAP_GAS, GasPrice(1, 10**6), deadline_s=0.0
    )
    check_flow(found.flow, WRAPPED, "0x01", amount)


def test_a_market_serves_many_trades_and_lends_its_curves(monkeypatch):
    state = generate(60, 10, 1)
    market = Market(state.pools, WRAPPED)
    amount = state.units(WRAPPED, 1e6)
    first = best_flow_exact_in(market, WRAPPED, WRAPPED, "0x01", amount, UNISWAP_GAS)
    again = best_flow_exact_in(state.pools, WRAPPED, WRAPPED, "0x01", amount, UNISWAP_GAS)
    assert first == again
    monkeypatch.delattr(V2Pool, "curve")
    monkeypatch.delattr(ConcentratedPool, "curve")
    following = Market(state.pools[1:], WRAPPED, previous=market)
    assert best_flow_exact_in(following, WRAPPED, WRAPPED, "0x01", amount, UNISWAP_GAS).flow.amount_out


def test_bad_requests():
    pools = [V2Pool("0x1", NATIVE, "0xb", 10**24, 10**24)]
    for arguments, message in (
        ((NATIVE, "0xb", 0), "positive"),
        ((NATIVE, WRAPPED, 1), "same token"),
        ((NATIVE, "0xb", 1, UNISWAP_GAS, FREE, 5), "max_hops"),
        ((NATIVE, "0xb", 1, UNISWAP_GAS, FREE, 3, 0), "max_legs"),
    ):
        request = arguments if len(arguments) > 3 else (*arguments, UNISWAP_GAS)
        with pytest.raises(ValueError, match=message):
            best_flow_exact_in(pools, WRAPPED, *request)
    assert best_flow_exact_in(pools, WRAPPED, NATIVE, "0xz", 1, UNISWAP_GAS) == NoPath("no_pool")
    assert best_flow_exact_in([], WRAPPED, NATIVE, "0xz", 1, UNISWAP_GAS) == NoPath("no_pool")
    with pytest.raises(ValueError, match="positive"):
        check_bound(pools, {WRAPPED: 1, "0xb": 0}, NATIVE, "0xb", 1, WRAPPED)
