"""What a provider says and builds, read by the guard: honest answers pass, each lie is named."""

from dataclasses import dataclass, replace

import pytest
from guard_cases import (
    BLOCK,
    DAI,
    ETHER,
    GOT,
    MINIMUM,
    MORE,
    NOW,
    PERMIT,
    POOL_REQUEST,
    QUOTE,
    REQUEST,
    ROUTER,
    SEALED,
    SOLD,
    THIEF,
    USDC,
    USER,
    VAULT_REQUEST,
    WETH,
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
from quoteway.errors import UpstreamError
from quoteway.evm import permit2
from quoteway.evm.abi import function
from quoteway.guard.amounts import parties
from quoteway.guard.calldata import check_build
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.quotes import check_quote
from quoteway.models import (
    MAX_UINT256,
    NATIVE,
    Approval,
    DeploymentTerms,
    DeployRequest,
    Fee,
    Gas,
    Issue,
    Leg,
    ManagementTerms,
    ManageRequest,
    Notice,
    PoolRequest,
    Preview,
    RefundTerms,
    RoutePath,
    Spend,
    TransferTerms,
    TransferTracking,
    VaultRequest,
)
from quoteway.testing.fakes import step_of


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


# --- quotes -----------------------------------------------------------------------------------------------


def leg(index, **changes):
    return {index: (replace(getattr(QUOTE, index)[0], **changes),)}


def test_honest_quotes_pass():
    check_quote(Provider(), REQUEST, QUOTE)
    check_quote(Provider(), REQUEST, replace(QUOTE, net_output=-5, lifetime_s=30))


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
        ({"net_output": MINIMUM + 1}, "net_output exceeds"),
        ({"block": None}, "block"),
        ({"plan": []}, "plan"),
        ({"lifetime_s": 0}, "must be positive"),
    ],
)
def test_a_lying_quote_is_refused_and_named(changes, finding):
    with pytest.raises(UnsafeAnswer) as refusal:
        check_quote(Provider(), REQUEST, replace(QUOTE, **changes))
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
    check_quote(Provider(), REQUEST, replace(QUOTE, spends=plain().spends))
    with pytest.raises(UnsafeAnswer, match=finding):
        check_quote(Provider(), REQUEST, replace(QUOTE, spends=(spend,)))


def test_the_block_that_a_quote_names_makes_no_deadline_longer():
    far = NOW + 365 * 86_400
    sealed = replace(SEALED, block=replace(BLOCK, timestamp=far))
    refused(plain(deadline=far), "deadline", sealed)
    refused(signed(replace(PERMIT, sig_deadline=far)), "over a day", sealed)
    check_build(Provider(), SEALED, plain(deadline=far), now=NOW, chain_now=far)


ROLE = ManagementTerms(None)
PROMISE = RefundTerms(1, USDC.address, USER)
ODD_TERMS = [
    (replace(PROMISE, on_expiry="x" * 70_000), "on_expiry"),
    (replace(PROMISE, on_expiry="a\u202eb"), "on_expiry"),
    (replace(PROMISE, token=object()), "token"),
    (replace(PROMISE, address=b"raw"), "address"),
    (replace(PROMISE, chain_id=2**70), "chain_id"),
    (replace(PROMISE, chain_id="1"), "chain_id"),
    ({"chainId": 1, "address": USER}, "refund"),
]


@dataclass(frozen=True, slots=True)
class MoreTerms(TransferTerms):
    """Terms with a member that would stand in for the gateway's own."""

    transactions: tuple[str, ...] = ("0x",)


@pytest.mark.parametrize(("refund", "member"), ODD_TERMS, ids=range(len(ODD_TERMS)))
def test_terms_that_no_answer_can_hold_are_refused(refund, member):
    check_quote(Provider(), REQUEST, replace(QUOTE, terms=TransferTerms(12, None, PROMISE)))
    with pytest.raises(UnsafeAnswer, match=rf"terms.*{member}"):
        check_quote(Provider(), REQUEST, replace(QUOTE, terms=TransferTerms(refund=refund)))


