"""Pools with more than two tokens in paths and flows: one pair of a pool at most."""

import itertools
import random
from dataclasses import replace

import pytest
from flow_checks import WRAPPED, best_by_trying, check_flow
from quoteway_amm import (
    FREE,
    UNISWAP_GAS,
    Graph,
    HopGas,
    NoPath,
    V2Pool,
    best_path_exact_in,
    best_path_exact_out,
)
from quoteway_amm.bound import check_bound
from quoteway_amm.solidly import SolidlyPool
from quoteway_amm.stable_swap import THREE_POOL, StableSwapPool
from quoteway_amm.token_pair import TokenPair
from quoteway_amm.weighted import WeightedPool

ONE = 10**18
TOKENS = ("0xa", "0xb", "0xc")
KINDS = ("curve-stableswap", "balancer-v2-weighted", "solidly")
MODEL = replace(UNISWAP_GAS, hops={**UNISWAP_GAS.hops, **dict.fromkeys(KINDS, HopGas(10_000, 90_000))})


def pairs_of(pool):
    return [TokenPair(pool, i, j) for i, j in itertools.combinations(range(len(pool.tokens)), 2)]


def three(name, balances=(10**24, 10**24, 10**24)):
    return StableSwapPool(name, TOKENS, balances, (ONE, ONE, ONE), 200, 4 * 10**6, THREE_POOL)


@pytest.mark.parametrize("search", [best_path_exact_in, best_path_exact_out])
def test_no_path_has_two_pairs_of_a_pool(search):
    first, direct, second = pairs_of(three("0x3"))
    assert isinstance(search(Graph([first, second]), "0xa", "0xc", ONE, MODEL, FREE), NoPath)
    path = search(Graph([first, direct, second]), "0xa", "0xc", ONE, MODEL, FREE)
    assert [hop.pool for hop in path.hops] == [direct]
    other = replace(three("0x4"), fee=0)
    path = search(Graph([first, second, *pairs_of(other)[2:]]), "0xa", "0xc", ONE, MODEL, FREE)
    assert [hop.pool.id for hop in path.hops] == ["0x3", "0x4"]


def market(rng):
    """Returns pools of three tokens of equal worth, some of all three, at prices that differ by a few bps."""
    pools = []
    for name in ("0x3", "0x4"):
        balances = [int(10**24 * rng.uniform(0.9, 1.1)) for _ in TOKENS]
        pools += pairs_of(three(name, tuple(balances)))
    weights = (ONE // 2, ONE // 4, ONE // 4)
    balances = tuple(int(weight / ONE * 10**24 * rng.uniform(0.999, 1.001)) for weight in weights)
    pools += pairs_of(WeightedPool("0x5", TOKENS, balances, (ONE,) * 3, 10**15, weights))
    for at, (a, b) in enumerate(itertools.combinations(TOKENS, 2)):
        reserves = [int(10**23 * rng.uniform(0.999, 1.001)) for _ in range(2)]
        pools.append(V2Pool(f"0x1{at}", a, b, *reserves))
        pools.append(SolidlyPool(f"0x2{at}", a, b, *reserves, ONE, ONE, at % 2 == 0, 5))
    return pools


@pytest.mark.parametrize("seed", range(6))
def test_no_flow_has_two_pairs_of_a_pool(seed):
    flows = pytest.importorskip("quoteway_amm.flows", reason="needs numpy")
    rng = random.Random(seed)
    pools = market(rng)
    for size in (10**20, 10**23, 10**24):
        found = flows.best_flow_exact_in(pools, WRAPPED, "0xa", "0xb", size, MODEL)
        check_flow(found.flow, "0xa", "0xb", size)
        path = best_path_exact_in(Graph(pools, WRAPPED), "0xa", "0xb", size, MODEL, FREE)
        assert found.flow.amount_out >= path.amount_out
        certificate = found.optimality
        assert check_bound(pools, certificate.prices, "0xa", "0xb", size, WRAPPED) == certificate.bound
        assert found.flow.amount_out <= certificate.bound
        assert len({leg.pool.kind for leg in found.flow.legs}) > 1 or size < 10**24


def test_no_choice_of_one_pair_per_pool_exceeds_the_bound():
    flows = pytest.importorskip("quoteway_amm.flows", reason="needs numpy")
    pools = market(random.Random(9))[:6]
    amount = 3 * 10**23
    directed = [(pool, pool.token0 != "0xb") for pool in pools]

    def score(hops):
        if len({hop.pool.id for hop in hops}) < len(hops):
            return None
        return sum(hop.amount_out for hop in hops if hop.token_out == "0xb")

    best = 0
    for choice in itertools.product(directed[:3], directed[3:]):
        best = max(best, best_by_trying(choice, "0xa", "0xb", amount, score) or 0)
    found = flows.best_flow_exact_in(pools, WRAPPED, "0xa", "0xb", amount, MODEL)
    assert best <= found.optimality.bound
    assert found.flow.amount_out >= best * (1 - 1e-5)


def best_by_every_path(pools, token_in, token_out, amount, hops):
    """Returns the greatest output of any path with distinct tokens and distinct pool ids."""
    best = 0

    def walk(token, held, seen, used):
        nonlocal best
        for pool in pools if len(used) < hops else ():
            for zero_for_one, sold, bought in (
                (True, pool.token0, pool.token1),
                (False, pool.token1, pool.token0),
            ):
                if sold != token or bought in seen or pool.id in used:
                    continue
                given = pool.exact_in(zero_for_one, held)
                if given is None or not given[0]:
                    continue
                if bought == token_out:
                    best = max(best, given[0])
                else:
                    walk(bought, given[0], seen | {bought}, used | {pool.id})

    walk(token_in, amount, {token_in}, frozenset())
    return best


@pytest.mark.parametrize("seed", range(4))
def test_the_best_path_is_that_of_trying_every_path(seed):
    rng = random.Random(seed)
    tokens = ("0xa", "0xb", "0xc", "0xd")
    pools = []
    for name in ("0x3", "0x4", "0x5"):
        balances = tuple(int(10**22 * rng.uniform(0.2, 5)) for _ in tokens)
        pool = StableSwapPool(name, tokens, balances, (ONE,) * 4, 50, rng.choice([0, 10**7]), THREE_POOL)
        pools += [pair for pair in pairs_of(pool) if rng.random() < 0.6]
    graph = Graph(pools)
    for amount in (10**18, 10**21, 5 * 10**22):
        path = best_path_exact_in(graph, "0xa", "0xd", amount, MODEL, FREE, 3)
        found = 0 if isinstance(path, NoPath) else path.amount_out
        assert found == best_by_every_path(pools, "0xa", "0xd", amount, 3)
