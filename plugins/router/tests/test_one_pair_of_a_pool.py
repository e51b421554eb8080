"""Two pairs of one pool with more than two tokens are refused wherever a flow comes from."""

import pytest
from quoteway import InvalidRequest
from quoteway_amm import FREE, UNISWAP_GAS
from quoteway_amm.stable_swap import THREE_POOL, StableSwapPool
from quoteway_amm.token_pair import TokenPair
from quoteway_router.resimulation import resimulate
from quoteway_router.solver_messages import Leg, Order
from quoteway_router.swaps import legs_of_plan

TOKENS = tuple(f"0x{at:040x}" for at in (1, 2, 3))
POOL = StableSwapPool("0xp", TOKENS, (10**24,) * 3, (10**18,) * 3, 200, 4 * 10**6, THREE_POOL)
OTHER = StableSwapPool("0xq", TOKENS, (10**24,) * 3, (10**18,) * 3, 200, 4 * 10**6, THREE_POOL)


@pytest.mark.parametrize(("second", "accepted"), [(OTHER, True), (POOL, False)])
def test_a_flow_with_two_pairs_of_a_pool_is_no_flow(second, accepted):
    pools = [TokenPair(POOL, 0, 1), TokenPair(second, 1, 2)]
    order = Order(None, TOKENS[0], TOKENS[2], 10**18, UNISWAP_GAS, FREE, 3, 5)
    between = pools[0].exact_in(True, 10**18)[0]
    legs = [Leg(0, True, 10**18, between), Leg(1, True, between, pools[1].exact_in(True, between)[0])]
    assert (resimulate(pools, order, legs) is not None) == accepted


def test_a_plan_with_a_pool_twice_cannot_be_read():
    legs = [[0, "0xp", 0, 1, 4, 0], [0, "0xq", 1, 2, 4, 0]]
    plan = {"tokens": TOKENS, "families": ["curve-stableswap"], "legs": legs}
    assert [leg.pool for leg in legs_of_plan(plan)] == ["0xp", "0xq"]
    legs[1][1] = "0xp"
    with pytest.raises(InvalidRequest, match="used twice"):
        legs_of_plan(plan)
