"""What a caller must acknowledge before it gets the transactions of a quote."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.models import WARNINGS, Notice, Quote

HIGH_PRICE_IMPACT, OPAQUE_CALLDATA = "high_price_impact", "opaque_calldata"

CODES: Mapping[str, str] = {
    HIGH_PRICE_IMPACT: "The price impact is {impact} %, above the limit of {limit} %.",
    OPAQUE_CALLDATA: WARNINGS[OPAQUE_CALLDATA],
}
"""The codes, each with its message. A quote needs one for its price impact, or because it has a warning of
that code; an action also for what its bytes are."""


def needed_for_quote(
    quote: Quote, price_impact_limit_bps: int | None, *, opaque: bool = False
) -> tuple[Notice, ...]:
    """Returns what the action of a quote needs, as far as its quote tells. None: no limit.

    An unknown price impact needs nothing. ``opaque``: the core has seen calldata that it cannot read.
    """
    found = {warning.code: CODES[warning.code] for warning in quote.warnings if warning.code in CODES}
    if opaque:
        found[OPAQUE_CALLDATA] = CODES[OPAQUE_CALLDATA]
    impact_bps, limit_bps = quote.price_impact_bps, price_impact_limit_bps
    if impact_bps is not None and limit_bps is not None and impact_bps > limit_bps:
        message = CODES[HIGH_PRICE_IMPACT].format(impact=_percent(impact_bps), limit=_percent(limit_bps))
        found[HIGH_PRICE_IMPACT] = message
    else:
        found.pop(HIGH_PRICE_IMPACT, None)  # the number decides, not a provider's warning
    return tuple(Notice(code, found[code]) for code in CODES if code in found)


def needed_for_calldata(*, opaque: bool) -> tuple[Notice, ...]:
    """Returns what an action needs for its bytes, whatever its quote told."""
    return (Notice(OPAQUE_CALLDATA, CODES[OPAQUE_CALLDATA]),) if opaque else ()


def require(needed: Iterable[Notice], acknowledged: Collection[str]) -> None:
    """Raises ``InvalidRequest`` (``acknowledgement_required``) that names every code that is missing."""
    left = [notice for notice in needed if notice.code not in acknowledged]
    if not left:
        return
    codes = ", ".join(notice.code for notice in left)
    told = " ".join(notice.message for notice in left)
    reason, message = Reason.ACKNOWLEDGEMENT_REQUIRED, f"must name what is accepted: {codes}. {told}"
    field = FieldError("acknowledge", reason, message)
    raise InvalidRequest(field.sentence, reason=reason, fields=(field,), acknowledgement_needed=left)


def _percent(bps: int) -> str:
    return f"{bps // 100}.{bps % 100:02d}"
