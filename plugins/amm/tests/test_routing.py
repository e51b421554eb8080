"""The search against trying every path, and the reasons when there is no path."""

from dataclasses import replace
from fractions import Fraction

import pytest
import quoteway_amm.routing as routing
from hypothesis import given, settings
from hypothesis import strategies as st
from quoteway_amm import (
    FREE,
    NATIVE,
    UNISWAP_GAS,
    BandsExceeded,
    GasPrice,
    Graph,
    NoPath,
    V2Pool,
    best_path_exact_in,
    best_path_exact_out,
    native_price,
    word_of_tick,
)
from random_pools import amounts, concentrated_pools, v2_pools

WRAPPED = "0xw"
TOKENS = ["0xa", "0xb", "0xc", NATIVE, WRAPPED]


@st.composite
def pool_sets(draw):
    pools = []
    for number in range(draw(st.integers(1, 9))):
        token0, token1 = sorted(draw(st.lists(st.sampled_from(TOKENS), min_size=2, max_size=2, unique=True)))
        name = f"0xpool{number}"
        pools.append(
            draw(
                st.one_of(v2_pools(token0, token1, name), concentrated_pools(token0, token1, name, reach=300))
            )
        )
    return pools


gas_prices = st.builds(GasPrice, st.integers(0, 10**6), st.integers(1, 10**6))


def node(token):
    return WRAPPED if token == NATIVE else token


def walks(pools, here, end, hops):
    """Yields every sequence of (pool, direction) over distinct tokens."""

    def extend(token, seen, trail):
        if trail and node(token) == node(end):
            yield trail
            return
        if len(trail) == hops:
            return
        for pool in pools:
            for zero_for_one in (True, False):
                source, target = (pool.token0, pool.token1) if zero_for_one else (pool.token1, pool.token0)
                if node(source) == node(token) and node(target) not in seen:
                    yield from extend(target, seen | {node(target)}, [*trail, (pool, zero_for_one)])

    yield from extend(here, {node(here)}, [])


def gas_of(trail, crossed, token_in, token_out):
    units, last_kind, held = UNISWAP_GAS.transaction, None, token_in
    if token_in != NATIVE:
        units += UNISWAP_GAS.pull
    for (pool, zero_for_one), ticks in zip(trail, crossed, strict=True):
        source, target = (pool.token0, pool.token1) if zero_for_one else (pool.token1, pool.token0)
        costs = UNISWAP_GAS.hops[pool.kind]
        units += costs.hop + costs.tick * ticks + (costs.section if pool.kind != last_kind else 0)
        if held != source:
            units += UNISWAP_GAS.wrap if held == NATIVE else UNISWAP_GAS.unwrap
        last_kind, held = pool.kind, target
    if held != token_out:
        units += UNISWAP_GAS.wrap if held == NATIVE else UNISWAP_GAS.unwrap
    return units


def net_amounts(pools, token_in, token_out, amount, gas_price, hops, forward):
    """Yields the amount net of gas of every path."""
    for trail in walks(pools, token_in, token_out, hops):
        quoted, crossed = amount, []
        for pool, zero_for_one in trail if forward else reversed(trail):
            quote = pool.exact_in if forward else pool.exact_out
            answer = quote(zero_for_one, quoted) if pool.has_liquidity else None
            if answer is None or answer[0] == 0:
                break
            quoted, ticks = answer
            crossed.append(ticks)
        else:
            gas = gas_price * gas_of(trail, crossed if forward else crossed[::-1], token_in, token_out)
            yield quoted - gas if forward else quoted + gas


def check_hops(path, token_in, token_out):
    assert node(path.hops[0].token_in) == node(token_in)
    assert node(path.hops[-1].token_out) == node(token_out)
    for before, after in zip(path.hops, path.hops[1:], strict=False):
        assert before.amount_out == after.amount_in
        assert node(before.token_out) == node(after.token_in)
    assert (path.hops[0].amount_in, path.hops[-1].amount_out) == (path.amount_in, path.amount_out)


