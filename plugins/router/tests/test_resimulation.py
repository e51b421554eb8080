"""A proposed flow counts only as far as the pools' own maths confirms it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quoteway_amm import FREE, NATIVE, UNISWAP_GAS, ConcentratedPool, V2Pool, sqrt_ratio_at_tick
from quoteway_router.resimulation import resimulate
from quoteway_router.solver_messages import Leg, Order

WETH, USDC, DAI, WBTC = "0xweth", "0xusdc", "0xdai", "0xwbtc"
AMOUNT = 10**18
ORDER = Order(WETH, NATIVE, DAI, AMOUNT, UNISWAP_GAS, FREE, 3, 8)


def pair(number, token0, token1):
    return V2Pool(f"0x{number}", token0, token1, 10**24 + number, 2 * 10**24)


POOLS = (
    pair(0, WETH, USDC),
    pair(1, USDC, DAI),
    pair(2, DAI, WETH),
    pair(3, NATIVE, USDC),
    pair(4, DAI, USDC),
    pair(5, NATIVE, WETH),
    ConcentratedPool(
        "v3", "0x6", DAI, WETH, 3000, 60, sqrt_ratio_at_tick(30), 30, 10**22,
        ((0, 10**22), (60, -(10**22))), 0, 0,
    ),
    pair(7, USDC, WBTC),
)  # fmt: skip


def flow(*shares):
    """Returns the legs of (pool, zero_for_one, amount; None: all that the node holds)."""
    held = {WETH: AMOUNT}
    legs = []
    for index, zero_for_one, amount in shares:
        pool = POOLS[index]
        tokens = (pool.token0, pool.token1) if zero_for_one else (pool.token1, pool.token0)
        node_in, node_out = (WETH if token == NATIVE else token for token in tokens)
        amount = held[node_in] if amount is None else amount
        held[node_in] -= amount
        amount_out = pool.exact_in(zero_for_one, amount)[0]
        held[node_out] = held.get(node_out, 0) + amount_out
        legs.append(Leg(index, zero_for_one, amount, amount_out))
    return legs


SPLIT_AND_JOINED = (
    (2, False, AMOUNT // 3),
    (0, True, AMOUNT // 5),
    (3, True, None),
    (1, True, AMOUNT // 7),
    (4, False, None),
)
"""Directly, and through USDC by two pools on each side, one of them of the native coin."""


def test_a_flow_is_given_with_the_own_pools_and_amounts():
    legs = flow(*SPLIT_AND_JOINED)
    hops = resimulate(POOLS, ORDER, legs)
    assert [hop.pool for hop in hops] == [POOLS[leg.pool] for leg in legs]
    for hop, leg in zip(hops, legs, strict=True):
        assert (hop.zero_for_one, hop.amount_in, hop.amount_out) == (
            leg.zero_for_one,
            leg.amount_in,
            leg.amount_out,
        )
        assert hop.pool.exact_in(hop.zero_for_one, hop.amount_in) == (hop.amount_out, hop.ticks_crossed)
        assert hop.fee_pips == 3000
        assert {hop.token_in, hop.token_out} == {hop.pool.token0, hop.pool.token1}
        assert (hop.token_in == hop.pool.token0) is hop.zero_for_one


@given(
    st.integers(0, len(SPLIT_AND_JOINED) - 1),
    st.sampled_from(["amount_in", "amount_out", "pool"]),
    (st.integers(-8, 8) | st.integers(-(2**256), 2**256)).filter(bool),
)
def test_a_flow_with_any_member_changed_is_refused(at, member, change):
    legs = flow(*SPLIT_AND_JOINED)
    legs[at] = replace_member(legs[at], member, change)
    assert resimulate(POOLS, ORDER, legs) is None


def replace_member(leg, member, change):
    members = {name: getattr(leg, name) for name in leg.__struct_fields__}
    members[member] += change
    return Leg(**members)


REFUSED = {
    "no legs": [],
    "less than the whole input": flow((2, False, AMOUNT - 1)),
    "something left in between": flow((0, True, None), (1, True, AMOUNT)),
    "output elsewhere": flow((0, True, None)),
    "both outputs": flow((2, False, AMOUNT // 2), (0, True, None), (7, True, None)),
    "out before in": flow((0, True, 10**17), (1, True, 10**16), (3, True, None), (4, False, None)),
    "back to the input": flow((0, True, None), (3, False, None), (2, False, None)),
    "through the output": flow((2, False, None), (1, False, None), (4, False, None)),
    "wrapping by a pool": [*flow((5, True, None)), *flow((2, False, None))],
    "more than the node holds": [*flow((0, True, None)), Leg(1, True, 2 * 10**18 + 1, 10**18)],
    "a pool twice": flow((2, False, AMOUNT // 2), (2, False, None)),
    "beyond the known ticks": [Leg(6, False, AMOUNT, 1)],
    "a pool that does not exist": [Leg(99, True, AMOUNT, 1)],
    "the last pool by a negative index": [Leg(-6, False, AMOUNT, flow((2, False, None))[0].amount_out)],
    "a negative amount": [Leg(2, False, -AMOUNT, 1), Leg(2, False, 2 * AMOUNT, 1)],
    "no output": [Leg(2, False, 1, 0), *flow((2, False, AMOUNT - 1))],
}  # fmt: skip


@pytest.mark.parametrize("legs", REFUSED.values(), ids=REFUSED)
def test_what_is_no_flow_is_refused(legs):
    assert resimulate(POOLS, ORDER, legs) is None


def test_a_flow_of_more_legs_than_ordered_is_refused():
    legs = flow(*SPLIT_AND_JOINED)
    assert resimulate(POOLS, replace(ORDER, max_legs=len(legs)), legs)
    assert resimulate(POOLS, replace(ORDER, max_legs=len(legs) - 1), legs) is None
    assert resimulate(POOLS, replace(ORDER, wrapped_native=None), legs) is None
