"""Limits on the route of a swap: kept by the core, whatever a provider says of its route."""

import random
from dataclasses import replace

import pytest
from guard_cases import QUOTE, REQUEST, SEALED, plain, run_of
from hypothesis import given
from hypothesis import strategies as st
from quoteway.engine.gas_costs import repriced
from quoteway.engine.limits import PriceImpactTooHigh, able, check_impact, nobody_able
from quoteway.engine.quote_tokens import MAX_TOKEN_CHARS
from quoteway.engine.ranking import bids_of, refusal
from quoteway.errors import Reason
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.outcome import check_run
from quoteway.guard.routes import check_route, check_shown
from quoteway.host.checked_provider import checked
from quoteway.host.outcomes import Outcome
from quoteway.models import LIMITS, NATIVE, Gas, Hop, RoutePath, RoutingLimits
from quoteway.providers import SwapProvider
from quoteway.simulation.trace import Trace, Transfer, trace_of
from sealed_quotes import sealer, swap_quote
from sold_usdc import DAI, MINIMUM, ROUTER, SOLD, USDC, USER, WETH

V2 = "0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc"
V3 = "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640"
V4 = "0x" + "ab" * 32
FAKE = "0x3333333333333333333333333333333333333333"


class Named(SwapProvider):
    title, networks = "Named", frozenset({1})

    def __init__(self, name="uniswap", honours=LIMITS, protocols=("uniswap-v2", "uniswap-v3")):
        self.id, self.honours, self.protocols = name, honours, protocols

    def contracts(self, chain_id):
        return {ROUTER: "Router"}

    def spenders(self, chain_id):
        return (ROUTER,)

    async def quote(self, request):
        return None

    async def build(self, sealed):
        raise AssertionError


def hop(protocol, pool, token_in, token_out):
    return Hop("uniswap", protocol, pool, token_in, token_out, 1, 1)


DIRECT = RoutePath(6_000, (hop("uniswap-v3", V3, USDC.address, WETH.address),))
OVER_DAI = RoutePath(
    4_000,
    (
        hop("uniswap-v2", V2, USDC.address, DAI.address),
        hop("uniswap-v4", V4, DAI.address, NATIVE),
    ),
)
SPLIT = replace(QUOTE, route=(DIRECT, OVER_DAI), price_impact_bps=30)


def judge(quote=SPLIT, **limits):
    request = replace(REQUEST, routing=RoutingLimits(**limits))
    check_route(Named(), request, quote, WETH.address)
    check_impact(Named(), request, quote)


KEPT = [
    {},
    {"max_hops": 2},
    {"max_legs": 3},
    {"protocols": ("uniswap-v2", "uniswap-v3", "uniswap-v4")},
    {"protocols": ("uniswap",)},
    {"exclude_protocols": ("lifi",)},
    {"pools": tuple(f"1:{pool}" for pool in (V2, V3, V4))},
    {"exclude_pools": (f"2:{V2}",)},
    {"max_price_impact_bps": 30},
    {"gas_price_wei": 0},
]
BROKEN = [
    ({"max_hops": 1}, "2 hops, more than maxHops"),
    ({"max_legs": 2}, "3 legs, more than maxLegs"),
    ({"protocols": ("uniswap-v2", "uniswap-v3")}, "the protocol uniswap-v4"),
    ({"exclude_protocols": ("uniswap-v2",)}, "the protocol uniswap-v2"),
    ({"exclude_protocols": ("uniswap",)}, "the protocol uniswap-v3"),
    ({"pools": (f"1:{V2}", f"1:{V3}")}, f"the pool {V4}"),
    ({"exclude_pools": (f"1:{V3}",)}, f"the pool {V3}"),
]


@pytest.mark.parametrize("limits", KEPT)
def test_a_route_within_the_limits_passes(limits):
    judge(**limits)


@pytest.mark.parametrize(("limits", "finding"), BROKEN)
def test_a_route_beyond_a_limit_is_refused(limits, finding):
    with pytest.raises(UnsafeAnswer) as refused:
        judge(**limits)
    assert finding in refused.value.finding


