"""Calldata that an upstream made: carried as it came, held to what its run did, or refused."""

from dataclasses import replace

import pytest
from guard_cases import run_of, with_delta
from quoteway.errors import Reason, UpstreamError
from quoteway.evm import abi
from quoteway.evm.abi import function
from quoteway.evm.calls.registry import CallRegistry
from quoteway.guard.calldata import check_build
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.outcome import check_run
from quoteway.guard.quotes import check_quote
from quoteway.models import (
    NATIVE,
    AllowanceChange,
    Argument,
    AssetChange,
    Build,
    Capability,
    DecodedCall,
    Leg,
    Quote,
    SealedQuote,
    SignatureRequest,
    Simulation,
    Spend,
    Step,
    SwapRequest,
    Token,
    VaultRequest,
)
from quoteway.simulation.trace import ApprovalEvent, Trace, Transfer
from sold_usdc import BLOCK, ETHER, NOW, THIEF, USDC, USER, WETH

FRIEND = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
DIAMOND = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
FAR = Token(10, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", 6, "USDC")
SOLD, GOT, MINIMUM = 3_500_000_001, 10**18, 995 * 10**15
SWAP = function("swap(uint256 minimum, address receiver, bytes route)")
BRIDGE = function(
    "bridge((address receiver, uint256 chainId) data, address token, uint256 output, bytes rest)"
)
MINIMUM_FAR = 3_482_500_000


class Provider:
    id = "aggregator"

    def contracts(self, chain_id):
        return {DIAMOND: "Diamond"}

    def spenders(self, chain_id):
        return (DIAMOND,)


def sealed_for(token_out, minimum, recipient=FRIEND, **changes):
    request = SwapRequest(1, token_out.chain_id, USDC, token_out, SOLD, USER, recipient, 50)
    legs = (Leg(USDC, SOLD, USER),), (Leg(token_out, minimum * 1000 // 995, recipient, amount_min=minimum),)
    return replace(
        SealedQuote(Capability.SWAP, "aggregator", request, *legs, 50, {}, BLOCK, NOW, NOW + 180), **changes
    )


SEALED = sealed_for(WETH, MINIMUM)


def opaque(data, sealed=SEALED, **changes):
    step = Step(DIAMOND, data, 0, 1)
    spends = (Spend(USDC.address, SOLD, DIAMOND),)
    return replace(Build((step,), spends, sealed.inputs, sealed.outputs), **changes)


HONEST = opaque(SWAP.encode([MINIMUM, FRIEND, b"whatever"]))


def check(build, sealed=SEALED, opaque=True):
    return check_build(Provider(), sealed, build, CallRegistry(), now=NOW, opaque=opaque)


def refused(build, finding, sealed=SEALED, **more):
    with pytest.raises(UnsafeAnswer) as refusal:
        check(build, sealed, **more)
    assert finding in refusal.value.finding


# --- the bytes --------------------------------------------------------------------------------------------


def test_an_opaque_call_is_its_own_bytes_and_says_so():
    data = bytes.fromhex("deadbeef") + b"anything at all"
    call = abi.opaque_call(data)
    assert (call.opaque, call.signature) == (True, "0xdeadbeef")
    assert call.args == (Argument("data", "bytes", "0x" + b"anything at all".hex()),)
    assert abi.reencode(call) == data
    assert abi.reencode(abi.opaque_call(data[:4])) == data[:4]
    with pytest.raises(ValueError, match="selector"):
        abi.opaque_call(data[:3])


@pytest.mark.parametrize(
    "call",
    [
        DecodedCall("swap()", (Argument("data", "bytes", "0x"),), opaque=True),
        DecodedCall("0xDEADBEEF", (Argument("data", "bytes", "0x"),), opaque=True),
        DecodedCall("0xdeadbeef00", (Argument("data", "bytes", "0x"),), opaque=True),
        DecodedCall("0xdeadbeef", (Argument("data", "uint256", 1),), opaque=True),
        DecodedCall("0xdeadbeef", (Argument("data", "bytes", "zz"),), opaque=True),
        DecodedCall("0xdeadbeef", (), opaque=True),
        DecodedCall("0xdeadbeef", (Argument("data", "bytes", "0x"),)),
    ],
)
def test_what_is_no_opaque_call_does_not_encode(call):
    with pytest.raises((ValueError, IndexError)):
        abi.reencode(call)


def test_opaque_calldata_passes_on_one_chain_where_the_operator_allows_it():
    (reading,) = check(HONEST)
    assert reading.decoded == abi.opaque_call(HONEST.steps[0].data)
    refused(HONEST, "does not allow that", opaque=False)


@pytest.mark.parametrize(
    ("build", "finding"),
    [
        (replace(HONEST, steps=HONEST.steps * 2), "one single transaction"),
        (replace(HONEST, signatures=(SignatureRequest("x", {}, 0, 4),)), "must not need a signature"),
        (opaque(abi.encode_call("approve(address a, uint256 b)", [THIEF, MINIMUM])), "approve"),
        (opaque(abi.encode_call("transfer(address a, uint256 b)", [THIEF, MINIMUM])), "transfer"),
        (replace(HONEST, steps=(replace(HONEST.steps[0], to=THIEF),)), "does not declare"),
        (replace(HONEST, spends=(Spend(USDC.address, SOLD, THIEF),)), "does not declare"),
        (replace(HONEST, spends=(Spend(USDC.address, SOLD + 1, DIAMOND),)), "more of"),
        (replace(HONEST, steps=(replace(HONEST.steps[0], value=1),)), "native coin"),
        (replace(HONEST, steps=(replace(HONEST.steps[0], chain_id=10),)), "for chain 10"),
        (replace(HONEST, deadline=NOW), "deadline has passed"),
        (replace(HONEST, deadline=NOW + 30 * 86_400), "over a day away"),
    ],
)
def test_a_lie_in_the_bytes_of_a_swap_is_refused(build, finding):
    refused(build, finding)


@pytest.mark.parametrize("recipient", [FRIEND, USER])
@pytest.mark.parametrize("allowed", [False, True])
def test_opaque_calldata_for_another_chain_is_refused_whatever_it_holds(recipient, allowed):
    sealed = sealed_for(FAR, MINIMUM_FAR, recipient)
    data = BRIDGE.encode([(recipient, 10), FAR.address, MINIMUM_FAR, b"whatever"])
    refused(opaque(data, sealed), "no simulation can stand in", sealed, opaque=allowed)


def test_a_minimum_of_nothing_and_other_capabilities_are_refused():
    sealed = sealed_for(WETH, 0)
    refused(opaque(SWAP.encode([0, FRIEND, b""]), sealed), "minimum above 0", sealed)
    request = VaultRequest(f"1:{DIAMOND}", 1, "deposit", USDC.address, SOLD, USER, USER, 50)
    vault = replace(sealed_for(WETH, MINIMUM, USER), capability=Capability.VAULT, request=request)
    refused(opaque(SWAP.encode([MINIMUM, USER, b""]), vault), "no simulation can stand in", vault)


# --- the run ----------------------------------------------------------------------------------------------

RUN = run_of(SOLD, MINIMUM, FRIEND, DIAMOND)
TRACE = Trace(
    (Transfer(1, USDC.address, USER, DIAMOND, SOLD),), (ApprovalEvent(0, USDC.address, USER, DIAMOND, SOLD),)
)


def judge(run=RUN, trace=TRACE, build=HONEST, sealed=SEALED):
    check_run(Provider(), sealed, build, run, trace, opaque=True)


def test_an_honest_run_passes():
    judge()
    judge(with_delta(RUN, 2, MINIMUM + 5))
    judge(replace(RUN, assumptions=(f"balance:{USDC.address}", "native_balance")))


@pytest.mark.parametrize("reason", ["node_has_no_simulation", "balance_not_assumable"])
def test_without_a_run_nothing_is_known_of_opaque_calldata(reason):
    skipped = Simulation("skipped", BLOCK, skip_reason=reason)
    with pytest.raises(UnsafeAnswer, match=reason):
        judge(skipped, Trace())


def test_a_run_that_assumed_a_signature_proves_nothing():
    with pytest.raises(UnsafeAnswer, match="assumed permit2_signature"):
        judge(replace(RUN, assumptions=("permit2_signature",)))


@pytest.mark.parametrize(
    ("run", "trace", "finding"),
    [
        (with_delta(RUN, 1, -SOLD - 1), TRACE, "more than quoted"),
        (with_delta(RUN, 1, -SOLD + 1), TRACE, "not the"),
        (with_delta(RUN, 1, 0), TRACE, "not the"),
        (with_delta(RUN, 0, -1), TRACE, "more than quoted"),
        (with_delta(RUN, 2, 0), TRACE, "pays no"),
        (replace(RUN, asset_changes=RUN.asset_changes[:1]), TRACE, "cannot be read"),
        (RUN, replace(TRACE, transfers=(Transfer(1, WETH.address, USER, THIEF, 1),)), "not sold"),
        (RUN, replace(TRACE, approvals=(ApprovalEvent(1, WETH.address, USER, THIEF, 1),)), "approves"),
        (
            replace(RUN, allowance_changes=(AllowanceChange(USER, USDC.address, DIAMOND, 0, 1),)),
            TRACE,
            "leaves an allowance",
        ),
    ],
)
def test_a_run_of_opaque_calldata_does_exactly_what_was_quoted(run, trace, finding):
    with pytest.raises(UnsafeAnswer, match=finding):
        judge(run, trace)


def test_less_than_the_minimum_and_a_revert_are_a_moved_price():
    for run in (with_delta(RUN, 2, MINIMUM - 1), replace(RUN, status="reverted", revert_reason="x")):
        with pytest.raises(UpstreamError) as refusal:
            judge(run)
        assert refusal.value.reason is Reason.PRICE_MOVED


def test_a_minimum_that_an_upstream_raised_is_held_too():
    better = replace(HONEST, outputs=(replace(SEALED.outputs[0], amount_min=MINIMUM + 5),))
    judge(with_delta(RUN, 2, MINIMUM + 5), build=better)
    with pytest.raises(UnsafeAnswer, match="less than the minimum it states"):
        judge(with_delta(RUN, 2, MINIMUM + 4), build=better)


def test_a_native_sale_loses_exactly_its_value():
    request = replace(SEALED.request, token_in=ETHER)
    sealed = replace(SEALED, request=request, inputs=(Leg(ETHER, SOLD, USER),))
    step = replace(HONEST.steps[0], value=SOLD)
    build = replace(HONEST, steps=(step,), spends=(), inputs=sealed.inputs)
    check(build, sealed)
    run = replace(RUN, asset_changes=(AssetChange(USER, NATIVE, -SOLD), RUN.asset_changes[2]))
    judge(run, Trace(), build, sealed)
    with pytest.raises(UnsafeAnswer, match="not the"):
        judge(with_delta(run, 0, -SOLD + 1), Trace(), build, sealed)


def test_no_quote_names_a_spender_that_the_provider_does_not_declare():
    """A client may approve ahead of the action, on what the quote says."""
    quote = Quote(SEALED.inputs, SEALED.outputs, BLOCK, {}, (Spend(USDC.address, SOLD, DIAMOND),))
    check_quote(Provider(), SEALED.request, quote)
    lie = replace(quote, spends=(Spend(USDC.address, SOLD, THIEF),))
    with pytest.raises(UnsafeAnswer, match="does not declare"):
        check_quote(Provider(), SEALED.request, lie)
