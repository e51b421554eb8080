"""Builds of a provider, read by the guard: honest ones pass, each lie is named."""

from dataclasses import replace

import pytest
from guard_cases import (
    PERMIT,
    REQUEST,
    SEALED,
    Provider,
    check,
    message,
    plain,
    refused,
    signature,
    signed,
    step,
    typed,
)
from quoteway.evm import permit2
from quoteway.evm.abi import function
from quoteway.guard.calldata import check_build
from quoteway.guard.findings import UnsafeAnswer
from quoteway.models import (
    MAX_UINT256,
    NATIVE,
    Approval,
    Leg,
    Spend,
)
from quoteway.testing.fakes import step_of
from sold_usdc import DAI, ETHER, GOT, MINIMUM, NOW, ROUTER, SOLD, THIEF, USDC, USER, WETH


def test_honest_builds_pass():
    check(plain())
    check(signed())
    check(plain(spends=(Spend(USDC.address, SOLD, permit2.ADDRESS, permit2_spender=ROUTER),)))
    check(plain(deadline=None))
    better = (replace(SEALED.outputs[0], amount_min=MINIMUM + 1),)
    args = [SOLD, MINIMUM + 1, [USDC.address, WETH.address], USER, NOW + 1200, b""]
    check(plain(outputs=better, steps=(step(args),)))


def test_who_asked_for_transactions_alone_is_given_no_signature_to_make():
    unasked = replace(SEALED, request=replace(REQUEST, permit2_signature=False))
    check_build(Provider(), unasked, plain(), now=NOW)
    with pytest.raises(UnsafeAnswer, match="asks for a signature"):
        check_build(Provider(), unasked, signed(), now=NOW)


def test_no_flipped_bit_of_the_calldata_passes():
    data = step().data
    for place in range(len(data)):
        for bit in (1, 128):
            changed = data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
            with pytest.raises(UnsafeAnswer):
                check(plain(steps=(step(data=changed),)))


