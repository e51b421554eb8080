"""How the shares of two providers are found, and which routes may be combined."""

import random
from dataclasses import replace

import pytest
from quoteway.engine.approvals import Wallet, after
from quoteway.engine.divided_quotes import divided_quote, pools_of, share_pools
from quoteway.engine.dividing import FINEST, MAX_TRIALS, next_amount, top_amount
from quoteway.engine.parts import total_legs, warnings_between
from quoteway.models import (
    NATIVE,
    Block,
    Capability,
    Fee,
    Gas,
    Hop,
    Leg,
    Quote,
    QuotePart,
    RouteLeg,
    RoutePath,
    Spend,
    SwapRequest,
)
from sold_usdc import DAI, ETHER, USDC, USER

WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
POOL = "0x" + "ab" * 20
OTHER_POOL = "0x" + "cd" * 32
BLOCK = Block(1, "0x" + "11" * 32, 1)


# --- shares -----------------------------------------------------------------------------------------------


def pool(reserve_in, reserve_out, fee_bps):
    """The output of one pool with a constant product."""

    def output(amount):
        left = amount * (10_000 - fee_bps)
        return left * reserve_out // (reserve_in * 10_000 + left)

    return output


def shares_tried(one, other, whole):
    """The totals of both ends, and those of each division that is tried."""
    ends = [(whole, one(whole))], [(whole, other(whole))]
    totals, amount = [(0, other(whole)), (whole, one(whole))], whole // 2
    for trial in range(MAX_TRIALS):
        got = one(amount), other(whole - amount)
        totals = sorted([*totals, (amount, sum(got))])
        ends[0].append((amount, got[0]))
        ends[1].append((whole - amount, got[1]))
        amount = (trial and top_amount(totals)) or next_amount(*ends, amount)
        if amount is None:
            break
        assert 0 < amount < whole
    return [total for _, total in totals]


