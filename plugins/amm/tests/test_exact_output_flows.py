"""Parallel paths for an exact output: exact, within their limits, and never below the bound on the input."""

import random
from fractions import Fraction
from itertools import combinations, pairwise

import pytest
from flow_checks import WRAPPED
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
    best_path_exact_out,
)
from quoteway_amm.exact_output_paths import OutputPath, one_command_groups, paths_gas, rebalanced
from quoteway_amm.input_bound import check_input_bound, input_bound

pytest.importorskip("numpy")
from quoteway_amm.exact_output_flows import cheapest_exact_output
from quoteway_amm.flows import best_flow_exact_in
from quoteway_amm.market import Market

PATIENT_S = 60.0
WIDE = ((-887270, 10**17), (887270, -(10**17)))
COIN_POOL = ConcentratedPool("v4", "0xp2", NATIVE, "0x01", 500, 10, 1 << 92, -55452, 10**17, WIDE, -347, 346)


@pytest.fixture(scope="module")
def state():
    return generate(60, 8, seed=3)


@pytest.fixture(scope="module")
def market(state):
    return Market(state.pools, WRAPPED)


def found(market, sold, bought, amount, **members):
    return cheapest_exact_output(
        market, WRAPPED, sold, bought, amount, UNISWAP_GAS, deadline_s=PATIENT_S, **members
    )


def parts_of(flow):
    """The paths of a flow: each begins at its input."""
    parts = []
    for leg in flow.legs:
        if leg.token_in in (flow.token_in, NATIVE if flow.token_in == WRAPPED else None) or not parts:
            parts.append([])
        parts[-1].append(leg)
    return parts


def check(flow, amount_out, max_hops=3, max_legs=25):
    assert len({id(leg.pool) for leg in flow.legs}) == len(flow.legs) <= max_legs
    total_in = total_out = 0
    for part in parts_of(flow):
        assert len(part) <= max_hops
        assert len({leg.pool.kind for leg in part}) == 1
        assert not {NATIVE, WRAPPED} <= {token for leg in part for token in (leg.token_in, leg.token_out)}
        for before, after in pairwise(part):
            assert (before.token_out, before.amount_out) == (after.token_in, after.amount_in)
        for leg in part:
            assert leg.pool.exact_out(leg.zero_for_one, leg.amount_out) == (leg.amount_in, leg.ticks_crossed)
        total_in += part[0].amount_in
        total_out += part[-1].amount_out
    assert (total_in, total_out) == (flow.amount_in, amount_out) == (flow.amount_in, flow.amount_out)


def cheapest_path(market, sold, bought, amount, gas_price=FREE):
    """The least input with gas of a single path that one command can take."""
    paths = []
    for group in one_command_groups(market.pools, WRAPPED):
        path = best_path_exact_out(Graph(group, WRAPPED), sold, bought, amount, UNISWAP_GAS, gas_price)
        if not isinstance(path, NoPath):
            paths.append(path)
    return min(paths, key=lambda path: path.amount_in + path.gas_cost, default=None)


@pytest.mark.parametrize("dollars", [1, 10**4, 10**6, 10**7])
def test_it_takes_no_more_than_one_path_and_no_less_than_the_bound(state, market, dollars):
    chance, split = random.Random(dollars), 0
    for _ in range(6):
        sold, bought = chance.sample(sorted(state.dollars), 2)
        amount = state.units(bought, dollars)
        result = found(market, sold, bought, amount)
        if isinstance(result, NoPath):
            assert cheapest_path(market, sold, bought, amount) is None
            continue
        check(result.flow, amount)
        path, told = cheapest_path(market, sold, bought, amount), result.optimality
        assert path is None or result.flow.amount_in <= path.amount_in
        assert 0 < told.bound <= result.flow.amount_in
        assert told.net_bound <= result.flow.amount_in + result.flow.gas_cost
        proven = check_input_bound(state.pools, told.prices, sold, bought, amount, WRAPPED)
        assert proven == told.bound
        split += len(parts_of(result.flow)) > 1
    assert split or dollars < 10**6


