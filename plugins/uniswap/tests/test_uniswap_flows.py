"""Flows that split and join: executed on the devnet, in the plan of a quote, and as paths of its route."""

import json
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
from flows import assert_parts_sum, execute_random_flows, measure_gas
from quoteway import NATIVE, Block, Capability, InvalidRequest, Leg, Reason, SealedQuote, SwapRequest, Token
from quoteway.engine.quote_tokens import KeyRing, Sealer
from quoteway.evm.address import checksum
from quoteway.evm.calls.meaning import Payment, Sent
from quoteway.evm.calls.universal_router import UniversalRouter
from quoteway.guard.quotes import plain_plan
from quoteway_amm import Hop, V2Pool
from quoteway_router.flow_routes import price_impact_bps, route_legs, route_paths
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.flow import SwapHop, legs_of
from quoteway_uniswap.plans import hops_of_plan, plan_of
from quoteway_uniswap.quoting import quote_of_route
from quoteway_uniswap.router import Order, encode_swap

ROUTER = "0x66a9893cC07D91D95644AEDD05D03f95e1dBA8Af"
SENDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
USDT = "0xdAC17F958D2ee523a2206206994597C13D831ec7"
DAI = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
DEPLOYMENT = Deployment("uniswap", 31337, ROUTER, "2.1.1", WETH, ())
VERSIONS = ["2.0", "2.1", "2.1.1"]


def exact(report, count):
    assert not report.reverted
    assert not report.wrong
    assert len(report.flows) == count


async def test_some_random_flows_give_what_was_quoted(devnet):
    exact(await execute_random_flows(15, seed=2, devnet=devnet), 15)


@pytest.mark.slow
async def test_random_flows_give_what_was_quoted(devnet):
    report = await execute_random_flows(200, seed=20_261_123, devnet=devnet, most_legs=30)
    exact(report, 200)
    assert max(report.legs) >= 10
    assert report.mixed >= 20
    assert {hop.pool.kind for flow in report.flows for hop in flow.hops} == {"v2", "v3", "v4"}


@pytest.mark.slow
async def test_the_gas_of_a_flow_is_that_of_its_receipt(devnet):
    measured = await measure_gas(40, seed=5, devnet=devnet)
    errors = sorted(abs(flow.gas_units / flow.gas_used - 1) for flow in measured)
    assert not any(flow.wei or flow.left for flow in measured)
    assert errors[37] < 0.05
    assert errors[-1] < 0.1


# --- commands ---------------------------------------------------------------------------------------------


def commands(version, token_in, token_out, *hops, amount=100):
    """Returns the names of the commands of a flow, with those of v4's actions."""
    order = Order(token_in, token_out, amount, 7, RECIPIENT, WETH)
    made = encode_swap(version, order, hops, 1767225600)
    sent = Sent(ROUTER, made.data, made.value, SENDER, WETH)
    reading = UniversalRouter(version).read(sent)
    assert reading.meaning.payments == (Payment(token_out, RECIPIENT, 7),)
    assert {c.token for c in reading.meaning.charges} == {token_in}
    assert sum(c.maximum for c in reading.meaning.charges) == amount
    names = []
    for call in reading.decoded.inner:
        inner = [action.signature.partition("(")[0] for action in call.inner]
        names.append((call.signature.partition("(")[0], *inner))
    return names


@pytest.mark.parametrize("version", VERSIONS)
def test_a_split_over_two_protocols_is_swept_once(version):
    found = commands(
        version, USDC, DAI, SwapHop("v2", USDC, DAI, 0, amount_in=40), SwapHop("v3", USDC, DAI, 500, 10)
    )
    assert found == [("V2_SWAP_EXACT_IN",), ("V3_SWAP_EXACT_IN",), ("SWEEP",)]


