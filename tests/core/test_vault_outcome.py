"""What the run of an action with a vault did, against the vault's own previews."""

from dataclasses import replace

import pytest
from guard_cases import (
    QUOTE,
    REQUEST,
    Provider,
    check,
    refused,
)
from quoteway.engine.approvals import balances_needed
from quoteway.errors import Reason, UpstreamError
from quoteway.evm.abi import function
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.outcome import check_run
from quoteway.models import (
    NATIVE,
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
from quoteway.simulation.trace import Trace
from quoteway.testing.fakes import step_of
from sold_usdc import BLOCK, DAI, GOT, MINIMUM, NOW, SOLD, THIEF, USDC, USER, WETH

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
    refused(entering(to=DAI.address), "does not declare", ENTERING)
    refused(entering(to=WETH.address), "nothing describes the function", ENTERING)
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


def test_a_build_states_what_the_contract_previews():
    run, trace = moved(SOLD, USDC.address, GOT, VAULT), Trace(previews=(GOT,))
    for stated in (GOT + GOT // 1000, GOT - GOT // 1000):
        build = entering(outputs=(replace(ENTERING.outputs[0], amount=stated),))
        with pytest.raises(UnsafeAnswer, match="it states"):
            check_run(Provider(), ENTERING, build, run, trace)


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
