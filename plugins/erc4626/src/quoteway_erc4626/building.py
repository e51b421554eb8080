"""Builds the one vault transaction of a sealed quote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quoteway import (
    Build,
    Chain,
    Leg,
    Notice,
    Preview,
    Reason,
    SealedQuote,
    Step,
    Token,
    UpstreamError,
    VaultRequest,
)
from quoteway.evm.units import format_units

from quoteway_erc4626.facts import VaultFacts
from quoteway_erc4626.interface import CALLS, OPERATIONS, PREVIEWS, Operation
from quoteway_erc4626.quoting import issues_of, spends_of, warnings_of
from quoteway_erc4626.terms import read_preview


async def build_vault(
    chain: Chain,
    sealed: SealedQuote,
    request: VaultRequest,
    facts: VaultFacts,
    warnings: Sequence[Notice] = (),
) -> Build:
    """Returns the vault call with amounts at the newest block, within the quote's maximum and minimum.

    The build includes the vault's preview: the guard compares it with the simulation. Raises
    ``UpstreamError`` with reason ``price_moved`` when the vault now takes more or pays less than quoted.
    """
    operation = operation_of(sealed)
    (paid,), (got,) = sealed.inputs, sealed.outputs
    amount = paid.amount if operation in ("deposit", "redeem") else got.amount
    preview = await read_preview(chain, await chain.head(), facts, operation, amount)
    if operation in ("deposit", "redeem"):
        if preview < (got.amount_min or 0):
            raise _moved("pays less than the quoted minimum")
        got = replace(got, amount=preview)
        said = Preview(got.account, got.token.address, facts.address, PREVIEWS[operation].encode([amount]))
    else:
        if preview > paid.most:
            raise _moved("takes more than quoted")
        paid = replace(paid, amount=preview)
        said = Preview(paid.account, paid.token.address, facts.address, PREVIEWS[operation].encode([amount]))
    args: list[Any] = [amount, got.account]
    if operation in ("withdraw", "redeem"):
        args.append(paid.account)
    step = Step(
        kind=operation,
        to=facts.address,
        data=CALLS[operation].encode(args),
        value=0,
        chain_id=request.chain_id,
        decoded=CALLS[operation].describe(args),
        description=f"ERC-4626 {operation} at {facts.name}",
        intent=_intent(operation, paid, got, facts),
        target_label=f"{facts.name} (ERC-4626 vault)",
    )
    return Build(
        steps=(step,),
        spends=spends_of(operation, (paid,), facts),
        inputs=(paid,),
        outputs=(got,),
        issues=issues_of(facts),
        warnings=(*warnings, *warnings_of(operation)),
        previews=(said,),
    )


def operation_of(sealed: SealedQuote) -> Operation:
    """Returns the operation that a quote is for. Raises ``UpstreamError``."""
    for operation in OPERATIONS:
        if operation == sealed.plan["operation"]:
            return operation
    raise UpstreamError(
        "This quote is not for a vault operation: request a new quote.", reason=Reason.QUOTE_INVALID
    )


def _moved(what: str) -> UpstreamError:
    return UpstreamError(
        f"The vault now {what}: request a new quote.", reason=Reason.PRICE_MOVED, retryable=False
    )


def _intent(operation: Operation, paid: Leg, got: Leg, facts: VaultFacts) -> str:
    given, taken = _amount(paid.token, paid.amount), _amount(got.token, got.amount)
    most = _amount(paid.token, paid.most)
    vault, to = facts.name, got.account
    match operation:
        case "deposit":
            return f"Deposit exactly {given} into {vault} for about {taken}, to {to}"
        case "mint":
            return f"Mint exactly {taken} of {vault} for at most {most}, to {to}"
        case "withdraw":
            return f"Withdraw exactly {taken} from {vault} for about {given}, to {to}"
        case "redeem":
            return f"Redeem exactly {given} of {vault} for about {taken}, to {to}"


def _amount(token: Token, amount: int) -> str:
    return f"{format_units(amount, token.decimals)} {token.symbol or token.address}"
