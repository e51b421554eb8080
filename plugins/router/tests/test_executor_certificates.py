"""Certificates of executors' pools: what their digests are of, and what is refused."""

import json
from dataclasses import dataclass, replace

import pytest
from quoteway import Block, CertifiedSwap, Optimality, RouteLeg
from quoteway_amm import ConcentratedPool, V2Pool, sqrt_ratio_at_tick
from quoteway_amm.bound import check_bound
from quoteway_amm.solidly import SolidlyPool
from quoteway_amm.stable_swap import StableSwapPool
from quoteway_amm.token_pair import TokenPair
from quoteway_router.certificates import (
    certificate_of_pools,
    check_certificate,
    state_digest,
    state_text,
)

A, B, C = ("0x" + digit * 40 for digit in "abc")
WRAPPED = "0x" + "d" * 40
BLOCK = Block(7, "0x" + "cd" * 32, 1_800_000_000)
THREE = StableSwapPool("0x3", (A, B, C), (10**24, 2 * 10**24, 10**24), (10**18,) * 3, 20_000, 10**6)
POOLS = [V2Pool("0x1", A, B, 10**24, 10**24, kind="fork"), TokenPair(THREE, 0, 1), TokenPair(THREE, 1, 2)]
PRICES = {A: 2**64, B: 2**64, C: 2**64}
AMOUNT = 10**21


@pytest.fixture
async def swap():
    bound = check_bound(POOLS, PRICES, A, B, AMOUNT)
    certificate = await certificate_of_pools(POOLS, A, B, AMOUNT, bound, PRICES, WRAPPED)
    paid = POOLS[1].exact_in(True, AMOUNT)[0]
    gap = (bound - paid) / bound * 10_000 + 0.001
    kinds = ("curve-stableswap", "fork")
    told = Optimality(bound, gap, gap, 0, 3, kinds, BLOCK, "single_path", certificate)
    leg = RouteLeg("x-routes", "curve-stableswap", "0x3", A, B, AMOUNT, paid, share_bps=10_000)
    return CertifiedSwap(1, A, B, AMOUNT, paid, BLOCK, (leg,), told)


def wrong(swap, pools=POOLS):
    return [check.subject for check in check_certificate(swap, pools, WRAPPED) if not check.holds]


async def test_a_certificate_holds_against_the_same_states_alone(swap):
    assert wrong(swap) == []
    deeper = [replace(POOLS[0], reserve0=10**24 + 1), *POOLS[1:]]
    assert "states" in wrong(swap, deeper)
    # Another pair of the same pool is another pool.
    assert "pools" in wrong(swap, [POOLS[0], POOLS[1], TokenPair(THREE, 0, 2)])
    assert {"pools", "states"} <= set(wrong(swap, POOLS[:2]))
    (leg,) = swap.route_legs
    for other in ({"pool": "0x4"}, {"token_out": WRAPPED}, {"amount_out": leg.amount_out + 1}):
        assert wrong(replace(swap, route_legs=(replace(leg, **other),))) == ["route"]


async def test_prices_that_do_not_prove_the_bound_give_no_certificate():
    bound = check_bound(POOLS, PRICES, A, B, AMOUNT)
    assert await certificate_of_pools(POOLS, A, B, AMOUNT, bound - 1, PRICES, WRAPPED) is None
    assert await certificate_of_pools(POOLS, A, B, AMOUNT, bound, {A: 1, B: 1}, WRAPPED) is None
    high = dict.fromkeys(PRICES, 2**257)
    assert await certificate_of_pools(POOLS, A, B, AMOUNT, bound, high, WRAPPED) is None


async def test_a_state_without_an_encoding_gives_no_certificate():
    @dataclass(frozen=True)
    class Rounded(V2Pool):
        part: float = 0.5

    pools = [Rounded("0x1", A, B, 10**24, 10**24)]
    with pytest.raises(TypeError, match="float"):
        state_digest(pools[0])
    bound = check_bound(pools, PRICES, A, B, AMOUNT)
    assert await certificate_of_pools(pools, A, B, AMOUNT, bound, PRICES, WRAPPED) is None


def test_the_text_of_a_state_is_what_the_docs_say():
    assert json.loads(state_text(POOLS[0])) == [
        "V2Pool", "fork", "0x1", A, B,
        {"": "V2Pool", "address": "0x1", "token0": A, "token1": B, "reserve0": 10**24, "reserve1": 10**24,
         "fee_numerator": 997, "fee_denominator": 1000, "kind": "fork"},
    ]  # fmt: skip
    pair = json.loads(state_text(POOLS[1]))
    assert pair[:5] == ["TokenPair", "curve-stableswap", "0x3", A, B]
    assert (pair[5]["i"], pair[5]["j"], pair[5]["pool"]["balances"][1]) == (0, 1, 2 * 10**24)
    assert " " not in state_text(POOLS[1])


def test_a_digest_changes_with_the_state_and_not_with_what_is_kept_beside_it():
    pool = SolidlyPool("0x5", A, B, 10**24, 10**24, 10**18, 10**18, True, 5)
    before = state_digest(pool)
    pool.curve(True)
    assert state_digest(pool) == before
    for change in ({"reserve0": 1}, {"stable": False}, {"fee": 6}, {"address": "0x6"}):
        assert state_digest(replace(pool, **change)) != before
    price = sqrt_ratio_at_tick(0)
    near = ConcentratedPool("fork", "0x7", A, B, 500, 10, price, 0, 10**20, ((-10, 10**20),), -1, 0)
    far = replace(near, ticks=(*near.ticks, (2600, -(10**20))), word_hi=1)
    assert state_digest(near) == state_digest(far)
    assert state_digest(near) != state_digest(replace(near, liquidity=10**20 + 1))
