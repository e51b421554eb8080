"""Holds the quotes of a swap that is quoted again to the terms of its first quote."""

from __future__ import annotations

from dataclasses import replace

from quoteway import models
from quoteway.engine.limits import OutsideTerms
from quoteway.engine.ranking import QuoteOutcome


def terms_of(
    first: models.SealedQuote, until: int, provider: str | None, *, chooses_slippage: bool
) -> models.RefreshTerms:
    """Returns the terms of a first quote: its own minimum and maximum."""
    least, most = first.outputs[0].amount_min or 0, first.inputs[0].most
    return models.RefreshTerms(until, least, most, provider, chooses_slippage)


def refreshable(sealed: models.SealedQuote, terms: models.RefreshTerms) -> models.SealedQuote:
    """Returns the quote with its refresh terms. It expires when they do, if that is earlier."""
    return replace(sealed, expires_at=min(sealed.expires_at, terms.until), refresh_terms=terms)


def held(
    outcomes: list[QuoteOutcome], terms: models.RefreshTerms | None, request: models.Request
) -> list[QuoteOutcome]:
    """Returns the outcomes of a swap with their quotes within the terms; without terms as they are.

    A quote that cannot be held to them has failed with ``OutsideTerms``.
    """
    if terms is None or not isinstance(request, models.SwapRequest):
        return outcomes
    side = request.side

    def each(outcome: QuoteOutcome) -> QuoteOutcome:
        if outcome.value is None:
            return outcome
        try:
            return replace(outcome, value=_held(outcome.value, terms, side))
        except OutsideTerms as error:
            return replace(outcome, kind="failed", value=None, error=error)

    return [each(outcome) for outcome in outcomes]


def _held(quote: models.Quote, terms: models.RefreshTerms, side: models.Side) -> models.Quote:
    """Returns the quote with the better of its own bound and that of the terms.

    What ranks it moves by as much, since its gas costs what it did.
    """
    (given,), (got,) = quote.inputs, quote.outputs
    if side == "exactOut":
        most = terms.amount_in_max
        if given.amount > most:
            raise OutsideTerms(side, given.amount, most)
        over = max(given.most - most, 0)
        return replace(
            quote,
            inputs=(replace(given, amount_max=given.most - over),),
            spends=tuple(replace(spend, amount=min(spend.amount, most)) for spend in quote.spends),
            total_input=None if quote.total_input is None else quote.total_input - over,
        )
    least = terms.amount_out_min
    if got.amount < least:
        raise OutsideTerms(side, got.amount, least)
    short = max(least - (got.amount_min or 0), 0)
    return replace(
        quote,
        outputs=(replace(got, amount_min=(got.amount_min or 0) + short),),
        net_output=None if quote.net_output is None else quote.net_output + short,
    )
