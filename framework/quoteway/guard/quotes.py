"""Checks a quote against its request, before a client sees it and approves tokens for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from quoteway.errors import Reason, UpstreamError
from quoteway.evm.calls.registry import CallRegistry
from quoteway.guard.findings import (
    Expect,
    check_form,
    check_spends,
    is_address,
    is_amount,
    named_by_caller,
    puller_of,
    recipients,
)
from quoteway.guard.model_types import QUOTE_TERMS, flaw
from quoteway.models import Build, Leg, PoolRequest, Quote, Request, SwapRequest, TransferTerms, VaultRequest
from quoteway.providers import Provider

MAX_PLAN_CHARS = 2048


def check_quote(provider: Provider, request: Request, quote: Quote) -> None:
    """Checks form, accounts, tokens and amounts. Raises ``UnsafeAnswer`` with the first finding."""
    expect = Expect(provider)
    expect(isinstance(quote, Quote), "it is not a Quote")
    expect(quote.parts == (), "it claims to have parts of other providers")
    found = flaw(quote.terms, QUOTE_TERMS[type(request)])
    expect(found is None, f"its member terms{found}")
    check_form(provider, quote, Quote)
    plain_plan(quote.plan)
    expect(quote.lifetime_s is None or quote.lifetime_s > 0, "its lifetime_s must be positive")
    for leg in quote.inputs:
        expect(leg.account == request.sender, "it takes from another account than the sender")
        expect(leg.token.chain_id == request.chain_id, "it takes from another chain than asked")
    payees = recipients(request)
    expect(all(leg.account in payees for leg in quote.outputs), "it pays another recipient than asked")
    for leg in (*quote.inputs, *quote.outputs):
        expect(is_amount(leg.amount), "an amount is not a whole number of base units below 2^256")
        for bound in (leg.amount_min, leg.amount_max):
            expect(
                bound is None or is_amount(bound), "a bound is not a whole number of base units below 2^256"
            )
        expect(leg.amount_min is None or leg.amount_min <= leg.amount, "a minimum exceeds its amount")
        expect(leg.amount <= leg.most, "an amount exceeds its maximum")
        expect(is_address(leg.token.address), "a token is not an EIP-55 address")
    for stated in quote.fees:
        expect(stated.recipient is None, "it names who gets a fee, which the core reads from the calldata")
    # A client may approve ahead of the action.
    check_spends(request, quote.inputs, quote.spends, expect)
    if isinstance(request, PoolRequest):
        _check_liquidity(request, quote, expect)
    elif isinstance(request, VaultRequest):
        _check_shares(request, quote, expect)
    elif not isinstance(request, SwapRequest):
        expect(not quote.inputs, "it takes tokens, but this action costs none")
    if not isinstance(request, SwapRequest):
        ranked = (quote.net_output, quote.total_input) != (None, None)
        expect(not ranked, "it has a net_output or total_input, which are for swaps only")
        expect(quote.fee_amount is None, "it takes a fee that was not asked for")
        return
    expect(len(quote.inputs) == 1 and len(quote.outputs) == 1, "a swap has one input and one output")
    spent, got = quote.inputs[0], quote.outputs[0]
    expect(spent.token.unit == request.token_in.unit, "it sells another token than asked")
    expect(got.token.unit == request.token_out.unit, "it buys another token than asked")
    refund = quote.terms.refund if isinstance(quote.terms, TransferTerms) else None
    promised = request.refund_account if refund is None else refund.address
    expect(promised == request.refund_account, "it promises the refund to another account than asked")
    expect(got.amount_min is not None, "it states no minimum")
    minimum = got.amount_min or 0
    _check_fee(request, quote, expect)
    if request.amount_out is not None:
        _check_exact_output(request, quote, spent, minimum, expect)
        return
    expect(spent.amount == request.amount_in, "it sells another amount than asked")
    # The maximum limits the allowance and the run; the minimum limits what may remain of the allowance.
    for bound in (spent.amount_min, spent.amount_max):
        expect(bound is None or bound == request.amount_in, "it sells another amount than asked")
    floor = got.amount * (10_000 - request.slippage_bps) // 10_000
    expect(minimum >= floor, "its minimum is below the slippage asked for")
    expect(quote.total_input is None, "it has a total_input, which is for an exact output")
    expect(quote.net_output is None or quote.net_output <= minimum, "its net_output exceeds its minimum")


def _check_fee(request: SwapRequest, quote: Quote, expect: Expect) -> None:
    """Checks that the fee of the request, and no other, is taken.

    It is taken from the output before that is paid, or beside what the pools take for an exact output.
    """
    fee, taken = request.fee, quote.fee_amount
    if fee is None:
        expect(taken is None, "it takes a fee that was not asked for")
        return
    if taken is None or not is_amount(taken):
        expect(False, "it does not say what the fee takes")
        return
    if request.amount_out is None:
        due = fee.of(quote.outputs[0].amount + taken)
    else:
        due = fee.of(max(quote.inputs[0].amount - taken, 0))
    expect(taken == due, f"its fee is {taken}, not the {due} of feeBps")


def _check_exact_output(request: SwapRequest, quote: Quote, spent: Leg, minimum: int, expect: Expect) -> None:
    """Checks a swap for an exact output: its minimum is that amount, and its input has a maximum."""
    expect(minimum == request.amount_out, "it buys another amount than asked")
    expect(spent.amount > (quote.fee_amount or 0), "it sells nothing")
    expect(spent.amount_min is None, "its input has a minimum, but an exact output takes what it needs")
    expect(spent.amount_max is not None, "it states no maximum")
    # The fee is fixed: no slippage is on it.
    fee = quote.fee_amount or 0
    ceiling = -(-(spent.amount - fee) * (10_000 + request.slippage_bps) // 10_000) + fee
    expect(spent.most <= ceiling, "its maximum is above the slippage asked for")
    expect(quote.net_output is None, "it has a net_output, which is for an exact input")
    expect(
        quote.total_input is None or quote.total_input >= spent.most,
        "its total_input is less than its maximum",
    )


def check_spenders(provider: Provider, request: Request, quote: Quote, calls: CallRegistry) -> None:
    """Checks for whom a quote asks allowances, which a client may grant before there is an action: contracts
    that the core knows, or the vault that the request names. Raises ``UnsafeAnswer``.

    A swap on one network is built before its quote is given: see ``check_grants``.
    """
    if isinstance(request, SwapRequest) and not request.is_cross_chain:
        return
    expect, named = Expect(provider), named_by_caller(request)
    for puller in map(puller_of, quote.spends):
        known = puller in named or calls.knows(request.chain_id, puller)
        expect(known, f"it asks for an allowance for {puller}, a contract that the core does not know")


def check_grants(provider: Provider, quote: Quote, builds: Iterable[Build]) -> None:
    """Checks that a quote asks for no allowance that its transactions do not use. Raises ``UnsafeAnswer``."""
    used = {(spend.token, spend.spender, puller_of(spend)) for build in builds for spend in build.spends}
    for spend in quote.spends:
        finding = f"it asks for an allowance for {puller_of(spend)}, which its transactions do not use"
        Expect(provider)((spend.token, spend.spender, puller_of(spend)) in used, finding)


def _check_liquidity(request: PoolRequest, quote: Quote, expect: Expect) -> None:
    """Checks what the request says; only the pool knows its other tokens and their amounts."""
    for leg in quote.inputs:
        asked = leg.token.address == request.asset and request.amount is not None
        expect(not asked or leg.most <= (request.amount or 0), "it takes more of the asset than asked")
    # A position, or one share token, is removed.
    most = {"collect": 0, "remove": 1}.get(request.action)
    expect(most is None or len(quote.inputs) <= most, f"it takes tokens that {request.action} does not need")
    expect(bool(quote.outputs) or most is None, "it pays nothing")
    expect(all(leg.amount_min is not None for leg in quote.outputs), "it states no minimum")


def _check_shares(request: VaultRequest, quote: Quote, expect: Expect) -> None:
    """Checks an exchange of assets for shares, or of shares for assets: the requested asset is one of the two
    sides, and the side that is not exact stays within the slippage."""
    expect(len(quote.inputs) == 1 and len(quote.outputs) == 1, "it does not exchange one token for another")
    paid, got = quote.inputs[0], quote.outputs[0]
    tokens = {paid.token.address, got.token.address}
    expect(len(tokens) == 2 and request.asset in tokens, "it exchanges another asset than asked")
    expect(got.token.chain_id == request.chain_id, "it pays out on another chain than asked")
    minimum = got.amount_min or 0
    expect(minimum > 0, "it states no minimum")
    expect(
        minimum >= got.amount * (10_000 - request.slippage_bps) // 10_000, "its minimum is below the slippage"
    )
    least = paid.amount * (10_000 - request.slippage_bps) // 10_000
    expect(
        paid.amount_min is None or paid.amount_min >= least,
        "it leaves more of the allowance than the slippage",
    )
    most = -(-paid.amount * (10_000 + request.slippage_bps) // 10_000)
    expect(paid.most <= most, "its maximum is above the slippage asked for")
    if request.amount is None:
        return
    if paid.token.address == request.asset:
        expect(paid.most <= request.amount, "it takes more of the asset than asked")
    else:
        expect(minimum >= request.amount, "it pays less of the asset than asked")


def plain_plan(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """The plan as JSON returns it: tuples as lists, keys as text. Raises ``UpstreamError`` when it is too
    large or not plain JSON."""
    try:
        text = json.dumps(plan, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise UpstreamError("The provider's plan is not plain JSON.", reason=Reason.PROVIDER_ERROR) from None
    if len(text) > MAX_PLAN_CHARS:
        raise UpstreamError(
            "The provider's plan is too large for a quote token.", reason=Reason.PROVIDER_ERROR
        )
    plain: Mapping[str, Any] = json.loads(text)
    return plain
