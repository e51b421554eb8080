"""Quotes that are made again: none is outside the terms of the first, whatever the market does meanwhile."""

import asyncio
import random
from dataclasses import replace

import pytest
from drifting_market import (
    COIN,
    FRIEND,
    NOW,
    UNIT,
    USER,
    again,
    check,
    first,
    minimum,
    open_place,
    request,
)
from hypothesis import given
from hypothesis import strategies as st
from quoteway.engine.limits import OutsideTerms
from quoteway.engine.ranking import bids_of
from quoteway.engine.refresh_terms import held
from quoteway.errors import GatewayError, NotFound, Reason
from quoteway.host.outcomes import Outcome
from quoteway.models import Capability, Quote, RefreshTerms, RoutingLimits, SwapRequest
from sealed_quotes import ETHER

SHOP = "0x3333333333333333333333333333333333333333"


@pytest.fixture
async def market(make_gateway):
    return await open_place(make_gateway)


# --- the minimum of an exact input and the maximum of an exact output ---------------------------------------


async def test_a_quote_is_made_again_after_it_has_expired(market):
    gateway, place = market
    one = await first(gateway, place)
    place.now = one.expires_at + 600
    with pytest.raises(NotFound, match="has expired: refresh it") as refusal:
        gateway.quote_tokens.open(Capability.SWAP, one.token)
    assert refusal.value.reason is Reason.QUOTE_EXPIRED
    two = await again(gateway, one)
    check(two, one)
    assert (two.created_at, two.expires_at) == (place.now, place.now + 180)
    check(gateway.quote_tokens.open(Capability.SWAP, two.token), one)


@pytest.mark.parametrize(
    ("paid", "least"),
    [
        (10_000, 9_950),  # as it was
        (10_100, 10_049),  # better: the usual slippage
        (10_001, 9_950),  # 9,950.995, less the slippage
        (9_990, 9_950),  # worse: the minimum of the first quote
        (9_951, 9_950),
        (9_950, 9_950),  # nothing below what it pays is left
    ],
)
async def test_the_minimum_is_the_better_of_the_usual_one_and_the_first(make_gateway, paid, least):
    gateway, place = await open_place(make_gateway)
    one = await first(gateway, place, request(10_000))
    assert minimum(one) == 9_950
    place.price = UNIT * paid // 10_000
    two = await again(gateway, one)
    check(two, one)
    assert (two.outputs[0].amount, minimum(two)) == (paid, least)


async def test_a_market_below_the_minimum_is_refused_and_the_error_says_what_it_pays(market):
    gateway, place = market
    one = await first(gateway, place, request(10_000))
    place.price = UNIT * 9_949 // 10_000
    with pytest.raises(OutsideTerms, match=r"pays 9949 base units of toToken, less than .* 9950") as refusal:
        await again(gateway, one)
    error = refusal.value
    assert (error.status, error.reason, error.best_now) == (502, Reason.PRICE_MOVED, 9_949)
    assert error.retryable
    assert [(each.provider, each.outcome, each.reason) for each in error.attempts] == [
        ("market", "failed", "price_moved")
    ]
    place.price = UNIT
    check(await again(gateway, one), one)


@pytest.mark.parametrize(
    ("price", "most"),
    [
        (10_000, 10_050),
        (10_100, 9_951),  # cheaper: 9,901 and the usual slippage, rounded up
        (9_960, 10_050),  # dearer: 10,041, and the maximum of the first quote
    ],
)
async def test_the_maximum_is_the_better_of_the_usual_one_and_the_first(make_gateway, price, most):
    gateway, place = await open_place(make_gateway)
    one = await first(gateway, place, request(amount_out=10_000))
    assert one.inputs[0].most == 10_050
    place.price = UNIT * price // 10_000
    two = await again(gateway, one)
    check(two, one)
    assert two.inputs[0].most == most


async def test_an_exact_output_that_takes_more_than_the_maximum_is_refused(market):
    gateway, place = market
    one = await first(gateway, place, request(amount_out=10_000))
    place.price = UNIT * 9_900 // 10_000
    with pytest.raises(OutsideTerms, match=r"takes 10102 .* of fromToken, more than .* 10050") as refusal:
        await again(gateway, one)
    assert refusal.value.best_now == 10_102


