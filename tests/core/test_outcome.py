"""What the run of an action did, against what its quote says."""

from dataclasses import replace

import pytest
from guard_cases import (
    MORE,
    POOL_REQUEST,
    QUOTE,
    REQUEST,
    SEALED,
    SWAP_ROLES,
    Provider,
    check,
    plain,
    refused,
    registry,
    run_of,
    step,
    with_delta,
)
from quoteway.engine.approvals import balances_needed
from quoteway.errors import Reason, UpstreamError
from quoteway.evm import erc20, permit2
from quoteway.guard.calldata import CORE_ONLY
from quoteway.guard.findings import QuoteMismatch, UnsafeAnswer
from quoteway.guard.outcome import check_run, watched
from quoteway.guard.quotes import check_quote
from quoteway.models import (
    NATIVE,
    AllowanceChange,
    AssetChange,
    DeploymentTerms,
    DeployRequest,
    Leg,
    Spend,
    SpendRoles,
)
from quoteway.simulation.trace import ApprovalEvent, Trace, Transfer
from sold_usdc import BLOCK, DAI, GOT, LATER, MINIMUM, ROUTER, SOLD, THIEF, USDC, USER, WETH

FRIEND = "0x3333333333333333333333333333333333333333"
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


AT_ITS_BLOCK = replace(run_of(SOLD, GOT, USER, ROUTER), block=BLOCK)


def test_at_its_own_block_a_quote_is_exact():
    judge(AT_ITS_BLOCK)
    for run in (with_delta(AT_ITS_BLOCK, 2, GOT - 1), with_delta(AT_ITS_BLOCK, 2, GOT + 1)):
        judge(replace(run, block=LATER))
        check_run(Provider(), replace(SEALED, is_estimate=True), plain(), run, TRACE)
        with pytest.raises(QuoteMismatch) as refusal:
            judge(run)
        assert (refusal.value.reason, refusal.value.retryable) == (Reason.QUOTE_MISMATCH, False)
        assert "provider fake" in refusal.value.message
    with pytest.raises(QuoteMismatch):
        judge(with_delta(AT_ITS_BLOCK, 1, -SOLD + 1))


@pytest.mark.parametrize(
    ("block", "reason"), [(BLOCK, Reason.REVERTED), (LATER, Reason.PRICE_MOVED)], ids=["its own", "later"]
)
def test_no_price_has_moved_at_a_quotes_own_block(block, reason):
    with pytest.raises(UpstreamError) as refusal:
        judge(replace(RUN, status="reverted", block=block, asset_changes=()))
    assert (refusal.value.reason, refusal.value.retryable) == (reason, False)


def judge_sealed(sealed, run, trace=TRACE):
    build = plain(inputs=sealed.inputs, outputs=sealed.outputs)
    check_run(Provider(), sealed, build, run, trace)


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


def test_a_minimum_that_the_signer_reads_is_paid():
    """Fees that are collected, and shares of a pool, have no minimum in the calldata."""
    outputs = (replace(SEALED.outputs[0], amount_min=GOT),)
    judge(with_delta(RUN, 2, GOT), build=plain(outputs=outputs))
    with pytest.raises(UnsafeAnswer, match="less than the minimum it states"):
        judge(with_delta(RUN, 2, GOT - 1), build=plain(outputs=outputs))


def test_a_run_uses_the_pool_that_was_asked_for():
    pool = replace(POOL_REQUEST, action="add", pool_id=f"1:{FRIEND.lower()}")
    sealed = replace(SEALED, request=pool)
    used = replace(TRACE, transfers=(*TRACE.transfers, Transfer(1, USDC.address, ROUTER, FRIEND, 1)))
    judge_sealed(sealed, RUN, used)
    with pytest.raises(UnsafeAnswer, match="does not use the pool"):
        judge_sealed(sealed, RUN)
    judge_sealed(replace(sealed, request=replace(pool, pool_id="1:0x" + "ab" * 32)), RUN)


def test_a_deployment_is_at_the_address_that_was_predicted():
    request = DeployRequest(1, USDC.address, USER, "x")
    sealed = replace(SEALED, request=request, inputs=(), outputs=())
    terms = DeploymentTerms(ROUTER, FRIEND, "0x" + "00" * 32, "0x" + "11" * 32, USDC.address, USER, "x")
    build = plain(spends=(), inputs=(), outputs=(), terms=terms)
    run = run_of(0, 0, USER, ROUTER)
    check_run(Provider(), sealed, build, run, Trace(returned=(bytes(12) + bytes.fromhex(FRIEND[2:]),)))
    for returned in ((bytes(12) + bytes.fromhex(THIEF[2:]),), (b"",), ()):
        with pytest.raises(UnsafeAnswer, match="deploys at another address"):
            check_run(Provider(), sealed, build, run, Trace(returned=returned))


def test_no_more_liquidity_is_removed_than_quoted():
    """The calldata bounds what is removed from below only, and another account may get it."""
    legs = (Leg(USDC, 1_000, FRIEND, 990), Leg(WETH, 2_000, FRIEND, 1_980))
    sealed = replace(SEALED, request=replace(POOL_REQUEST, recipient=FRIEND), inputs=(), outputs=legs)

    def removes(usdc, weth, amount=500):
        changes = (AssetChange(FRIEND, USDC.address, usdc), AssetChange(FRIEND, WETH.address, weth))
        run = replace(RUN, asset_changes=changes)
        asked = replace(sealed, request=replace(sealed.request, amount=amount))
        check_run(Provider(), asked, plain(inputs=(), outputs=legs), run, Trace())

    removes(1_005, 2_010)
    removes(990, 9_000)  # the price moved
    removes(4_000, 8_000, amount=None)  # all of it
    with pytest.raises(UpstreamError, match="remove more than quoted"):
        removes(1_006, 2_011)


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
    least = SpendRoles("#.path.[0]", "#.amountIn", "#.amountOutMin")  # the router's minimum bounds both
    calls = registry(replace(SWAP_ROLES, spends=(least,)))
    check(plain(inputs=sealed.inputs), sealed, calls=calls)
    more = (Spend(USDC.address, SOLD + 1, ROUTER),)
    refused(plain(inputs=sealed.inputs, spends=more), "spends more", sealed, calls=calls)
    refused(plain(inputs=sealed.inputs), "uses less", sealed)
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