@pytest.mark.parametrize(
    ("build", "finding"),
    [
        # bytes
        (plain(steps=(step(data=step().data + b"\0" * 32),)), "decoded form"),
        (plain(steps=(step(data=step().data + b"\0"),)), "decoded form"),
        (plain(steps=(step(data=step().data[:-32]),)), "decoded form"),
        (plain(steps=(step(data=b""),)), "decoded form"),
        (plain(steps=(step(data="0x" + step().data.hex()),)), "not bytes"),
        (plain(steps=(step(decoded=step([1, 2, [], USER, 0, b""]).decoded),)), "decoded form"),
        (plain(steps=(step(decoded=None),)), "decoded form"),
        (plain(steps=(step([0, MINIMUM, [], USER, 0, b"\0" * 200_000]),)), "too long"),
        # where to
        (plain(steps=(step(to=THIEF),)), "does not declare"),
        (plain(steps=(step(to=ROUTER.lower()),)), "not an EIP-55"),
        (plain(steps=(step(to=NATIVE),)), "not an EIP-55"),
        (plain(steps=(step(to=permit2.ADDRESS),)), "Permit2 itself"),
        (plain(steps=(step(chain_id=10),)), "for chain 10"),
        (plain(steps=()), "1 to 16 trans"),
        (plain(steps=(step(),) * 17), "1 to 16 trans"),
        # value
        (plain(steps=(step(value=1),)), "native coin"),
        (plain(steps=(step(value=-1),)), "whole number of wei"),
        (plain(steps=(step(value=1.0),)), "whole number of wei"),
        (plain(steps=(step(value=True),)), "whole number of wei"),
        # what it spends
        (plain(spends=(Spend(USDC.address, MAX_UINT256, ROUTER),)), "more of"),
        (plain(spends=(Spend(USDC.address, SOLD + 1, ROUTER),)), "more of"),
        (plain(spends=(Spend(USDC.address, SOLD, ROUTER), Spend(USDC.address, 1, ROUTER))), "more of"),
        (plain(spends=(Spend(USDC.address, 0, ROUTER),)), "positive"),
        (plain(spends=(Spend(USDC.address, SOLD, THIEF),)), "does not declare"),
        (plain(spends=(Spend(DAI.address, 1, ROUTER),)), "more of"),
        (plain(spends=(Spend(NATIVE, 1, ROUTER),)), "more of"),
        (plain(spends=(Spend(USDC.address, SOLD, ROUTER, permit2_spender=ROUTER),)), "through Permit2"),
        (plain(spends=(Spend(USDC.address, SOLD, permit2.ADDRESS, permit2_spender=THIEF),)), "not declared"),
        # what it promises
        (plain(outputs=(replace(SEALED.outputs[0], amount_min=MINIMUM - 1),)), "below the quoted"),
        (plain(outputs=(replace(SEALED.outputs[0], amount_min=None),)), "below the quoted"),
        (plain(outputs=(replace(SEALED.outputs[0], account=THIEF),)), "outputs are not"),
        (plain(outputs=(replace(SEALED.outputs[0], token=DAI),)), "outputs are not"),
        (plain(outputs=()), "outputs are not"),
        (
            plain(outputs=(replace(SEALED.outputs[0], token=replace(WETH, decimals=6)),)),
            "changes the decimals",
        ),
        (
            plain(inputs=(replace(SEALED.inputs[0], token=replace(USDC, decimals=18)),)),
            "changes the decimals",
        ),
        (plain(outputs=SEALED.outputs * 2), "twice"),
        (plain(inputs=(replace(SEALED.inputs[0], amount=SOLD + 1),)), "takes more"),
        (plain(inputs=()), "inputs are not"),
        (
            plain(steps=(step([SOLD, 0, [USDC.address, WETH.address], USER, NOW + 1200, b""]),)),
            "the quoted minimum",
        ),
        (plain(deadline=NOW), "deadline"),
        (plain(deadline=NOW + 30 * 86_400), "deadline"),
        (plain(steps=(step(approval=Approval(USDC.address, THIEF, 1)),)), "claims to be an approval"),
        (plain(steps=(step(kind="approval"),)), "claims to be an approval"),
        (plain(steps=(step(kind="permit2_approval"),)), "claims to be an approval"),
        # signatures
        (signed(signatures=signature(step=1)), "no transaction"),
        (signed(signatures=signature(step=-1)), "no transaction"),
        (signed(signatures=signature(length=64)), "no transaction"),
        (signed(signatures=signature(offset=3)), "outside"),
        (signed(signatures=signature(offset=-65)), "outside"),
        (signed(signatures=signature(offset=len(step().data) - 64)), "outside"),
        (signed(signatures=signature(offset=4)), "not empty"),
        (signed(signatures=signature(typed_data={})), "no Permit2 PermitSingle"),
        (signed(signatures=signature(typed_data=PERMIT.typed_data(10))), "of this chain"),
        (signed(signatures=typed(primaryType="PermitBatch")), "no Permit2 PermitSingle"),
        (
            signed(signatures=typed(domain={"name": "Permit2", "chainId": 1, "verifyingContract": THIEF})),
            "PermitSingle",
        ),
        (signed(signatures=typed(types={})), "PermitSingle"),
        (signed(signatures=message(extra="1")), "PermitSingle"),
        (signed(signatures=message(spender="twelve")), "another spender"),
        (signed(replace(PERMIT, spender=THIEF)), "another spender"),
        (signed(replace(PERMIT, token=DAI.address)), "not sold"),
        (signed(replace(PERMIT, amount=SOLD + 1)), "another amount"),
        (signed(replace(PERMIT, amount=permit2.MAX_AMOUNT)), "another amount"),
        (signed(replace(PERMIT, expiration=2**48 - 1)), "over a day"),
        (signed(replace(PERMIT, sig_deadline=MAX_UINT256)), "over a day"),
        (signed(spends=plain().spends), "another spender"),
    ],
)
def test_a_lie_is_refused_and_named(build, finding):
    refused(build, finding)


