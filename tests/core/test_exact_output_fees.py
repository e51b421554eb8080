"""Integrators' fees beside exact outputs: the guard accepts the quoted one to the recipient asked for."""

from dataclasses import replace

import pytest
from guard_cases import QUOTE, REQUEST, SEALED, Provider, check, plain, refused, run_of
from quoteway.engine.integrator_fees import check_fee, with_fee
from quoteway.engine.sentences import described
from quoteway.evm import permit2
from quoteway.evm.abi import function
from quoteway.evm.address import address_bytes
from quoteway.evm.calls.meaning import Transfer
from quoteway.evm.calls.router_commands import ADDRESS_THIS, CONTRACT_BALANCE, EXECUTE, MSG_SENDER, Program
from quoteway.guard.findings import QuoteMismatch, UnsafeAnswer
from quoteway.guard.outcome import check_run, watched
from quoteway.guard.quotes import check_quote
from quoteway.models import NATIVE, AssetChange, CertifiedSwap, IntegratorFee, Leg, Spend
from quoteway.simulation.trace import Trace
from sold_usdc import BLOCK, DAI, ETHER, LATER, NOW, ROUTER, SOLD, THIEF, USDC, USER, WETH
from test_flow_calls import CALLS, WORDS

SHOP = "0x3333333333333333333333333333333333333333"
FEE = IntegratorFee(25, SHOP)
WANTED = 10**17
TAKEN = FEE.of(SOLD)
"""The fee on what the pools take by the quote."""
POOLS_MOST = SOLD * 10_050 // 10_000
MOST = POOLS_MOST + TAKEN
ASKED = replace(REQUEST, amount_in=0, amount_out=WANTED, fee=FEE, permit2_signature=False)
GIVEN = Leg(USDC, SOLD + TAKEN, USER, amount_max=MOST)
BOUGHT = Leg(WETH, WANTED, USER, amount_min=WANTED)
QUOTED = replace(
    QUOTE, inputs=(GIVEN,), outputs=(BOUGHT,), net_output=None, total_input=MOST + 7, fee_amount=TAKEN
)
SOLD_WITH_FEE = replace(SEALED, request=ASKED, inputs=(GIVEN,), outputs=(BOUGHT,), fee_amount=TAKEN)
PATH = address_bytes(WETH.address) + b"\0\1\xf4" + address_bytes(USDC.address)


def test_a_fee_beside_an_exact_output_is_allowed_up_to_the_operators_maximum():
    check_fee(ASKED, WETH.address, 25)


# --- the quote --------------------------------------------------------------------------------------------


