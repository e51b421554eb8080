"""Builds of a provider, read by the guard: honest ones pass, each lie is named."""

from dataclasses import replace

import pytest
from guard_cases import (
    PERMIT,
    REQUEST,
    SEALED,
    SWAP_ROLES,
    VAULT_REQUEST,
    Provider,
    check,
    message,
    order,
    plain,
    refused,
    registry,
    signature,
    signed,
    step,
    typed,
)
from quoteway.evm import permit2
from quoteway.evm.abi import function
from quoteway.evm.address import address_bytes
from quoteway.evm.calls.registry import CallRegistry
from quoteway.evm.calls.router_commands import EXECUTE, Program, dialect
from quoteway.guard.findings import UnsafeAnswer
from quoteway.models import (
    MAX_UINT256,
    NATIVE,
    Leg,
    Preview,
    SignatureRequest,
    Spend,
    SpendRoles,
)
from quoteway.networks import Network
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
    check(plain(), unasked)
    refused(signed(), "asks for a signature", unasked)


def test_a_deadline_that_was_asked_for_is_in_the_calldata():
    check(plain(), replace(SEALED, deadline=NOW + 1200))
    refused(plain(deadline=NOW + 1199), "not the one in its calldata", replace(SEALED, deadline=NOW + 1200))
    refused(plain(deadline=NOW + 600), "deadline in its calldata", replace(SEALED, deadline=NOW + 600))
    refused(plain(deadline=None), "deadline in its calldata", replace(SEALED, deadline=NOW + 600))


def test_no_flipped_bit_of_the_calldata_harms():
    """What passes takes no more, pays no less, and pays the same account in the same token."""
    data, passed = step().data, 0
    for place in range(len(data)):
        for bit in (1, 128):
            changed = data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
            try:
                (reading,) = check(plain(steps=(step(data=changed),)))
            except UnsafeAnswer:
                continue
            passed += 1
            ((charge,), (payment,)) = reading.meaning.charges, reading.meaning.payments
            assert (charge.token, payment.token, payment.recipient) == (USDC.address, WETH.address, USER)
            assert charge.maximum <= SOLD
            assert payment.minimum >= MINIMUM
            assert reading.meaning.deadline == NOW + 1200
    assert 0 < passed < 300, "bits of what the contract ignores, and better terms"


