"""Exact outputs in the core: what the guard accepts, how quotes are ranked, sealed and read."""

from dataclasses import replace

import pytest
from guard_cases import QUOTE, REQUEST, SEALED, Provider, check, plain, refused, run_of, step
from hypothesis import given
from hypothesis import strategies as st
from quoteway.engine.auto_slippage import HIGH_BPS, LOW_BPS, slippage_of
from quoteway.engine.gas_costs import repriced
from quoteway.engine.quote_tokens import same_request
from quoteway.engine.ranking import attempts_of, bids_of, rank
from quoteway.errors import Reason, UpstreamError
from quoteway.evm.abi import function
from quoteway.evm.address import address_bytes
from quoteway.evm.calls.meaning import Charge, Payment, Sent, Unreadable
from quoteway.evm.calls.registry import CallRegistry
from quoteway.evm.calls.router_commands import ADDRESS_THIS, EXECUTE, MSG_SENDER, OPEN_DELTA, Program, dialect
from quoteway.evm.calls.universal_router import UniversalRouter
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.outcome import check_run
from quoteway.guard.quotes import check_quote
from quoteway.host.outcomes import Outcome
from quoteway.models import (
    NATIVE,
    Gas,
    Leg,
    RoutingLimits,
    Spend,
    Step,
    SwapRequest,
    Token,
)
from quoteway.networks import Network
from quoteway.providers import SwapProvider
from quoteway.simulation.trace import Trace
from sealed_quotes import sealer
from sold_usdc import BLOCK, DAI, NOW, ROUTER, SOLD, THIEF, USDC, USER, WETH

WANTED = 10**17
MOST = SOLD * 10_050 // 10_000
EXACT = replace(REQUEST, amount_in=0, amount_out=WANTED)
GIVEN = Leg(USDC, SOLD, USER, amount_max=MOST)
GOT = Leg(WETH, WANTED, USER, amount_min=WANTED)
HONEST = replace(QUOTE, inputs=(GIVEN,), outputs=(GOT,), net_output=None, total_input=MOST + 7)
SEALED_EXACT = replace(SEALED, request=EXACT, inputs=(GIVEN,), outputs=(GOT,))


def test_honest_quotes_pass():
    check_quote(Provider(), EXACT, HONEST)
    check_quote(Provider(), EXACT, replace(HONEST, total_input=None))
    surplus = replace(GOT, amount=WANTED + 5)
    check_quote(Provider(), EXACT, replace(HONEST, outputs=(surplus,)))
    no_slippage = replace(HONEST, inputs=(replace(GIVEN, amount_max=SOLD),))
    check_quote(Provider(), replace(EXACT, slippage_bps=0), no_slippage)


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"inputs": (replace(GIVEN, amount_max=None),)}, "no maximum"),
        ({"inputs": (replace(GIVEN, amount_max=MOST + 2),)}, "above the slippage"),
        ({"inputs": (replace(GIVEN, amount_max=SOLD - 1),)}, "exceeds its maximum"),
        ({"inputs": (replace(GIVEN, amount=0, amount_max=0),)}, "sells nothing"),
        ({"inputs": (replace(GIVEN, amount_min=SOLD),)}, "has a minimum"),
        ({"inputs": (replace(GIVEN, token=WETH),)}, "another token"),
        ({"inputs": (replace(GIVEN, account=THIEF),)}, "another account"),
        ({"outputs": (replace(GOT, amount_min=WANTED - 1),)}, "another amount"),
        ({"outputs": (replace(GOT, amount=WANTED + 1, amount_min=WANTED + 1),)}, "another amount"),
        ({"outputs": (replace(GOT, amount=WANTED - 1),)}, "a minimum exceeds"),
        ({"outputs": (replace(GOT, amount_min=None),)}, "states no minimum"),
        ({"outputs": (replace(GOT, account=THIEF),)}, "another recipient"),
        ({"net_output": 1}, "net_output"),
        ({"total_input": MOST - 1}, "total_input"),
        ({"total_input": 1 << 300}, "total_input"),
        ({"spends": (Spend(USDC.address, MOST + 1, ROUTER),)}, "spends more"),
    ],
)
def test_a_lying_quote_is_refused(changes, finding):
    with pytest.raises(UnsafeAnswer, match=finding):
        check_quote(Provider(), EXACT, replace(HONEST, **changes))


