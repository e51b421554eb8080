"""What arrives on another chain, and who is refunded: calldata against the quote."""

from dataclasses import replace

import pytest
from guard_cases import QUOTE, REQUEST, SEALED, Provider, plain, refused, step
from quoteway.evm.abi import function
from quoteway.guard.calldata import check_build
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.quotes import check_quote
from quoteway.models import (
    NATIVE,
    Arrival,
    Capability,
    Leg,
    RefundTerms,
    Token,
    TransferTerms,
    TransferTracking,
)
from sold_usdc import GOT, MINIMUM, NOW, ROUTER, THIEF, USDC, USER

FAR_USDC = Token(10, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", 6, "USDC")
FAR_COIN = Token(10, NATIVE, 18, "ETH")
FAR_WRAPPED = "0x4200000000000000000000000000000000000006"
SEND = function(
    "send(uint256 toChain, address refund, (bytes32 recipient, address token, uint256 amount) order, bytes x)"
)
PLACES = Arrival(0, chain_id=(0,), recipient=(2, 0), token=(2, 1), amount_min=(2, 2))


REFUNDING = replace(PLACES, refund=(1,))


def transfer(
    got=FAR_USDC, recipient=USER, order=None, to_chain=10, arrivals=(PLACES,), refunded=USER, refund_to=None
):
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
    return sealed, plain(steps=(step(args, SEND),), outputs=sealed.outputs, arrivals=arrivals)


def arrives(sealed, build):
    check_build(Provider(), sealed, build, now=NOW, wrapped_native_out=FAR_WRAPPED)


@pytest.mark.parametrize("got", [FAR_USDC, FAR_COIN])
@pytest.mark.parametrize("recipient", [USER, ROUTER])
def test_an_honest_transfer_to_another_chain_passes(got, recipient):
    arrives(*transfer(got, recipient))
    token = FAR_WRAPPED if got is FAR_COIN else got.address
    arrives(*transfer(got, recipient, (recipient, token, MINIMUM + 1)))


@pytest.mark.parametrize(
    ("lie", "finding"),
    [
        ({"order": (THIEF, FAR_USDC.address, MINIMUM)}, "another account on chain 10"),
        ({"order": (USER, FAR_USDC.address, MINIMUM), "recipient": ROUTER}, "another account on chain 10"),
        ({"order": (USER, USDC.address, MINIMUM)}, "another token on chain 10"),
        ({"order": (USER, NATIVE, MINIMUM)}, "another token on chain 10"),
        ({"order": (USER, USDC.address, MINIMUM), "got": FAR_COIN}, "another token on chain 10"),
        ({"order": (USER, FAR_USDC.address, MINIMUM - 1)}, "less than quoted on chain 10"),
        ({"to_chain": 137}, "pays out on chain 137"),
        ({"arrivals": ()}, "does not declare where"),
        ({"arrivals": (PLACES, PLACES)}, "does not declare where"),
        ({"arrivals": (replace(PLACES, step=1),)}, "no transaction"),
        ({"arrivals": (replace(PLACES, recipient=(2,)),)}, "another account"),
        ({"arrivals": (replace(PLACES, recipient=(9,)),)}, "another account"),
        ({"arrivals": (replace(PLACES, token=(2, 1, 0)),)}, "another token"),
        ({"arrivals": (replace(PLACES, amount_min=()),)}, "less than quoted"),
    ],
)
def test_a_transfer_that_arrives_elsewhere_or_as_less_is_refused(lie, finding):
    with pytest.raises(UnsafeAnswer) as refusal:
        arrives(*transfer(**lie))
    assert finding in refusal.value.finding


@pytest.mark.parametrize("asked", [None, USER, ROUTER])
def test_the_refund_goes_to_who_was_asked_for(asked):
    account = asked or USER
    sealed, build = transfer(arrivals=(REFUNDING,), refunded=account, refund_to=asked)
    arrives(sealed, build)
    arrives(sealed, replace(build, terms=TransferTracking("a-bridge", 1, 10, refund_address=account)))
    if account == USER:  # a bridge that lets nobody name the account, and says of none
        sealed, build = transfer(refunded=account)
        arrives(sealed, build)
        arrives(sealed, replace(build, terms=TransferTracking("a-bridge", 1, 10)))


@pytest.mark.parametrize(
    ("lie", "told", "finding"),
    [
        ({"refunded": THIEF}, None, "refunds another account"),
        ({"refunded": ROUTER}, None, "refunds another account"),
        ({"refund_to": ROUTER}, None, "refunds another account"),
        ({"refunded": THIEF, "refund_to": ROUTER}, None, "refunds another account"),
        ({"arrivals": (replace(PLACES, refund=()),)}, None, "refunds another account"),
        ({"arrivals": (replace(PLACES, refund=(9,)),)}, None, "refunds another account"),
        ({"arrivals": (PLACES,), "refunded": ROUTER, "refund_to": ROUTER}, None, "has the refund account"),
        ({"arrivals": (PLACES,)}, USER, "has the refund account"),
        ({"arrivals": (PLACES,), "refund_to": USER}, None, "has the refund account"),
        ({}, THIEF, "names another refund account"),
        ({"refunded": ROUTER, "refund_to": ROUTER}, USER, "names another refund account"),
    ],
)
def test_a_transfer_that_refunds_somebody_else_is_refused(lie, told, finding):
    sealed, build = transfer(**({"arrivals": (REFUNDING,)} | lie))
    with pytest.raises(UnsafeAnswer) as refusal:
        arrives(sealed, replace(build, terms=TransferTracking("a-bridge", 1, 10, refund_address=told)))
    assert finding in refusal.value.finding


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


def test_a_swap_on_one_chain_names_no_arrival():
    refused(plain(arrivals=(PLACES,)), "another chain")
