"""Builds the one vault transaction of a sealed quote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quoteway import (
    Build,
    Chain,
    Notice,
    Preview,
    Reason,
    SealedQuote,
    Step,
    UpstreamError,
    VaultRequest,
)

from quoteway_erc4626.facts import VaultFacts
from quoteway_erc4626.interface import CALLS, OPERATIONS, PREVIEWS, Operation
from quoteway_erc4626.quoting import NO_LIMIT, issues_of, spends_of
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
    step = Step(facts.address, CALLS[operation].encode(args), 0, request.chain_id)
    return Build(
        steps=(step,),
        spends=spends_of(operation, (paid,), facts),
        inputs=(paid,),
        outputs=(got,),
        issues=issues_of(facts),
        warnings=(*warnings, NO_LIMIT),
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
