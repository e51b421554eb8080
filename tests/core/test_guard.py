"""The guard's reading of quotes and bytes: an honest answer passes, every lie is named."""

from dataclasses import replace

import pytest
from quoteway import guard, run_guard
from quoteway.errors import Reason, UpstreamError
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import function
from quoteway.models import (
    MAX_UINT256,
    NATIVE,
    AllowanceChange,
    Approval,
    Arrival,
    AssetChange,
    Block,
    Build,
    Capability,
    DeployRequest,
    Fee,
    Gas,
    Issue,
    Leg,
    Notice,
    PoolRequest,
    Preview,
    Quote,
    RoutePath,
    SealedQuote,
    SignatureRequest,
    Simulation,
    Spend,
    SwapRequest,
    Token,
    VaultRequest,
)
from quoteway.simulation import Granted, Trace, Transfer
from quoteway.testing.toys import step_of

NOW = 1_800_000_000
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
THIEF = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
ROUTER = "0x4119bb540cCe363CF42a127597dc98c0F4fB958E"
USDC = Token(1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6, "USDC")
WETH = Token(1, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18, "WETH")
DAI = Token(1, "0x6B175474E89094C44Da98b954EedeAC495271d0F", 18, "DAI")
ETHER = Token(1, NATIVE, 18, "ETH")
SOLD, GOT, MINIMUM = 3_500_000_001, 10**18 + 12_345, 995_000_000_000_012_283
BLOCK = Block(20_000_000, "0x" + "cd" * 32, NOW - 5)
SWAP = function(
    "swap(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline, bytes extra)"
)


class Provider:
    id = "toy"

    def contracts(self, chain_id):
        return {ROUTER: "Router", USDC.address: "A provider may declare a token", permit2.ADDRESS: "Permit2"}

    def spenders(self, chain_id):
        return (ROUTER, permit2.ADDRESS)


REQUEST = SwapRequest(1, 1, USDC, WETH, SOLD, USER, USER, 50, permit2_signature=True)
QUOTE = Quote(
    (Leg(USDC, SOLD, USER),),
    (Leg(WETH, GOT, USER, amount_min=MINIMUM),),
    BLOCK,
    {"v": 1},
    net_output=MINIMUM - 7,
)
SEALED = SealedQuote(
    Capability.SWAP, "toy", REQUEST, QUOTE.inputs, QUOTE.outputs, 50, {"v": 1}, BLOCK, NOW, NOW + 180
)


def step(args=None, call=SWAP, to=ROUTER, **more):
    args = args or [SOLD, MINIMUM, [USDC.address, WETH.address], USER, NOW + 1200, b"\0" * 96]
    return replace(step_of(call, args, to=to, chain_id=1), **more)


def plain(**changes):
    build = Build((step(),), (Spend(USDC.address, SOLD, ROUTER),), SEALED.inputs, SEALED.outputs, NOW + 1200)
    return replace(build, **changes)


PERMIT = permit2.PermitSingle(USDC.address, SOLD, NOW + 1200, 0, ROUTER, NOW + 1200)
PLACE = SWAP.encode([0, 0, [], USER, 0, b"\x01" + b"\0" * 95])
OFFSET = len(step().data) - 96


def signed(permit=PERMIT, **changes):
    spends = (Spend(USDC.address, SOLD, permit2.ADDRESS, permit2_spender=ROUTER, permit2_signed=True),)
    request = SignatureRequest("permit2", permit.typed_data(1), 0, OFFSET)
    return plain(**{"spends": spends, "signatures": (request,), **changes})


def signature(**changes):
    return (replace(signed().signatures[0], **changes),)


def typed(**changes):
    data = PERMIT.typed_data(1)
    return signature(typed_data={**data, **changes})


def message(**changes):
    return typed(message={**PERMIT.typed_data(1)["message"], **changes})


def check(build, sealed=SEALED, provider=None):
    guard.check_build(provider or Provider(), sealed, build, now=NOW)


def refused(build, finding, sealed=SEALED):
    with pytest.raises(guard.UnsafeAnswer) as refusal:
        check(build, sealed)
    assert finding in refusal.value.finding
    assert refusal.value.reason is Reason.UNSAFE_ANSWER
    assert refusal.value.status == 502


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
    guard.check_build(Provider(), unasked, plain(), now=NOW)
    with pytest.raises(guard.UnsafeAnswer, match="wants a signature"):
        guard.check_build(Provider(), unasked, signed(), now=NOW)