@pytest.mark.parametrize("forward", [True, False], ids=["exact_in", "exact_out"])
@pytest.mark.slow
@settings(max_examples=500)
@given(pool_sets(), amounts, gas_prices, st.integers(1, 3), st.permutations(TOKENS))
def test_the_search_equals_trying_every_path(forward, pools, amount, gas_price, hops, tokens):
    token_in, token_out = tokens[:2]
    if node(token_in) == node(token_out):
        return
    price = Fraction(gas_price.numerator, gas_price.denominator)
    nets = list(net_amounts(pools, token_in, token_out, amount, price, hops, forward))
    search = best_path_exact_in if forward else best_path_exact_out
    path = search(Graph(pools, WRAPPED), token_in, token_out, amount, UNISWAP_GAS, gas_price, hops)
    if not nets:
        assert isinstance(path, NoPath)
        return
    gas = price * path.gas_units
    assert path.gas_cost == gas_price.cost(path.gas_units)
    check_hops(path, token_in, token_out)
    if forward:
        assert (path.amount_in, path.amount_out - gas) == (amount, max(nets))
    else:
        assert (path.amount_out, path.amount_in + gas) == (amount, min(nets))
    for hop in path.hops:
        amount_in, amount_out, crossed = hop.amount_in, hop.amount_out, hop.ticks_crossed
        if forward:
            assert hop.pool.exact_in(hop.zero_for_one, amount_in) == (amount_out, crossed)
        else:
            assert hop.pool.exact_out(hop.zero_for_one, amount_out) == (amount_in, crossed)


@st.composite
def narrowed_sets(draw):
    """Returns pools with all ticks, and the same pools of which some know only the word of their price."""
    full, narrow = draw(pool_sets()), []
    for pool in full:
        if pool.kind == "v2" or draw(st.booleans()):
            narrow.append(pool)
            continue
        word = word_of_tick(pool.tick, pool.tick_spacing)
        ticks = tuple(t for t in pool.ticks if word_of_tick(t[0], pool.tick_spacing) == word)
        narrow.append(replace(pool, ticks=ticks, word_lo=word, word_hi=word))
    return full, narrow


@pytest.mark.slow
@settings(max_examples=400)
@given(narrowed_sets(), amounts, gas_prices)
def test_the_best_path_over_partly_known_pools_is_the_best_of_all(sets, amount, gas_price):
    full, narrow = (Graph(pools, WRAPPED) for pools in sets)
    for search, sign in ((best_path_exact_in, 1), (best_path_exact_out, -1)):
        arguments = "0xa", "0xb", amount, UNISWAP_GAS, gas_price
        truth = search(full, *arguments)
        try:
            found = search(narrow, *arguments)
        except BandsExceeded as error:
            named = [one.pool for one in error.exceeded]
        else:
            named = None
        if named is not None:
            assert named
            assert all(any(pool is known for known in sets[1]) for pool in named)
            continue
        if isinstance(truth, NoPath):
            assert isinstance(found, NoPath)
            continue
        price = Fraction(gas_price.numerator, gas_price.denominator)
        net = [(p.amount_out if sign > 0 else -p.amount_in) - price * p.gas_units for p in (truth, found)]
        assert net[0] == net[1]


@settings(max_examples=12)
@given(pool_sets(), st.lists(st.booleans(), min_size=9, max_size=9), st.booleans())
def test_a_graph_with_replaced_pools_is_that_of_the_new_pools(pools, chosen, emptied):
    changes = {"reserve0": 0} if emptied else {"reserve0": 77, "reserve1": 99}
    new = {
        pool.id: replace(pool, **changes) if isinstance(pool, V2Pool) else replace(pool, liquidity=5)
        for pool, change in zip(pools, chosen, strict=False)
        if change
    }
    before = Graph(pools, WRAPPED)
    after = before.replaced(new)
    made = Graph([new.get(pool.id, pool) for pool in pools], WRAPPED)
    # Edges have bound methods, which are equal for the same pool object only.
    assert (after.pools, after._links) == (made.pools, made._links)
    assert after._edges == made._edges
    assert before.pools == tuple(pools)
    assert before._edges == Graph(pools, WRAPPED)._edges


def pair(name, token0, token1, reserve0=10**24, reserve1=10**24):
    return V2Pool(name, token0, token1, reserve0, reserve1)


def test_reasons():
    def reason(pools, amount=10**6, search=best_path_exact_in):
        return search(Graph(pools), "0xa", "0xc", amount, UNISWAP_GAS, FREE, 2).reason

    assert reason([pair("p", "0xa", "0xb")]) == "no_pool"
    assert reason([pair("p", "0xa", "0xb"), pair("q", "0xb", "0xc", 0, 0)]) == "no_liquidity"
    assert reason([pair("p", "0xa", "0xc", 10**24, 10**6)]) == "amount_too_low"
    assert reason([pair("p", "0xa", "0xc")], 2**112) == "insufficient_liquidity"
    assert reason([pair("p", "0xa", "0xc")], 10**24, best_path_exact_out) == "insufficient_liquidity"
    long_way = [pair("p", "0xa", "0xb"), pair("q", "0xb", "0xd"), pair("r", "0xc", "0xd")]
    assert reason(long_way) == "no_pool"


