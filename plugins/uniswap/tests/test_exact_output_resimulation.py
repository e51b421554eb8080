"""Proposed paths of an exact output count only as far as the pools' own maths confirms them."""

import random
from dataclasses import replace

import pytest
from quoteway import Address, Block
from quoteway.models import MAX_UINT256
from quoteway_amm import FREE, NATIVE, UNISWAP_GAS, ConcentratedPool, Hop, V2Pool, sqrt_ratio_at_tick
from quoteway_amm.flow import Flow
from quoteway_router.exact_output_resimulation import executed_exact_output, recomputed_exact_output
from quoteway_router.solver_messages import Leg, Order
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.exact_output import exact_output_legs, parts_of, parts_price_impact_bps
from quoteway_uniswap.exact_output_routing import as_executed
from quoteway_uniswap.exact_output_splitting import optimality_of, proof_of
from quoteway_uniswap.plans import hops_of_plan, plan_of

WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
DAI = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
ROUTER = "0x66a9893cC07D91D95644AEDD05D03f95e1dBA8Af"
DEPLOYMENT = Deployment("uniswap", 1, ROUTER, "2.0", WETH, ())
BLOCK = Block(1, "0x" + "11" * 32, 1)
WIDE = ((-600, 10**24), (600, -(10**24)))


def pair(number: int, token0: Address, token1: Address) -> V2Pool:
    return V2Pool(f"0x{number}", token0, token1, 10**21 + number, 2 * 10**21)


def ticked(number: int, kind: str, token0: Address, token1: Address) -> ConcentratedPool:
    price = sqrt_ratio_at_tick(7)
    return ConcentratedPool(kind, f"0x{number}", token0, token1, 3000, 60, price, 7, 10**24, WIDE, -3, 3)


POOLS = (
    pair(0, USDC, WETH),
    pair(1, DAI, USDC),
    pair(2, DAI, WETH),
    ticked(3, "v3", DAI, WETH),
    ticked(4, "v4", NATIVE, DAI),
    ticked(5, "v4", DAI, WETH),
    ticked(6, "v3", USDC, WETH),
    pair(7, DAI, USDC),
)
AMOUNT = 3 * 10**18 + 5
ORDER = Order(WETH, NATIVE, DAI, 0, UNISWAP_GAS, FREE, 3, 8, AMOUNT)


def legs_for(*paths):
    """The legs of (amount, (pool, ...)): backwards from the amount, from the coin to DAI."""
    legs = []
    for amount, indices in paths:
        token, path = DAI, []
        for index in reversed(indices):
            pool = POOLS[index]
            zero_for_one = pool.token1 == token
            taken = pool.exact_out(zero_for_one, amount)[0]
            path.append(Leg(index, zero_for_one, taken, amount))
            token, amount = pool.token0 if zero_for_one else pool.token1, taken
        legs += reversed(path)
    return legs


GOOD = legs_for((10**18, (0, 1)), (10**18, (3,)), (10**18 + 5, (4,)))


def test_paths_that_the_pools_confirm_are_taken():
    hops = recomputed_exact_output(POOLS, ORDER, GOOD)
    assert [(hop.amount_in, hop.amount_out) for hop in hops] == [(g.amount_in, g.amount_out) for g in GOOD]
    assert [len(part) for part in parts_of(hops, WETH)] == [2, 1, 1]


BAD = {
    "nothing": [],
    "less than wanted": legs_for((10**18, (0, 1)), (10**18, (3,))),
    "more than wanted": legs_for((10**18, (0, 1)), (10**18, (3,)), (10**18 + 6, (4,))),
    "a pool twice": legs_for((AMOUNT - 10**18, (3,)), (10**18, (3,))),
    "two protocols in a path": legs_for((AMOUNT, (6, 1))),
    "a path that does not begin": GOOD[1:],
    "a path that does not end": [*GOOD[1:], GOOD[0]],
    "too many legs": GOOD * 4,
    "no such pool": [*GOOD[:-1], Leg(8, False, GOOD[-1].amount_in, GOOD[-1].amount_out)],
    "a negative pool": [*GOOD[:-1], Leg(-4, False, GOOD[-1].amount_in, GOOD[-1].amount_out)],
}


@pytest.mark.parametrize("legs", BAD.values(), ids=BAD)
def test_other_legs_are_refused(legs):
    assert recomputed_exact_output(POOLS, ORDER, legs) is None


def test_any_other_amount_is_refused():
    for at, leg in enumerate(GOOD):
        for name in ("amount_in", "amount_out"):
            for change in (-1, 1, -getattr(leg, name), 2**256):
                changed = {"amount_in": leg.amount_in, "amount_out": leg.amount_out}
                changed[name] += change
                other = Leg(leg.pool, leg.zero_for_one, **changed)
                assert recomputed_exact_output(POOLS, ORDER, [*GOOD[:at], other, *GOOD[at + 1 :]]) is None
        other = Leg(leg.pool, not leg.zero_for_one, leg.amount_in, leg.amount_out)
        assert recomputed_exact_output(POOLS, ORDER, [*GOOD[:at], other, *GOOD[at + 1 :]]) is None


