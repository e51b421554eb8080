"""Selects the best quote, or the error to raise when there is no quote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from quoteway.errors import InvalidRequest, NotFound, Reason, UpstreamError
from quoteway.host.provider_calls import Outcome
from quoteway.models import Attempt, Quote
from quoteway.providers import Provider

P = TypeVar("P", bound=Provider)


def best(outcomes: Sequence[Outcome[P, Quote]]) -> tuple[P, Quote]:
    """Returns the quote with the highest minimum output after fees and gas, and its provider.

    Ties go to the provider asked first. Without a quote, raises ``InvalidRequest`` or ``NotFound`` when a
    provider rejected the parameters and all others had no route. Otherwise raises ``UpstreamError``, whose
    ``attempts`` list every outcome.
    """
    quoted = [(o.provider, o.value) for o in outcomes if o.kind == "quoted" and o.value is not None]
    if quoted:
        return max(quoted, key=lambda pair: rank(pair[1]))
    attempts = attempts_of(outcomes)
    refusals = [o.error for o in outcomes if isinstance(o.error, (InvalidRequest, NotFound))]
    silent = [o for o in outcomes if o.kind == "no_route" and o.error is None]
    if refusals and len(refusals) + len(silent) == len(outcomes):
        raise refusals[0]
    spoken = [o for o in outcomes if o.error is not None and o.kind == "no_route"]
    if spoken:
        error = spoken[0].error
        assert error is not None
        raise UpstreamError(error.message, reason=error.reason, attempts=attempts, retryable=False)
    if all(o.kind == "no_route" for o in outcomes):
        raise UpstreamError(
            "No provider has a route for this pair.",
            reason=Reason.NO_ROUTE,
            attempts=attempts,
            retryable=False,
        )
    failed = next(o for o in outcomes if o.kind in ("failed", "timeout"))
    raise UpstreamError(
        "No provider could quote this request.", reason=failed.reason, attempts=attempts, retryable=True
    )


def rank(quote: Quote) -> int:
    """Returns the minimum output of a quote after fees and gas, in base units of the output."""
    if quote.net_output is not None:
        return quote.net_output
    if not quote.outputs:
        return 0
    first = quote.outputs[0]
    return first.amount_min if first.amount_min is not None else first.amount


def attempts_of(outcomes: Sequence[Outcome[P, Quote]]) -> tuple[Attempt, ...]:
    """Returns the outcomes as the ``attempts`` members of a response."""
    return tuple(
        Attempt(
            o.provider.id,
            o.kind,
            o.value.outputs[0].amount if o.value is not None and o.value.outputs else None,
            o.reason.value if o.reason is not None else None,
        )
        for o in outcomes
    )