def test_no_flipped_bit_of_the_calldata_passes():
    data = step().data
    for place in range(len(data)):
        for bit in (1, 128):
            changed = data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
            with pytest.raises(guard.UnsafeAnswer):
                check(plain(steps=(step(data=changed),)))


OTHER = function("approve(address spender, uint256 amount)")


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
        (plain(steps=()), "no, or too many"),
        (plain(steps=(step(),) * 17), "no, or too many"),
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
        (plain(outputs=(replace(SEALED.outputs[0], token=replace(WETH, decimals=6)),)), "another unit"),
        (plain(inputs=(replace(SEALED.inputs[0], token=replace(USDC, decimals=18)),)), "another unit"),
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
    refused(saying(transfer_.describe([USER, MINIMUM])), "packed inside")
    outer = replace(transfer_.describe([USER, NOW + 1200]), inner=(transfer_.describe([THIEF, 1]),))
    refused(saying(outer), "packed inside")
    refused(saying(None), "packed inside")


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


# --- what arrives on another chain ------------------------------------------------------------------------

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
    guard.check_build(Provider(), sealed, build, now=NOW, wrapped_native_out=FAR_WRAPPED)


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
        ({"arrivals": ()}, "does not say where"),
        ({"arrivals": (PLACES, PLACES)}, "does not say where"),
        ({"arrivals": (replace(PLACES, step=1),)}, "no transaction"),
        ({"arrivals": (replace(PLACES, recipient=(2,)),)}, "another account"),
        ({"arrivals": (replace(PLACES, recipient=(9,)),)}, "another account"),
        ({"arrivals": (replace(PLACES, token=(2, 1, 0)),)}, "another token"),
        ({"arrivals": (replace(PLACES, amount_min=()),)}, "less than quoted"),
    ],
)
def test_a_transfer_that_arrives_elsewhere_or_as_less_is_refused(lie, finding):
    with pytest.raises(guard.UnsafeAnswer) as refusal:
        arrives(*transfer(**lie))
    assert finding in refusal.value.finding


@pytest.mark.parametrize("asked", [None, USER, ROUTER])
def test_the_refund_goes_to_who_was_asked_for(asked):
    account = asked or USER
    sealed, build = transfer(arrivals=(REFUNDING,), refunded=account, refund_to=asked)
    arrives(sealed, build)
    arrives(sealed, replace(build, details={"tracking": {"refundAddress": account}}))
    if account == USER:  # a bridge that lets nobody name the account, and says of none
        sealed, build = transfer(refunded=account)
        arrives(sealed, build)
        arrives(sealed, replace(build, details={"tracking": {"refundAddress": None}}))


@pytest.mark.parametrize(
    ("lie", "told", "finding"),
    [
        ({"refunded": THIEF}, None, "refunds another account"),
        ({"refunded": ROUTER}, None, "refunds another account"),
        ({"refund_to": ROUTER}, None, "refunds another account"),
        ({"refunded": THIEF, "refund_to": ROUTER}, None, "refunds another account"),
        ({"arrivals": (replace(PLACES, refund=()),)}, None, "refunds another account"),
        ({"arrivals": (replace(PLACES, refund=(9,)),)}, None, "refunds another account"),
        ({"arrivals": (PLACES,), "refunded": ROUTER, "refund_to": ROUTER}, None, "who is refunded"),
        ({"arrivals": (PLACES,)}, USER, "who is refunded"),
        ({"arrivals": (PLACES,), "refund_to": USER}, None, "who is refunded"),
        ({}, THIEF, "tells of a refund to another"),
        ({"refunded": ROUTER, "refund_to": ROUTER}, USER, "tells of a refund to another"),
    ],
)
def test_a_transfer_that_refunds_somebody_else_is_refused(lie, told, finding):
    sealed, build = transfer(**({"arrivals": (REFUNDING,)} | lie))
    with pytest.raises(guard.UnsafeAnswer) as refusal:
        arrives(sealed, replace(build, details={"tracking": {"refundAddress": told}}))
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
        told = replace(quote, details={"refund": {"chainId": 1, "address": promised}})
        if honest:
            guard.check_quote(Provider(), replace(request, refund_to=asked), told)
            continue
        with pytest.raises(guard.UnsafeAnswer, match="promises the refund"):
            guard.check_quote(Provider(), replace(request, refund_to=asked), told)
    guard.check_quote(Provider(), request, replace(quote, details={"refund": None}))