def test_gas_that_exceeds_the_output_is_a_warning_only():
    graph = Graph([pair("p", "0xa", "0xc")])
    path = best_path_exact_in(graph, "0xa", "0xc", 1000, UNISWAP_GAS, GasPrice(1))
    assert path.warnings == ("gas_exceeds_output",)
    assert (path.amount_out, path.gas_units, path.gas_cost) == (996, 106_000, 106_000)
    assert best_path_exact_in(graph, "0xa", "0xc", 10**18, UNISWAP_GAS, GasPrice(1)).warnings == ()


def test_gas_decides_between_one_hop_and_two():
    pools = [
        pair("direct", "0xa", "0xc", 10**24, 99 * 10**22),
        pair("first", "0xa", "0xb", 10**24, 101 * 10**22),
        pair("second", "0xb", "0xc", 10**24, 101 * 10**22),
    ]
    arguments = Graph(pools), "0xa", "0xc", 10**18, UNISWAP_GAS
    assert [hop.pool.id for hop in best_path_exact_in(*arguments).hops] == ["first", "second"]
    assert [hop.pool.id for hop in best_path_exact_in(*arguments, GasPrice(10**12)).hops] == ["direct"]


def test_native_and_wrapped_coin_are_one_node():
    pools = [pair("native", NATIVE, "0xa"), pair("wrapped", "0xb", WRAPPED)]
    path = best_path_exact_in(Graph(pools, WRAPPED), "0xa", "0xb", 10**9, UNISWAP_GAS)
    assert [(hop.token_in, hop.token_out) for hop in path.hops] == [("0xa", NATIVE), (WRAPPED, "0xb")]
    gas = UNISWAP_GAS
    assert path.gas_units == gas.transaction + gas.pull + 10_000 + 2 * 54_000 + gas.wrap
    unjoined = best_path_exact_in(Graph(pools), "0xa", "0xb", 10**9, UNISWAP_GAS)
    assert unjoined == NoPath("no_pool")


def test_price_impact():
    path = best_path_exact_in(
        Graph([pair("p", "0xa", "0xb", 10**9, 2 * 10**9)]), "0xa", "0xb", 10**7, UNISWAP_GAS
    )
    # 0.3 % fee, then a trade of 0.997 % of the reserve: 1 - 0.997 / 1.00997 = 1.284 %.
    assert path.price_impact_bps == 128
    assert path.mid_price == (2 * 10**9, 10**9)


def test_a_bad_request_raises_an_error():
    graph = Graph([pair("p", NATIVE, WRAPPED)], WRAPPED)
    with pytest.raises(ValueError, match="same token"):
        best_path_exact_in(graph, NATIVE, WRAPPED, 1, UNISWAP_GAS)
    with pytest.raises(ValueError, match="positive"):
        best_path_exact_in(graph, NATIVE, "0xa", 0, UNISWAP_GAS)


def test_native_price_ignores_a_shallow_pool():
    deep = pair("deep", "0xusd", WRAPPED, 3000 * 10**12, 10**24)
    dust = pair("dust", "0xusd", WRAPPED, 10**9, 10**12)
    graph = Graph([deep, dust], WRAPPED)
    numerator, denominator = native_price(graph, "0xusd", 10**18)
    assert Fraction(numerator, denominator) == Fraction(deep.exact_in(False, 10**18)[0], 10**18)
    assert native_price(graph, NATIVE, 10**18) == (1, 1)
    assert native_price(graph, "0xelsewhere", 10**18) is None
    price = GasPrice.from_native(10**10, (numerator, denominator))
    assert price.cost(100_000) == -(-numerator * 10**15 // denominator)


def test_native_price_is_searched_for_once_in_a_graph(monkeypatch):
    searched = []

    def search(*arguments):
        searched.append(arguments)
        return best_path_exact_in(*arguments)

    monkeypatch.setattr(routing, "best_path_exact_in", search)
    deep = pair("deep", "0xusd", WRAPPED, 3000 * 10**12, 10**24)
    graph = Graph([deep], WRAPPED)
    price = native_price(graph, "0xusd", 10**18)
    assert native_price(graph, "0xusd", 10**18) == price
    assert len(searched) == 1
    assert native_price(graph, "0xusd", 10**17) != price
    assert native_price(graph, "0xusd", 10**18, max_hops=1) == price
    assert len(searched) == 3
    changed = graph.replaced({"deep": replace(deep, reserve0=6000 * 10**12)})
    assert native_price(changed, "0xusd", 10**18)[0] == pytest.approx(2 * price[0], rel=1e-3)
    for _ in range(2):  # a token without a price costs no memory, as anybody may ask for any token
        assert native_price(graph, "0xelsewhere", 10**18) is None
    assert len(searched) == 6
