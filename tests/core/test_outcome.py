"""What the run of an action did, against what its quote says."""

from dataclasses import replace

import pytest
from guard_cases import (
    MORE,
    POOL_REQUEST,
    QUOTE,
    REQUEST,
    SEALED,
    Provider,
    check,
    plain,
    refused,
    run_of,
    step,
    with_delta,
)
from quoteway.engine.approvals import balances_needed
from quoteway.errors import Reason, UpstreamError
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import function
from quoteway.guard.calldata import CORE_ONLY
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.outcome import check_run, watched
from quoteway.guard.quotes import check_quote
from quoteway.models import (
    NATIVE,
    AllowanceChange,
    AssetChange,
    Build,
    Capability,
    DeployRequest,
    Leg,
    Preview,
    SealedQuote,
    Simulation,
    Spend,
    Token,
    VaultRequest,
)
from quoteway.simulation.trace import ApprovalEvent, Trace, Transfer
from quoteway.testing.fakes import step_of
from sold_usdc import BLOCK, DAI, GOT, MINIMUM, NOW, ROUTER, SOLD, THIEF, USDC, USER, WETH

RUN = run_of(SOLD, MINIMUM, USER, ROUTER)
TRACE = Trace(
    (Transfer(1, USDC.address, USER, ROUTER, SOLD), Transfer(1, WETH.address, ROUTER, USER, MINIMUM)),
    (ApprovalEvent(0, USDC.address, USER, ROUTER, SOLD),),
)


def judge(run=RUN, trace=TRACE, build=None):
    check_run(Provider(), SEALED, build or plain(), run, trace)


def test_a_token_that_nobody_named_does_not_switch_the_run_off():
    skipped = replace(RUN, status="skipped", asset_changes=(), skip_reason="balance_not_assumable")
    judge(skipped, Trace())
    adding = replace(SEALED, request=replace(POOL_REQUEST, action="add", asset=USDC.address), inputs=MORE)
    for sealed, run in ((SEALED, skipped), (adding, replace(skipped, skip_reason="node_has_no_simulation"))):
        check_run(Provider(), sealed, plain(), run, Trace())
    with pytest.raises(UnsafeAnswer, match="the request does not name"):
        check_run(Provider(), adding, plain(inputs=MORE), skipped, Trace())


def test_nothing_that_a_contract_keeps_for_the_wallet_moves():
    judge(trace=replace(TRACE, items=(Transfer(1, ROUTER, THIEF, USER, 1),)))
    with pytest.raises(UnsafeAnswer, match="moves an item"):
        judge(trace=replace(TRACE, items=(Transfer(1, ROUTER, USER, THIEF, 1),)))


def test_an_honest_run_passes_and_one_that_could_not_be_made_is_not_judged():
    judge()
    judge(replace(RUN, status="skipped", asset_changes=(), skip_reason="node_has_no_simulation"), Trace())
    judge(with_delta(RUN, 1, -SOLD + 5))
    # The wallet had allowed more before: less of it is left.
    spent = AllowanceChange(USER, USDC.address, ROUTER, 10**12, 10**12 - SOLD)
    rest = ApprovalEvent(1, USDC.address, USER, ROUTER, 10**12 - SOLD)
    judge(replace(RUN, allowance_changes=(spent,)), replace(TRACE, approvals=(rest,)))
    judge(
        trace=replace(
            TRACE,
            approvals=(
                ApprovalEvent(0, DAI.address, THIEF, ROUTER, 1),
                ApprovalEvent(0, DAI.address, USER, THIEF, 0),
            ),
        )
    )


@pytest.mark.parametrize(
    ("run", "trace", "finding"),
    [
        (with_delta(RUN, 1, -SOLD - 1), TRACE, "more than quoted"),
        (with_delta(RUN, 0, -1), TRACE, "more than quoted"),
        (with_delta(RUN, 2, 0), TRACE, "pays no"),
        (with_delta(RUN, 2, -1), TRACE, "more than quoted"),
        (replace(RUN, asset_changes=RUN.asset_changes[:2]), TRACE, "pays no"),
        (replace(RUN, asset_changes=RUN.asset_changes[2:]), TRACE, "cannot be read"),
        (RUN, replace(TRACE, transfers=(Transfer(1, DAI.address, USER, THIEF, 1),)), "not sold"),
        (RUN, replace(TRACE, approvals=(ApprovalEvent(1, USDC.address, USER, THIEF, 1),)), "approves"),
        (RUN, replace(TRACE, approvals=(ApprovalEvent(1, DAI.address, USER, ROUTER, 1),)), "approves"),
        (
            replace(RUN, allowance_changes=(AllowanceChange(USER, USDC.address, ROUTER, 0, 1),)),
            TRACE,
            "leaves an",
        ),
    ],
)
def test_a_run_that_does_more_or_else_than_quoted_is_refused(run, trace, finding):
    with pytest.raises(UnsafeAnswer) as refusal:
        judge(run, trace)
    assert finding in refusal.value.finding


def judge_sealed(sealed, run, trace=TRACE):
    check_run(Provider(), sealed, plain(), run, trace)


