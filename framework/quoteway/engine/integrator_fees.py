"""Fees that integrators charge on swaps: which are refused, and how quotes show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quoteway import models
from quoteway.errors import FieldError, InvalidRequest, Reason


def check_fee(request: models.Request, wrapped_native: models.Address | None, most_bps: int) -> None:
    """Refuses a fee that the deployment or the kind of request does not allow. Raises ``InvalidRequest``.

    ``most_bps`` is the operator's maximum.
    """
    fee = fee_of(request)
    if fee is None or not isinstance(request, models.SwapRequest):
        return
    if not most_bps:
        raise refused_fee(Reason.OUT_OF_RANGE, "is not allowed: the operator of this gateway allows no fees")
    if not 1 <= fee.bps <= most_bps:
        raise refused_fee(Reason.OUT_OF_RANGE, f"must be between 1 and {most_bps}, the operator's maximum")
    if request.is_cross_chain:
        raise refused_fee(Reason.CONFLICT, "is for swaps within one network")
    if {request.token_in.address, request.token_out.address} == {models.NATIVE, wrapped_native}:
        text = "is for swaps: the native coin is wrapped and unwrapped one to one"
        raise refused_fee(Reason.CONFLICT, text)


def refused_fee(reason: Reason, message: str, attempts: Sequence[models.Attempt] = ()) -> InvalidRequest:
    """Returns the error for a fee that cannot be charged. ``message`` continues the member's name."""
    field = FieldError("feeBps", reason, message)
    return InvalidRequest(field.sentence, reason=reason, fields=(field,), attempts=attempts)


def fee_of(request: models.Request) -> models.IntegratorFee | None:
    """Returns the fee on a swap; None without one."""
    return request.fee if isinstance(request, models.SwapRequest) else None


def with_fee(request: models.Request, quote: models.Quote) -> models.Quote:
    """Returns a checked quote that shows the fee of its request among its fees."""
    fee = fee_of(request)
    if fee is None or quote.fee_amount is None or not isinstance(request, models.SwapRequest):
        return quote
    (leg,) = quote.outputs if request.amount_out is None else quote.inputs
    shown = models.Fee(
        "integrator", leg.token, quote.fee_amount, included=True, bps=fee.bps, recipient=fee.recipient
    )
    return replace(quote, fees=(*quote.fees, shown))
