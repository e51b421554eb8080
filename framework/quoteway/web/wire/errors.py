"""The envelope of errors, ``{"error": {code, message, requestId, details?}}``, and the answer of JSON-RPC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from marshmallow import fields

from quoteway.errors import GatewayError, InvalidRequest, Reason, UpstreamError
from quoteway.networks import Networks
from quoteway.web.wire.parts import Difference, Notice, RequiredRole
from quoteway.web.wire.text import (
    AddressText,
    AmountText,
    CodeText,
    ProviderId,
)
from quoteway.web.wire.view import ABSENT, View, Wire, constant, hidden, nullable, optional, required

_CODES = dict.fromkeys(kind.code for kind in GatewayError.__subclasses__())


class Candidate(View):
    """A listed token that a name may mean."""

    address = required(AddressText, description="Address of the token")
    id = required(fields.String, description="Id of the token in its catalog, as in `GET /v2/tokens`")
    name = nullable(fields.String, description="Name of the token. Null where the catalog has none")


class ErrorField(View):
    path = required(
        fields.String,
        description="Name of the refused member; empty for the request as a whole",
    )
    reason = required(CodeText, description="Code of the refusal, such as `missing` or `out_of_range`")
    message = required(fields.String, "sentence", description="What is wrong with the member, in a sentence")
    candidates = optional(
        [Candidate],
        lambda field: field.candidates or ABSENT,
        description="With `ambiguous_token`: the listed tokens that the name may mean, at most 8",
    )


def _of_exact_output(attempt: Any) -> Any:
    return ABSENT if attempt.amount_in is None else attempt.amount_in


class Attempt(View):
    """Outcome of one provider's call."""

    provider = required(ProviderId)
    outcome = required(
        fields.String,
        enum=["quoted", "no_route", "failed", "timeout", "open", "not_asked"],
        description="Outcome of the call. `failed`: the provider failed or its quote was refused. "
        "`timeout`: it was late. `open`: not called, because its breaker is open. "
        "`not_asked`: it cannot serve this request, see `reason`",
    )
    amount_out = nullable(AmountText, description="Output that it quoted. Null without a quote")
    amount_in = optional(
        AmountText,
        _of_exact_output,
        description="Input that it quoted; only for a quote with `exactOut`",
    )
    reason = nullable(
        fields.String, description="Why it has no quote, one of `details.reason`. Null when it has one"
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


class Violation(View):
    rule = required(
        fields.String,
        description="Member of the policy file that does not allow it, such as `recipients`; more may be "
        "added within v2",
    )
    message = required(fields.String, description="What is not allowed, in a sentence")
    subject = nullable(
        fields.String,
        description="Address, name or selector that is not allowed. Null where the rule is about none",
    )


class ErrorDetails(View):
    """Facts of an error. Each member is present where it applies."""

    reason = optional(
        CodeText,
        _given("reason"),
        description="Code of the cause; docs/reference/errors.md lists all, and more may be added within v2",
    )
    acknowledgement_needed = optional(
        [Notice],
        _given("acknowledgement_needed"),
        description="With `acknowledgement_required`: what `acknowledge` must accept by its code before "
        "there is an action",
    )
    limit = optional(
        AmountText,
        _given("limit"),
        description="With `amount_too_high`: the highest amount that is possible now",
    )
    best_now = optional(
        AmountText,
        _given("best_now"),
        description="With `price_moved` of a refresh: the amount that the best quote now pays, in base units "
        "of `toToken`; with `exactOut` the amount that it takes, in base units of `fromToken`",
    )
    required_role = optional(
        RequiredRole,
        _given("required_role"),
        description="With `role_required`: the role that the action requires",
    )
    revert_reason = optional(
        fields.String,
        _given("revert_reason"),
        allow_none=True,
        description="With a simulation that reverted: revert reason of the contract, shortened and in "
        "printable characters. Null when it gave none",
    )
    differences = optional(
        [Difference],
        _given("differences"),
        description="With a signed transaction that is not the one that was built: members that differ",
    )
    violations = optional(
        [Violation],
        _given("violations"),
        description="With `policy_refused`: everything that the custody policy does not allow of the action. "
        "With `policy_undecided`: what could not be decided",
    )
    not_ready = optional(
        [fields.String],
        _given("not_ready"),
        description="With `/readyz`: parts of the service that are not ready",
    )
    rpc_code = optional(
        fields.Integer,
        _rpc_code,
        description="With a JSON-RPC method that is not forwarded: the code -32601 (EIP-1474)",
    )
    fields_ = optional(
        [ErrorField], _given("fields"), description="Members of the request that are refused, at most 32"
    )
    attempts = optional(
        [Attempt], _given("attempts"), description="Outcome of each provider that could have answered"
    )
    retryable = optional(fields.Boolean, _retryable, description="Whether the same request may succeed later")


class ErrorMembers(View):
    code = required(
        fields.String,
        enum=list(_CODES),
        description="Kind of the error. Each code has one HTTP status but `invalid_request`, which also "
        "has 405, 408, 413, 415 and 421, and `validation_error`, which also has 403",
    )
    message = required(fields.String, description="What is wrong and what to do, in a sentence")
    request_id = required(
        fields.String,
        description="Id of the request, as in the header `X-Request-ID`; give it to the operator when you "
        "report a problem",
    )
    details = optional(
        ErrorDetails, hidden, description="Facts beside the message; left out when there are none"
    )


class Error(View):
    error = required(ErrorMembers, description="What went wrong")


def error_wire(error: GatewayError, request_id: str) -> Wire:
    """The envelope of an error."""
    details = ErrorDetails.render(error, Networks())
    members = ErrorMembers.of(Networks(), code=error.code, message=error.message, request_id=request_id)
    return {"error": members | ({"details": details} if details else {})}


class RpcErrorObject(View):
    """Error of a call: the gateway's, or a node's without credentials and addresses."""

    code = required(fields.Integer, 0, description="Error code of JSON-RPC 2.0, of EIP-1474 or of the node")
    message = required(
        fields.String, 1, description="What is wrong, in a sentence of the gateway or of the node"
    )
    data = optional(
        fields.Raw,
        2,
        allow_none=True,
        description="Further facts of the node, such as revert data, which may be null; `{reason, "
        "requestId}` where the gateway refuses the call",
    )


class RpcIdentified(View):
    """What every answer of JSON-RPC has."""

    jsonrpc = required(fields.String, constant("2.0"), enum=["2.0"], description="Version of JSON-RPC")
    id = nullable(
        fields.Raw,
        anyOf=[{"type": "integer"}, {"type": "string"}, {"type": "null"}],
        description="`id` of the call. Null where the call has none that can be read",
    )


class RpcResult(RpcIdentified):
    """The answer to a call that succeeded."""

    result = nullable(
        fields.Raw,
        description="Result of the method. Null for what does not exist, such as an unknown transaction",
    )


class RpcFailure(RpcIdentified):
    """The answer to a call that failed."""

    error = required(RpcErrorObject, description="Why the call failed")