def test_an_exact_input_has_no_total_input():
    with pytest.raises(UnsafeAnswer, match="total_input"):
        check_quote(Provider(), REQUEST, replace(QUOTE, total_input=SOLD))


def build(**changes):
    made = plain(inputs=(GIVEN,), outputs=(GOT,), spends=(Spend(USDC.address, MOST, ROUTER),))
    args = [MOST, WANTED, [USDC.address, WETH.address], USER, NOW + 1200, b"\0" * 96]
    return replace(made, steps=(step(args),), **changes)


def test_a_build_takes_at_most_the_maximum_and_pays_at_least_the_output():
    check(build(), SEALED_EXACT)
    for at, value, finding in (
        (0, MOST + 1, "more of"),
        (1, WANTED - 1, "less than quoted"),
        (3, THIEF, "another account"),
    ):
        args = [MOST, WANTED, [USDC.address, WETH.address], USER, NOW + 1200, b"\0" * 96]
        args[at] = value
        refused(replace(build(), steps=(step(args),)), finding, SEALED_EXACT)
    refused(build(spends=(Spend(USDC.address, MOST + 1, ROUTER),)), "spends more", SEALED_EXACT)
    raised = replace(GIVEN, amount_max=MOST + 1)
    refused(replace(build(), inputs=(raised,)), "takes more", SEALED_EXACT)


def run(sold, paid, left=0):
    ran = run_of(sold, paid, USER, ROUTER)
    (change,) = ran.allowance_changes
    return replace(ran, allowance_changes=(replace(change, after=left),))


def check_ran(ran, block=None):
    ran = ran if block is None else replace(ran, block=block)
    check_run(Provider(), SEALED_EXACT, build(), ran, Trace((), (), (), (), (), ()))


def test_a_run_may_take_anything_up_to_the_maximum_at_another_block():
    for sold in (1, SOLD, MOST):
        check_ran(run(sold, WANTED, left=MOST - sold))
    with pytest.raises(UnsafeAnswer, match="more than quoted"):
        check_ran(run(MOST + 1, WANTED))
    with pytest.raises(UnsafeAnswer, match="leaves an allowance"):
        check_ran(run(SOLD, WANTED, left=MOST + 1))
    with pytest.raises(UpstreamError) as moved:
        check_ran(run(SOLD, WANTED - 1))
    assert moved.value.reason is Reason.PRICE_MOVED


def test_a_run_at_the_quotes_block_takes_the_quoted_amount_to_the_unit():
    check_ran(run(SOLD, WANTED, left=MOST - SOLD), BLOCK)
    for sold, paid in ((SOLD + 1, WANTED), (SOLD - 1, WANTED), (SOLD, WANTED + 1)):
        with pytest.raises(UpstreamError) as mismatch:
            check_ran(run(sold, paid), BLOCK)
        assert mismatch.value.reason is Reason.QUOTE_MISMATCH


# --- ranking ----------------------------------------------------------------------------------------------


class Named(SwapProvider):
    def __init__(self, name):
        self.id = name

    async def quote(self, request):
        return None

    async def build(self, sealed):
        raise AssertionError


def outcome(name, amount, most=None, units=None, cost=None):
    most = amount if most is None else most
    gas = None if units is None else Gas(units, units)
    total = None if cost is None else most + cost
    quote = replace(HONEST, inputs=(Leg(USDC, amount, USER, amount_max=most),), gas=gas, total_input=total)
    return Outcome(Named(name), "quoted", quote)


def order(*outcomes):
    bids = bids_of(outcomes, "exactOut")
    return [bid.provider.id for bid in sorted(bids, key=lambda bid: -bid.promised)]