def test_it_is_near_the_bound_and_what_joins_is_hardly_cheaper(state, market):
    gaps, dearer = [], []
    for sold, bought in combinations([WRAPPED, "0x01", "0x02", "0x03"], 2):
        amount = state.units(bought, 10**5)
        result = found(market, sold, bought, amount)
        taken, bound = result.flow.amount_in, result.optimality.bound
        gaps.append((taken - bound) / taken * 10_000)
        joined = best_flow_exact_in(
            market, WRAPPED, sold, bought, taken, UNISWAP_GAS, deadline_s=PATIENT_S
        ).flow.amount_out
        dearer.append((joined - amount) / amount * 10_000)
    assert max(gaps) < 5
    assert max(dearer) < 5


def test_gas_takes_paths_away_again(state, market):
    amount = state.units("0x01", 10**6)
    free = found(market, WRAPPED, "0x01", amount)
    legs = len(free.flow.legs)
    for dollars_a_hop in (1, 100, 10**5):
        price = GasPrice(state.units(WRAPPED, dollars_a_hop), 60_000)
        result = found(market, WRAPPED, "0x01", amount, gas_price=price)
        check(result.flow, amount)
        assert len(result.flow.legs) <= legs
        legs = len(result.flow.legs)
        path = cheapest_path(market, WRAPPED, "0x01", amount, price)
        assert result.flow.amount_in + result.flow.gas_cost <= path.amount_in + path.gas_cost
        assert result.optimality.net_bound <= result.flow.amount_in + result.flow.gas_cost
    assert legs == 1 < len(free.flow.legs)


@pytest.mark.parametrize(("max_hops", "max_legs"), [(1, 25), (2, 25), (3, 1), (3, 2), (3, 5)])
def test_limits_are_kept(state, market, max_hops, max_legs):
    amount = state.units("0x01", 10**6)
    result = found(market, WRAPPED, "0x01", amount, max_hops=max_hops, max_legs=max_legs)
    check(result.flow, amount, max_hops, max_legs)


def test_both_forms_of_the_coin_are_bought_and_never_mixed_in_a_path():
    pools = [
        V2Pool("0xp1", "0x01", WRAPPED, 3 * 10**12, 10**21),
        COIN_POOL,
    ]  # fmt: skip
    amount = 2 * 10**20
    result = found(Market(pools, WRAPPED), "0x01", NATIVE, amount)
    check(result.flow, amount)


def test_more_than_any_path_has_is_bought_from_several_and_more_than_all_have_from_none():
    pools = [V2Pool(f"0xp{n}", "0xa", "0xb", 10**20, 10**20) for n in range(4)]
    amount = 2 * 10**20
    assert cheapest_path(Market(pools, WRAPPED), "0xa", "0xb", amount) is None
    result = found(Market(pools, WRAPPED), "0xa", "0xb", amount)
    check(result.flow, amount)
    assert len(result.flow.legs) == 4
    assert found(Market(pools, WRAPPED), "0xa", "0xb", 4 * 10**20) == NoPath("insufficient_liquidity")
    assert found(Market(pools, WRAPPED), "0xa", "0xc", 1) == NoPath("no_pool")
    with pytest.raises(ValueError, match="must be positive"):
        found(Market(pools, WRAPPED), "0xa", "0xb", 0)
    with pytest.raises(ValueError, match="same token"):
        found(Market(pools, WRAPPED), WRAPPED, NATIVE, 1)


def test_equal_pools_share_an_output_equally_to_the_unit():
    pools = [V2Pool(f"0xp{n}", "0xa", "0xb", 10**24, 10**24) for n in range(3)]
    amount = 3 * 10**22 + 1
    result = found(Market(pools, WRAPPED), "0xa", "0xb", amount)
    bought = [leg.amount_out for leg in result.flow.legs]
    assert sum(bought) == amount
    # A difference below the square root of the reserves costs less than a unit.
    assert max(bought) - min(bought) < 4 * 10**12
    assert result.flow.amount_in - result.optimality.bound <= amount // 10**8


