"""The envelope of errors, ``{"error": {code, message, requestId, details?}}``, and the answer of JSON-RPC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from marshmallow import fields

from quoteway.errors import GatewayError, InvalidRequest, Reason, UpstreamError
from quoteway.networks import Networks
from quoteway.web.wire.parts import Difference, Notice, RequiredRole
from quoteway.web.wire.text import (
    AmountText,
    CodeText,
    ProviderId,
)
from quoteway.web.wire.view import ABSENT, View, Wire, constant, hidden, nullable, optional, required

_CODES = dict.fromkeys(kind.code for kind in GatewayError.__subclasses__())


class ErrorField(View):
    path = required(
        fields.String, description="Member of the request that is refused; empty for the request as a whole"
    )
    reason = required(CodeText, description="Cause for programs, such as `missing` or `out_of_range`")
    message = required(
        fields.String, "sentence", description="Sentence for people: what is wrong with the member"
    )


def _of_exact_output(attempt: Any) -> Any:
    return ABSENT if attempt.amount_in is None else attempt.amount_in


class Attempt(View):
    """How one provider did. ``amountIn`` is of the quote of an exact output."""

    provider = required(ProviderId)
    outcome = required(
        fields.String,
        enum=["quoted", "no_route", "failed", "timeout", "open", "not_asked"],
        description="How its call ended. `open`: its circuit breaker kept it out; `not_asked`: it "
        "cannot do what the request asks for",
    )
    amount_out = nullable(AmountText, description="Output that it quoted. Null without a quote")
    amount_in = optional(
        AmountText,
        _of_exact_output,
        description="Input that it quoted for an exact output; only in quotes of one",
    )
    reason = nullable(
        fields.String, description="Why there is no quote of it, a `details.reason`. Null with one"
    )


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

    reason = optional(
        CodeText,
        _given("reason"),
        description="Cause of the error for programs; docs/reference/errors.md lists all, and more may come",
    )
    acknowledgement_needed = optional(
        [Notice],
        _given("acknowledgement_needed"),
        description="With `acknowledgement_required`: what `acknowledge` must name before there is an action",
    )
    limit = optional(
        AmountText, _given("limit"), description="With `amount_too_high`: the most that is possible now"
    )
    required_role = optional(
        RequiredRole, _given("required_role"), description="With `role_required`: who may take the action"
    )
    revert_reason = optional(
        fields.String,
        _given("revert_reason"),
        allow_none=True,
        description="With a simulation that reverted: the contract's own words, cut and made "
        "printable. Null when it gave none",
    )
    differences = optional(
        [Difference],
        _given("differences"),
        description="With a signed transaction that is not the one that was built: the members that differ",
    )
    not_ready = optional(
        [fields.String], _given("not_ready"), description="With `/readyz`: what the service waits for"
    )
    rpc_code = optional(
        fields.Integer,
        _rpc_code,
        description="Error code of JSON-RPC (EIP-1474) for a method that does not exist",
    )
    fields_ = optional(
        [ErrorField], _given("fields"), description="Members of the request that are refused, at most 32"
    )
    attempts = optional(
        [Attempt], _given("attempts"), description="How each provider did that could have answered"
    )
    retryable = optional(fields.Boolean, _retryable, description="Whether the same request may succeed later")


class ErrorMembers(View):
    code = required(
        fields.String,
        enum=list(_CODES),
        description="Kind of the error; the list is closed, and each code has one HTTP status",
    )
    message = required(fields.String, description="Sentence for people: what is wrong and what to do")
    request_id = required(
        fields.String, description="Id of this request, also in `X-Request-ID`; quote it to the operator"
    )
    details = optional(
        ErrorDetails, hidden, description="What is known beyond the message; left out when there is nothing"
    )


class Error(View):
    error = required(ErrorMembers, description="What went wrong")


def error_wire(error: GatewayError, request_id: str) -> Wire:
    """The envelope of an error."""
    details = ErrorDetails.render(error, Networks())
    members = ErrorMembers.of(Networks(), code=error.code, message=error.message, request_id=request_id)
    return {"error": members | ({"details": details} if details else {})}


class RpcErrorObject(View):
    """A node's own error, scrubbed."""

    code = required(
        fields.Integer, 0, description="Error code of JSON-RPC 2.0 or EIP-1474, or the node's own"
    )
    message = required(fields.String, 1, description="Sentence for people, of the gateway or of the node")
    data = optional(
        fields.Raw,
        2,
        allow_none=True,
        description="What the node says beyond it, such as revert data; `{reason, requestId}` for an "
        "error of the gateway",
    )


class RpcIdentified(View):
    """What every answer of JSON-RPC has."""

    jsonrpc = required(fields.String, constant("2.0"), enum=["2.0"], description="Version of JSON-RPC")
    id = nullable(
        fields.Raw,
        anyOf=[{"type": "integer"}, {"type": "string"}, {"type": "null"}],
        description="The call's own. Null where it had none that can be read",
    )


class RpcResult(RpcIdentified):
    """The answer to a call that succeeded."""

    result = nullable(fields.Raw, description="What the method gives. Null is a value too: not found")


class RpcFailure(RpcIdentified):
    """The answer to a call that failed."""

    error = required(RpcErrorObject, description="Why the call failed")