def test_a_swap_on_one_chain_names_no_arrival():
    refused(plain(arrivals=(PLACES,)), "another chain")


# --- quotes -----------------------------------------------------------------------------------------------


def leg(index, **changes):
    return {index: (replace(getattr(QUOTE, index)[0], **changes),)}


def test_honest_quotes_pass():
    guard.check_quote(Provider(), REQUEST, QUOTE)
    guard.check_quote(Provider(), REQUEST, replace(QUOTE, net_output=-5, lifetime_s=30))


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        (leg("inputs", amount=SOLD - 1), "another amount"),
        (leg("inputs", amount=float(SOLD)), "whole number"),
        (leg("inputs", amount_max=2 * SOLD), "another amount"),
        (leg("inputs", amount_max=MAX_UINT256), "another amount"),
        (leg("inputs", amount_min=0), "another amount"),
        (leg("inputs", token=DAI), "another token"),
        (leg("inputs", token=replace(USDC, decimals=18)), "another token"),
        (leg("inputs", token=replace(USDC, chain_id=10)), "another chain"),
        (leg("inputs", account=THIEF), "another account"),
        (leg("outputs", account=THIEF), "another recipient"),
        (leg("outputs", token=DAI), "another token"),
        (leg("outputs", token=replace(WETH, chain_id=10)), "another token"),
        (leg("outputs", amount_min=None), "no minimum"),
        (leg("outputs", amount_min=GOT + 1), "exceeds"),
        (leg("outputs", amount_min=MINIMUM - 1), "below the slippage"),
        (leg("outputs", amount_min=-1), "bound"),
        (leg("outputs", amount=MAX_UINT256 + 1), "whole number"),
        (leg("outputs", amount=-1), "whole number"),
        ({"inputs": ()}, "one input"),
        ({"outputs": QUOTE.outputs * 2}, "one output"),
        ({"net_output": MINIMUM + 1}, "ranks itself"),
        ({"block": None}, "block"),
        ({"plan": []}, "plan"),
        ({"lifetime_s": 0}, "over before"),
    ],
)
def test_a_lying_quote_is_refused_and_named(changes, finding):
    with pytest.raises(guard.UnsafeAnswer) as refusal:
        guard.check_quote(Provider(), REQUEST, replace(QUOTE, **changes))
    assert finding in refusal.value.finding


@pytest.mark.parametrize(
    ("spend", "finding"),
    [
        (Spend(DAI.address, 1, ROUTER), "more of"),
        (Spend(USDC.address, MAX_UINT256, ROUTER), "more of"),
        (Spend(USDC.address, -1, ROUTER), "positive"),
        (Spend(USDC.address, 1, THIEF), "does not declare"),
        (Spend(USDC.address, 1, permit2.ADDRESS, permit2_spender=THIEF), "not declared"),
    ],
)
def test_a_quote_tells_of_no_allowance_beyond_what_is_sold(spend, finding):
    """Its ``approvals`` are what a client grants ahead."""
    guard.check_quote(Provider(), REQUEST, replace(QUOTE, spends=plain().spends))
    with pytest.raises(guard.UnsafeAnswer, match=finding):
        guard.check_quote(Provider(), REQUEST, replace(QUOTE, spends=(spend,)))


def test_the_block_that_a_quote_names_makes_no_deadline_longer():
    far = NOW + 365 * 86_400
    sealed = replace(SEALED, block=replace(BLOCK, timestamp=far))
    refused(plain(deadline=far), "deadline", sealed)
    refused(signed(replace(PERMIT, sig_deadline=far)), "over a day", sealed)
    guard.check_build(Provider(), SEALED, plain(deadline=far), now=NOW, chain_now=far)


ODD_DETAILS = [
    {"x": "x" * 70_000},
    {"x": replace(USDC, symbol=object())},
    {"x": [replace(QUOTE.outputs[0], amount="1")]},
    {"x": object()},
    {"x": 2**70},
    {1: 2},
    {"x": {"y": [b"raw"]}},
    [],
    None,
]


