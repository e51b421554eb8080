"""The plan of a quote: compact JSON that the quote token carries back to the provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from quoteway.errors import Reason, UpstreamError

MAX_PLAN_CHARS = 2048


def plain_plan(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """The plan as JSON returns it: tuples as lists, keys as text. Raises ``UpstreamError`` when it is too
    large or not plain JSON."""
    try:
        text = json.dumps(plan, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise UpstreamError("The provider's plan is not plain JSON.", reason=Reason.PROVIDER_ERROR) from None
    if len(text) > MAX_PLAN_CHARS:
        raise UpstreamError(
            "The provider's plan is too large for a quote token.", reason=Reason.PROVIDER_ERROR
        )
    plain: Mapping[str, Any] = json.loads(text)
    return plain
