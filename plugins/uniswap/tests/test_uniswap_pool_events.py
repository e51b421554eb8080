"""Events that contradict a pool's state, or do not tell it, are refused."""

from dataclasses import replace

import pytest
from quoteway.evm.log_bloom import false_positive_rate, may_contain
from quoteway_amm import ConcentratedPool, V2Pool, sqrt_ratio_at_tick
from quoteway_router.logs import LoggedEvent
from quoteway_uniswap import pool_events
from quoteway_uniswap.pool_depth import depth
from quoteway_uniswap.pool_events import StateUnknown, patched

ADDRESS = "0x" + "11" * 20
POOL = ConcentratedPool(
    "v3", ADDRESS, "0x" + "22" * 20, "0x" + "33" * 20, 500, 10, sqrt_ratio_at_tick(5), 5, 1000,
    ((-100, 700), (0, 300), (100, -1000)), -2, 1,
)  # fmt: skip
PAIR = V2Pool(ADDRESS, POOL.token0, POOL.token1, 10**6, 10**6)


def event(topic, *words, ticks=()):
    data = b"".join((word % 2**256).to_bytes(32) for word in words)
    topics = ("0x" + "00" * 32, *(f"0x{tick % 2**256:064x}" for tick in ticks))
    return LoggedEvent(1, 0, ADDRESS, (topic, *topics), data)


def swap(tick, liquidity, price=None):
    price = sqrt_ratio_at_tick(tick) if price is None else price
    return event(pool_events.V3_SWAP, 1, -1, price, liquidity, tick)


def mint(lower, upper, amount):
    return event(pool_events.V3_MINT, 0, amount, 1, 1, ticks=(lower, upper))


def burn(lower, upper, amount):
    return event(pool_events.V3_BURN, amount, 1, 1, ticks=(lower, upper))


def test_a_tick_that_these_events_initialised_and_cleared_is_gone():
    after = patched(POOL, [mint(10, 20, 50), burn(10, 20, 50), burn(-100, 0, 0)])
    assert after == POOL
    assert patched(POOL, [mint(10, 20, 50)]).ticks[2:4] == ((10, 50), (20, -50))


def test_a_net_of_zero_by_added_liquidity_stays_initialised():
    after = patched(POOL, [mint(-60, 0, 300)])
    assert (0, 0) in after.ticks
    assert after.liquidity == POOL.liquidity


def test_crossing_ticks_changes_liquidity_as_the_ticks_say():
    assert patched(POOL, [swap(-1, 700), swap(150, 0), swap(99, 1000)]).liquidity == 1000
    for wrong in ([swap(-1, 701)], [swap(150, 1)], [swap(9, 999)]):
        with pytest.raises(StateUnknown, match="left liquidity"):
            patched(POOL, wrong)


@pytest.mark.parametrize(
    ("logs", "reason"),
    [
        ([burn(-100, 100, 700)], "may still be initialised"),
        ([burn(-90, 100, 1)], "no liquidity to remove"),
        ([burn(-6000, 6000, 1001)], "would be negative"),
        ([swap(8000, 0)], "left the known ticks"),
        ([swap(7, 1000, sqrt_ratio_at_tick(9))], "not that of the price"),
        ([swap(900_000, 0, 1)], "pool"),
        ([event("0x" + "44" * 32)], "not known"),
        ([event(pool_events.V3_SWAP, 1)], "index out of range"),
        ([replace(swap(5, 1000), topics=())], "index out of range"),
        ([event(pool_events.V3_BURN, 1)], "unpack"),
        ([mint(11, 20, 1)], "multiples of 10"),
    ],
)
def test_other_events_make_the_state_unknown(logs, reason):
    with pytest.raises(StateUnknown, match=reason):
        patched(POOL, logs)


def test_a_pair_takes_the_last_reserves():
    after = patched(PAIR, [event(pool_events.V2_SYNC, 5, 6), event(pool_events.V2_SYNC, 7, 8)])
    assert (after.reserve0, after.reserve1) == (7, 8)
    for wrong in (event(pool_events.V2_SYNC, 0, 0), event(pool_events.V2_SYNC, 2**112, 1), event("0x00")):
        with pytest.raises(StateUnknown):
            patched(PAIR, [wrong])


def test_pancake_swaps_and_protocol_fees_are_read():
    word = sqrt_ratio_at_tick(7)
    after = patched(POOL, [event(pool_events.PANCAKE_SWAP, 1, -1, word, 1000, 7, 3, 4)])
    assert (after.tick, after.sqrt_price_x96) == (7, word)
    after = patched(POOL, [event(pool_events.V3_PROTOCOL, 0, 0, 4, 6)])
    assert (after.protocol_fee_zero_for_one, after.protocol_fee_one_for_zero) == (4, 6)
    v4 = replace(POOL, kind="v4")
    after = patched(v4, [event(pool_events.V4_PROTOCOL, 5 << 12 | 3)])
    assert (after.protocol_fee_zero_for_one, after.protocol_fee_one_for_zero) == (3, 5)


def test_depth_counts_what_is_deposited_near_the_price_on_both_sides():
    pool = replace(POOL, liquidity=10**18, ticks=((-1000, 10**18), (1000, -(10**18))), word_lo=-2, word_hi=1)
    narrow = replace(pool, liquidity=10**19, ticks=((0, 10**19), (10, -(10**19))))
    one_sided = replace(pool, liquidity=0, ticks=((10, 10**18), (1000, -(10**18))))
    assert depth(pool) > depth(narrow) > 0
    assert depth(one_sided) == 0
    far = replace(pool, ticks=((-1000, 10**18), (60, 10**18), (1000, -2 * 10**18)))
    assert depth(far) > depth(pool)


def test_an_empty_bloom_contains_nothing_and_a_full_one_everything():
    assert not may_contain(0, ADDRESS)
    assert may_contain((1 << 2048) - 1, ADDRESS)
    assert false_positive_rate((1 << 2048) - 1) == 1.0
    assert false_positive_rate(1) < 1e-9