def test_the_limits_of_the_order_hold():
    assert recomputed_exact_output(POOLS, replace(ORDER, max_legs=3), GOOD) is None
    assert recomputed_exact_output(POOLS, replace(ORDER, max_hops=1), GOOD) is None


def test_a_path_has_one_form_of_the_coin():
    pools = (ticked(0, "v4", NATIVE, USDC), ticked(1, "v4", USDC, WETH), ticked(2, "v4", WETH, DAI))
    taken = pools[2].exact_out(True, 10**18)[0]
    first = pools[1].exact_out(True, taken)[0]
    legs = [
        Leg(0, True, pools[0].exact_out(True, first)[0], first),
        Leg(1, True, first, taken),
        Leg(2, True, taken, 10**18),
    ]
    assert recomputed_exact_output(pools, replace(ORDER, amount_out=10**18), legs) is None


def test_random_legs_are_never_an_error():
    chance = random.Random(4)
    for _ in range(2_000):
        legs = [
            Leg(
                chance.randrange(-1, len(POOLS) + 1),
                chance.random() < 0.5,
                chance.choice((0, 1, AMOUNT, 2**256)),
                chance.choice((0, 1, AMOUNT, 2**256)),
            )
            for _ in range(chance.randrange(5))
        ]
        assert recomputed_exact_output(POOLS, ORDER, legs) is None


# --- as executed ------------------------------------------------------------------------------------------


def executed(legs=GOOD):
    return as_executed(NATIVE, DAI, WETH, recomputed_exact_output(POOLS, ORDER, legs))


def test_a_pair_pays_what_its_input_is_worth_and_the_route_says_so():
    flow, bought = executed()
    assert bought == (10**18, 10**18, 10**18 + 5)
    assert flow.amount_in == GOOD[0].amount_in + GOOD[2].amount_in + GOOD[3].amount_in
    assert flow.amount_out >= AMOUNT
    order = replace(ORDER, amount_in=flow.amount_in)
    legs = [Leg(POOLS.index(hop.pool), hop.zero_for_one, hop.amount_in, hop.amount_out) for hop in flow.legs]
    assert executed_exact_output(POOLS, order, legs) == flow.legs
    for changed in (
        replace(order, amount_in=order.amount_in - 1),
        replace(order, amount_out=flow.amount_out + 1),
    ):
        assert executed_exact_output(POOLS, changed, legs) is None


def test_the_plan_of_paths_is_read_as_it_was_written():
    flow, bought = executed()
    legs = exact_output_legs(flow.legs, bought, WETH)
    assert [leg.amount_out for leg in legs] == [0, 10**18, 10**18, 10**18 + 5]
    assert [leg.amount_in for leg in legs] == [
        flow.legs[0].amount_in, 0, flow.legs[2].amount_in, flow.legs[3].amount_in,
    ]  # fmt: skip
    assert hops_of_plan(plan_of(DEPLOYMENT, legs)) == legs
    single = exact_output_legs(flow.legs[:2], bought[:1], WETH)
    assert {(leg.amount_in, leg.amount_out) for leg in single} == {(0, 0)}


def test_the_price_impact_of_paths_is_that_of_their_amounts():
    flow, _ = executed()
    for part in parts_of(flow.legs, WETH):
        assert parts_price_impact_bps(DEPLOYMENT, part) >= 0
    # Half at a mid price of 2, half at 1, all paid at 1.
    pools = V2Pool("0xa", WETH, DAI, 10**18, 2 * 10**18), V2Pool("0xb", WETH, DAI, 10**18, 10**18)
    hops = [Hop(pool, True, WETH, DAI, 100, 100, 3000, 0) for pool in pools]
    assert parts_price_impact_bps(DEPLOYMENT, hops) == 3333


# --- what the solver says of it ---------------------------------------------------------------------------

TOLD = {
    "bound": 999_900,
    "net_bound": 999_000,
    "arbitrage": 7,
    "pools": 9,
    "families": ["v2", "v3"],
    "prices": {WETH: 5, DAI: 3},
}


def test_a_proof_is_read_and_compared_with_the_route():
    proof = proof_of(TOLD)
    assert proof.families == ("v2", "v3")
    hops = executed()[0].legs
    flow = Flow(NATIVE, DAI, hops, 1_000_000, AMOUNT, 0, 0)
    told = optimality_of(proof, ORDER, flow, BLOCK)
    assert (told.bound, told.gap_bps, told.method, told.block) == (999_900, 1.0, "split", BLOCK)
    assert told.net_gap_bps == 10.0
    assert optimality_of(proof, ORDER, replace(flow, legs=hops[:2]), BLOCK).method == "single_path"


@pytest.mark.parametrize(
    "changes",
    [{"bound": -1}, {"bound": "1"}, {"net_bound": MAX_UINT256 + 1}, {"arbitrage": None}, {"families": 5},
     {"prices": [1]}, {"pools": "many"}],
    ids=str,
)  # fmt: skip
def test_a_proof_of_another_form_is_none(changes):
    assert proof_of(TOLD | changes) is None
    assert proof_of({}) is None