@pytest.mark.parametrize(("limits", "_"), BROKEN)
@pytest.mark.parametrize("route", [None, ()])
def test_without_a_route_no_limit_on_it_is_kept(limits, _, route):
    with pytest.raises(UnsafeAnswer, match="it shows no route"):
        judge(replace(SPLIT, route=route), **limits)


@pytest.mark.parametrize(
    "route",
    [
        (RoutePath(10_000, ()),),
        (RoutePath(10_000, OVER_DAI.hops[:1]),),
        (RoutePath(10_000, OVER_DAI.hops[1:]),),
        (RoutePath(10_000, OVER_DAI.hops[::-1]),),
        (DIRECT, RoutePath(1, ())),
    ],
)
def test_a_route_with_gaps_shows_nothing(route):
    judge(replace(SPLIT, route=route))
    with pytest.raises(UnsafeAnswer, match="a gap"):
        judge(replace(SPLIT, route=route), max_hops=4)


def test_a_path_without_a_pool_wraps_nothing():
    """From the coin to its wrapped form, an empty path has no gap."""
    coin = replace(WETH, address=NATIVE)
    request = replace(REQUEST, token_in=coin, token_out=WETH, routing=RoutingLimits(max_legs=1))
    wrapping = RoutePath(10_000, (hop("wrapped-native", WETH.address, NATIVE, WETH.address),))
    check_route(Named(), request, replace(SPLIT, route=(wrapping,)), WETH.address)
    with pytest.raises(UnsafeAnswer, match="a gap"):
        check_route(Named(), request, replace(SPLIT, route=(RoutePath(10_000, ()),)), WETH.address)


def test_a_pool_in_two_paths_is_one_leg():
    again = RoutePath(10, (*OVER_DAI.hops[:1], hop("uniswap-v3", V3, DAI.address, WETH.address)))
    with pytest.raises(UnsafeAnswer, match="4 legs"):
        judge(replace(SPLIT, route=(DIRECT, OVER_DAI, again)), max_legs=3)
    judge(replace(SPLIT, route=(DIRECT, OVER_DAI, OVER_DAI)), max_legs=3)


def test_a_price_impact_must_be_stated_and_within_the_limit():
    with pytest.raises(PriceImpactTooHigh, match="30 bps") as high:
        judge(max_price_impact_bps=29)
    assert high.value.reason is Reason.PRICE_IMPACT_TOO_HIGH
    with pytest.raises(UnsafeAnswer, match="states no price impact"):
        judge(replace(SPLIT, price_impact_bps=None), max_price_impact_bps=29)


def test_when_all_are_above_the_least_impact_is_told():
    impacts = [PriceImpactTooHigh(name, bps, 5) for name, bps in (("a", 90), ("b", 40), ("c", 70))]
    error = refusal([Outcome(Named(e.args[0]), "no_route", error=e) for e in impacts])
    assert (error.status, error.reason, error.retryable) == (502, Reason.PRICE_IMPACT_TOO_HIGH, False)
    assert "40 bps (provider b)" in error.message


# --- what the run shows -------------------------------------------------------------------------------------


def run(trace, **limits):
    sealed = replace(SEALED, request=replace(REQUEST, routing=RoutingLimits(**limits)))
    check_run(Named(), sealed, plain(), run_of(SOLD, MINIMUM, USER, ROUTER), trace)


def log(address, *topics):
    class Entry:
        data = b"\0" * 224

    Entry.address, Entry.topics = address, topics
    return Entry


def test_the_run_names_the_pools_of_every_version():
    v2 = "0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822"
    v3 = "0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67"
    v4 = "0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f"
    account = "0x" + USER[2:].lower().rjust(64, "0")
    logs = [log(V3, v3, account, account), log(V2, v2, account, account), log(ROUTER, v4, V4, account)]
    assert trace_of([logs, logs]).swapped == (V3, V2, V4)
    assert trace_of([[log(ROUTER, v4)]]).swapped == ()


