"""Swaps over several paths of the Vault in one transaction."""

import pytest
from balancer_venue import PROVIDER, RECIPIENT, body_of, executed, serve_with_solver
from quoteway_amm import GasModel, GasPrice, Graph, HopGas, best_path_exact_in
from quoteway_amm.flow import flow_of_path
from quoteway_amm.token_pair import TokenPair
from quoteway_amm.weighted import WeightedPool
from quoteway_router.separate_paths import separate_paths

ONE = 10**18


@pytest.fixture
async def api(venue, monkeypatch):
    async with serve_with_solver(venue, monkeypatch) as api:
        yield api


@pytest.mark.slow
async def test_a_split_over_separate_paths_pays_what_it_says(api, venue):
    for sold, bought in (("MKR", "USDC"), ("USDC", "MKR"), ("MKR", "ETH"), ("ETH", "MKR"), ("WETH", "DAI")):
        amount = venue.amount(sold, 120_000)
        done = await executed(api, venue, body_of(venue, sold, bought, amount, toAddress=RECIPIENT))
        assert done.quote["provider"] == PROVIDER
        assert done.received == done.quoted > 0
        assert done.spent == amount
        assert len(done.quote["route"]["paths"]) > 1, (sold, bought)
        told = done.quote["optimality"]
        # The bound is over all pools, also those that the paths had to leave out.
        assert told["method"] == "split"
        assert int(told["bound"]) >= done.quoted
        assert abs(done.gas_told / done.gas_used - 1) < 0.15, (done.hops, done.gas_told, done.gas_used)


def pool(name, *tokens, depth=10**24):
    count = len(tokens)
    weights = (ONE // count,) * (count - 1) + (ONE - ONE // count * (count - 1),)
    return WeightedPool(name, tokens, (depth,) * count, (ONE,) * count, 10**15, weights)


def separate(pools, amount=10**21, hops=3):
    graph = Graph([TokenPair(each, i, j) for each in pools for i, j in pairs(each)])
    gas = GasModel(0, pull=0, wrap=0, unwrap=0, hops={WeightedPool.kind: HopGas(section=0, hop=0)})
    path = flow_of_path(best_path_exact_in(graph, "A", "Z", amount, gas, GasPrice(0), hops))
    kept = separate_paths(graph, path, hops, gas, GasPrice(0))
    return {(each.id, each.token0, each.token1) for each in kept.pools}


def pairs(of):
    count = len(of.tokens)
    return [(i, j) for i in range(count) for j in range(i + 1, count)]


def test_paths_that_would_join_are_left_out():
    direct = [pool("direct", "A", "Z"), pool("other", "A", "Z", depth=10**22)]
    through_b = [pool("ab", "A", "B"), pool("ab2", "A", "B", depth=10**22), pool("bz", "B", "Z")]
    through_c = [pool("ac", "A", "C"), pool("cz", "C", "Z"), pool("bc", "B", "C")]
    kept = {name for name, *_ in separate([*direct, *through_b, *through_c])}
    assert kept == {"direct", "other", "ab", "bz", "ac", "cz"}


def test_a_pool_of_several_tokens_is_on_one_path():
    kept = separate([pool("three", "A", "B", "Z"), pool("ab", "A", "B"), pool("bz", "B", "Z")])
    assert kept == {("three", "A", "Z"), ("ab", "A", "B"), ("bz", "B", "Z")}
