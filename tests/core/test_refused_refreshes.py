"""Quotes that are not made again: out of time, out of the deployment, changed, or of another kind."""

import random
from dataclasses import replace

import pytest
from drifting_market import (
    COIN,
    NOW,
    OTHER,
    UNIT,
    USER,
    Market,
    Place,
    again,
    check,
    first,
    open_place,
    request,
)
from quoteway.config.model import SigningKey
from quoteway.errors import InvalidRequest, NotFound, ProviderUnavailable, Reason, UpstreamError
from quoteway.models import Capability, IntegratorFee, Quote, RefreshTerms, RoutingLimits
from quoteway.secrets import Secret
from sealed_quotes import ETHER, sealer, swap_quote

FEE = IntegratorFee(30, "0x3333333333333333333333333333333333333333")
KEYS = (SigningKey("one", Secret("a3f19c4be02d5871f6a90b3c7d1e4f5b8a29c06d7e31f4820b5c9d6e7f8a1b2c")),)
OTHER_KEYS = (SigningKey("two", Secret("5b8a29c06d7e31f4820b5c9d6e7f8a1b2ca3f19c4be02d5871f6a90b3c7d1e4f")),)


@pytest.fixture
async def market(make_gateway):
    return await open_place(make_gateway)


async def test_a_quote_whose_request_named_no_time_is_not_refreshed(market):
    gateway, _ = market
    plain = (await gateway.quoting.quote(Capability.SWAP, request())).sealed
    assert plain.refresh_terms is None
    with pytest.raises(InvalidRequest, match="with refreshableUntil") as refusal:
        gateway.quote_tokens.open_refreshable(plain.token)
    assert refusal.value.reason is Reason.CONFLICT


@pytest.mark.parametrize("lasts_s", [-10, 0, 86_401, NOW * 1_000])
async def test_a_time_that_is_past_or_too_far_is_refused(market, lasts_s):
    gateway, place = market
    with pytest.raises(InvalidRequest, match=rf"1 to 86400 seconds from now, .* \(now: {NOW}\)") as refusal:
        await first(gateway, place, lasts_s=lasts_s)
    assert [(each.path, each.reason) for each in refusal.value.fields] == [
        ("refreshableUntil", Reason.OUT_OF_RANGE)
    ]


async def test_the_operator_says_how_long_and_may_allow_none(make_gateway):
    gateway, place = await open_place(make_gateway, refreshable_s=60)
    await first(gateway, place, lasts_s=60)
    with pytest.raises(InvalidRequest, match="1 to 60 seconds"):
        await first(gateway, place, lasts_s=61)
    gateway, place = await open_place(make_gateway, refreshable_s=0)
    with pytest.raises(InvalidRequest, match="the operator of this gateway"):
        await first(gateway, place, lasts_s=60)


async def test_a_lowered_fee_policy_ends_the_refreshes(make_gateway):
    gateway, place = await open_place(make_gateway, keys=KEYS)
    sealed = await first(gateway, place)
    sealed = gateway.quote_tokens.seal(replace(sealed, request=request(fee=FEE)))
    gateway, _ = await open_place(make_gateway, keys=KEYS, max_fee_bps=29)
    with pytest.raises(
        InvalidRequest, match=r"no longer be refreshed: request a new one\. feeBps must"
    ) as told:
        await again(gateway, sealed)
    assert (told.value.reason, told.value.fields) == (Reason.OUT_OF_RANGE, ())


async def test_a_token_that_was_taken_off_the_lists_ends_the_refreshes(make_gateway):
    gateway, place = await open_place(make_gateway, keys=KEYS)
    sealed = await first(gateway, place, replace(request(), token_out=replace(COIN, listed=True)))
    check(await again(gateway, sealed), sealed)
    gateway, _ = await open_place(make_gateway, listed=OTHER, keys=KEYS)
    with pytest.raises(InvalidRequest, match="toToken was listed when it was quoted") as refusal:
        await again(gateway, sealed)
    assert refusal.value.reason is Reason.UNSUPPORTED_TOKEN


async def test_a_token_that_was_never_listed_is_refreshed(make_gateway):
    gateway, place = await open_place(make_gateway, listed=OTHER)
    sealed = await first(gateway, place)
    check(await again(gateway, sealed), sealed)


async def test_a_provider_that_is_gone_ends_the_refreshes_only_of_who_named_it(make_gateway):
    gateway, place = await open_place(make_gateway, "one", "two", keys=KEYS)
    free = await first(gateway, place)
    named = await first(gateway, place, provider="one")
    gateway, _ = await open_place(make_gateway, "two", keys=KEYS)
    check(await again(gateway, free), free)
    with pytest.raises(ProviderUnavailable) as refusal:
        await again(gateway, named)
    assert refusal.value.reason is Reason.CAPABILITY_DISABLED