def test_the_least_input_with_gas_is_best():
    assert order(outcome("dear", 1_001), outcome("cheap", 1_000)) == ["cheap", "dear"]
    gas = outcome("thrifty", 1_010, units=100, cost=10), outcome("wasteful", 1_000, units=300, cost=30)
    assert order(*gas) == ["thrifty", "wasteful"]
    # One that states no gas costs as much as the others.
    assert order(outcome("silent", 1_001), outcome("open", 1_000, units=100, cost=500)) == ["open", "silent"]


def test_the_maximum_is_what_is_guaranteed_and_the_run_what_is_paid():
    (bid,) = bids_of([outcome("a", 1_000, most=1_050, units=100, cost=50)], "exactOut")
    assert (bid.promised, bid.guaranteed, bid.judged.account) == (-1_050, -1_100, USER)
    assert bid.paid(-990, 100) == -1_040
    assert rank(bid.quote, "exactOut") == -1_100


@pytest.mark.parametrize(("amount", "close"), [(100_000, True), (100_500, True), (100_501, False)])
def test_close_is_within_half_a_percent(amount, close):
    better, other = bids_of([outcome("a", 100_000), outcome("b", amount)], "exactOut")
    assert other.is_close_to(better) is close


def test_attempts_tell_the_input():
    (told,) = attempts_of([outcome("a", 1_000)], "exactOut")
    assert (told.amount_in, told.amount_out) == (1_000, WANTED)
    (told,) = attempts_of([outcome("a", 1_000)])
    assert told.amount_in is None


@pytest.mark.parametrize(
    ("price_wei", "total"), [(0, MOST), (20, MOST + 20), (None, MOST + 10), (5, MOST + 5)]
)
def test_the_callers_price_of_gas_counts(price_wei, total):
    quote = replace(HONEST, gas=Gas(100, 150, cost_wei=1_000), total_input=MOST + 10)
    assert repriced(quote, price_wei).total_input == total


def test_slippage_is_chosen_by_what_the_inputs_do():
    assert slippage_of(-1_000_000, -1_000_000, [-1_000_000] * 3) == LOW_BPS
    assert slippage_of(-1_000_000, -1_000_000, [-1_005_000, -998_000]) == 70
    assert slippage_of(-1_000_000, -1_020_000, [-1_000_000]) == 50, "its repetition takes 2 % more"
    assert slippage_of(-1_000_000, -980_000, [-1_000_000]) == LOW_BPS
    assert slippage_of(-1_000_000, -1_000_000, [0]) == HIGH_BPS, "it reverted"


# --- tokens -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [RoutingLimits(), RoutingLimits(max_hops=2, pools=("1:0xab",))])
@pytest.mark.parametrize("amount_out", [None, 1, 2**256 - 1])
def test_a_token_keeps_the_side(limits, amount_out):
    request = replace(EXACT, amount_out=amount_out, routing=limits)
    token = sealer().seal(replace(SEALED_EXACT, request=request)).token
    opened = sealer().open(SEALED_EXACT.capability, token, allow_expired=True)
    assert opened.request.amount_out == amount_out
    assert opened.request.routing == limits
    assert same_request(opened.request, request)
    assert not same_request(opened.request, replace(request, amount_out=7))
    assert opened.inputs[0].amount_max == MOST


@given(st.integers(0, 2**256 - 1), st.integers(1, 2**256 - 1) | st.none())
def test_the_amount_of_a_request_is_that_of_its_side(amount_in, amount_out):
    request = SwapRequest(1, 1, USDC, WETH, amount_in, USER, USER, 50, amount_out=amount_out)
    assert request.amount == (amount_in if amount_out is None else amount_out)
    assert request.side == ("exactIn" if amount_out is None else "exactOut")


# --- programs of the Universal Router ---------------------------------------------------------------------

WORDS = dialect("2.0")
PATH = address_bytes(WETH.address) + b"\0\1\xf4" + address_bytes(USDC.address)