def test_an_honest_quote_shows_the_fee_in_the_token_sold():
    check_quote(Provider(), ASKED, QUOTED)
    (fee,) = with_fee(ASKED, QUOTED).fees
    assert (fee.kind, fee.token, fee.amount, fee.bps) == ("integrator", USDC, TAKEN, 25)
    assert (fee.included, fee.recipient) == (True, SHOP)


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"fee_amount": None}, "does not say what the fee takes"),
        ({"fee_amount": TAKEN + 1}, f"its fee is {TAKEN + 1}, not the {TAKEN}"),
        ({"fee_amount": TAKEN - 1}, f"its fee is {TAKEN - 1}, not the {TAKEN}"),
        ({"fee_amount": 0}, "its fee is 0"),
        ({"fee_amount": GIVEN.amount}, "not the 0 of feeBps"),
        ({"fee_amount": GIVEN.amount + 1}, "not the 0 of feeBps"),
        ({"inputs": (replace(GIVEN, amount_max=MOST + 2),)}, "above the slippage"),
        # A maximum with slippage on the fee.
        (
            {"inputs": (replace(GIVEN, amount_max=(SOLD + TAKEN) * 10_050 // 10_000),)},
            "above the slippage",
        ),
    ],
)
def test_a_quote_with_another_fee_or_room_for_more_is_refused(changes, finding):
    with pytest.raises(UnsafeAnswer) as refusal:
        check_quote(Provider(), ASKED, replace(QUOTED, **changes))
    assert finding in refusal.value.finding


# --- the calldata -----------------------------------------------------------------------------------------


def built(*commands, value=0, inputs=(GIVEN,), most=MOST):
    made = Program(WORDS.command)
    for name, *args in commands:
        made.add(name, *args)
    data = function(EXECUTE).encode([made.bytes, made.inputs, NOW + 1200])
    spends = () if value else (Spend(USDC.address, most, permit2.ADDRESS, permit2_spender=ROUTER),)
    build = plain(spends=spends, inputs=inputs, outputs=(BOUGHT,))
    return replace(build, steps=(replace(build.steps[0], data=data, value=value),))


def pull(recipient=SHOP, amount=TAKEN, token=USDC):
    return "PERMIT2_TRANSFER_FROM", token.address, recipient, amount


def bought(most=POOLS_MOST, recipient=USER, by_user=True):
    return "V3_SWAP_EXACT_OUT", recipient, WANTED, most, PATH, by_user


def test_an_honest_program_pays_exactly_the_fee_and_says_so():
    build = built(pull(), bought())
    (reading,) = check(build, SOLD_WITH_FEE, calls=CALLS)
    assert reading.meaning.transfers == (Transfer(USDC.address, SHOP, TAKEN),)
    assert sum(charge.maximum for charge in reading.meaning.charges) == MOST
    told = described(build.steps[0], reading, ASKED, build, None).intent
    assert f", of which {TAKEN / 10**6:,.2f}".rstrip("0") in told
    assert f"is a fee, sent to {SHOP}" in told


LIES = {
    "more": ((pull(amount=TAKEN + 1), bought(POOLS_MOST - 1)), f"a fee of {TAKEN + 1}, not of {TAKEN}"),
    "less": ((pull(amount=TAKEN - 1), bought()), f"a fee of {TAKEN - 1}, not of {TAKEN}"),
    "more than the maximum": ((pull(amount=TAKEN + 1), bought()), "takes more of"),
    "more to the pools": ((pull(), bought(POOLS_MOST + 1)), "takes more of"),
    "no fee": ((bought(),), "pays 0 fees, not 1"),
    "the fee twice": ((pull(), pull(), bought(POOLS_MOST - TAKEN)), "pays 2 fees, not 1"),
    "the fee in two parts": ((pull(amount=1), pull(amount=TAKEN - 1), bought()), "pays 2 fees, not 1"),
    "a second fee for a thief": ((pull(), pull(THIEF, 1), bought(POOLS_MOST - 1)), "pays 2 fees, not 1"),
    "the fee to a thief": ((pull(THIEF), bought()), f"pays the fee to {THIEF}"),
    "the fee to the sender": ((pull(MSG_SENDER), bought()), f"pays the fee to {USER}"),
    "the fee stays in the router": ((pull(ADDRESS_THIS), bought()), "may leave"),
    "the fee in another token": ((pull(token=DAI), bought()), f"takes more of {DAI.address}"),
    "the fee from what is bought": (
        (
            bought(recipient=ADDRESS_THIS),
            ("TRANSFER", WETH.address, SHOP, TAKEN),
            ("SWEEP", WETH.address, USER, WANTED),
        ),
        f"takes the fee in {WETH.address}, which is not sold",
    ),
    "a share of what is bought": (
        (
            pull(),
            bought(recipient=ADDRESS_THIS),
            ("PAY_PORTION", WETH.address, SHOP, 25),
            ("SWEEP", WETH.address, USER, WANTED),
        ),
        "a share that was not asked for",
    ),
    "what is bought to who gets the fee": ((pull(), bought(recipient=SHOP)), f"pays {SHOP}"),
    "what is bought passed on": (
        (
            pull(),
            bought(recipient=ADDRESS_THIS),
            ("TRANSFER", WETH.address, SHOP, 1),
            ("SWEEP", WETH.address, USER, WANTED),
        ),
        "pays 2 fees, not 1",
    ),
    "all that the router has": (
        (
            pull(ADDRESS_THIS),
            ("TRANSFER", USDC.address, SHOP, CONTRACT_BALANCE),
            bought(),
        ),
        "does not name",
    ),
    "more than the router has": (
        (pull(ADDRESS_THIS), ("TRANSFER", USDC.address, SHOP, TAKEN + 1), bought()),
        "more than the router holds",
    ),
}


@pytest.mark.parametrize(("commands", "finding"), LIES.values(), ids=LIES.keys())
def test_a_program_that_pays_another_fee_is_refused(commands, finding):
    refused(built(*commands), finding, SOLD_WITH_FEE, calls=CALLS)


def test_a_transfer_that_was_not_asked_for_is_refused():
    for request in (replace(ASKED, fee=None), replace(REQUEST, amount_in=SOLD, permit2_signature=False)):
        sealed = replace(SOLD_WITH_FEE, request=request, fee_amount=None)
        refused(built(pull(), bought()), f"pays {SHOP}, another account", sealed, calls=CALLS)
        refused(built(pull(THIEF), bought()), f"pays {THIEF}, another account", sealed, calls=CALLS)


def test_an_exact_input_pays_its_fee_as_a_share_only():
    inputs, request = (
        (replace(GIVEN, amount=MOST, amount_max=None),),
        replace(REQUEST, amount_in=MOST, fee=FEE),
    )
    request = replace(request, permit2_signature=False)
    sealed = replace(SOLD_WITH_FEE, request=request, inputs=inputs)
    build = built(pull(), bought(), inputs=inputs)
    refused(build, f"pays {SHOP}, another account", sealed, calls=CALLS)


def test_a_fee_of_nothing_is_not_transferred():
    given = Leg(USDC, 399, USER, amount_max=399)
    sealed = replace(SOLD_WITH_FEE, inputs=(given,), fee_amount=0)
    check(built(bought(399), inputs=(given,), most=399), sealed, calls=CALLS)
    build = built(pull(amount=1), bought(398), inputs=(given,), most=399)
    refused(build, "pays 1 fees, not 0", sealed, calls=CALLS)


COIN = replace(GIVEN, token=ETHER)
SOLD_COIN = replace(
    SOLD_WITH_FEE,
    request=replace(ASKED, token_in=ETHER, token_out=USDC),
    inputs=(COIN,),
    outputs=(replace(BOUGHT, token=USDC),),
)
FROM_COIN = address_bytes(USDC.address) + b"\0\1\xf4" + address_bytes(WETH.address)


def paid_in_coin(recipient=SHOP, amount=TAKEN, value=MOST, back=MSG_SENDER, token=NATIVE):
    swap = "V3_SWAP_EXACT_OUT", USER, WANTED, POOLS_MOST, FROM_COIN, False
    fee = "TRANSFER", token, recipient, amount
    wrapped = "WRAP_ETH", ADDRESS_THIS, POOLS_MOST
    build = built(fee, wrapped, swap, ("UNWRAP_WETH", back, 0), value=value, inputs=(COIN,))
    return replace(build, outputs=SOLD_COIN.outputs)


def test_the_coin_pays_its_fee_as_the_coin():
    (reading,) = check(paid_in_coin(), SOLD_COIN, calls=CALLS)
    assert reading.meaning.transfers == (Transfer(NATIVE, SHOP, TAKEN),)
    for build, finding in (
        (paid_in_coin(THIEF), f"pays the fee to {THIEF}"),
        (paid_in_coin(amount=TAKEN + 1), "more than the router holds"),
        (paid_in_coin(amount=TAKEN - 1), "may leave"),
        (paid_in_coin(amount=TAKEN + 1, value=MOST + 1), "spends more of the native coin"),
        (paid_in_coin(back=SHOP), f"pays {SHOP}, another account"),
        (paid_in_coin(token=WETH.address), "more than the router holds"),
    ):
        refused(build, finding, SOLD_COIN, calls=CALLS)


# --- the run ----------------------------------------------------------------------------------------------


def ran(sold, fee, block=BLOCK):
    run = run_of(sold, WANTED, USER, ROUTER)
    (change,) = run.allowance_changes
    changes = (*run.asset_changes, AssetChange(SHOP, USDC.address, fee))
    left = (replace(change, after=max(MOST - sold, 0)),)
    return replace(run, block=block, asset_changes=changes, allowance_changes=left)


def judge(run):
    check_run(Provider(), SOLD_WITH_FEE, built(pull(), bought()), run, Trace())


def test_a_run_pays_the_quoted_fee_at_every_block():
    assert (SHOP, USDC.address) in watched(SOLD_WITH_FEE)
    judge(ran(SOLD + TAKEN, TAKEN))
    judge(ran(SOLD // 2 + TAKEN, TAKEN, LATER))
    judge(ran(MOST, TAKEN, LATER))
    for block in (BLOCK, LATER):
        for fee in (0, TAKEN - 1, TAKEN + 1):
            with pytest.raises(UnsafeAnswer, match="a fee of"):
                judge(ran(SOLD + TAKEN, fee, block))
    with pytest.raises(UnsafeAnswer, match="more than quoted"):
        judge(ran(MOST + 1, TAKEN, LATER))
    with pytest.raises(QuoteMismatch):
        judge(ran(SOLD + TAKEN - 1, TAKEN))


# --- what verify-quote reads ------------------------------------------------------------------------------


@pytest.mark.parametrize("bps", [0, 1, 25, 1_000])
@pytest.mark.parametrize("taken", [0, 1, 9, 10, 399, 400, 401, 10**6 + 1, 10**30 + 7])
def test_what_the_pools_take_follows_from_what_is_paid(bps, taken):
    paid = taken + IntegratorFee(bps, SHOP).of(taken)
    swap = CertifiedSwap(1, USDC.address, WETH.address, paid, 5, BLOCK, (), None, bps, bought=5)
    assert (swap.sold, swap.with_fee(swap.sold), swap.after_fee(5)) == (taken, paid, 5)
