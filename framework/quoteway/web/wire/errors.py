"""The envelope of errors, ``{"error": {code, message, requestId, details?}}``, and the answer of JSON-RPC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from marshmallow import fields

from quoteway.errors import GatewayError, InvalidRequest, Reason, UpstreamError
from quoteway.networks import Networks
from quoteway.web.wire.parts import Difference, Notice, RequiredRole
from quoteway.web.wire.text import AmountText, CodeText
from quoteway.web.wire.view import ABSENT, View, Wire, constant, hidden, nullable, optional, required


class ErrorField(View):
    path = required(fields.String)
    reason = required(CodeText)
    message = required(fields.String, "sentence")


def _of_exact_output(attempt: Any) -> Any:
    return ABSENT if attempt.amount_in is None else attempt.amount_in


class Attempt(View):
    """How one provider did. ``amountIn`` is of the quote of an exact output."""

    provider = required(fields.String)
    outcome = required(fields.String, enum=["quoted", "no_route", "failed", "timeout", "open", "not_asked"])
    amount_out = nullable(AmountText)
    amount_in = optional(AmountText, _of_exact_output)
    reason = nullable(fields.String)


def _retryable(error: GatewayError) -> Any:
    if error.retryable is None and error.status not in (429, 502, 503):
        return ABSENT
    retryable = error.retryable if error.retryable is not None else isinstance(error, UpstreamError)
    return retryable or error.status == 429


def _given(name: str) -> Callable[[GatewayError], Any]:
    """The source of a member that is shown when it is given."""

    def source(error: GatewayError) -> Any:
        value = getattr(error, name)
        return ABSENT if value is None or value in ((), []) else value

    return source


def _rpc_code(error: GatewayError) -> Any:
    """That of JSON-RPC for a method that does not exist (EIP-1474)."""
    refused = isinstance(error, InvalidRequest) and error.reason is Reason.METHOD_NOT_ALLOWED
    return -32601 if refused else ABSENT


class ErrorDetails(View):
    """``acknowledgementNeeded`` comes with ``acknowledgement_required``, ``limit`` with ``amount_too_high``,
    ``requiredRole`` with ``role_required``, ``revertReason`` with a simulation that reverted: the contract's
    own words, cut and made printable. ``differences`` come with a signed transaction that is not the one
    that was built, ``notReady`` with ``/readyz``, ``rpcCode`` with a JSON-RPC method that is not forwarded.
    """

    reason = optional(CodeText, _given("reason"))
    acknowledgement_needed = optional([Notice], _given("acknowledgement_needed"))
    limit = optional(AmountText, _given("limit"))
    required_role = optional(RequiredRole, _given("required_role"))
    revert_reason = optional(fields.String, _given("revert_reason"), allow_none=True)
    differences = optional([Difference], _given("differences"))
    not_ready = optional([fields.String], _given("not_ready"))
    rpc_code = optional(fields.Integer, _rpc_code)
    fields_ = optional([ErrorField], _given("fields"))
    attempts = optional([Attempt], _given("attempts"))
    retryable = optional(fields.Boolean, _retryable)


class ErrorMembers(View):
    code = required(fields.String)
    message = required(fields.String)
    request_id = required(fields.String)
    details = optional(ErrorDetails, hidden)


class Error(View):
    error = required(ErrorMembers)


def error_wire(error: GatewayError, request_id: str) -> Wire:
    """The envelope of an error."""
    details = ErrorDetails.render(error, Networks())
    members = ErrorMembers.of(Networks(), code=error.code, message=error.message, request_id=request_id)
    return {"error": members | ({"details": details} if details else {})}


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
