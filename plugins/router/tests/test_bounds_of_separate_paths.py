"""Flows of executors that cannot split, or whose paths cannot join: their bound is over all pools."""

from fractions import Fraction

import pytest
from quoteway import Block
from quoteway_amm import FREE, UNISWAP_GAS, ConcentratedPool, GasPrice, Graph, V2Pool, sqrt_ratio_at_tick
from quoteway_amm.bound import check_bound
from quoteway_router.output_bounds import bound_over
from quoteway_router.searching import Search, best_flow
from quoteway_router.splitting import Splitting

BLOCK = Block(7, "0x" + "cd" * 32, 1_800_000_000)
DEEP = 10**24
AMOUNT = 10**22


def pool(name, *tokens, depth=DEEP):
    return V2Pool(name, *tokens, depth, depth)


APART = [
    pool("0x1", "A", "Z"),
    pool("0x2", "A", "Z", depth=DEEP // 9),
    pool("0x3", "A", "B"),
    pool("0x4", "B", "Z"),
]
JOINING = [*APART, pool("0x5", "A", "B", depth=DEEP // 9)]
UNUSED = [*APART, pool("0x5", "B", "C")]


@pytest.fixture
async def splitting(monkeypatch):
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    splitting = Splitting(1)
    async with splitting.solvers:
        yield splitting


async def found_by(splitting, pools, **abilities):
    graph = Graph(pools)
    search = Search(1, BLOCK, "A", "Z", AMOUNT, None, 3, None, None, **abilities)
    return (await best_flow(splitting, graph, graph, search)).split


@pytest.mark.parametrize("pools", [APART, JOINING, UNUSED])
@pytest.mark.parametrize(
    ("abilities", "legs", "method"),
    [
        ({}, 4, "split"),
        ({"joins": False}, 4, "split"),
        ({"splits": False}, 1, "single_path"),
        ({"splits": False, "joins": False}, 1, "single_path"),
    ],
)
async def test_a_bound_is_over_all_pools(splitting, pools, abilities, legs, method):
    split = await found_by(splitting, pools, **abilities)
    told, flow = split.optimality, split.flow
    assert len(flow.legs) == legs + (pools is JOINING and not abilities)
    assert (told.pools, told.families, told.block, told.method) == (len(pools), ("v2",), BLOCK, method)
    assert told.bound == check_bound(pools, split.prices, "A", "Z", AMOUNT)
    # What the executor with all abilities pays is not above the bound of any other.
    best = await found_by(splitting, pools)
    assert flow.amount_out <= best.flow.amount_out <= told.bound
    exact = Fraction((told.bound - flow.amount_out) * 10_000, told.bound)
    assert exact <= Fraction(told.gap_bps) + Fraction(1, 10**9) <= exact + Fraction(1, 1000)
    assert (told.gap_bps > 1) is (method == "single_path")
    assert 0 <= told.arbitrage <= told.bound


async def test_the_net_gap_counts_gas_that_any_flow_costs(splitting):
    graph = Graph(APART)
    gas = GasPrice(10**15)
    path = (await found_by(splitting, APART, splits=False)).flow
    bound = await bound_over(splitting, path, graph, 1, BLOCK, gas, UNISWAP_GAS)
    least = UNISWAP_GAS.transaction + UNISWAP_GAS.pull + UNISWAP_GAS.of("v2").hop
    assert bound.net_bound <= bound.bound - gas.cost(least) + 1


async def test_there_is_no_bound_without_processes_or_ticks(splitting):
    assert (await found_by(Splitting(0), APART, splits=False)).optimality is None
    price = sqrt_ratio_at_tick(30)
    narrow = ConcentratedPool("v3", "0x9", "A", "Z", 500, 10, price, 30, 10**20, (), 0, 0)
    # Its known ticks end before its best trade: beyond them it could give more.
    assert (await found_by(splitting, [*APART, narrow], splits=False)).optimality is None
    path = (await found_by(splitting, APART, splits=False)).flow
    assert await bound_over(splitting, path, Graph([*APART, narrow]), 1, BLOCK, FREE, UNISWAP_GAS) is None
