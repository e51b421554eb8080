"""Pools of families that this package does not know: routed by their interface alone."""

import pickle
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from flow_checks import WRAPPED, check_flow
from market_states import generate
from quoteway_amm import (
    FREE,
    UNISWAP_GAS,
    ConcentratedPool,
    Curve,
    GasModel,
    Graph,
    HopGas,
    Segment,
    UnknownFamily,
    V2Pool,
    best_path_exact_in,
    best_path_exact_out,
    sqrt_ratio_at_tick,
    swap_exact_in,
)
from quoteway_amm.bound import check_bound

MODEL = replace(UNISWAP_GAS, hops={**UNISWAP_GAS.hops, "apart": HopGas(section=1, hop=70_000)})


@dataclass(frozen=True)
class FeeApart:
    """A family with the fee rounded apart: nothing of it is inherited."""

    id: str
    token0: str
    token1: str
    reserve0: int
    reserve1: int
    fee_pips: int = 500
    kind: str = "apart"
    has_liquidity: bool = True

    def swap_fee_pips(self, zero_for_one):
        return self.fee_pips

    def mid_price(self, zero_for_one):
        return (self.reserve1, self.reserve0) if zero_for_one else (self.reserve0, self.reserve1)

    def exact_in(self, zero_for_one, amount_in):
        reserve_in, reserve_out = (self.reserve1, self.reserve0)[:: -1 if zero_for_one else 1]
        left = amount_in - amount_in * self.fee_pips // 1_000_000
        return left * reserve_out // (reserve_in + left), 0

    def exact_out(self, zero_for_one, amount_out):
        low, high = 0, 1 << 120
        if self.exact_in(zero_for_one, high)[0] < amount_out:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if self.exact_in(zero_for_one, middle)[0] >= amount_out else (middle, high)
            )
        return high, 0

    def curve(self, zero_for_one):
        # The fee may round to one unit less: a curve without a fee contains it.
        same = V2Pool(self.id, self.token0, self.token1, self.reserve0, self.reserve1, 1, 1)
        whole = same.curve(zero_for_one)
        segments = tuple(Segment(*segment) for segment in whole.segments)
        return Curve(zero_for_one, segments, 1_000_000 - self.fee_pips, 1_000_000, whole.end_sqrt_price_x96)


def foreign(pool):
    if isinstance(pool, V2Pool):
        return FeeApart(pool.id, pool.token0, pool.token1, pool.reserve0, pool.reserve1)
    return pool


@pytest.fixture
def pools():
    return [foreign(pool) for pool in generate(40, 8, 5).pools]


def test_flows_use_pools_of_any_family(pools):
    flows = pytest.importorskip("quoteway_amm.flows", reason="needs numpy")
    assert {pool.kind for pool in pools} >= {"apart", "v3"}
    ends = sorted({token for pool in pools for token in (pool.token0, pool.token1)})
    used = set()
    for token_in, token_out in pairwise(ends):
        for amount in (10**18, 10**22):
            found = flows.best_flow_exact_in(pools, WRAPPED, token_in, token_out, amount, MODEL)
            flow = getattr(found, "flow", None)
            if flow is None:
                continue
            check_flow(flow, token_in, token_out, amount)
            used |= {leg.pool.kind for leg in flow.legs}
            assert set(found.optimality.families) <= {pool.kind for pool in pools}
    assert "apart" in used


def test_paths_of_both_sides_use_pools_of_any_family():
    pools = [FeeApart("0x1", "0xa", "0xb", 10**24, 2 * 10**24), V2Pool("0x2", "0xb", "0xc", 10**24, 10**24)]
    graph = Graph(pools)
    path = best_path_exact_in(graph, "0xa", "0xc", 10**18, MODEL, FREE)
    assert [hop.pool.kind for hop in path.hops] == ["apart", "v2"]
    back = best_path_exact_out(graph, "0xa", "0xc", path.amount_out, MODEL, FREE)
    assert back.amount_in <= path.amount_in
    prices = {"0xa": 2 * 2**64, "0xb": 2**64, "0xc": 2**64}
    assert path.amount_out <= check_bound(pools, prices, "0xa", "0xc", 10**18)
    assert pickle.loads(pickle.dumps(pools)) == pools


def test_a_family_without_gas_is_refused_by_its_name():
    pools = [FeeApart("0x1", "0xa", "0xb", 10**24, 10**24)]
    words = "family 'apart' cannot be used here: known are v2, v3, v4"
    with pytest.raises(UnknownFamily, match=words):
        best_path_exact_in(Graph(pools), "0xa", "0xb", 10**18, UNISWAP_GAS, FREE)
    flows = pytest.importorskip("quoteway_amm.flows", reason="needs numpy")
    with pytest.raises(UnknownFamily, match=words):
        flows.best_flow_exact_in(pools, None, "0xa", "0xb", 10**18, UNISWAP_GAS)


def test_a_fork_has_a_name_of_its_own_and_the_maths_of_its_formula():
    fork = V2Pool("0x1", "0xa", "0xb", 10**24, 10**24, 9975, 10_000, kind="fork")
    model = GasModel(1, 2, 3, 4, {"fork": HopGas(5, 6)})
    path = best_path_exact_in(Graph([fork]), "0xa", "0xb", 10**18, model, FREE)
    assert (path.gas_units, path.amount_out) == (
        1 + 2 + 5 + 6,
        replace(fork, kind="v2").exact_in(True, 10**18)[0],
    )
    price = sqrt_ratio_at_tick(0)
    ticks = ((-600, 10**24), (600, -(10**24)))
    states = [
        ConcentratedPool(k, "0x2", "0xa", "0xb", 500, 10, price, 0, 10**24, ticks, -1, 1, 5, 5)
        for k in ("v3", "fork3")
    ]
    for zero_for_one in (True, False):
        amounts = {
            (pool.exact_in(zero_for_one, 10**18), swap_exact_in(pool, zero_for_one, 10**18).amount_out)
            for pool in states
        }
        assert len(amounts) == 1
        assert {pool.swap_fee_pips(zero_for_one) for pool in states} == {500}
