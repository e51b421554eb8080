"""The envelope of errors, ``{"error": {code, message, requestId, details?}}``, and the answer of JSON-RPC."""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from quoteway.errors import GatewayError, Reason, UpstreamError
from quoteway.networks import Networks
from quoteway.web.wire.parts import RequiredRole
from quoteway.web.wire.text import AmountText, CodeText
from quoteway.web.wire.view import ABSENT, View, Wire, constant, hidden, nullable, optional, required


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

    reason = optional(CodeText, lambda error: ABSENT if error.reason is None else Reason(error.reason))
    limit = optional(AmountText, hidden)
    required_role = optional(RequiredRole, hidden)
    revert_reason = optional(fields.String, hidden, allow_none=True)
    fields_ = optional([ErrorField], lambda error: error.fields or ABSENT)
    attempts = optional([Attempt], lambda error: error.attempts or ABSENT)
    retryable = optional(fields.Boolean, _retryable)

    @classmethod
    def render(cls, model: GatewayError, networks: Networks) -> Wire:
        return {**model.extra, **super().render(model, networks)}


class ErrorMembers(View):
    code = required(fields.String)
    message = required(fields.String)
    request_id = required(fields.String)
    details = optional(ErrorDetails)


class Error(View):
    error = required(ErrorMembers)


def error_wire(error: GatewayError, request_id: str) -> Wire:
    """The envelope of an error."""
    told = error.extra or error.reason is not None or error.fields or error.attempts
    details = error if told or _retryable(error) is not ABSENT else ABSENT
    members = {"code": error.code, "message": error.message, "request_id": request_id, "details": details}
    return {"error": ErrorMembers.of(Networks(), **members)}


class RpcErrorObject(View):
    """A node's own error, scrubbed."""

    code = required(fields.Integer, 0)
    message = required(fields.String, 1)
    data = optional(fields.Raw, 2, allow_none=True)


class RpcAnswer(View):
    jsonrpc = required(fields.String, constant("2.0"))
    id = required(fields.Raw)
    result = optional(fields.Raw, allow_none=True)
    error = optional(RpcErrorObject)
