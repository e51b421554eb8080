"""What arrives on another chain, and who is refunded: calldata against the quote."""

from dataclasses import replace

import pytest
from guard_cases import FAR_WRAPPED, QUOTE, REQUEST, SEALED, Provider, check, plain, refused, registry, step
from quoteway.evm.abi import function
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.quotes import check_quote
from quoteway.models import (
    NATIVE,
    CallDescription,
    Capability,
    Leg,
    PaymentRoles,
    RefundTerms,
    Token,
    TransferTerms,
    TransferTracking,
)
from sold_usdc import GOT, MINIMUM, NOW, ROUTER, THIEF, USDC, USER

FAR_USDC = Token(10, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", 6, "USDC")
FAR_COIN = Token(10, NATIVE, 18, "ETH")
SEND = function(
    "send(uint256 toChain, address refund, (bytes32 recipient, address token, uint256 amount) order, bytes x)"
)
ROLES = CallDescription(
    SEND.declaration,
    "transfer",
    pays=(PaymentRoles("#.order.[1]", "#.order.[0]", "#.order.[2]", chain_id="#.toChain"),),
)
PLAIN, REFUNDING = registry(ROLES), registry(replace(ROLES, refund="#.refund"))


def transfer(got=FAR_USDC, recipient=USER, order=None, to_chain=10, refunded=USER, refund_to=None):
    sealed = replace(
        SEALED,
        capability=Capability.BRIDGE,
        request=replace(REQUEST, to_chain_id=10, token_out=got, recipient=recipient, refund_to=refund_to),
        outputs=(Leg(got, GOT, recipient, amount_min=MINIMUM),),
    )
    token = FAR_WRAPPED if got is FAR_COIN else got.address
    account, paid, amount = order or (recipient, token, MINIMUM)
    # The sender stands in it as who gets a refund, the minimum in what nobody reads.
    args = [to_chain, refunded, (bytes(12) + bytes.fromhex(account[2:]), paid, amount), MINIMUM.to_bytes(32)]
    return plain(steps=(step(args, SEND),), outputs=sealed.outputs, deadline=None), sealed


@pytest.mark.parametrize("got", [FAR_USDC, FAR_COIN])
@pytest.mark.parametrize("recipient", [USER, ROUTER])
def test_an_honest_transfer_to_another_chain_passes(got, recipient):
    check(*transfer(got, recipient), calls=PLAIN)
    token = FAR_WRAPPED if got is FAR_COIN else got.address
    check(*transfer(got, recipient, (recipient, token, MINIMUM + 1)), calls=PLAIN)


@pytest.mark.parametrize(
    ("lie", "finding"),
    [
        ({"order": (THIEF, FAR_USDC.address, MINIMUM)}, "on chain 10, another account"),
        ({"order": (USER, FAR_USDC.address, MINIMUM), "recipient": ROUTER}, "on chain 10, another account"),
        ({"order": (USER, USDC.address, MINIMUM)}, "does not pay"),
        ({"order": (USER, NATIVE, MINIMUM)}, "does not pay"),
        ({"order": (USER, USDC.address, MINIMUM), "got": FAR_COIN}, "does not pay"),
        ({"order": (USER, FAR_USDC.address, MINIMUM - 1)}, "less than quoted"),
        ({"to_chain": 137}, "does not pay"),
        ({"to_chain": 1}, "does not pay"),
    ],
)
def test_a_transfer_that_arrives_elsewhere_or_as_less_is_refused(lie, finding):
    build, sealed = transfer(**lie)
    refused(build, finding, sealed, calls=PLAIN)


def test_a_call_for_another_action_is_refused():
    build, sealed = transfer()
    refused(build, "a call to swap", sealed, calls=registry(replace(ROLES, action="swap")))
    unlimited = replace(ROLES, pays=(replace(ROLES.pays[0], minimum=None),))
    refused(build, "enforces no minimum", sealed, calls=registry(unlimited))


@pytest.mark.parametrize("asked", [None, USER, ROUTER])
def test_the_refund_goes_to_who_was_asked_for(asked):
    account = asked or USER
    build, sealed = transfer(refunded=account, refund_to=asked)
    check(build, sealed, calls=REFUNDING)
    told = replace(build, terms=TransferTracking("a-bridge", 1, 10, refund_address=account))
    check(told, sealed, calls=REFUNDING)
    if asked is None:  # a bridge that lets nobody name the account, and says of none
        check(build, sealed, calls=PLAIN)
        check(replace(build, terms=TransferTracking("a-bridge", 1, 10)), sealed, calls=PLAIN)


@pytest.mark.parametrize(
    ("lie", "told", "calls", "finding"),
    [
        ({"refunded": THIEF}, None, REFUNDING, "refunds another account"),
        ({"refunded": ROUTER}, None, REFUNDING, "refunds another account"),
        ({"refund_to": ROUTER}, None, REFUNDING, "refunds another account"),
        ({"refunded": THIEF, "refund_to": ROUTER}, None, REFUNDING, "refunds another account"),
        ({"refunded": ROUTER, "refund_to": ROUTER}, None, PLAIN, "no refund account"),
        ({}, USER, PLAIN, "no refund account"),
        ({"refund_to": USER}, None, PLAIN, "no refund account"),
        ({}, THIEF, REFUNDING, "names another refund account"),
        ({"refunded": ROUTER, "refund_to": ROUTER}, USER, REFUNDING, "names another refund account"),
    ],
)
def test_a_transfer_that_refunds_somebody_else_is_refused(lie, told, calls, finding):
    build, sealed = transfer(**lie)
    build = replace(build, terms=TransferTracking("a-bridge", 1, 10, refund_address=told))
    refused(build, finding, sealed, calls=calls)


def test_tracking_names_the_chains_of_the_transfer():
    build, sealed = transfer()
    for ends in ((10, 1), (1, 137)):
        told = replace(build, terms=TransferTracking("a-bridge", *ends))
        refused(told, "names other chains", sealed, calls=PLAIN)


DATED = function(
    "send(uint256 toChain, uint32 offeredAt, uint32 paidUntil,"
    " (bytes32 recipient, address token, uint256 amount) order)"
)
ACCEPTED_S = 3600


def dated(offered_at=NOW - 60, pays_until=NOW + 7200, deadline=NOW - 60 + ACCEPTED_S):
    """A transfer that is accepted for an hour after its offer, checked."""
    build, sealed = transfer()
    args = [10, offered_at, pays_until, (bytes(12) + bytes.fromhex(USER[2:]), FAR_USDC.address, MINIMUM)]
    roles = replace(
        ROLES,
        declaration=DATED.declaration,
        offered_at="#.offeredAt",
        accepted_s=ACCEPTED_S,
        pays_until="#.paidUntil",
    )
    return replace(build, steps=(step(args, DATED),), deadline=deadline), sealed, registry(roles)


@pytest.mark.parametrize(
    ("lie", "finding"),
    [
        ({"deadline": NOW + ACCEPTED_S}, "not the one in its calldata"),
        ({"offered_at": NOW, "deadline": NOW + ACCEPTED_S - 60}, "not the one in its calldata"),
        ({"offered_at": NOW - ACCEPTED_S, "deadline": None}, "deadline in its calldata has passed"),
        ({"offered_at": NOW + 86_400, "deadline": None}, "deadline in its calldata"),
        ({"pays_until": NOW}, "paid out has passed"),
        ({"pays_until": NOW + 86_401}, "or is too far away"),
    ],
)
def test_the_times_of_a_transfer_are_those_that_its_contract_takes(lie, finding):
    build, sealed, calls = dated()
    (reading,) = check(build, sealed, calls=calls)
    assert (reading.meaning.deadline, reading.meaning.pays_until) == (NOW - 60 + ACCEPTED_S, NOW + 7200)
    build, sealed, calls = dated(**lie)
    refused(build, finding, sealed, calls=calls)


def test_a_quote_promises_the_refund_to_who_was_asked_for():
    request = replace(REQUEST, to_chain_id=10, token_out=FAR_USDC)
    quote = replace(QUOTE, outputs=(replace(QUOTE.outputs[0], token=FAR_USDC),))
    for asked, promised, honest in (
        (None, USER, True),
        (None, THIEF, False),
        (ROUTER, ROUTER, True),
        (ROUTER, USER, False),
    ):
        told = replace(quote, terms=TransferTerms(refund=RefundTerms(1, USDC.address, promised)))
        if honest:
            check_quote(Provider(), replace(request, refund_to=asked), told)
            continue
        with pytest.raises(UnsafeAnswer, match="promises the refund"):
            check_quote(Provider(), replace(request, refund_to=asked), told)
    check_quote(Provider(), request, replace(quote, terms=TransferTerms()))