@pytest.mark.parametrize(
    ("limits", "finding"),
    [
        ({"pools": (f"1:{V3}",)}, f"the pool {V4}"),
        ({"exclude_pools": (f"1:{V4}",)}, f"the pool {V4}"),
        ({"exclude_pools": (f"1:{FAKE}",)}, f"the pool {FAKE}"),
        ({"max_legs": 1}, "2 pools, more than maxLegs"),
    ],
)
def test_transactions_that_use_other_pools_than_shown_are_refused(limits, finding):
    trace = Trace(
        (
            Transfer(0, USDC.address, USER, FAKE, SOLD),
            Transfer(0, WETH.address, FAKE, USER, MINIMUM),
        ),
        swapped=(V3, V4),
    )
    run(trace)
    with pytest.raises(UnsafeAnswer, match="its run") as refused:
        run(trace, **limits)
    assert finding in refused.value.finding


def test_a_route_that_does_not_show_a_pool_of_the_run_is_refused():
    def check(swapped, **limits):
        request = replace(REQUEST, routing=RoutingLimits(**limits))
        check_shown(Named(), request, SPLIT, Trace(swapped=swapped))

    check((V2, V3, V4), max_legs=3)
    check((FAKE,), gas_price_wei=1)
    with pytest.raises(UnsafeAnswer, match=f"{FAKE}, which its route does not show"):
        check((V3, FAKE), max_legs=3)


# --- who is asked -------------------------------------------------------------------------------------------


def test_who_cannot_keep_a_limit_is_not_asked():
    uniswap, lifi = Named(), Named("lifi", ("protocols",), ())
    silent = Named("silent", (), ())
    every = [uniswap, lifi, silent]

    def asked(**limits):
        found, others = able(every, replace(REQUEST, routing=RoutingLimits(**limits)))
        assert {attempt.outcome for attempt in others} <= {"not_asked"}
        return [provider.id for provider in found], [attempt.reason for attempt in others]

    assert asked() == (["uniswap", "lifi", "silent"], [])
    assert asked(gas_price_wei=7) == (["uniswap", "lifi", "silent"], [])
    assert asked(max_hops=1) == (["uniswap"], ["unsupported_limit"] * 2)
    assert asked(protocols=("lifi",)) == (["lifi"], ["unsupported_protocol", "unsupported_limit"])
    both = ("lifi", "uniswap-v3")
    assert asked(protocols=both) == (["uniswap", "lifi"], ["unsupported_limit"])
    # All of the provider's own protocols are excluded: its id is no protocol that remains.
    assert asked(exclude_protocols=("uniswap",)) == ([], ["unsupported_protocol", *["unsupported_limit"] * 2])
    error = nobody_able(able([silent], replace(REQUEST, routing=RoutingLimits(max_legs=1)))[1])
    assert (error.status, error.reason, len(error.attempts)) == (503, Reason.UNSUPPORTED_LIMIT, 1)


def test_who_quotes_no_exact_output_is_not_asked():
    class Both(Named):
        exact_out = True

    exact = replace(REQUEST, amount_in=0, amount_out=5)
    found, others = able([Both("both"), Named("one-sided")], exact)
    assert [provider.id for provider in found] == ["both"]
    assert [(each.provider, each.outcome, each.reason) for each in others] == [
        ("one-sided", "not_asked", "unsupported_side")
    ]
    error = nobody_able(able([Named()], exact)[1])
    assert (error.status, error.reason) == (503, Reason.UNSUPPORTED_SIDE)
    assert "quotes an exact output" in error.message
    # Without the limit it could not be asked either: no one reason is that of all.
    mixed = nobody_able(
        able([Named(), Both("silent", ())], replace(exact, routing=RoutingLimits(max_hops=1)))[1]
    )
    assert mixed.reason is Reason.UNSUPPORTED_LIMIT


def test_a_limit_that_does_not_exist_is_refused_at_registration():
    with pytest.raises(ValueError, match="honours"):
        checked(Named(honours=("max_hop",)), SwapProvider, lambda *told: None)
    assert checked(Named(), SwapProvider, lambda *told: None).protocols == ("uniswap-v2", "uniswap-v3")


# --- the price of gas ---------------------------------------------------------------------------------------