def meaning_of(*commands, value=0):
    made = Program(WORDS.command)
    for name, *args in commands:
        made.add(name, *args)
    data = function(EXECUTE).encode([made.bytes, made.inputs, NOW + 1200])
    return UniversalRouter("2.0").read(Sent(ROUTER, data, value, USER, WETH.address)).meaning


def v3_out(recipient, by_user=True, most=MOST, path=PATH):
    return "V3_SWAP_EXACT_OUT", recipient, WANTED, most, path, by_user


def test_programs_are_read():
    meaning = meaning_of(v3_out(USER))
    assert meaning.charges == (Charge(USDC.address, MOST),)
    assert meaning.payments == (Payment(WETH.address, USER, WANTED),)
    v2 = "V2_SWAP_EXACT_OUT", ADDRESS_THIS, WANTED, MOST, [USDC.address, WETH.address], True
    meaning = meaning_of(v2, ("SWEEP", WETH.address, USER, WANTED))
    assert meaning.payments == (Payment(WETH.address, USER, WANTED),)
    from_coin = address_bytes(USDC.address) + b"\0\1\xf4" + address_bytes(WETH.address)
    paid = v3_out(USER, False, 5, from_coin)
    refund = ("UNWRAP_WETH", MSG_SENDER, 0)
    meaning = meaning_of(("WRAP_ETH", ADDRESS_THIS, 5), paid, refund, value=5)
    assert meaning.charges == (Charge(NATIVE, 5),)
    assert meaning.payments == (Payment(USDC.address, USER, WANTED), Payment(NATIVE, USER, 0))


@pytest.mark.parametrize(
    ("commands", "value", "finding"),
    [
        ([v3_out(USER, path=PATH[:20])], 0, "no path of v3 pools"),
        ([v3_out(USER, path=PATH + b"\0")], 0, "no path of v3 pools"),
        ([v3_out(ADDRESS_THIS)], 0, "may leave"),
        ([v3_out(USER, False)], 0, "more than the router holds"),
        ([("V2_SWAP_EXACT_OUT", USER, WANTED, MOST, [USDC.address], True)], 0, "too short"),
    ],
)
def test_programs_that_lose_tokens_are_unreadable(commands, value, finding):
    with pytest.raises(ValueError, match=finding):
        meaning_of(*commands, value=value)


def test_what_the_router_may_keep_of_the_input_is_unreadable():
    from_coin = address_bytes(USDC.address) + b"\0\1\xf4" + address_bytes(WETH.address)
    with pytest.raises(Unreadable, match="may leave"):
        meaning_of(("WRAP_ETH", ADDRESS_THIS, 5), v3_out(USER, False, 5, from_coin), value=5)
    with pytest.raises(Unreadable, match="may spend 6"):
        meaning_of(("WRAP_ETH", ADDRESS_THIS, 5), v3_out(USER, False, 6, from_coin), value=5)


# --- on v4 ------------------------------------------------------------------------------------------------

KEY = (USDC.address, WETH.address, 500, 10, NATIVE)
SINGLE = "SWAP_EXACT_OUT_SINGLE", (KEY, True, WANTED, MOST, b"")
HOPS = [(USDC.address, 100, 1, NATIVE, b""), (DAI.address, 500, 10, NATIVE, b"")]
SETTLE = "SETTLE", USDC.address, OPEN_DELTA, True
TAKE = "TAKE", WETH.address, USER, WANTED


def on_v4(*actions):
    made = Program(WORDS.action)
    for name, *args in actions:
        made.add(name, *args)
    return meaning_of(("V4_SWAP", made.bytes, made.inputs))


def through(hops=HOPS, bought=WETH.address, amount=WANTED):
    return "SWAP_EXACT_OUT", (bought, hops, amount, MOST)


@pytest.mark.parametrize("swap", [SINGLE, through()], ids=["one pool", "two pools"])
def test_an_exact_output_on_v4_is_read(swap):
    meaning = on_v4(swap, SETTLE, TAKE)
    assert meaning.charges == (Charge(USDC.address, MOST),)
    assert meaning.payments == (Payment(WETH.address, USER, WANTED),)