@pytest.mark.parametrize(
    ("build", "finding"),
    [
        # bytes
        (plain(steps=(step(data=step().data + b"\0" * 32),)), "cannot be read"),
        (plain(steps=(step(data=step().data + b"\0"),)), "cannot be read"),
        (plain(steps=(step(data=step().data[:-32]),)), "cannot be read"),
        (plain(steps=(step(data=b""),)), "cannot be read"),
        (plain(steps=(step(data="0x" + step().data.hex()),)), "steps"),
        (plain(steps=(step(data=b"\0\0\0\1" + step().data[4:]),)), "nothing describes the function"),
        (plain(steps=(step(to=WETH.address),)), "nothing describes the function"),
        # what it means
        (plain(steps=(step(order(amount=SOLD + 1)),)), "takes more of"),
        (plain(steps=(step(order(path=[DAI.address, WETH.address])),)), "takes more of"),
        (plain(steps=(step(order(path=[USDC.address, DAI.address])),)), "does not pay"),
        (plain(steps=(step(order(path=[])),)), "has no item"),
        (plain(steps=(step(order(minimum=MINIMUM - 1)),)), "less than quoted"),
        (plain(steps=(step(order(to=THIEF)),)), "another account"),
        (plain(steps=(step(order(to=ROUTER)),)), "another account"),
        (plain(steps=(step(order(until=NOW)),)), "deadline"),
        (plain(steps=(step(order(until=NOW + 30 * 86_400)),)), "deadline"),
        (plain(steps=(step(order(until=NOW + 1201)),)), "not the one in its calldata"),
        (plain(steps=(step(order(until=NOW + 1199)),)), "not the one in its calldata"),
        # Words of an honest call where the contract ignores them.
        (plain(steps=(step([*order(minimum=1)[:5], MINIMUM.to_bytes(32)]),)), "less than quoted"),
        (plain(steps=(step([*order(to=THIEF)[:5], bytes.fromhex(USER[2:])]),)), "another account"),
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
        (plain(steps=(step(value=1.0),)), "steps"),
        ("a build", "1 to 16 trans"),
        (plain(steps=(step(value=True),)), "steps"),
        # what it spends
        (plain(spends=(Spend(USDC.address, MAX_UINT256, ROUTER),)), "more of"),
        (plain(spends=(Spend(USDC.address, SOLD + 1, ROUTER),)), "more of"),
        (plain(spends=(Spend(USDC.address, SOLD, ROUTER), Spend(USDC.address, 1, ROUTER))), "more of"),
        (plain(spends=(Spend(USDC.address, 0, ROUTER),)), "positive"),
        (plain(spends=(Spend(USDC.address, SOLD, permit2.ADDRESS),)), "which its transactions do not call"),
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
        # what the signer reads
        (plain(inputs=(replace(SEALED.inputs[0], amount=SOLD - 1),)), "states another amount"),
        (plain(inputs=(replace(SEALED.inputs[0], amount=1, amount_max=SOLD),)), "states another amount"),
        (plain(inputs=(replace(SEALED.inputs[0], amount_max=SOLD + 1),)), "takes more"),
        (plain(outputs=(replace(SEALED.outputs[0], amount=10**30),)), "states another amount"),
        (plain(outputs=(replace(SEALED.outputs[0], amount=MINIMUM - 1),)), "states another amount"),
        (
            plain(
                outputs=(replace(SEALED.outputs[0], amount_min=GOT + 1),),
                steps=(step(order(minimum=GOT + 1)),),
            ),
            "states another amount",
        ),
        (plain(deadline=NOW), "deadline"),
        (plain(deadline=NOW + 30 * 86_400), "deadline"),
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
        (signed(replace(PERMIT, nonce=1 << 48)), "a nonce"),
        (signed(spends=plain().spends), "another spender"),
    ],
)
def test_a_lie_is_refused_and_named(build, finding):
    refused(build, finding)


def test_an_action_uses_no_less_of_an_input_than_its_quote_says():
    sealed = replace(SEALED, inputs=(replace(SEALED.inputs[0], amount_min=SOLD),))
    refused(plain(), "another minimum", sealed)


def test_the_minimum_of_a_new_offer_shows_its_amount():
    better = (replace(SEALED.outputs[0], amount=GOT + 99, amount_min=GOT + 98),)
    data = step(order(minimum=GOT + 98))
    estimate = replace(SEALED, is_estimate=True)
    check(plain(steps=(data,), outputs=better), estimate)
    far = plain(steps=(data,), outputs=(replace(better[0], amount=2 * GOT),))
    refused(far, "states another amount", estimate)
    refused(plain(steps=(data,), outputs=better), "states another amount")


def routed(permit=PERMIT, signature=bytes(65), offset=0):
    """A swap by the Universal Router with a permit to sign; ``offset`` moves the signature's place."""
    program = Program(dialect("2.0").command)
    program.add("PERMIT2_PERMIT", permit.as_args(), signature)
    path = address_bytes(USDC.address) + (500).to_bytes(3) + address_bytes(WETH.address)
    program.add("V3_SWAP_EXACT_IN", USER, SOLD, MINIMUM, path, True)
    data = function(EXECUTE).encode([program.bytes, program.inputs, NOW + 1200])
    at = data.find(program.inputs[0]) + 256 + offset
    asked = SignatureRequest("permit2", PERMIT.typed_data(1), 0, at)
    return signed(steps=(step(data=data),), signatures=(asked,))


ROUTED = CallRegistry(
    [Network("ethereum", 1, "Ethereum", contracts={ROUTER: "uniswap.universal-router@2.0"})]
)