def priced(net_output, **gas):
    return replace(QUOTE, gas=Gas(100_000, 150_000, **gas), net_output=net_output)


@pytest.mark.parametrize(
    ("stated", "price_wei", "net_output", "cost_wei"),
    [
        (priced(MINIMUM - 1_000, cost_wei=10**15), 2 * 10**10, MINIMUM - 2_000, 2 * 10**15),
        (priced(MINIMUM - 1_000, cost_wei=10**15), 0, MINIMUM, 0),
        (priced(MINIMUM - 1_000), 10**10, MINIMUM - 1_000, 10**15),
        (priced(None, cost_wei=10**15), 10**10, None, 10**15),
        (priced(MINIMUM - 1_001, cost_wei=10**15, l1_fee_wei=5), 10**10, MINIMUM - 1_002, 10**15 + 5),
    ],
)
def test_the_callers_price_of_gas_counts_for_everybody(stated, price_wei, net_output, cost_wei):
    quote = repriced(stated, price_wei)
    assert (quote.net_output, quote.gas.cost_wei, quote.gas.price_wei) == (net_output, cost_wei, price_wei)
    assert repriced(quote, price_wei) == quote
    assert repriced(stated, None) is stated


def test_it_changes_who_wins():
    dear = replace(priced(MINIMUM - 40, cost_wei=10**15), outputs=QUOTE.outputs)
    cheap_leg = replace(QUOTE.outputs[0], amount=QUOTE.outputs[0].amount - 30, amount_min=MINIMUM - 30)
    cheap = replace(QUOTE, outputs=(cheap_leg,), gas=Gas(50_000, 1, cost_wei=5 * 10**14))
    cheap = replace(cheap, net_output=MINIMUM - 30 - 20)

    def winner(price_wei):
        quotes = [repriced(quote, price_wei) for quote in (dear, cheap)]
        bids = bids_of([Outcome(Named(), "quoted", quote) for quote in quotes])
        return max(bids, key=lambda bid: bid.guaranteed).order

    assert winner(10**10) == 0
    assert winner(10**12) == 1


# --- in the token -------------------------------------------------------------------------------------------

ids = st.integers(0, 2**256 - 1).map(lambda n: f"1:0x{n:064x}")
limits = st.builds(
    RoutingLimits,
    st.none() | st.integers(1, 4),
    st.none() | st.integers(1, 64),
    st.lists(st.sampled_from(["uniswap-v2", "lifi"]), unique=True).map(tuple),
    st.lists(st.sampled_from(["a", "b"]), unique=True).map(tuple),
    st.lists(ids, max_size=3, unique=True).map(tuple),
    st.lists(ids, max_size=3, unique=True).map(tuple),
    st.none() | st.integers(0, 10_000),
    st.none() | st.integers(0, 10**18 - 1),
)


@given(limits)
def test_limits_come_back_from_the_token(limits):
    quote = swap_quote()
    quote = replace(quote, request=replace(quote.request, routing=limits))
    made = sealer()
    assert made.open(quote.capability, made.seal(quote).token).request == quote.request


def test_without_limits_they_take_no_space():
    quote, made = swap_quote(), sealer()
    limited = replace(quote, request=replace(quote.request, routing=RoutingLimits(max_hops=1)))
    assert len(made.seal(quote).token) < len(made.seal(limited).token)
    assert made.open(quote.capability, made.seal(quote).token).request.routing.given == ()


def test_lists_that_do_not_fit_are_left_out_and_told():
    chance, made, quote = random.Random(5), sealer(), swap_quote()
    many = tuple(f"1:0x{chance.randbytes(32).hex()}" for _ in range(128))
    routing = RoutingLimits(max_hops=3, pools=many[:64], exclude_pools=many[64:])
    sealed = made.seal(replace(quote, request=replace(quote.request, routing=routing)))
    assert sealed.request.routing == routing
    assert len(sealed.token) <= MAX_TOKEN_CHARS
    kept = made.open(quote.capability, sealed.token).request.routing
    assert kept == RoutingLimits(max_hops=3, omitted=("pools", "exclude_pools"))