def test_several_exact_outputs_on_v4_are_settled_and_taken_together():
    meaning = on_v4(SINGLE, through(), SETTLE, (*TAKE[:3], 2 * WANTED))
    assert meaning.charges == (Charge(USDC.address, 2 * MOST),)
    assert meaning.payments == (Payment(WETH.address, USER, 2 * WANTED),)


@pytest.mark.parametrize(
    ("actions", "finding"),
    [
        ((SINGLE, SETTLE), "not swaps, one SETTLE"),
        ((SINGLE, SETTLE, TAKE, TAKE), "not swaps, one SETTLE"),
        ((SINGLE, TAKE, SETTLE), "not swaps, one SETTLE"),
        ((through([]), SETTLE, TAKE), "too short"),
        ((through(), ("SETTLE", DAI.address, OPEN_DELTA, True), TAKE), "does not settle"),
        ((SINGLE, ("SETTLE", USDC.address, MOST, True), TAKE), "does not settle"),
        ((SINGLE, SETTLE, ("TAKE", USDC.address, USER, WANTED)), "does not take"),
        ((SINGLE, SETTLE, ("TAKE", WETH.address, USER, WANTED - 1)), "does not take"),
        ((SINGLE, SETTLE, ("TAKE", WETH.address, USER, OPEN_DELTA)), "does not take"),
        ((through(amount=OPEN_DELTA), SETTLE, (*TAKE[:3], OPEN_DELTA)), "does not name"),
        ((through(bought=USDC.address), SETTLE, ("TAKE", USDC.address, USER, WANTED)), "a token twice"),
        ((through([*HOPS, HOPS[0]]), SETTLE, TAKE), "a token twice"),
        ((through([*HOPS, (WETH.address, 100, 1, NATIVE, b"")]), SETTLE, TAKE), "a token twice"),
        ((SINGLE, through(), SETTLE, TAKE), "does not take"),
        ((SINGLE, through(HOPS[1:]), SETTLE, (*TAKE[:3], 2 * WANTED)), "several pairs"),
        ((SINGLE, through(bought=DAI.address), SETTLE, (*TAKE[:3], 2 * WANTED)), "several pairs"),
        ((SINGLE, SETTLE, SINGLE, SETTLE, TAKE), "not swaps, one SETTLE"),
    ],
)
def test_an_exact_output_on_v4_that_pays_or_takes_otherwise_is_unreadable(actions, finding):
    with pytest.raises(ValueError, match=finding):
        on_v4(*actions)


# --- refunds ----------------------------------------------------------------------------------------------

UNIVERSAL = CallRegistry(
    [
        Network(
            "ethereum",
            1,
            "Ethereum",
            wrapped_native=WETH.address,
            contracts={ROUTER: "uniswap.universal-router@2.0"},
        )
    ]
)


def test_what_is_not_spent_goes_back_to_the_sender_alone():
    coin = Token(1, NATIVE, 18, "ETH")
    request = replace(EXACT, token_in=coin, token_out=USDC, recipient=THIEF)
    given = Leg(coin, 4, USER, amount_max=5)
    got = Leg(USDC, WANTED, THIEF, amount_min=WANTED)
    sealed = replace(SEALED, request=request, inputs=(given,), outputs=(got,))
    from_coin = address_bytes(USDC.address) + b"\0\1\xf4" + address_bytes(WETH.address)
    for account, refunded in ((MSG_SENDER, True), (USER, True), (THIEF, False)):
        made = Program(WORDS.command)
        made.add("WRAP_ETH", ADDRESS_THIS, 5)
        made.add(*v3_out(THIEF, False, 5, from_coin))
        made.add("UNWRAP_WETH", account, 0)
        data = function(EXECUTE).encode([made.bytes, made.inputs, NOW + 1200])
        swap = plain(
            steps=(Step(ROUTER, data, 5, 1),), spends=(), inputs=sealed.inputs, outputs=sealed.outputs
        )
        if refunded:
            check(swap, sealed, calls=UNIVERSAL)
        else:
            refused(swap, "returns unspent", sealed, calls=UNIVERSAL)
