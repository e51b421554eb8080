"""Integrators' fees: which are refused, and that quote, calldata and run take the one that was asked for."""

from dataclasses import replace

import pytest
from guard_cases import QUOTE, REQUEST, SEALED, Provider, check, refused, run_of
from hypothesis import given
from hypothesis import strategies as st
from quoteway.engine.integrator_fees import check_fee, with_fee
from quoteway.engine.limits import able, nobody_able
from quoteway.errors import InvalidRequest, Reason
from quoteway.guard.calldata import check_build
from quoteway.guard.findings import QuoteMismatch, UnsafeAnswer
from quoteway.guard.outcome import check_run, watched
from quoteway.guard.quotes import check_quote
from quoteway.guard.recipients import check_recipient, payees
from quoteway.models import (
    MAX_UINT256,
    NATIVE,
    AssetChange,
    Fee,
    IntegratorFee,
    Leg,
    PoolRequest,
    RoutingLimits,
)
from quoteway.providers import SwapProvider
from quoteway.simulation.trace import Trace
from sealed_quotes import sealer, swap_quote
from sold_usdc import BLOCK, DAI, ETHER, GOT, LATER, MINIMUM, NOW, ROUTER, SOLD, THIEF, USDC, USER, WETH
from test_flow_calls import CALLS, DIRECT, FLOW, SWEEP, built, changed, v3

SHOP = "0x3333333333333333333333333333333333333333"
BPS = 25
FEE = IntegratorFee(BPS, SHOP)
TAKEN = 2_506_265_664_160_431
"""Of an output before fee of ``GOT + TAKEN``, 25 bps."""

ASKED = replace(REQUEST, fee=FEE)
QUOTED = replace(QUOTE, fee_amount=TAKEN)
SOLD_WITH_FEE = replace(SEALED, request=replace(ASKED, permit2_signature=False), fee_amount=TAKEN)
PORTION = ("PAY_PORTION", WETH.address, SHOP, BPS)
WITH_FEE = changed(-1, PORTION, SWEEP)


# --- the request ------------------------------------------------------------------------------------------


def test_the_fee_is_rounded_down():
    assert [IntegratorFee(25, SHOP).of(output) for output in (0, 1, 399, 400, 799)] == [0, 0, 0, 1, 1]
    assert FEE.of(GOT + TAKEN) == TAKEN


@pytest.mark.parametrize(
    ("request_", "most_bps", "reason", "finding"),
    [
        (ASKED, 0, Reason.OUT_OF_RANGE, "allows no fees"),
        (ASKED, BPS - 1, Reason.OUT_OF_RANGE, f"between 1 and {BPS - 1}, the operator's maximum"),
        (replace(ASKED, fee=IntegratorFee(0, SHOP)), 100, Reason.OUT_OF_RANGE, "between 1 and 100"),
        (replace(ASKED, fee=IntegratorFee(-1, SHOP)), 100, Reason.OUT_OF_RANGE, "between 1 and 100"),
        (replace(ASKED, to_chain_id=10), 100, Reason.CONFLICT, "within one network"),
        (replace(ASKED, token_in=WETH, token_out=ETHER), 100, Reason.CONFLICT, "wrapped and unwrapped"),
        (replace(ASKED, token_in=ETHER, token_out=WETH), 100, Reason.CONFLICT, "wrapped and unwrapped"),
    ],
)
def test_a_fee_that_cannot_be_charged_is_refused(request_, most_bps, reason, finding):
    with pytest.raises(InvalidRequest, match=finding) as refusal:
        check_fee(request_, WETH.address, most_bps)
    assert refusal.value.reason is reason
    assert [field.path for field in refusal.value.fields] == ["feeBps"]


def test_a_fee_within_the_operators_maximum_and_a_request_without_one_pass():
    check_fee(ASKED, WETH.address, BPS)
    check_fee(REQUEST, WETH.address, 0)
    check_fee(PoolRequest("1:x", 1, "collect", NATIVE, None, USER, USER, 50), WETH.address, 0)