async def test_of_several_markets_the_error_names_the_nearest(make_gateway):
    gateway, place = await open_place(make_gateway, "one", "two", "three")
    sealed = await first(gateway, place, request(10_000))
    for market, paid in zip(place.markets.values(), (9_000, 9_940, 0), strict=True):
        market.price = UNIT * paid // 10_000
    with pytest.raises(OutsideTerms) as refusal:
        await again(gateway, sealed)
    assert refusal.value.best_now == 9_940
    told = {each.provider: (each.outcome, each.reason) for each in refusal.value.attempts}
    assert told["three"] == ("no_route", "no_route")
    assert told["one"] == told["two"] == ("failed", "price_moved")


async def test_another_provider_may_win_the_refresh(make_gateway):
    gateway, place = await open_place(make_gateway, "one", "two")
    place.markets["one"].price = UNIT * 2
    sealed = await first(gateway, place)
    assert sealed.provider == "one"
    place.markets["one"].price, place.markets["two"].price = 0, UNIT * 2
    two = await again(gateway, sealed)
    check(two, sealed)
    assert two.provider == "two"


async def test_with_no_route_left_the_refusal_is_that_of_a_quote(market):
    gateway, place = market
    one = await first(gateway, place)
    place.price = 0
    with pytest.raises(GatewayError) as refusal:
        await again(gateway, one)
    assert refusal.value.reason is Reason.NO_ROUTE


# --- what stays -------------------------------------------------------------------------------------------


async def test_all_of_the_request_stays(make_gateway):
    gateway, place = await open_place(make_gateway, "one", "two")
    limits = RoutingLimits(gas_price_wei=10**9)
    for side in ({}, {"amount_out": 10**6}):
        asked = request(10**6, 77, routing=limits, **side)
        deadline = place.now + 7_200
        sealed = await first(gateway, place, asked, provider="two", deadline=deadline)
        place.now += 1_000
        place.markets["one"].price, place.markets["two"].price = UNIT * 3, UNIT * 9_980 // 10_000
        asked_before = len(place.markets["one"].asked)
        two = await again(gateway, sealed)
        check(two, sealed)
        assert (two.provider, two.deadline) == ("two", deadline)
        assert len(place.markets["one"].asked) == asked_before, "the provider that was named is the only one"
        place.price = UNIT


async def test_the_codes_that_were_acknowledged_count_with_new_ones(market):
    gateway, place = market
    one = await first(gateway, place, acknowledged=("high_price_impact",))
    two = await again(gateway, one, acknowledged=("opaque_calldata", "high_price_impact"))
    assert two.acknowledged == ("high_price_impact", "opaque_calldata")
    assert (await again(gateway, two)).acknowledged == two.acknowledged


async def test_the_end_stays_and_no_quote_lasts_longer(market):
    gateway, place = market
    one = await first(gateway, place, lasts_s=1_000)
    place.now += 950
    two = await again(gateway, one)
    check(two, one)
    assert two.expires_at == one.refresh_terms.until == NOW + 1_000
    place.now += 50
    for each in (one, two):
        with pytest.raises(NotFound, match=f"until {NOW + 1_000}") as refusal:
            gateway.quote_tokens.open_refreshable(each.token)
        assert refusal.value.reason is Reason.QUOTE_EXPIRED
    with pytest.raises(NotFound, match="has expired: request a new one"):
        gateway.quote_tokens.open(Capability.SWAP, two.token)


async def test_a_quote_ends_with_a_shorter_time_than_its_own(market):
    gateway, place = market
    assert (await first(gateway, place, lasts_s=10)).expires_at == NOW + 10


async def test_refreshes_of_refreshes_keep_the_first_terms(market):
    gateway, place = market
    one = sealed = await first(gateway, place, request(10_000))
    for paid in (10_500, 9_960, 9_950):
        place.price = UNIT * paid // 10_000
        sealed = await again(gateway, sealed)
        check(sealed, one)
    place.price = UNIT * 9_949 // 10_000
    with pytest.raises(OutsideTerms):
        await again(gateway, sealed)


# --- any terms, any market ----------------------------------------------------------------------------------

amounts = st.integers(1, 10**30)