async def test_a_key_that_was_taken_out_of_use_ends_the_refreshes(make_gateway):
    gateway, place = await open_place(make_gateway, keys=KEYS)
    sealed = await first(gateway, place)
    gateway, _ = await open_place(make_gateway, keys=OTHER_KEYS + KEYS)
    two = await again(gateway, sealed)
    check(two, sealed)
    gateway, _ = await open_place(make_gateway, keys=OTHER_KEYS)
    check(await again(gateway, two), sealed)
    with pytest.raises(NotFound) as refusal:
        await again(gateway, sealed)
    assert refusal.value.reason is Reason.QUOTE_INVALID


async def test_a_deadline_that_is_too_near_ends_the_refreshes(market):
    gateway, place = market
    sealed = await first(gateway, place, lasts_s=600, deadline=NOW + 600)
    place.now = NOW + 540
    check(await again(gateway, sealed), sealed)
    place.now = NOW + 541
    with pytest.raises(InvalidRequest, match="deadline must be 60 to 86400 seconds") as refusal:
        await again(gateway, sealed)
    assert (refusal.value.reason, refusal.value.fields) == (Reason.OUT_OF_RANGE, ())


class Stubborn(Market):
    """Builds with the minimum, or the maximum, of its own quote, whatever the sealed quote says."""

    async def build(self, sealed):
        (given,), (got,), request = sealed.inputs, sealed.outputs, sealed.request
        quote = Quote.exact_in(request, got.amount, None) if request.amount_out is None else None
        if quote is None:
            quote = Quote.exact_out(request, given.amount, None)
        build = await super().build(replace(sealed, inputs=quote.inputs, outputs=quote.outputs))
        return replace(build, inputs=sealed.inputs, outputs=sealed.outputs)


@pytest.mark.parametrize("asked", [request(10_000), request(amount_out=10_000)], ids=["input", "output"])
async def test_calldata_with_another_bound_than_that_of_the_terms_is_refused(make_gateway, asked):
    place = Place(kind=Stubborn)
    gateway = await make_gateway(place.plugins(), clock=place.clock)
    sealed = await first(gateway, place, asked)
    check(await again(gateway, sealed), sealed)
    place.price = UNIT * 9_970 // 10_000
    with pytest.raises(UpstreamError) as refusal:
        await again(gateway, sealed)
    assert refusal.value.reason is Reason.UNSAFE_ANSWER
    assert [each.reason for each in refusal.value.attempts] == ["unsafe_answer"]


async def test_the_network_of_a_quote_is_gone(make_gateway):
    gateway, place = await open_place(make_gateway, keys=KEYS)
    sealed = await first(gateway, place)
    elsewhere = replace(
        sealed.request, chain_id=9, to_chain_id=9, token_in=replace(ETHER, chain_id=9), sender=USER
    )
    sealed = gateway.quote_tokens.seal(replace(sealed, request=elsewhere))
    with pytest.raises(ProviderUnavailable) as refusal:
        await again(gateway, sealed)
    assert refusal.value.reason is Reason.CAPABILITY_DISABLED


def test_a_token_with_any_bit_changed_is_refused():
    seal = sealer()
    token = seal.seal(swap_quote(refresh_terms=RefreshTerms(NOW + 3_600, 3_482 * 10**6, 10**18))).token
    assert seal.open_refreshable(token).refresh_terms.until == NOW + 3_600
    for at in range(len(token)):
        for bit in range(7):
            changed = token[:at] + chr(ord(token[at]) ^ 1 << bit) + token[at + 1 :]
            with pytest.raises(NotFound) as refusal:
                seal.open_refreshable(changed)
            assert refusal.value.reason is Reason.QUOTE_INVALID


@pytest.mark.parametrize("capability", [Capability.BRIDGE, Capability.VAULT, Capability.POOL])
def test_a_quote_of_another_kind_is_refused(capability):
    seal = sealer()
    terms = RefreshTerms(NOW + 3_600, 1, 10**18)
    token = seal.seal(swap_quote(capability=capability, refresh_terms=terms)).token
    with pytest.raises(NotFound) as refusal:
        seal.open_refreshable(token)
    assert refusal.value.reason is Reason.QUOTE_INVALID


def test_pools_that_do_not_fit_the_token_are_refused_and_never_dropped():
    """A refresh without them could go through other pools."""
    pools = tuple("0x" + random.Random(at).randbytes(32).hex() for at in range(60))
    limited = replace(swap_quote().request, routing=RoutingLimits(pools=pools))
    seal = sealer()
    assert seal.seal(swap_quote(request=limited)).token
    lasting = swap_quote(request=limited, refresh_terms=RefreshTerms(NOW + 3_600, 1, 10**18))
    with pytest.raises(InvalidRequest, match="the pools that it names do not fit") as refusal:
        seal.seal(lasting)
    assert [each.path for each in refusal.value.fields] == ["refreshableUntil"]