@pytest.mark.parametrize("details", ODD_DETAILS, ids=range(len(ODD_DETAILS)))
def test_details_that_no_answer_can_hold_are_refused(details):
    fine = {"x": [USDC, {"y": (QUOTE.outputs[0], None, "z", 1.5)}]}
    guard.check_quote(Provider(), REQUEST, replace(QUOTE, details=fine))
    check(plain(details=fine))
    with pytest.raises(guard.UnsafeAnswer, match="details"):
        guard.check_quote(Provider(), REQUEST, replace(QUOTE, details=details))
    with pytest.raises(guard.UnsafeAnswer, match="details"):
        check(plain(details=details))


def test_a_quote_that_is_none_is_refused():
    for answer in ({"amount": 1}, "quote", 5):
        with pytest.raises(guard.UnsafeAnswer):
            guard.check_quote(Provider(), REQUEST, answer)


def test_a_plan_that_no_token_holds_costs_its_provider():
    with pytest.raises(UpstreamError):
        guard.check_quote(Provider(), REQUEST, replace(QUOTE, plan={"data": b"calldata"}))


@pytest.mark.parametrize(
    "request_",
    [
        PoolRequest("1:x", 1, "add", USDC.address, SOLD, USER, USER, 50),
        VaultRequest("1:x", 1, "deposit", USDC.address, SOLD, USER, USER, 50),
    ],
)
def test_pools_and_vaults_take_no_more_of_the_asset_than_asked_and_pay_nobody_else(request_):
    quote = replace(QUOTE, net_output=None)
    guard.check_quote(Provider(), request_, quote)
    for changes in (
        leg("inputs", amount=SOLD + 1),
        leg("inputs", account=THIEF),
        leg("outputs", account=THIEF),
    ):
        with pytest.raises(guard.UnsafeAnswer):
            guard.check_quote(Provider(), request_, replace(quote, **changes))
    guard.check_quote(Provider(), replace(request_, amount=None), quote)


VAULT_REQUEST = VaultRequest("1:x", 1, "deposit", USDC.address, SOLD, USER, USER, 50)
POOL_REQUEST = PoolRequest("1:x", 1, "remove", WETH.address, MINIMUM, USER, USER, 50)
MORE = (*QUOTE.inputs, Leg(DAI, 1, USER))


@pytest.mark.parametrize(
    ("request_", "changes", "finding"),
    [
        (DeployRequest(1, USDC.address, USER, "x"), {}, "costs none"),
        (replace(VAULT_REQUEST, action="harvest", asset=None, amount=None), {}, "costs none"),
        (replace(VAULT_REQUEST, action="rebalance"), {}, "costs none"),
        (DeployRequest(1, USDC.address, USER, "x"), {"inputs": (), "net_output": 10**60}, "ranks itself"),
        (VAULT_REQUEST, {"inputs": MORE}, "one token for another"),
        (VAULT_REQUEST, {"outputs": ()}, "one token for another"),
        (VAULT_REQUEST, leg("inputs", token=DAI), "another asset"),
        (VAULT_REQUEST, leg("outputs", token=USDC), "another asset"),
        (VAULT_REQUEST, leg("outputs", token=replace(WETH, chain_id=10)), "another chain"),
        (VAULT_REQUEST, leg("inputs", amount_min=0), "leaves more of the allowance"),
        (VAULT_REQUEST, leg("outputs", amount_min=None), "no minimum"),
        (VAULT_REQUEST, leg("outputs", amount_min=0), "no minimum"),
        (VAULT_REQUEST, leg("outputs", amount_min=MINIMUM - 1), "minimum is below the slippage"),
        (replace(VAULT_REQUEST, amount=None), leg("inputs", amount_max=2 * SOLD), "maximum is above"),
        (replace(VAULT_REQUEST, action="mint", asset=WETH.address, amount=GOT), {}, "less of the asset"),
        (replace(POOL_REQUEST, action="collect"), {}, "collect does not need"),
        (POOL_REQUEST, {"inputs": MORE}, "remove does not need"),
        (POOL_REQUEST, {"outputs": ()}, "pays nothing"),
        (POOL_REQUEST, leg("outputs", amount_min=None), "no minimum"),
    ],
)
def test_nobody_pays_with_what_was_not_asked_for_nor_for_nothing(request_, changes, finding):
    honest = replace(QUOTE, net_output=None)
    lie = replace(honest, **changes)
    if changes and not isinstance(request_, DeployRequest):
        guard.check_quote(Provider(), request_, honest)
    with pytest.raises(guard.UnsafeAnswer, match=finding):
        guard.check_quote(Provider(), request_, lie)