def test_no_choice_of_amounts_takes_less_than_the_bound():
    """The bound against every pair of shares of small pools, at good and at bad prices."""
    chance = random.Random(11)
    for _ in range(40):
        pools = [
            V2Pool(f"0xp{n}", "0xa", "0xb", chance.randrange(10**3, 10**6), chance.randrange(10**3, 10**6))
            for n in range(2)
        ]
        amount = max(sum(pool.reserve1 for pool in pools) // chance.randrange(3, 50), 2)
        least = None
        for first in range(0, amount + 1, max(amount // 300, 1)):
            taken = [
                pool.exact_out(True, share) if share else (0, 0)
                for pool, share in zip(pools, (first, amount - first), strict=True)
            ]
            if None not in taken:
                total = sum(each[0] for each in taken)
                least = total if least is None else min(least, total)
        result = found(Market(pools, WRAPPED), "0xa", "0xb", amount)
        if least is not None:
            assert result.optimality.bound <= least
        for _ in range(20):
            prices = {"0xa": chance.randrange(1, 2**40), "0xb": chance.randrange(1, 2**40)}
            assert check_input_bound(pools, prices, "0xa", "0xb", amount) <= result.flow.amount_in


def test_prices_that_prove_nothing_are_refused():
    for prices in ({"0xa": 0, "0xb": 1}, {"0xa": -1, "0xb": 1}, {"0xa": 1, "0xb": -1}):
        with pytest.raises(ValueError, match="must be positive"):
            input_bound((), prices, "0xa", "0xb", 1)
    assert input_bound((), {"0xa": 2, "0xb": 1}, "0xa", "0xb", 3) == Fraction(3, 2)


def test_ticks_that_the_bound_needs_are_asked_for():
    known = ConcentratedPool(
        "v3", "0xp1", "0xa", "0xb", 500, 10, 1 << 96, 0, 10**18, (), 0, 0
    )  # fmt: skip
    pools = [known, V2Pool("0xp2", "0xa", "0xb", 10**20, 10**20)]
    with pytest.raises(BandsExceeded) as raised:
        found(Market(pools, WRAPPED), "0xa", "0xb", 10**18)
    assert [each.pool for each in raised.value.exceeded] == [known]
    check(raised.value.settled.flow, 10**18)


def test_after_the_deadline_there_is_still_an_answer(state, market):
    amount = state.units("0x01", 10**6)
    result = cheapest_exact_output(market, WRAPPED, WRAPPED, "0x01", amount, UNISWAP_GAS, deadline_s=0)
    check(result.flow, amount)
    assert result.optimality.bound <= result.flow.amount_in


def test_moving_amounts_never_takes_more_and_keeps_the_sum(state, market):
    chance = random.Random(5)
    paths = [OutputPath.of((edge,)) for edge in Graph(state.pools, WRAPPED).edges(WRAPPED, "0x01")][:5]
    for _ in range(20):
        whole = state.units("0x01", 10 ** chance.uniform(0, 6))
        shares = sorted(chance.randrange(whole + 1) for _ in paths[1:])
        amounts = [after - before for before, after in zip([0, *shares], [*shares, whole], strict=True)]
        costs = [path.amount_in(amount) if amount else 0 for path, amount in zip(paths, amounts, strict=True)]
        if None in costs:
            continue
        moved = rebalanced(paths, amounts, 1)
        assert sum(moved) == whole
        after = [path.amount_in(amount) if amount else 0 for path, amount in zip(paths, moved, strict=True)]
        assert sum(after) <= sum(costs)


def test_paths_of_one_family_share_a_section_and_forms_are_converted_once():
    pairs = [V2Pool(f"0xp{n}", "0x01", WRAPPED, 3 * 10**12, 10**21) for n in (3, 4)]
    coin = OutputPath.of(Graph([COIN_POOL], WRAPPED).edges("0x01", WRAPPED)).hops(10**15)
    wrapped = [OutputPath.of(Graph([pair], WRAPPED).edges("0x01", WRAPPED)).hops(10**15) for pair in pairs]
    model = UNISWAP_GAS
    once = model.transaction + model.pull
    v2 = model.hops["v2"].section + 2 * model.hops["v2"].hop
    assert paths_gas(wrapped, "0x01", WRAPPED, model) == once + v2
    assert paths_gas(wrapped, "0x01", NATIVE, model) == once + v2 + model.unwrap
    all_three = paths_gas([*wrapped, coin], "0x01", WRAPPED, model)
    assert all_three == once + v2 + model.hops["v4"].section + model.hops["v4"].hop + model.wrap
