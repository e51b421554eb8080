"""The one error envelope: ``{"error": {code, message, requestId, details?}}``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marshmallow import fields

from quoteway.errors import GatewayError, Reason, UpstreamError
from quoteway.networks import Networks
from quoteway.web.wire.terms import RequiredRole
from quoteway.web.wire.text import AmountText, CodeText
from quoteway.web.wire.view import (
    ABSENT,
    View,
    Wire,
    from_extra,
    itself,
    member,
    named,
    nested,
    nullable,
    required,
)


@dataclass(frozen=True, slots=True)
class FailedRequest:
    """An error with the id of the request that it answers."""

    error: GatewayError
    request_id: str


class ErrorField(View):
    path = required(fields.String)
    reason = required(CodeText)
    message = required(fields.String, "sentence")


class Attempt(View):
    """How one provider did."""

    provider = required(fields.String)
    outcome = required(fields.String, enum=["quoted", "no_route", "failed", "timeout"])
    amount_out = nullable(AmountText)
    reason = nullable(fields.String)


def _retryable(error: GatewayError) -> Any:
    if error.retryable is None and error.status not in (429, 502, 503):
        return ABSENT
    retryable = error.retryable if error.retryable is not None else isinstance(error, UpstreamError)
    return retryable or error.status == 429


class ErrorDetails(View):
    """``limit`` comes with ``amount_too_high``, ``requiredRole`` with ``role_required``, ``revertReason``
    with a simulation that reverted: the contract's own words, cut and made printable."""

    reason = member(CodeText(), lambda error: ABSENT if error.reason is None else Reason(error.reason))
    limit = from_extra(AmountText())
    required_role = from_extra(fields.Nested(RequiredRole))
    revert_reason = from_extra(fields.String(allow_none=True))
    fields_ = named(
        "fields", member(fields.List(fields.Nested(ErrorField)), lambda error: error.fields or ABSENT)
    )
    attempts = member(fields.List(fields.Nested(Attempt)), lambda error: error.attempts or ABSENT)
    retryable = member(fields.Boolean(), _retryable)

    @classmethod
    def render(cls, model: GatewayError, networks: Networks) -> Wire:
        return {**model.extra, **super().render(model, networks)}


def _details(failed: FailedRequest) -> Any:
    error = failed.error
    told = error.extra or error.reason is not None or error.fields or error.attempts
    return error if told or _retryable(error) is not ABSENT else ABSENT


class ErrorMembers(View):
    code = required(fields.String, "error.code")
    message = required(fields.String, "error.message")
    request_id = required(fields.String)
    details = member(fields.Nested(ErrorDetails), _details)


class Error(View):
    error = nested(ErrorMembers, itself)


def error_wire(error: GatewayError, request_id: str) -> Wire:
    """The envelope of an error."""
    return Error.render(FailedRequest(error, request_id), Networks())