@pytest.mark.parametrize(
    "terms",
    [
        MoreTerms(),
        {"refund": None},
        [],
        "terms",
        object(),
        DeploymentTerms(ROUTER, ROUTER, "0x", "0x", ROUTER, USER, "x"),
    ],
    ids=range(6),
)
def test_terms_of_another_type_are_refused(terms):
    with pytest.raises(UnsafeAnswer, match="terms"):
        check_quote(Provider(), REQUEST, replace(QUOTE, terms=terms))
    with pytest.raises(UnsafeAnswer, match="terms"):
        check(plain(terms=terms))


@pytest.mark.parametrize(
    "change",
    [{"bridge": object()}, {"origin_chain_id": 2**70}, {"expected_seconds": 0.5}, {"refund_address": b"raw"}],
    ids=lambda change: next(iter(change)),
)
def test_odd_tracking_of_a_build_is_refused(change):
    tracking = TransferTracking("a-bridge", 1, 10, 12)
    check(plain(terms=tracking))
    with pytest.raises(UnsafeAnswer, match=rf"terms\.{next(iter(change))}"):
        check(plain(terms=replace(tracking, **change)))


def test_a_quote_that_is_none_is_refused():
    for answer in ({"amount": 1}, "quote", 5):
        with pytest.raises(UnsafeAnswer):
            check_quote(Provider(), REQUEST, answer)


def test_a_plan_that_no_token_holds_costs_its_provider():
    with pytest.raises(UpstreamError):
        check_quote(Provider(), REQUEST, replace(QUOTE, plan={"data": b"calldata"}))


@pytest.mark.parametrize(
    "request_",
    [
        PoolRequest("1:x", 1, "add", USDC.address, SOLD, USER, USER, 50),
        VaultRequest("1:x", 1, "deposit", USDC.address, SOLD, USER, USER, 50),
    ],
)
def test_pools_and_vaults_take_no_more_of_the_asset_than_asked_and_pay_nobody_else(request_):
    quote = replace(QUOTE, net_output=None)
    check_quote(Provider(), request_, quote)
    for changes in (
        leg("inputs", amount=SOLD + 1),
        leg("inputs", account=THIEF),
        leg("outputs", account=THIEF),
    ):
        with pytest.raises(UnsafeAnswer):
            check_quote(Provider(), request_, replace(quote, **changes))
    check_quote(Provider(), replace(request_, amount=None), quote)


@pytest.mark.parametrize(
    ("request_", "changes", "finding"),
    [
        (DeployRequest(1, USDC.address, USER, "x"), {}, "costs none"),
        (ManageRequest("1:x", 1, "harvest", USER), {}, "costs none"),
        (ManageRequest("1:x", 1, "rebalance", USER, USDC.address, SOLD, 50), {}, "costs none"),
        (ManageRequest("1:x", 1, "harvest", USER), {"inputs": (), "terms": ROLE}, "terms"),
        (DeployRequest(1, USDC.address, USER, "x"), {"inputs": (), "net_output": 10**60}, "swaps only"),
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
    if changes and not isinstance(request_, DeployRequest | ManageRequest):
        check_quote(Provider(), request_, honest)
    with pytest.raises(UnsafeAnswer, match=finding):
        check_quote(Provider(), request_, lie)


def test_the_owner_signs_and_pays_for_a_deployment():
    assert parties(DeployRequest(1, USDC.address, USER, "x")) == (USER, {USER})
    assert parties(ManageRequest("1:x", 1, "harvest", USER)) == (USER, {USER})


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
    check_quote(Provider(), REQUEST, fine)
    with pytest.raises((UnsafeAnswer, TypeError)):
        check_quote(Provider(), REQUEST, replace(fine, **changes))


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
    with pytest.raises((UnsafeAnswer, TypeError)):
        check(build)
