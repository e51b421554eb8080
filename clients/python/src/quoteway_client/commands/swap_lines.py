"""What ``quoteway swap`` prints of prices, quotes and actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

from quoteway_client.commands.route_lines import route_lines
from quoteway_client.commands.text import amount, harmless, percent, short, usd

if TYPE_CHECKING:
    from quoteway_client.models.shared import Action, Attempt, Issue, Notice, TokenRef
    from quoteway_client.models.swaps import SwapPrice, SwapQuote

Offer: TypeAlias = "SwapPrice | SwapQuote"


def attempt_rows(attempts: Sequence[Attempt], bought: TokenRef) -> list[tuple[str, str, str, str]]:
    """Returns a table of what each provider answered."""
    rows = [("PROVIDER", "OUTCOME", "GIVES", "REASON")]
    for each in attempts:
        given = "-" if each.amount_out is None else amount(each.amount_out, bought)
        what = harmless(each.provider, 24), harmless(each.outcome, 16), given
        rows.append((*what, harmless(each.reason, 60) if each.reason else "-"))
    return rows


def route_picture(offer: Offer, tokens: Mapping[str, TokenRef]) -> Iterator[str]:
    """Yields the route as a tree."""
    if offer.route is None:
        yield "route          not told by the provider"
        return
    yield f"route          {harmless(offer.provider, 24)}"
    yield from route_lines(offer.route, tokens)


def price_lines(offer: Offer) -> Iterator[str]:
    """Yields what an offer pays, and what is known of its price."""
    sold, bought = offer.from_token, offer.to_token
    yield f"sells          {amount(offer.from_amount, sold)}"
    yield f"buys           {amount(offer.to_amount, bought)}"
    yield f"price impact   {percent(offer.price_impact_bps)}"
    for fee in offer.fees or ():
        where = "in these amounts" if fee.included else "beside these amounts"
        yield f"fee            {amount(fee.amount, fee.token)}, {harmless(fee.name, 60)}, {where}"
    if offer.gas is not None:
        cost = "" if offer.gas.cost_usd is None else f", about {usd(offer.gas.cost_usd)} USD"
        yield f"gas            {offer.gas.units:,} units{cost}"
    best = offer.optimality
    if best is None:
        yield "certificate    none: how near this is to the best route is not known"
    else:
        gap_bps = ceil(best.gap_bps * 10_000) / 10_000  # never less than what is proved
        yield f"certificate    at most {gap_bps:g} bps below the best route through {best.pools} pools"


def quote_lines(quote: SwapQuote) -> Iterator[str]:
    """Yields what a quote promises, and what stands against it."""
    minimum = "none" if quote.to_amount_min is None else amount(quote.to_amount_min, quote.to_token)
    yield f"minimum        {minimum} (slippage {percent(quote.slippage_bps)})"
    yield f"value          {usd(quote.from_amount_usd)} USD for {usd(quote.to_amount_usd)} USD"
    yield f"recipient      {harmless(quote.request.to_address, 66)}"
    yield f"expires        {_moment(quote.expires_at)}"
    yield from _findings("quote", quote.warnings or (), quote.issues or ())
    for notice in quote.acknowledgement_needed:
        yield f"to accept      {harmless(notice.message)} (--acknowledge {harmless(notice.code)})"


def action_lines(action: Action) -> Iterator[str]:
    """Yields what an action does, transaction by transaction, and what the gateway found about it."""
    for step in action.steps:
        yield f"transaction {step.index}  {harmless(step.clear_signing.intent)}"
    run = action.simulation
    why = run.revert_reason or run.skip_reason
    yield f"simulation     {harmless(run.status, 16)}" + (f": {harmless(why)}" if why else "")
    if action.signatures:
        yield f"signatures     {len(action.signatures)} to insert before the transactions are sent"
    yield from _findings("action", action.warnings, action.issues)


def _findings(source: str, warnings: Sequence[Notice], issues: Sequence[Issue]) -> Iterator[str]:
    for notice in warnings:
        yield f"warning        {harmless(notice.message)} ({harmless(notice.code)}, {source})"
    for issue in issues:
        of = "" if issue.token is None else f" of {short(issue.token)}"
        values = "" if issue.required is None else f": {issue.actual} of {issue.required}"
        yield f"issue          {harmless(issue.code)}{of}{values} ({source})"


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
