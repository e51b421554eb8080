"""Quotes of a provider, read by the guard: honest ones pass, each lie is named."""

from dataclasses import replace

import pytest
from guard_cases import (
    CALLS,
    MORE,
    PERMIT,
    POOL_REQUEST,
    QUOTE,
    REQUEST,
    SEALED,
    VAULT_REQUEST,
    Provider,
    check,
    leg,
    order,
    plain,
    refused,
    signed,
    step,
)
from quoteway.errors import InvalidRequest, UpstreamError
from quoteway.evm import permit2
from quoteway.evm.calls.registry import CallRegistry
from quoteway.guard.acknowledgements import needed_for_quote, require
from quoteway.guard.findings import UnsafeAnswer, check_units, recipients
from quoteway.guard.quotes import check_quote, check_spenders
from quoteway.guard.recipients import check_recipient
from quoteway.models import (
    MAX_UINT256,
    Capability,
    DeployRequest,
    ManagementTerms,
    ManageRequest,
    PoolRequest,
    QuotePart,
    Spend,
    VaultRequest,
)
from sold_usdc import BLOCK, DAI, GOT, MINIMUM, NOW, ROUTER, SOLD, THIEF, USDC, USER, WETH

ROLE = ManagementTerms(None)


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
        ({"parts": (QuotePart(Capability.SWAP, "fake", REQUEST, QUOTE),)}, "parts of other providers"),
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
    later = (step(order(until=far)),)
    check(plain(deadline=far, steps=later), chain_now=far)


def test_a_quote_that_is_none_is_refused():
    for answer in ({"amount": 1}, "quote", 5):
        with pytest.raises(UnsafeAnswer):
            check_quote(Provider(), REQUEST, answer)


def test_a_plan_that_no_token_holds_costs_its_provider():
    for plan, finding in (({"data": b"calldata"}, "not plain JSON"), ({"data": "x" * 2100}, "too large")):
        with pytest.raises(UpstreamError, match=finding):
            check_quote(Provider(), REQUEST, replace(QUOTE, plan=plan))


@pytest.mark.parametrize("request_", [POOL_REQUEST, VAULT_REQUEST, replace(REQUEST, to_chain_id=10)])
def test_allowances_ahead_of_an_action_are_for_known_contracts(request_):
    quote = replace(QUOTE, spends=plain().spends)
    check_spenders(Provider(), request_, quote, CALLS)
    with pytest.raises(UnsafeAnswer, match="a contract that the core does not know"):
        check_spenders(Provider(), request_, quote, CallRegistry())


def test_tokens_that_the_caller_did_not_name_have_their_own_decimals():
    known = {USDC.address: USDC, WETH.address: WETH}
    check_units(Provider(), QUOTE.inputs, known)
    with pytest.raises(UnsafeAnswer, match="with other decimals"):
        check_units(Provider(), leg("inputs", token=replace(USDC, decimals=18))["inputs"], known)


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
        (POOL_REQUEST, leg("outputs", token=replace(WETH, address=WETH.address.lower())), "token is not an"),
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
    for request in (DeployRequest(1, USDC.address, USER, "x"), ManageRequest("1:x", 1, "harvest", USER)):
        assert request.sender == USER
        assert recipients(request) == {USER}


def test_nobody_is_paid_who_cannot_move_it():
    check_recipient(replace(REQUEST, recipient=THIEF), {ROUTER})
    for account in (WETH.address, USDC.address, ROUTER, "0x0000000000000000000000000000000000000002"):
        with pytest.raises(InvalidRequest, match="toAddress"):
            check_recipient(replace(REQUEST, recipient=account), {ROUTER})


def test_what_needs_an_acknowledgement_is_acknowledged():
    needed = needed_for_quote(replace(QUOTE, price_impact_bps=1501), 1500)
    require(needed, ["high_price_impact"])
    with pytest.raises(InvalidRequest, match="high_price_impact"):
        require(needed, ["opaque_calldata"])