def test_what_an_input_may_leave_untaken_may_stay_allowed_and_no_more():
    sealed = replace(SEALED, inputs=(Leg(USDC, SOLD, USER, amount_min=SOLD - 100),))
    for before, after in ((0, 0), (0, 100), (50, 100), (500, 500)):
        rest = AllowanceChange(USER, USDC.address, ROUTER, before, after)
        judge_sealed(sealed, replace(RUN, allowance_changes=(rest,)))
    for before, after in ((0, 101), (50, 101), (500, 501)):
        rest = AllowanceChange(USER, USDC.address, ROUTER, before, after)
        with pytest.raises(UnsafeAnswer, match="leaves an allowance"):
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
    with pytest.raises(UnsafeAnswer, match="pays no"):
        judge_sealed(sealed, moved(-SOLD))


def test_a_permit2_grant_beyond_the_spend_is_refused():
    build = plain(spends=(Spend(USDC.address, SOLD, permit2.ADDRESS, permit2_spender=ROUTER),))
    judge(trace=replace(TRACE, approvals=(ApprovalEvent(0, USDC.address, USER, ROUTER, SOLD),)), build=build)
    with pytest.raises(UnsafeAnswer, match="approves"):
        judge(
            trace=replace(TRACE, approvals=(ApprovalEvent(0, USDC.address, USER, ROUTER, SOLD + 1),)),
            build=build,
        )


def test_a_moved_price_is_called_that_and_never_lowers_the_minimum():
    for run in (
        replace(RUN, status="reverted", revert_reason="Too little received"),
        with_delta(RUN, 2, MINIMUM - 1),
    ):
        with pytest.raises(UpstreamError) as refusal:
            judge(run)
        assert refusal.value.reason is Reason.PRICE_MOVED
        assert not isinstance(refusal.value, UnsafeAnswer)


def test_needs_and_watched_pairs():
    build = plain(steps=(step(value=3), step(value=4)))
    assert balances_needed(build) == {USDC.address: SOLD, NATIVE: 7}
    assert watched(SEALED) == [(USER, NATIVE), (USER, USDC.address), (USER, WETH.address)]
    far = replace(SEALED, outputs=(replace(SEALED.outputs[0], token=replace(WETH, chain_id=10)),))
    assert watched(far) == [(USER, NATIVE), (USER, USDC.address)]


def test_core_only_calls_are_those_of_the_standards():
    assert erc20.APPROVE.selector in CORE_ONLY
    assert bytes.fromhex("095ea7b3") in CORE_ONLY  # approve
    assert bytes.fromhex("a22cb465") in CORE_ONLY  # setApprovalForAll
    assert bytes.fromhex("d505accf") in CORE_ONLY  # permit, EIP-2612
    assert bytes.fromhex("8fcbaf0c") in CORE_ONLY  # permit of DAI


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
    with pytest.raises(UnsafeAnswer, match="leaves an allowance"):
        judge_sealed(
            sealed, replace(RUN, allowance_changes=(AllowanceChange(USER, USDC.address, ROUTER, 0, 11),))
        )
    lying = replace(QUOTE, inputs=(replace(QUOTE.inputs[0], amount_max=SOLD - 1),))
    with pytest.raises(UnsafeAnswer, match="exceeds its maximum"):
        check_quote(Provider(), REQUEST, lying)


VAULT = "0x83F20F44975D03b1b09e64809B757c47f942BEeA"
SHARE = Token(1, VAULT, 18, "vUSDC")
DEPOSIT = function("deposit(uint256 assets, address receiver)")
ENTERING = SealedQuote(
    Capability.VAULT,
    "fake",
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
        check_run(Provider(), ENTERING, entering(), run, Trace(previews=(said,)))

    if fair:
        judge_it()
    else:
        with pytest.raises(UnsafeAnswer, match="preview"):
            judge_it()


@pytest.mark.parametrize(
    ("said", "fair"), [(GOT, True), (GOT + 1, True), (GOT - 1, False), (GOT + GOT // 1000, False)]
)
def test_an_input_is_what_the_contract_previews(said, fair):
    build = entering(inputs=LEAVING.inputs, outputs=LEAVING.outputs, spends=())

    def judge_it():
        run = moved(GOT, VAULT, SOLD, USDC.address)
        check_run(Provider(), LEAVING, build, run, Trace(previews=(said,)))

    if fair:
        judge_it()
    else:
        with pytest.raises(UnsafeAnswer, match="previews"):
            judge_it()


def test_a_run_without_amounts_that_reverts_has_no_moved_price():
    sealed = SealedQuote(
        Capability.VAULT,
        "fake",
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
        check_run(Provider(), sealed, entering(), run, Trace())
    assert error.value.reason is Reason.REVERTED
    assert "0x12345678" in error.value.message


def test_shares_that_no_allowance_moves_are_needed_too():
    build = entering(inputs=LEAVING.inputs, outputs=LEAVING.outputs, spends=())
    assert balances_needed(build) == {VAULT: GOT}