@pytest.mark.parametrize(
    "lie",
    [
        {"permit": replace(PERMIT, nonce=1)},
        {"permit": replace(PERMIT, amount=SOLD - 1)},
        {"permit": replace(PERMIT, sig_deadline=NOW + 1199)},
        {"signature": bytes(97)},
        {"offset": 1},
        {"offset": -1},
        {"offset": 31},
    ],
)
def test_a_signature_is_for_the_permit_before_it(lie):
    """The run accepts any signature; on chain these revert."""
    check(routed(), calls=ROUTED)
    with pytest.raises(UnsafeAnswer, match=r"typed data is not the permit|place is not empty"):
        check(routed(**lie), calls=ROUTED)


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


def test_native_sales_carry_exactly_their_value_at_most():
    request = replace(REQUEST, token_in=ETHER)
    sealed = replace(SEALED, request=request, inputs=(Leg(ETHER, SOLD, USER),))
    coin = replace(SWAP_ROLES, spends=(SpendRoles(NATIVE, "@.value"),))
    calls = registry(coin)
    build = plain(steps=(step(value=SOLD),), spends=(), inputs=sealed.inputs)
    check(build, sealed, calls=calls)
    refused(replace(build, steps=(step(value=SOLD + 1),)), "native coin", sealed, calls=calls)
    refused(replace(build, steps=(step(value=SOLD), step(value=1))), "native coin", sealed, calls=calls)
    coins = (Spend(NATIVE, SOLD, ROUTER),)
    refused(replace(build, spends=coins), "spends more of", sealed, calls=calls)


def test_the_tokens_of_another_account_are_not_used():
    of_another = registry(replace(SWAP_ROLES, pays=(), owner="#.to"))
    refused(plain(steps=(step(order(to=THIEF)),)), "uses the tokens of another account", calls=of_another)


def test_a_permit2_spend_fits_its_contract():
    amount = permit2.MAX_AMOUNT + 1
    sealed = replace(SEALED, inputs=(Leg(USDC, amount, USER),))
    spends = (Spend(USDC.address, amount, permit2.ADDRESS, permit2_spender=ROUTER),)
    refused(plain(inputs=sealed.inputs, spends=spends), "does not fit uint160", sealed)


def test_a_spender_is_an_address_though_its_provider_declares_it():
    class Careless(Provider):
        def spenders(self, chain_id):
            return (ROUTER.lower(),)

    spends = (Spend(USDC.address, SOLD, ROUTER.lower()),)
    refused(plain(spends=spends), "not an EIP-55 address", provider=Careless())


def test_a_previewed_amount_is_an_amount():
    """Its value is the preview's, which the run compares; what it is not, no run can show."""
    sealed = replace(SEALED, request=VAULT_REQUEST)
    preview = Preview(USER, USDC.address, WETH.address, b"preview")
    less = replace(SEALED.inputs[0], amount=-1, amount_max=SOLD)
    refused(plain(inputs=(less,), previews=(preview,)), "whole number of base units", sealed)


@pytest.mark.parametrize("member", ["account", "token", "to"])
def test_a_preview_names_addresses(member):
    preview = Preview(USER, USDC.address, WETH.address, b"preview")
    odd = replace(preview, **{member: USER.lower()})
    sealed = replace(SEALED, request=VAULT_REQUEST)
    refused(plain(previews=(odd,)), "a preview names something that is not an EIP-55 address", sealed)


def test_a_wrap_of_the_coin_needs_no_minimum_in_its_calldata():
    """WETH9 ``deposit()`` names no amount: the value is the minimum."""
    request = replace(REQUEST, token_in=ETHER, amount_in=GOT)
    one_to_one = (replace(SEALED.outputs[0], amount_min=GOT),)
    sealed = replace(SEALED, request=request, inputs=(Leg(ETHER, GOT, USER),), outputs=one_to_one)
    steps = (replace(step_of(function("deposit()"), [], to=WETH.address, chain_id=1), value=GOT),)
    build = plain(steps=steps, spends=(), inputs=sealed.inputs, outputs=one_to_one, deadline=None)
    check(build, sealed)
    refused(replace(build, deadline=NOW + 1200), "no deadline", sealed)
    more = (replace(one_to_one[0], amount=GOT + 1, amount_min=GOT + 1),)
    refused(replace(build, outputs=more), "minimum", replace(sealed, outputs=more))