def test_the_owner_signs_and_pays_for_a_deployment():
    assert guard.parties(DeployRequest(1, USDC.address, USER, "x")) == (USER, {USER})


# --- what the run did -------------------------------------------------------------------------------------

RUN = Simulation(
    "success",
    BLOCK,
    (100_000,),
    (
        AssetChange(USER, NATIVE, 0),
        AssetChange(USER, USDC.address, -SOLD),
        AssetChange(USER, WETH.address, MINIMUM),
    ),
    (AllowanceChange(USER, USDC.address, ROUTER, 0, 0),),
)
TRACE = Trace(
    (Transfer(1, USDC.address, USER, ROUTER, SOLD), Transfer(1, WETH.address, ROUTER, USER, MINIMUM)),
    (Granted(0, USDC.address, USER, ROUTER, SOLD),),
)


def judge(run=RUN, trace=TRACE, build=None):
    run_guard.check_run(Provider(), SEALED, build or plain(), USER, run, trace)


def changed(index, delta):
    changes = list(RUN.asset_changes)
    changes[index] = replace(changes[index], delta=delta)
    return replace(RUN, asset_changes=tuple(changes))


def test_a_token_that_nobody_named_does_not_switch_the_run_off():
    skipped = replace(RUN, status="skipped", asset_changes=(), skip_reason="balance_not_assumable")
    judge(skipped, Trace())
    adding = replace(SEALED, request=replace(POOL_REQUEST, action="add", asset=USDC.address), inputs=MORE)
    for sealed, run in ((SEALED, skipped), (adding, replace(skipped, skip_reason="node_has_no_simulation"))):
        run_guard.check_run(Provider(), sealed, plain(), USER, run, Trace())
    with pytest.raises(guard.UnsafeAnswer, match="nobody asked to pay with"):
        run_guard.check_run(Provider(), adding, plain(inputs=MORE), USER, skipped, Trace())


def test_nothing_that_a_contract_keeps_for_the_wallet_moves():
    judge(trace=replace(TRACE, items=(Transfer(1, ROUTER, THIEF, USER, 1),)))
    with pytest.raises(guard.UnsafeAnswer, match="keeps for the wallet"):
        judge(trace=replace(TRACE, items=(Transfer(1, ROUTER, USER, THIEF, 1),)))


def test_an_honest_run_passes_and_one_that_could_not_be_made_is_not_judged():
    judge()
    judge(replace(RUN, status="skipped", asset_changes=(), skip_reason="node_has_no_simulation"), Trace())
    judge(changed(1, -SOLD + 5))
    # The wallet had allowed more before: less of it is left.
    spent = AllowanceChange(USER, USDC.address, ROUTER, 10**12, 10**12 - SOLD)
    rest = Granted(1, USDC.address, USER, ROUTER, 10**12 - SOLD)
    judge(replace(RUN, allowance_changes=(spent,)), replace(TRACE, approvals=(rest,)))
    judge(
        trace=replace(
            TRACE,
            approvals=(Granted(0, DAI.address, THIEF, ROUTER, 1), Granted(0, DAI.address, USER, THIEF, 0)),
        )
    )


@pytest.mark.parametrize(
    ("run", "trace", "finding"),
    [
        (changed(1, -SOLD - 1), TRACE, "more than quoted"),
        (changed(0, -1), TRACE, "more than quoted"),
        (changed(2, 0), TRACE, "pays no"),
        (changed(2, -1), TRACE, "more than quoted"),
        (replace(RUN, asset_changes=RUN.asset_changes[:2]), TRACE, "pays no"),
        (replace(RUN, asset_changes=RUN.asset_changes[2:]), TRACE, "cannot be read"),
        (RUN, replace(TRACE, transfers=(Transfer(1, DAI.address, USER, THIEF, 1),)), "not sold"),
        (RUN, replace(TRACE, approvals=(Granted(1, USDC.address, USER, THIEF, 1),)), "approves"),
        (RUN, replace(TRACE, approvals=(Granted(1, DAI.address, USER, ROUTER, 1),)), "approves"),
        (
            replace(RUN, allowance_changes=(AllowanceChange(USER, USDC.address, ROUTER, 0, 1),)),
            TRACE,
            "leaves an",
        ),
    ],
)
def test_a_run_that_does_more_or_else_than_quoted_is_refused(run, trace, finding):
    with pytest.raises(guard.UnsafeAnswer) as refusal:
        judge(run, trace)
    assert finding in refusal.value.finding