@pytest.mark.parametrize("account", [WETH.address, USDC.address, ROUTER, "0x" + "0" * 39 + "2", NATIVE])
def test_the_fee_goes_to_nobody_who_cannot_move_it(account):
    assert payees(ASKED)["feeRecipient"] == (1, SHOP)
    check_recipient(ASKED, {ROUTER})
    with pytest.raises(InvalidRequest, match="feeRecipient"):
        check_recipient(replace(ASKED, fee=IntegratorFee(BPS, account)), {ROUTER})


class Asked(SwapProvider):
    title, networks, honours = "Asked", frozenset({1}), ("max_hops",)

    def __init__(self, name, *, enforces_fees):
        self.id, self.enforces_fees = name, enforces_fees

    async def quote(self, request):
        return None

    async def build(self, sealed):
        raise AssertionError


PAYS, KEEPS = Asked("pays", enforces_fees=True), Asked("keeps", enforces_fees=False)


def test_a_provider_that_enforces_no_fees_is_not_asked():
    asked, others = able([KEEPS, PAYS], ASKED)
    assert asked == [PAYS]
    assert [(each.provider, each.outcome, each.reason) for each in others] == [
        ("keeps", "not_asked", "unsupported_fee")
    ]
    assert able([KEEPS, PAYS], replace(ASKED, fee=None)) == ([KEEPS, PAYS], ())


def test_when_nobody_enforces_fees_the_request_is_refused():
    error = nobody_able(able([KEEPS], ASKED)[1])
    assert (error.status, error.reason, len(error.attempts)) == (422, Reason.UNSUPPORTED_FEE, 1)
    assert [field.path for field in error.fields] == ["feeBps"]
    error = nobody_able(able([KEEPS, PAYS], replace(ASKED, routing=RoutingLimits(max_legs=1)))[1])
    assert (error.status, error.reason) == (503, Reason.UNSUPPORTED_LIMIT)


# --- the quote --------------------------------------------------------------------------------------------


def test_an_honest_quote_shows_who_gets_the_fee():
    check_quote(Provider(), ASKED, QUOTED)
    (fee,) = with_fee(ASKED, QUOTED).fees
    assert (fee.kind, fee.token, fee.amount, fee.bps) == ("integrator", WETH, TAKEN, BPS)
    assert (fee.included, fee.recipient) == (True, SHOP)
    assert with_fee(REQUEST, QUOTE) == QUOTE


@pytest.mark.parametrize(
    ("request_", "taken", "finding"),
    [
        (ASKED, None, "does not say what the fee takes"),
        (ASKED, -1, "does not say what the fee takes"),
        (ASKED, MAX_UINT256 + 1, "does not say what the fee takes"),
        (ASKED, True, "fee_amount is not"),
        (ASKED, TAKEN + 1, f"its fee is {TAKEN + 1}, not the {TAKEN}"),
        (ASKED, TAKEN - 1, f"its fee is {TAKEN - 1}, not the {TAKEN}"),
        (ASKED, 0, "its fee is 0"),
        (REQUEST, TAKEN, "a fee that was not asked for"),
        (REQUEST, 0, "a fee that was not asked for"),
    ],
)
def test_another_fee_than_asked_for_is_refused(request_, taken, finding):
    with pytest.raises(UnsafeAnswer) as refusal:
        check_quote(Provider(), request_, replace(QUOTE, fee_amount=taken))
    assert finding in refusal.value.finding


def test_a_provider_says_of_no_fee_who_gets_it():
    shown = Fee("protocol", WETH, 1, included=True)
    check_quote(Provider(), REQUEST, replace(QUOTE, fees=(shown,)))
    for text in (THIEF, "Claim your airdrop"):
        with pytest.raises(UnsafeAnswer, match="names who gets a fee"):
            check_quote(Provider(), REQUEST, replace(QUOTE, fees=(shown, replace(shown, recipient=text))))


def test_only_a_swap_has_a_fee():
    request = PoolRequest("1:x", 1, "collect", WETH.address, None, USER, USER, 50)
    quote = replace(QUOTE, inputs=(), net_output=None, spends=())
    check_quote(Provider(), request, quote)
    with pytest.raises(UnsafeAnswer, match="a fee that was not asked for"):
        check_quote(Provider(), request, replace(quote, fee_amount=0))


