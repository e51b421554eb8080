"""Quotes vault operations."""

from __future__ import annotations

from collections.abc import Sequence

from quoteway import (
    MAX_UINT256,
    Block,
    Chain,
    Fee,
    InvalidRequest,
    Issue,
    Leg,
    Notice,
    Quote,
    Reason,
    Spend,
    VaultRequest,
    VaultTerms,
)
from quoteway.evm import erc20

from quoteway_erc4626.facts import VaultFacts
from quoteway_erc4626.interface import Operation
from quoteway_erc4626.orders import Order, order_of, refused
from quoteway_erc4626.terms import Terms, price_text, read, read_terms

NO_LIMIT = Notice("no_onchain_limit")


async def quote_vault(
    chain: Chain, block: Block, request: VaultRequest, facts: VaultFacts, warnings: Sequence[Notice] = ()
) -> Quote:
    """Quotes a deposit, mint, withdrawal or redemption by the vault's preview at ``block``.

    Raises ``InvalidRequest``: as ``order_of``, ``amount_too_low`` when nothing would be paid out, and
    ``amount_too_high`` above the vault's limit. An amount above the wallet's balance is not refused: the core
    adds an issue.
    """
    order = order_of(request, facts)
    amount = order.amount
    if amount is None:
        (held,) = await chain.call_many([read(facts, erc20.BALANCE_OF.encode([request.sender]))], block=block)
        amount = erc20.word(held) or 0
        if amount == 0:
            raise refused("amount", Reason.AMOUNT_TOO_LOW, "the wallet has no shares of this vault")
    terms = await read_terms(chain, block, facts, order.operation, amount, request.sender, request.recipient)
    if terms.preview == 0:
        raise refused("amount", Reason.AMOUNT_TOO_LOW, "is too small: nothing would be paid out")
    _check_limit(order, amount, terms)
    inputs, outputs = legs_of(order.operation, amount, terms.preview, request, facts)
    return Quote(
        inputs=inputs,
        outputs=outputs,
        block=block,
        plan={"operation": order.operation},
        spends=spends_of(order.operation, inputs, facts),
        slippage_bps=request.slippage_bps,
        fees=_fees(order.operation, terms, facts),
        issues=issues_of(facts),
        warnings=(*warnings, NO_LIMIT),
        terms=terms_of(facts, terms),
    )


def legs_of(
    operation: Operation, amount: int, preview: int, request: VaultRequest, facts: VaultFacts
) -> tuple[tuple[Leg, ...], tuple[Leg, ...]]:
    """Returns inputs and outputs. The amount that the call names is exact; the other is bounded by the
    slippage."""
    sender, recipient = request.sender, request.recipient
    # At least 1: a minimum of 0 would be no minimum.
    least = max(preview * (10_000 - request.slippage_bps) // 10_000, 1)
    most = -(-preview * (10_000 + request.slippage_bps) // 10_000)
    match operation:
        case "deposit":
            paid, got = Leg(facts.asset, amount, sender), Leg(facts.share, preview, recipient, least)
        case "mint":
            paid = Leg(facts.asset, preview, sender, least, most)
            got = Leg(facts.share, amount, recipient, amount)
        case "withdraw":
            paid = Leg(facts.share, preview, sender, least, most)
            got = Leg(facts.asset, amount, recipient, amount)
        case "redeem":
            paid, got = Leg(facts.share, amount, sender), Leg(facts.asset, preview, recipient, least)
    return (paid,), (got,)


def spends_of(operation: Operation, inputs: Sequence[Leg], facts: VaultFacts) -> tuple[Spend, ...]:
    """Returns what the vault takes by allowance: assets. It burns the owner's shares without one."""
    if operation not in ("deposit", "mint"):
        return ()
    return tuple(Spend(leg.token.address, leg.most, facts.address) for leg in inputs)


def issues_of(facts: VaultFacts) -> tuple[Issue, ...]:
    """Returns an issue for an unlisted vault, which only the caller has chosen."""
    return () if facts.listed else (Issue("unverified_target", facts.address),)


def terms_of(facts: VaultFacts, terms: Terms) -> VaultTerms:
    """Returns the answer's members about the vault."""
    return VaultTerms(
        vault_id=facts.id,
        asset=facts.asset,
        share=facts.share,
        share_price=price_text(facts, terms.rates),
        limit=None if terms.limit == MAX_UINT256 else terms.limit,
        entry_bps=terms.rates.entry_bps,
        exit_bps=terms.rates.exit_bps,
    )


def _check_limit(order: Order, amount: int, terms: Terms) -> None:
    if terms.limit is None or terms.limit == MAX_UINT256 or amount <= terms.limit:
        return
    if order.is_deposit:
        raise _too_much(order, terms.limit)
    needed = amount if order.operation == "redeem" else terms.preview
    if terms.shares is not None and needed <= terms.shares:
        raise _too_much(order, terms.limit)
    # The wallet holds less, so the limit was the wallet's. The vault's total still bounds the amount.
    wanted = amount if order.operation == "withdraw" else terms.preview
    if terms.total_assets is not None and wanted > terms.total_assets:
        message = f"the vault has only {terms.total_assets} base units of assets"
        raise refused("amount", Reason.AMOUNT_TOO_HIGH, message)


def _too_much(order: Order, limit: int) -> InvalidRequest:
    unit = "shares" if order.counts_shares else "assets"
    if order.is_deposit:
        why = "it is paused or full" if limit == 0 else "its cap"
        message = f"the vault takes at most {limit} base units of {unit} now ({why})"
    else:
        why = "it is paused or has no liquid assets" if limit == 0 else "its liquid assets"
        message = f"the vault pays out at most {limit} base units of {unit} now ({why})"
    error = refused("amount", Reason.AMOUNT_TOO_HIGH, message)
    error.limit = limit
    return error


def _fees(operation: Operation, terms: Terms, facts: VaultFacts) -> tuple[Fee, ...]:
    """Returns the difference between preview and conversion as a fee; one unit is rounding."""
    if terms.conversion is None or abs(terms.conversion - terms.preview) <= 1:
        return ()
    entering = operation in ("deposit", "mint")
    return (
        Fee(
            kind="protocol",
            token=facts.share if operation in ("deposit", "withdraw") else facts.asset,
            amount=abs(terms.conversion - terms.preview),
            included=True,
            bps=terms.rates.entry_bps if entering else terms.rates.exit_bps,
        ),
    )