@pytest.mark.parametrize("version", VERSIONS)
def test_v4_legs_of_one_token_share_a_command_a_payment_and_a_take(version):
    found = commands(
        version,
        USDC,
        DAI,
        SwapHop("v4", USDC, DAI, 100, 1, 40),
        SwapHop("v4", USDC, USDT, 100, 1, 30),
        SwapHop("v4", USDT, DAI, 100, 1),
        SwapHop("v4", USDC, DAI, 500, 10),
    )
    single, several = "SWAP_EXACT_IN_SINGLE", "SWAP_EXACT_IN"
    assert found == [("V4_SWAP", "SETTLE", single, several, single, "TAKE"), ("SWEEP",)]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_coin_is_unwrapped_once_for_its_legs_and_the_rest_is_sold_wrapped(version):
    found = commands(
        version,
        USDC,
        DAI,
        SwapHop("v3", USDC, WETH, 500, 10),
        SwapHop("v4", NATIVE, DAI, 500, 10, 3),
        SwapHop("v2", WETH, DAI, 0),
    )
    assert [name for name, *_ in found] == [
        "V3_SWAP_EXACT_IN",
        "UNWRAP_WETH",
        "V4_SWAP",
        "WRAP_ETH",
        "V2_SWAP_EXACT_IN",
        "SWEEP",
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_only_what_wrapped_legs_sell_of_the_coin_is_wrapped(version):
    found = commands(
        version, NATIVE, DAI, SwapHop("v2", WETH, DAI, 0, amount_in=30), SwapHop("v4", NATIVE, DAI, 500, 10)
    )
    assert [name for name, *_ in found] == ["WRAP_ETH", "V2_SWAP_EXACT_IN", "V4_SWAP", "SWEEP"]


@pytest.mark.parametrize("version", VERSIONS)
def test_both_forms_of_the_coin_that_arrive_are_paid_as_the_coin(version):
    found = commands(
        version, DAI, NATIVE, SwapHop("v2", DAI, WETH, 0, amount_in=30), SwapHop("v4", DAI, NATIVE, 500, 10)
    )
    assert [name for name, *_ in found] == ["V2_SWAP_EXACT_IN", "V4_SWAP", "UNWRAP_WETH", "SWEEP"]
    found = commands(
        version, DAI, NATIVE, SwapHop("v2", DAI, WETH, 0, amount_in=30), SwapHop("v3", DAI, WETH, 500, 10)
    )
    assert [name for name, *_ in found] == ["V2_SWAP_EXACT_IN", "V3_SWAP_EXACT_IN", "UNWRAP_WETH"]


V2 = SwapHop("v2", USDC, DAI, 0)
NO_FLOWS = {
    "no leg takes the rest": ((replace(V2, amount_in=40),), "is not spent"),
    "two legs take the rest": ((V2, SwapHop("v3", USDC, DAI, 500, 10)), "nothing is left"),
    "a leg sells what nothing bought": ((V2, SwapHop("v3", USDT, DAI, 500, 10)), "nothing is left"),
    "a token stays in the router": (
        (replace(V2, amount_in=40), SwapHop("v3", USDC, USDT, 500, 10)),
        "is not spent",
    ),
    "the output is sold": ((V2, SwapHop("v3", DAI, USDT, 500, 10)), "nothing is left"),
    "a leg arrives after one has left": (
        (
            SwapHop("v2", USDC, USDT, 0, amount_in=40),
            SwapHop("v3", USDT, DAI, 500, 10, 3),
            SwapHop("v3", USDC, USDT, 500, 10),
            SwapHop("v2", USDT, DAI, 0),
        ),
        "comes after one that sells it",
    ),
    "a cycle": (
        (
            SwapHop("v2", USDC, USDT, 0),
            SwapHop("v3", USDT, USDC, 500, 10, 3),
            SwapHop("v2", USDT, DAI, 0),
        ),
        "comes after one that sells it",
    ),
    "a pool twice": ((replace(V2, amount_in=40), V2), "each pool once"),
    "a negative amount": ((replace(V2, amount_in=-40),), "must be positive"),
    "more than is sold": (
        (replace(V2, amount_in=100), SwapHop("v3", USDC, DAI, 500, 10)),
        "sell more than 100",
    ),
    "it does not reach the output": ((SwapHop("v2", USDC, USDT, 0),), "do not lead"),
}


@pytest.mark.parametrize(("hops", "finding"), NO_FLOWS.values(), ids=NO_FLOWS.keys())
def test_what_is_no_flow_is_refused(hops, finding):
    with pytest.raises(ValueError, match=finding):
        encode_swap("2.0", Order(USDC, DAI, 100, 7, RECIPIENT, WETH), hops, 1767225600)


# --- the plan ---------------------------------------------------------------------------------------------


def large_flow():
    """25 legs between eleven tokens, with amounts of tokens of 18 decimals."""
    chance = random.Random(3)
    tokens = [checksum("0x" + chance.randbytes(20).hex()) for _ in range(9)]
    amounts = iter(lambda: chance.randrange(10**21, 10**24), None)
    starts = [SwapHop("v3", USDC, token, 3000, 60, next(amounts)) for token in tokens]
    sides = [SwapHop("v4", token, DAI, 10_000, 200, next(amounts)) for token in tokens[:7]]
    ends = [SwapHop("v4", token, DAI, 3000, 60) for token in tokens]
    return *starts[:-1], replace(starts[-1], amount_in=0), *sides, *ends


def large_output():
    """25 paths of one leg for one exact output, with amounts of tokens of 18 decimals."""
    chance = random.Random(4)
    amounts = iter(lambda: chance.randrange(10**21, 10**24), None)
    return tuple(SwapHop("v3", USDC, DAI, 100 * n, 60, next(amounts), next(amounts)) for n in range(1, 26))


@pytest.mark.parametrize("hops", [large_flow(), large_output()], ids=["a flow", "an exact output"])
def test_the_plan_of_25_legs_fits_into_a_quote_token_and_is_read_back(hops):
    plan = plain_plan(plan_of(DEPLOYMENT, hops))
    assert len(hops) == 25
    assert len(json.dumps(plan, separators=(",", ":"))) < 2_000
    assert hops_of_plan(plan) == hops
    sold, got = Token(1, USDC, 6, "USDC"), Token(1, DAI, 18, "DAI")
    request = SwapRequest(1, 1, sold, got, 10**25, SENDER, RECIPIENT, 50)
    sealed = SealedQuote(
        Capability.SWAP,
        "uniswap",
        request,
        (Leg(sold, 10**25, SENDER),),
        (Leg(got, 10**25 + 1, RECIPIENT, 10**25),),
        50,
        plan,
        Block(1, "0x" + random.Random(4).randbytes(32).hex(), 2),
        1,
        2,
    )
    assert len(Sealer(KeyRing.random(), issuer="here").seal(sealed).token) < 3_200


BAD_PLANS = [
    {"legs": []},
    {"tokens": [USDC, DAI], "legs": None},
    {"tokens": [USDC.lower()[:-1], DAI], "legs": []},
    *(
        {"tokens": [USDC, DAI], "legs": [leg]}
        for leg in (
            [2, 0, 1, 0, 0],
            [2, 0, 1, 0, 0, 0, 0, 0],
            [2, 0, 1, 0, 0, 0, -1],
            [2, 0, 1, 0, 0, 0, 1 << 160],
            [2, 0, 1, 0, 0, 0, True],
            [5, 0, 1, 0, 0, 0],
            ["v2", 0, 1, 0, 0, 0],
            [2, 0, 2, 0, 0, 0],
            [2, -1, 1, 0, 0, 0],
            [2, 0, True, 0, 0, 0],
            [3, 0, 1, 1 << 24, 60, 0],
            [3, 0, 1, 500, 1 << 15, 0],
            [3, 0, 1, 500, 10, -1],
            [3, 0, 1, 500, 10, 1 << 160],
            [3, 0, 1, 500, 10, "1"],
            [3, 0, 1, 500, 10, 1.0],
        )
    ),
]


@pytest.mark.parametrize("plan", BAD_PLANS, ids=range(len(BAD_PLANS)))
def test_another_plan_is_refused(plan):
    with pytest.raises(InvalidRequest) as refusal:
        hops_of_plan(plan)
    assert refusal.value.reason is Reason.QUOTE_INVALID


# --- the route --------------------------------------------------------------------------------------------


def flow_of(*legs):
    """Returns the hops of (token in, token out, amount, reserve in, reserve out) through v2 pools."""
    hops = []
    for index, (token_in, token_out, amount, reserve_in, reserve_out) in enumerate(legs):
        pool = V2Pool(f"0x{index:040x}", token_in, token_out, reserve_in, reserve_out)
        got, _ = pool.exact_in(True, amount)
        hops.append(Hop(pool, True, token_in, token_out, amount, got, 3000, 0))
    return tuple(hops)


def two_ways(amount=1_000_000):
    """A split of which one part passes two pools, and the other one."""
    first = flow_of(
        (USDC, USDT, amount * 6 // 10, 10**12, 10**12), (USDC, DAI, amount * 4 // 10, 10**12, 10**24)
    )
    rest = flow_of((USDT, DAI, first[0].amount_out, 10**12, 10**24))
    return *first, replace(rest[0], pool=replace(rest[0].pool, address="0x" + "9" * 40))


def test_paths_and_legs_of_a_route_add_up():
    hops = two_ways()
    quote = SimpleNamespace(route=route_paths(DEPLOYMENT, hops), route_legs=route_legs(DEPLOYMENT, hops))
    assert_parts_sum(quote, hops)
    assert [(path.bps, len(path.hops)) for path in quote.route] == [(4_000, 1), (6_000, 2)]
    assert [leg.share_bps for leg in quote.route_legs] == [6_000, 4_000, 10_000]


def test_a_path_that_crosses_a_split_is_divided_at_its_tokens():
    """Two pools into a token, two out of it: three paths, whose parts sum to each pool's amounts."""
    into = flow_of((USDC, USDT, 700, 10**12, 10**12), (USDC, USDT, 301, 10**12, 10**12))
    got = sum(hop.amount_out for hop in into)
    out = flow_of(
        (WETH, WETH, 1, 10**12, 10**12), (WETH, WETH, 1, 10**12, 10**12),
        (USDT, DAI, 333, 10**12, 10**15), (USDT, DAI, got - 333, 10**12, 10**15),
    )[2:]  # fmt: skip
    hops = (*into, *out)
    quote = SimpleNamespace(route=route_paths(DEPLOYMENT, hops), route_legs=route_legs(DEPLOYMENT, hops))
    assert_parts_sum(quote, hops)
    assert len(quote.route) == 3


def test_the_price_impact_of_a_flow_is_that_of_its_amounts():
    hops = two_ways()
    # 0.3 % of the fee in one pool on 40 %, twice on 60 %: 0.4 * 30 + 0.6 * 60 = 48 basis points.
    assert price_impact_bps(DEPLOYMENT, hops) == 48


@pytest.mark.parametrize("taxes", [(100, 0), (0, 100)])
def test_a_token_that_taxes_transfers_is_not_split(taxes):
    route = SimpleNamespace(
        deployment=DEPLOYMENT,
        flow=SimpleNamespace(legs=two_ways()),
        tax_in_bps=taxes[0],
        tax_out_bps=taxes[1],
    )
    with pytest.raises(ValueError, match="one path"):
        quote_of_route(route, None, None, {}, None)


def test_the_legs_take_their_amounts_but_the_last_one_of_each_token():
    assert [leg.amount_in for leg in legs_of(two_ways(), WETH)] == [600_000, 0, 0]