def judge_sealed(sealed, run, trace=TRACE):
    run_guard.check_run(Provider(), sealed, plain(), USER, run, trace)


def test_what_an_input_may_leave_untaken_may_stay_allowed_and_no_more():
    sealed = replace(SEALED, inputs=(Leg(USDC, SOLD, USER, amount_min=SOLD - 100),))
    for before, after in ((0, 0), (0, 100), (50, 100), (500, 500)):
        rest = AllowanceChange(USER, USDC.address, ROUTER, before, after)
        judge_sealed(sealed, replace(RUN, allowance_changes=(rest,)))
    for before, after in ((0, 101), (50, 101), (500, 501)):
        rest = AllowanceChange(USER, USDC.address, ROUTER, before, after)
        with pytest.raises(guard.UnsafeAnswer, match="leaves an allowance"):
            judge_sealed(sealed, replace(RUN, allowance_changes=(rest,)))


def test_an_output_of_a_token_that_is_paid_in_too_counts_by_the_difference():
    got = Leg(USDC, 40, USER, amount_min=40)
    sealed = replace(SEALED, inputs=(Leg(USDC, SOLD, USER),), outputs=(got,))

    def moved(delta):
        return replace(RUN, asset_changes=(AssetChange(USER, USDC.address, delta),))

    judge_sealed(sealed, moved(40 - SOLD))
    judge_sealed(sealed, moved(41 - SOLD))
    with pytest.raises(UpstreamError) as moved_price:
        judge_sealed(sealed, moved(39 - SOLD))
    assert moved_price.value.reason is Reason.PRICE_MOVED
    with pytest.raises(guard.UnsafeAnswer, match="pays no"):
        judge_sealed(sealed, moved(-SOLD))


def test_a_permit2_grant_beyond_the_spend_is_refused():
    build = plain(spends=(Spend(USDC.address, SOLD, permit2.ADDRESS, permit2_spender=ROUTER),))
    judge(trace=replace(TRACE, approvals=(Granted(0, USDC.address, USER, ROUTER, SOLD),)), build=build)
    with pytest.raises(guard.UnsafeAnswer, match="approves"):
        judge(
            trace=replace(TRACE, approvals=(Granted(0, USDC.address, USER, ROUTER, SOLD + 1),)), build=build
        )


def test_a_moved_price_is_called_that_and_never_lowers_the_minimum():
    for run in (
        replace(RUN, status="reverted", revert_reason="Too little received"),
        changed(2, MINIMUM - 1),
    ):
        with pytest.raises(UpstreamError) as refusal:
            judge(run)
        assert refusal.value.reason is Reason.PRICE_MOVED
        assert not isinstance(refusal.value, guard.UnsafeAnswer)


def test_needs_and_watched_pairs():
    build = plain(steps=(step(value=3), step(value=4)))
    assert run_guard.needs_of(build) == {USDC.address: SOLD, NATIVE: 7}
    assert run_guard.watched(SEALED, USER) == [(USER, NATIVE), (USER, USDC.address), (USER, WETH.address)]
    far = replace(SEALED, outputs=(replace(SEALED.outputs[0], token=replace(WETH, chain_id=10)),))
    assert run_guard.watched(far, USER) == [(USER, NATIVE), (USER, USDC.address)]


def test_core_only_calls_are_those_of_the_standards():
    assert erc20.APPROVE.selector in guard._CORE_ONLY
    assert bytes.fromhex("095ea7b3") in guard._CORE_ONLY  # approve
    assert bytes.fromhex("a22cb465") in guard._CORE_ONLY  # setApprovalForAll
    assert bytes.fromhex("d505accf") in guard._CORE_ONLY  # permit, EIP-2612
    assert bytes.fromhex("8fcbaf0c") in guard._CORE_ONLY  # permit of DAI