@pytest.mark.parametrize("seed", range(200))
def test_few_trials_find_the_best_share_of_two_pools(seed):
    chance = random.Random(seed)
    price = chance.randint(1, 10**6)
    sizes = [chance.randint(10**18, 10**24) for _ in range(2)]
    one, other = (
        pool(size, size * price * chance.randint(995, 1005) // 1000, chance.randint(1, 100)) for size in sizes
    )
    whole = chance.randint(max(sizes) // 1000, sum(sizes))
    totals = shares_tried(one, other, whole)
    grid = [one(whole * step // 500) + other(whole - whole * step // 500) for step in range(501)]
    # Where the best share is next to an end, an end is as good as what is told apart.
    assert max(totals) >= max(grid) * (10**6 - 10**6 // FINEST // 10) // 10**6
    assert len(totals) <= MAX_TRIALS + 2


def test_amounts_without_an_answer():
    line = [(100, 100), (50, 50)]
    assert next_amount(line, line, 50) is None, "no price moves"
    assert next_amount([(100, 100), (50, 0)], line, 50) is None, "nothing is paid"
    assert next_amount([(100, 100), (50, 10)], line, 50) is None, "the price falls with the amount"
    bent = [(100, 60), (50, 40)]
    assert next_amount(bent, bent, 50) is None, "that one was tried"
    assert next_amount([(1, 1), (0, 0)], [(1, 1), (1, 1)], 0) is None
    huge = (1 << 256) - 1
    assert next_amount([(huge, huge // 4), (huge // 2, huge // 6)], [(huge, 9), (huge // 2, 8)], 0) is None
    bent = [(huge, huge // 4), (huge // 2, huge // 6)], [(huge, huge // 3), (huge // 2, huge // 5)]
    assert 0 < next_amount(*bent, huge // 2) < huge


def exhausted(reserve_in, reserve_out, most):
    """The output of a pool whose liquidity ends at an amount: beyond, a small one is left."""
    output, small = pool(reserve_in, reserve_out, 30), pool(reserve_in // 50, reserve_out // 100, 100)
    return lambda amount: output(min(amount, most)) + small(max(amount - most, 0))


@pytest.mark.parametrize("share", [2, 5, 10, 20, 40])
def test_a_pool_that_runs_out(share):
    whole = 10**24
    one, other = pool(4 * whole, whole, 5), exhausted(whole, whole // 4, whole * share // 100)
    totals = shares_tried(one, other, whole)
    grid = [one(whole * step // 500) + other(whole - whole * step // 500) for step in range(501)]
    found, best = max(totals) - one(whole), max(grid) - one(whole)
    assert found >= best * 3 // 4


def test_the_top_of_a_parabola():
    assert top_amount([(0, 0), (50, 50), (100, 0)]) is None, "that one was tried"
    assert top_amount([(0, 0), (40, 40 * 60), (100, 0)]) == 50
    assert top_amount([(0, 9), (50, 8), (100, 0)]) is None
    assert top_amount([(0, 5), (50, 5), (100, 5)]) is None
    assert top_amount([(0, 1), (1, 2), (2, 1)]) is None


# --- pools ------------------------------------------------------------------------------------------------


def quote_of(*pools, sold=100, got=90, **members):
    hops = tuple(Hop("p", "v2", each, USDC.address, DAI.address, sold, got) for each in pools)
    return Quote(
        (Leg(USDC, sold, USER),),
        (Leg(DAI, got, USER, got - 1),),
        BLOCK,
        {},
        route=(RoutePath(10_000, hops),) if hops else None,
        **members,
    )


@pytest.mark.parametrize("pools", [(), ("",), ("stargate",), (POOL, "0x12"), (POOL + "0",), (POOL + "\n",)])
def test_routes_whose_pools_are_not_known(pools):
    assert pools_of(quote_of(*pools)) is None
    assert share_pools(pools_of(quote_of(*pools)), frozenset({POOL}))


def test_pools_are_compared_by_id():
    assert pools_of(quote_of(POOL.upper().replace("0X", "0x"), OTHER_POOL)) == {POOL, OTHER_POOL}
    assert share_pools({POOL}, {POOL.upper()})
    assert share_pools({OTHER_POOL, POOL}, {POOL})
    assert not share_pools({POOL}, {OTHER_POOL})
    assert share_pools({POOL}, {POOL + "00" * 12}), "Balancer v2: an id begins with the pool's address"


# --- the whole --------------------------------------------------------------------------------------------


def parts_of(*quotes):
    def part(quote):
        request = SwapRequest(1, 1, USDC, DAI, quote.inputs[0].amount, USER, USER, 50)
        return QuotePart(Capability.SWAP, "p", request, quote)

    return tuple(map(part, quotes))


def test_amounts_fees_and_gas_are_added_up():
    fee = Fee("integrator", DAI, 3, included=True, bps=30, recipient=USER)
    own = Fee("lp", USDC, 1, included=True)
    one = quote_of(POOL, sold=300, got=270, fees=(fee, own), gas=Gas(1, 2, cost_wei=5), fee_amount=3)
    other = quote_of(OTHER_POOL, sold=100, got=80, fees=(fee,), gas=Gas(10, 20, cost_wei=6), fee_amount=3)
    whole = divided_quote(parts_of(replace(one, net_output=200), replace(other, net_output=70)), WETH)
    assert whole.inputs == (Leg(USDC, 400, USER),)
    assert whole.outputs == (Leg(DAI, 350, USER, 348),)
    assert whole.fees == (replace(fee, amount=6), own)
    assert (whole.gas.units, whole.gas.limit, whole.gas.cost_wei) == (11, 22, 11)
    assert (whole.net_output, whole.fee_amount, whole.price_impact_bps) == (270, 6, None)
    assert [path.bps for path in whole.route] == [7_500, 2_500]
    assert whole.route_legs is None
    unknown = divided_quote(parts_of(one, replace(other, gas=None)), WETH)
    assert (unknown.gas, unknown.net_output) == (None, None)
    impacts = replace(one, price_impact_bps=10), replace(other, price_impact_bps=31)
    assert divided_quote(parts_of(*impacts), WETH).price_impact_bps == 16


def test_shares_of_legs_are_of_what_leaves_a_token_in_both_parts():
    def leg(pool, token_in, amount):
        return RouteLeg("p", "v2", pool, token_in, DAI.address, amount, 1, share_bps=10_000)

    one = quote_of(POOL, route_legs=(leg(POOL, NATIVE, 2),))
    other = quote_of(OTHER_POOL, route_legs=(leg(OTHER_POOL, WETH, 1), leg(POOL, USDC.address, 7)))
    legs = divided_quote(parts_of(one, other), WETH).route_legs
    assert [each.share_bps for each in legs] == [6_666, 3_334, 10_000]


def test_two_parts_of_an_order_are_one_input_and_one_output():
    one = (Leg(ETHER, 3, USER),), (Leg(DAI, 30, USER, 29),)
    other = (Leg(ETHER, 4, USER),), (Leg(DAI, 40, USER, 38),)
    assert total_legs([one, other]) == ((Leg(ETHER, 7, USER),), (Leg(DAI, 70, USER, 67),))
    request = SwapRequest(1, 1, replace(USDC, listed=True), DAI, 98_000_000, USER, USER, 50)
    (warning,) = warnings_between([request, request])
    assert warning.code == "not_atomic"
    assert "its 98 USDC" in warning.message


# --- allowances -------------------------------------------------------------------------------------------


def test_what_a_part_uses_of_an_allowance_is_not_there_for_the_next():
    spend = Spend(DAI.address, 60, POOL)
    key = DAI.address, POOL
    assert after(Wallet(USER, BLOCK, allowances={key: 100}), [spend]).allowances == {key: 40}
    assert after(Wallet(USER, BLOCK, allowances={key: 10}), [spend]).allowances == {key: 0}
    pulled = replace(spend, permit2_spender=OTHER_POOL[:42])
    key2 = DAI.address, OTHER_POOL[:42]
    wallet = Wallet(USER, BLOCK, permit2={key2: (100, 9)})
    assert after(wallet, [pulled]).permit2 == {key2: (40, 9)}
    assert after(wallet, [pulled, pulled]).permit2 == {key2: (0, 9)}
    assert after(wallet, [replace(pulled, permit2_signed=True)]).permit2 == {key2: (0, 9)}