@given(amounts, amounts, st.integers(0, 5_000), amounts, st.none() | st.integers(0, 10**12))
def test_no_quote_of_an_exact_input_is_outside_any_terms(sold, paid, slippage_bps, floor, gas):
    asked = SwapRequest(1, 1, ETHER, COIN, sold, USER, FRIEND, slippage_bps)
    quote = Quote.exact_in(asked, paid, None)
    usual = quote.outputs[0].amount_min
    quote = replace(quote, net_output=None if gas is None else usual - gas)
    (outcome,) = held([Outcome(None, "quoted", quote)], RefreshTerms(1, floor, sold), asked)
    if paid < floor:
        assert (outcome.kind, outcome.value, outcome.error.best_now) == ("failed", None, paid)
        return
    (got,) = outcome.value.outputs
    assert got.amount_min == max(usual, floor) <= got.amount == paid
    assert outcome.value.inputs == quote.inputs
    assert gas is None or got.amount_min - outcome.value.net_output == gas


@given(amounts, amounts, st.integers(0, 5_000), amounts, st.none() | st.integers(0, 10**12))
def test_no_quote_of_an_exact_output_is_outside_any_terms(bought, taken, slippage_bps, ceiling, gas):
    asked = SwapRequest(1, 1, COIN, ETHER, 0, USER, FRIEND, slippage_bps, amount_out=bought)
    quote = Quote.exact_out(asked, taken, None, spender=SHOP)
    usual = quote.inputs[0].most
    quote = replace(quote, total_input=None if gas is None else usual + gas)
    outcomes = held([Outcome(None, "quoted", quote)], RefreshTerms(1, bought, ceiling), asked)
    if taken > ceiling:
        assert (outcomes[0].kind, outcomes[0].error.best_now) == ("failed", taken)
        assert bids_of(outcomes, "exactOut") == []
        return
    (given_,), value = outcomes[0].value.inputs, outcomes[0].value
    assert taken == given_.amount <= given_.most == min(usual, ceiling)
    assert [spend.amount for spend in value.spends] == [given_.most]
    assert value.outputs == quote.outputs
    assert gas is None or value.total_input - given_.most == gas


def test_quotes_of_other_kinds_and_without_terms_are_as_they_were():
    quoted = [Outcome(None, "quoted", Quote.exact_in(request(5), 7, None)), Outcome(None, "timeout")]
    assert held(quoted, None, request(5)) == quoted


def beyond(first_quote, amount):
    """Whether a market that pays, or takes, this amount is outside the terms of a quote."""
    terms = first_quote.refresh_terms
    if first_quote.request.amount_out is None:
        return amount < terms.amount_out_min
    return amount > terms.amount_in_max


async def drift(make_gateway, sequences, seed):
    """Checks each refresh of random markets that move at random; the refreshes and the refusals."""
    gateway, place = await open_place(make_gateway)
    dice, made, refused = random.Random(seed), 0, 0
    for _ in range(sequences):
        place.price = dice.randrange(UNIT // 2, 2 * UNIT)
        asked = request(dice.randrange(10**4, 10**24), dice.choice((0, 1, 30, 50, 300)))
        if dice.random() < 0.4:
            asked = request(amount_out=dice.randrange(10**4, 10**24), slippage_bps=asked.slippage_bps)
        one = sealed = await first(gateway, place, asked)
        for _ in range(dice.randrange(1, 3)):
            place.now += dice.randrange(0, 900)
            place.price = place.price * dice.randrange(9_950, 10_060) // 10_000
            found = await asyncio.gather(again(gateway, sealed), return_exceptions=True)
            if isinstance(found[0], OutsideTerms):
                refused += 1
                assert beyond(one, found[0].best_now)
            else:
                made += 1
                (sealed,) = found
                check(sealed, one)
    return made, refused


async def test_quotes_drift_within_the_first_terms_only(make_gateway):
    made, refused = await drift(make_gateway, 60, seed=1)
    assert min(made, refused) > 10


@pytest.mark.slow
async def test_a_thousand_drifts_stay_within_the_first_terms(make_gateway):
    made, refused = await drift(make_gateway, 1_000, seed=2)
    assert min(made, refused) > 200