# --- the calldata -----------------------------------------------------------------------------------------


def test_an_honest_program_pays_the_fee_and_then_the_minimum():
    (reading,) = check(built(*WITH_FEE), SOLD_WITH_FEE, calls=CALLS)
    (payment,) = reading.meaning.payments
    assert (payment.token, payment.recipient, payment.minimum) == (WETH.address, USER, MINIMUM)
    (portion,) = reading.meaning.portions
    assert (portion.token, portion.recipient, portion.bps) == (WETH.address, SHOP, BPS)


def portion(token=WETH, recipient=SHOP, bps=BPS):
    return "PAY_PORTION", token.address, recipient, bps


LIES = {
    "more": (changed(-1, portion(bps=BPS + 1), SWEEP), f"a fee of {BPS + 1} bps, not of {BPS}"),
    "less": (changed(-1, portion(bps=BPS - 1), SWEEP), f"a fee of {BPS - 1} bps, not of {BPS}"),
    "everything": (changed(-1, portion(bps=10_000), SWEEP), "a fee of 10000 bps"),
    "more than everything": (changed(-1, portion(bps=10_001), SWEEP), "a portion of 10001 bps"),
    "nothing": (changed(-1, portion(bps=0), SWEEP), "a portion of 0 bps"),
    "no fee": (FLOW, "pays 0 fees, not one"),
    "the fee twice": (changed(-1, portion(), portion(), SWEEP), "pays 2 fees, not one"),
    "a second fee for a thief": (changed(-1, portion(), portion(recipient=THIEF), SWEEP), "pays 2 fees"),
    "the fee to a thief": (changed(-1, portion(recipient=THIEF), SWEEP), f"pays the fee to {THIEF}"),
    "the fee to the sender": (
        changed(-1, portion(recipient="0x" + "0" * 39 + "1"), SWEEP),
        f"pays the fee to {USER}",
    ),
    "the fee to the router": (
        changed(-1, portion(recipient="0x" + "0" * 39 + "2"), SWEEP),
        "pays the fee to 0x0000000000000000000000000000000000000002",
    ),
    "a fee on a token in between": (changed(3, portion(DAI), FLOW[3]), f"takes the fee in {DAI.address}"),
    "a fee on a token that the router has none of": (changed(-1, portion(ETHER), SWEEP), "holds none"),
    "the fee before all has arrived": (changed(3, portion(), FLOW[3]), "after it has paid a portion"),
    "the fee after the minimum": (changed(-1, SWEEP, portion()), "holds none"),
    "a minimum before fee": (
        changed(-1, portion(), ("SWEEP", WETH.address, USER, MINIMUM - FEE.of(MINIMUM))),
        "less than quoted",
    ),
    "no minimum": (changed(-1, portion(), ("SWEEP", WETH.address, USER, 0)), "enforces a minimum of 0"),
    "the rest to who gets the fee": (
        changed(-1, portion(), ("SWEEP", WETH.address, SHOP, MINIMUM)),
        f"pays {SHOP}",
    ),
    "a leg to who gets the fee": (
        (v3(USDC, WETH, DIRECT, True, SHOP), *FLOW[1:-1], portion(), SWEEP),
        f"pays {SHOP}",
    ),
    "the rest stays in the router": ((*FLOW[:-1], portion()), "may leave"),
}


@pytest.mark.parametrize(("commands", "finding"), LIES.values(), ids=LIES.keys())
def test_a_program_that_takes_another_fee_is_refused(commands, finding):
    refused(built(*commands), finding, SOLD_WITH_FEE, calls=CALLS)


def test_a_fee_that_was_not_asked_for_is_refused():
    refused(built(*WITH_FEE), "a share that was not asked for", calls=CALLS)


def test_dirty_bytes_of_a_portion_are_not_read():
    build = built(*WITH_FEE)
    data = build.steps[0].data
    at = data.index(bytes.fromhex(SHOP[2:])) - 12
    dirty = data[:at] + b"\1" + data[at + 1 :]
    refused(
        replace(build, steps=(replace(build.steps[0], data=dirty),)),
        "cannot be read",
        SOLD_WITH_FEE,
        calls=CALLS,
    )


