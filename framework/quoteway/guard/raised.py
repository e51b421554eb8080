"""Checks the errors that providers raise: clients are shown their members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quoteway import errors
from quoteway.errors import FieldError, GatewayError, Reason
from quoteway.guard.findings import is_amount
from quoteway.guard.model_types import flaw
from quoteway.models import RequiredRole

_KINDS: Mapping[str, Any] = {
    "message": str,
    "reason": Reason | None,
    "fields": tuple[FieldError, ...],
    "retryable": bool | None,
    "required_role": RequiredRole | None,
    "revert_reason": str | None,
}
_CORES_OWN = ("attempts", "headers", "acknowledgement_needed", "not_ready", "differences", "violations")
"""Members that only the core gives to an error."""
_ANSWERS = {
    (kind.status, kind.code)
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, GatewayError)
    and kind not in (GatewayError, errors.PolicyRefused)
}


def flaw_of_error(error: GatewayError) -> str | None:
    """Says which member of a provider's error no client may be shown; None when each may be."""
    if (error.status, error.code) not in _ANSWERS:
        return "status is none of this API"
    for name, kind in _KINDS.items():
        found = flaw(getattr(error, name), kind)
        if found is not None:
            return f"{name}{found}"
    if error.limit is not None and not is_amount(error.limit):
        return "limit is not an amount"
    return next((f"{name} is the core's" for name in _CORES_OWN if getattr(error, name)), None)
