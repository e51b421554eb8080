"""Which providers are asked for a swap whose route is limited or that pays a fee, and why their quotes are
outside its limits or the terms of a refresh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quoteway import models
from quoteway.engine.integrator_fees import fee_of, refused_fee
from quoteway.errors import GatewayError, ProviderUnavailable, Reason, UpstreamError
from quoteway.guard.routes import may_serve
from quoteway.models import LIMITS
from quoteway.providers import Provider, SwapProvider


class PriceImpactTooHigh(UpstreamError):  # noqa: N818 - named as the others of quoteway.errors
    """The quote of a provider has a price impact above the request's maximum."""

    def __init__(self, provider: str, impact_bps: int, most_bps: int) -> None:
        super().__init__(
            f"The least price impact found is {impact_bps} bps (provider {provider}), above the maximum of "
            f"{most_bps} bps in maxPriceImpactBps: request a smaller amount or allow more.",
            reason=Reason.PRICE_IMPACT_TOO_HIGH,
            retryable=False,
        )
        self.impact_bps = impact_bps


class OutsideTerms(UpstreamError):  # noqa: N818 - named as the others of quoteway.errors
    """A quote pays less, or takes more, than the terms allow. ``short_by`` says by how much (base units)."""

    def __init__(self, side: models.Side, amount: int, bound: int) -> None:
        what = f"pays {amount} base units of toToken, less than the minimum of {bound}"
        if side == "exactOut":
            what = f"takes {amount} base units of fromToken, more than the maximum of {bound}"
        super().__init__(
            f"The best quote now {what} in the refresh terms: refresh again later, or request a new quote.",
            reason=Reason.PRICE_MOVED,
            retryable=True,
            best_now=amount,
        )
        self.short_by = abs(amount - bound)


_LACKS = {
    Reason.UNSUPPORTED_LIMIT: "can keep its limits on the route",
    Reason.UNSUPPORTED_PROTOCOL: "has a protocol that it allows",
    Reason.UNSUPPORTED_SIDE: "quotes an exact output",
}
"""What providers lack that are not asked, by the reason of all their attempts."""


def able(
    providers: Iterable[Provider], request: models.Request
) -> tuple[list[Provider], tuple[models.Attempt, ...]]:
    """Returns the providers that can keep the request's limits, quote its side and enforce its fee, and the
    attempts that tell of the others.
    """
    asked, others = [], []
    limits = models.limits_of(request)
    exact_out = isinstance(request, models.SwapRequest) and request.amount_out is not None
    needed = [name for name in limits.given if name in LIMITS]
    for provider in providers:
        swaps = provider if isinstance(provider, SwapProvider) else None
        if fee_of(request) is not None and not (swaps and swaps.enforces_fees):
            others.append(models.Attempt(provider.id, "not_asked", reason=Reason.UNSUPPORTED_FEE.value))
        elif exact_out and not (swaps and swaps.exact_out):
            others.append(models.Attempt(provider.id, "not_asked", reason=Reason.UNSUPPORTED_SIDE.value))
        elif not set(needed) <= set(swaps.honours if swaps else ()):
            others.append(models.Attempt(provider.id, "not_asked", reason=Reason.UNSUPPORTED_LIMIT.value))
        elif not may_serve(provider, limits):
            others.append(models.Attempt(provider.id, "not_asked", reason=Reason.UNSUPPORTED_PROTOCOL.value))
        else:
            asked.append(provider)
    return asked, tuple(others)


def nobody_able(attempts: Sequence[models.Attempt]) -> GatewayError:
    """Returns the error when no provider can keep a request's limits, quote its side or enforce its fee."""
    reasons = {attempt.reason for attempt in attempts}
    if reasons == {Reason.UNSUPPORTED_FEE.value}:
        text = "cannot be charged: no enabled provider that serves this request enforces fees"
        return refused_fee(Reason.UNSUPPORTED_FEE, text, attempts)
    common = next((each for each in _LACKS if reasons == {each.value}), Reason.UNSUPPORTED_LIMIT)
    return ProviderUnavailable(
        f"No enabled provider that serves this request {_LACKS[common]}.",
        reason=common,
        attempts=attempts,
        retryable=False,
    )


def check_impact(provider: Provider, request: models.SwapRequest, quote: models.Quote) -> None:
    """Raises ``PriceImpactTooHigh`` for a quote above the request's maximum."""
    most_bps, impact_bps = request.routing.max_price_impact_bps, quote.price_impact_bps
    if most_bps is not None and impact_bps is not None and impact_bps > most_bps:
        raise PriceImpactTooHigh(provider.id, impact_bps, most_bps)