@pytest.mark.parametrize("minimum", [MINIMUM, MINIMUM - 1])
def test_the_coin_pays_its_fee_unwrapped(minimum):
    sealed = replace(
        SOLD_WITH_FEE,
        request=replace(SOLD_WITH_FEE.request, token_out=ETHER),
        outputs=(Leg(ETHER, GOT, USER, amount_min=MINIMUM),),
    )
    ends = ("UNWRAP_WETH", "0x" + "0" * 39 + "2", 0), portion(ETHER), ("SWEEP", NATIVE, USER, minimum)
    build = replace(built(*changed(-1, *ends)), outputs=sealed.outputs)
    if minimum < MINIMUM:
        refused(build, "less than quoted", sealed, calls=CALLS)
        return
    check(build, sealed, calls=CALLS)
    wrapped = changed(-1, portion(), ("UNWRAP_WETH", USER, MINIMUM))
    build = replace(built(*wrapped), outputs=sealed.outputs)
    refused(build, f"takes the fee in {WETH.address}", sealed, calls=CALLS)


def test_calldata_that_nobody_can_read_takes_no_fee():
    build = built(*FLOW)
    unread = replace(build.steps[0], data=b"\1\2\3\4" + build.steps[0].data[4:])
    build = replace(build, steps=(unread,), deadline=None)
    more = {"calls": CALLS, "opaque": True}
    check(build, replace(SEALED, request=replace(REQUEST, permit2_signature=False)), **more)
    refused(build, "may not take a fee", SOLD_WITH_FEE, **more)


# --- the run ----------------------------------------------------------------------------------------------


def ran(paid, taken, block=BLOCK):
    run = run_of(SOLD, paid, USER, ROUTER)
    changes = (*run.asset_changes, AssetChange(SHOP, WETH.address, taken))
    return replace(run, block=block, asset_changes=changes)


def judge(run):
    check_run(Provider(), SOLD_WITH_FEE, built(*WITH_FEE), run, Trace())


def test_who_gets_the_fee_is_watched():
    assert (SHOP, WETH.address) in watched(SOLD_WITH_FEE)
    assert (SHOP, WETH.address) not in watched(SEALED)


def test_a_run_pays_the_fee_that_was_quoted_at_its_block_and_its_share_later():
    judge(ran(GOT, TAKEN))
    judge(ran(MINIMUM, FEE.of(MINIMUM * 10_000 // (10_000 - BPS)), LATER))


@pytest.mark.parametrize("taken", [0, TAKEN - 1, TAKEN + 1, 2 * TAKEN])
@pytest.mark.parametrize("block", [BLOCK, LATER])
def test_a_run_that_pays_another_fee_is_refused(taken, block):
    with pytest.raises(UnsafeAnswer, match="a fee of"):
        judge(ran(GOT, taken, block))


def test_a_run_that_pays_less_to_both_is_a_mismatch():
    with pytest.raises(QuoteMismatch):
        judge(ran(GOT - 400 * 399, TAKEN - 400))


# --- the token --------------------------------------------------------------------------------------------


@given(st.integers(1, 1_000), st.integers(0, MAX_UINT256), st.booleans(), st.booleans())
def test_the_fee_survives_in_the_token(bps, amount, limited, joined):
    limits = RoutingLimits(max_hops=2) if limited else RoutingLimits()
    request = replace(swap_quote().request, fee=IntegratorFee(bps, SHOP), routing=limits)
    quote = swap_quote(request=request, fee_amount=amount)
    if joined:
        quote = replace(quote, parts=(swap_quote(fee_amount=amount), swap_quote()))
    seal = sealer()
    sealed = seal.seal(quote)
    assert seal.open(quote.capability, sealed.token) == sealed


def test_the_core_reads_the_fee_from_the_bytes_alone():
    """The provider's members say nothing of it, and the same bytes are judged by the request."""
    build = built(*WITH_FEE)
    asked = replace(SOLD_WITH_FEE.request, fee=IntegratorFee(BPS, THIEF))
    with pytest.raises(UnsafeAnswer, match="pays the fee to"):
        check_build(Provider(), replace(SOLD_WITH_FEE, request=asked), build, CALLS, now=NOW)