def test_an_input_may_take_up_to_its_maximum_and_no_more():
    leg_ = Leg(USDC, SOLD - 7, USER, amount_min=SOLD - 10, amount_max=SOLD)
    sealed = replace(SEALED, inputs=(leg_,))
    check(plain(inputs=sealed.inputs), sealed)
    refused(
        plain(inputs=sealed.inputs, spends=(Spend(USDC.address, SOLD + 1, ROUTER),)), "spends more", sealed
    )
    for after in (7, 10):
        judge_sealed(
            sealed, replace(RUN, allowance_changes=(AllowanceChange(USER, USDC.address, ROUTER, 0, after),))
        )
    with pytest.raises(guard.UnsafeAnswer, match="leaves an allowance"):
        judge_sealed(
            sealed, replace(RUN, allowance_changes=(AllowanceChange(USER, USDC.address, ROUTER, 0, 11),))
        )
    lying = replace(QUOTE, inputs=(replace(QUOTE.inputs[0], amount_max=SOLD - 1),))
    with pytest.raises(guard.UnsafeAnswer, match="exceeds its maximum"):
        guard.check_quote(Provider(), REQUEST, lying)


VAULT = "0x83F20F44975D03b1b09e64809B757c47f942BEeA"
SHARE = Token(1, VAULT, 18, "vUSDC")
DEPOSIT = function("deposit(uint256 assets, address receiver)")
ENTERING = SealedQuote(
    Capability.VAULT,
    "toy",
    VaultRequest(f"1:{VAULT}", 1, "deposit", USDC.address, SOLD, USER, USER, 50),
    QUOTE.inputs,
    (Leg(SHARE, GOT, USER, amount_min=MINIMUM),),
    50,
    {},
    BLOCK,
    NOW,
    NOW + 180,
)
LEAVING = replace(
    ENTERING,
    inputs=(Leg(SHARE, GOT, USER, amount_max=2 * GOT),),
    outputs=(Leg(USDC, SOLD, USER, amount_min=SOLD),),
)


def entering(to=VAULT, spender=VAULT, **changes):
    steps = (step_of(DEPOSIT, [SOLD, USER], to=to, chain_id=1),)
    spends = (Spend(USDC.address, SOLD, spender),)
    build = Build(
        steps,
        spends,
        ENTERING.inputs,
        ENTERING.outputs,
        previews=(Preview(USER, VAULT, VAULT, b"previewDeposit"),),
    )
    return replace(build, **changes)


def test_a_vault_is_a_target_for_the_caller_who_named_it_and_no_other():
    check(entering(), ENTERING)
    refused(entering(to=WETH.address), "does not declare", ENTERING)
    refused(entering(spender=THIEF), "does not declare", ENTERING)
    elsewhere = replace(ENTERING, request=replace(ENTERING.request, vault_id=f"1:{THIEF}"))
    refused(entering(), "does not declare", elsewhere)
    refused(entering(), "does not declare", replace(ENTERING, request=REQUEST))


def moved(paid, paid_token, got, got_token):
    changes = (
        AssetChange(USER, NATIVE, 0),
        AssetChange(USER, paid_token, -paid),
        AssetChange(USER, got_token, got),
    )
    return Simulation("success", BLOCK, (1,), changes)