@pytest.mark.parametrize(
    ("declaration", "args"),
    [
        ("approve(address a, uint256 b)", [THIEF, MAX_UINT256]),
        ("increaseAllowance(address a, uint256 b)", [ROUTER, 1]),
        ("increaseApproval(address a, uint256 b)", [ROUTER, 1]),
        ("setApprovalForAll(address a, bool b)", [THIEF, True]),
        ("transfer(address a, uint256 b)", [THIEF, SOLD]),
        ("transferFrom(address a, address b, uint256 c)", [USER, THIEF, SOLD]),
        ("safeTransferFrom(address a, address b, uint256 c)", [USER, THIEF, 1]),
        ("approveAndCall(address a, uint256 b, bytes c)", [THIEF, SOLD, b""]),
        ("transferAndCall(address a, uint256 b, bytes c)", [THIEF, SOLD, b""]),
        ("send(address a, uint256 b, bytes c)", [THIEF, SOLD, b""]),
        (
            "safeBatchTransferFrom(address a, address b, uint256[] c, uint256[] d, bytes e)",
            [USER, THIEF, [1], [1], b""],
        ),
        ("approve(address a, uint256 b, uint256 c)", [THIEF, 1, SOLD]),
        ("transfer(address a, uint256 b, uint256 c)", [THIEF, 1, SOLD]),
        ("transferFrom(address a, address b, uint256 c, uint256 d)", [USER, THIEF, 1, SOLD]),
        ("authorizeOperator(address a)", [THIEF]),
        ("setOperator(address a, bool b)", [THIEF, True]),
        (
            "permit(address a, address b, uint256 c, uint256 d, uint8 e, bytes32 f, bytes32 g)",
            [USER, THIEF, 1, 1, 27, b"\0" * 32, b"\0" * 32],
        ),
    ],
)
def test_no_step_of_a_provider_grants_or_moves_tokens_itself(declaration, args):
    """Also where the provider declares the token as one of its contracts."""
    call = function(declaration)
    for to in (USDC.address, ROUTER):
        refused(plain(steps=(step(args, call, to), step())), call.signature)


def test_calls_said_to_be_packed_inside_stand_in_the_calldata():
    def saying(*inner):
        return plain(steps=(step(decoded=replace(step().decoded, inner=inner)),))

    transfer_ = function("transfer(address a, uint256 b)")
    check(saying(transfer_.describe([USER, NOW + 1200])))  # two words that follow each other in it
    refused(saying(transfer_.describe([USER, MINIMUM])), "nested calls")
    outer = replace(transfer_.describe([USER, NOW + 1200]), inner=(transfer_.describe([THIEF, 1]),))
    refused(saying(outer), "nested calls")
    refused(saying(None), "nested calls")


def test_native_sales_carry_exactly_their_value_at_most():
    request = replace(REQUEST, token_in=ETHER)
    sealed = replace(SEALED, request=request, inputs=(Leg(ETHER, SOLD, USER),))
    build = plain(steps=(step(value=SOLD),), spends=(), inputs=sealed.inputs)
    check(build, sealed)
    refused(replace(build, steps=(step(value=SOLD + 1),)), "native coin", sealed)
    refused(replace(build, steps=(step(value=SOLD), step(value=1))), "native coin", sealed)


def test_a_wrap_of_the_coin_needs_no_minimum_in_its_calldata():
    """WETH9 ``deposit()`` names no amount: the value is the minimum."""
    request = replace(REQUEST, token_in=ETHER, amount_in=GOT)
    one_to_one = (replace(SEALED.outputs[0], amount_min=GOT),)
    sealed = replace(SEALED, request=request, inputs=(Leg(ETHER, GOT, USER),), outputs=one_to_one)
    steps = (replace(step_of(function("deposit()"), [], to=ROUTER, chain_id=1), value=GOT),)
    build = plain(steps=steps, spends=(), inputs=sealed.inputs, outputs=one_to_one)
    check(build, sealed)
    less = (replace(one_to_one[0], amount_min=GOT - 1),)
    refused(replace(build, outputs=less), "minimum", replace(sealed, outputs=less))
