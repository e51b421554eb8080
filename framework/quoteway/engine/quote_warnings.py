"""What a quote warns of."""

from __future__ import annotations

from quoteway import models

HIGH_SLIPPAGE_BPS = 300


def quote_warnings(request: models.Request, quote: models.Quote) -> tuple[models.Notice, ...]:
    """Returns what a provider warns of and what the gateway does."""
    own = []
    wanted = isinstance(request, models.SwapRequest) and request.certificate
    if wanted and (quote.optimality is None or quote.optimality.certificate is None):
        own.append(models.Notice("certificate_unavailable", models.WARNINGS["certificate_unavailable"]))
    if quote.slippage_bps > HIGH_SLIPPAGE_BPS:
        own.append(models.Notice("high_slippage", "The allowed slippage is above 3 %."))
    if quote.is_estimate:
        text = "The output is an estimate. The transaction may pay less, but not less than the minimum."
        own.append(models.Notice("estimated_output", text))
    return (*quote.warnings, *own)