@pytest.mark.parametrize(
    ("said", "fair"),
    [(GOT, True), (GOT - 1, True), (GOT + 1, False), (GOT - GOT // 1000, False), (None, False)],
)
def test_an_output_is_what_the_contract_previews(said, fair):
    def judge_it():
        run = moved(SOLD, USDC.address, GOT, VAULT)
        run_guard.check_run(Provider(), ENTERING, entering(), USER, run, Trace(previews=(said,)))

    if fair:
        judge_it()
    else:
        with pytest.raises(guard.UnsafeAnswer, match="preview"):
            judge_it()


@pytest.mark.parametrize(
    ("said", "fair"), [(GOT, True), (GOT + 1, True), (GOT - 1, False), (GOT + GOT // 1000, False)]
)
def test_an_input_is_what_the_contract_previews(said, fair):
    build = entering(inputs=LEAVING.inputs, outputs=LEAVING.outputs, spends=())

    def judge_it():
        run = moved(GOT, VAULT, SOLD, USDC.address)
        run_guard.check_run(Provider(), LEAVING, build, USER, run, Trace(previews=(said,)))

    if fair:
        judge_it()
    else:
        with pytest.raises(guard.UnsafeAnswer, match="previews"):
            judge_it()


def test_a_run_without_amounts_that_reverts_has_no_moved_price():
    sealed = SealedQuote(
        Capability.VAULT,
        "toy",
        DeployRequest(1, USDC.address, USER, "x"),
        (),
        (),
        0,
        {},
        BLOCK,
        NOW,
        NOW + 180,
    )
    run = Simulation("reverted", BLOCK, revert_reason="custom error 0x12345678")
    with pytest.raises(UpstreamError) as error:
        run_guard.check_run(Provider(), sealed, entering(), USER, run, Trace())
    assert error.value.reason is Reason.REVERTED
    assert "0x12345678" in error.value.message


def test_shares_that_no_allowance_moves_are_needed_too():
    build = entering(inputs=LEAVING.inputs, outputs=LEAVING.outputs, spends=())
    assert run_guard.needs_of(build) == {VAULT: GOT}


# --- members that are not what they are declared to be ----------------------------------------------------


class Chameleon(str):
    __slots__ = ()

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


GAS = Gas(100_000, 120_000)
FEE = Fee("fee", "lp", USDC, 1, True)
ILL_FORMED = [
    {"fees": None},
    {"fees": iter([FEE])},
    {"fees": (replace(FEE, amount=10**400),)},
    {"fees": (replace(FEE, bps=float("nan")),)},
    {"fees": (replace(FEE, bps=10**30),)},
    {"fees": (replace(FEE, amount_usd="1"),)},
    {"fees": (replace(FEE, kind="theft"),)},
    {"gas": {"units": 1}},
    {"gas": replace(GAS, units=1.5)},
    {"gas": replace(GAS, cost_usd=float("inf"))},
    {"slippage_bps": "50"},
    {"price_impact_bps": True},
    {"lifetime_s": 2.5},
    {"issues": (Issue("no such issue"),)},
    {"warnings": (Notice("x", "gniht tfas \u202e"),)},
    {"warnings": (Notice("x", "one line\nInsufficient balance: none"),)},
    {"warnings": (Notice("x", "x" * 1_000_000),)},
    {"route": (RoutePath(10_000, (None,)),)},
    {"block": replace(BLOCK, hash=["0x"])},
    {"block": replace(BLOCK, number=2**70)},
    leg("inputs", token=replace(USDC, symbol="USDC\u200b")),
    leg("inputs", token=replace(USDC, price_usd="1")),
    leg("outputs", amount_usd=object()),
    leg("outputs", account=Chameleon(THIEF)),
]


@pytest.mark.parametrize("changes", ILL_FORMED, ids=range(len(ILL_FORMED)))
def test_a_quote_is_what_its_class_says_in_every_member(changes):
    """Else it is found when the whole answer is rendered, for which nobody else is to blame."""
    fine = replace(QUOTE, fees=[FEE], gas=GAS, issues=(Issue("transfer_tax", actual=5),), price_impact_bps=-3)
    guard.check_quote(Provider(), REQUEST, fine)
    with pytest.raises((guard.UnsafeAnswer, TypeError)):
        guard.check_quote(Provider(), REQUEST, replace(fine, **changes))


@pytest.mark.parametrize(
    "build",
    [
        plain(steps=(step(intent="Swap\u202e1 CDSU"),)),
        plain(steps=(step(description="Swap\nApproved by your wallet"),)),
        plain(steps=(step(target_label="\u2066Router"),)),
        plain(steps=(step(intent="x" * 1_000_000),)),
        plain(steps=(step(intent=None),)),
        plain(steps=(step(kind=7),)),
        plain(deadline=float(NOW + 60)),
        plain(issues=("none",)),
        plain(warnings=None),
        plain(previews=(Preview(USER, WETH.address, WETH.address, "0x"),)),
    ],
)
def test_a_build_is_what_its_class_says_in_every_member(build):
    with pytest.raises((guard.UnsafeAnswer, TypeError)):
        check(build)
