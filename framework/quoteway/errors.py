"""Error codes, reasons, and the exceptions that become error answers.

Six codes are those of the API contract (``api-spec-v2``, Errors). ``unauthorized`` is added for deployments
that require keys. ``Reason`` lists all values of ``error.details.reason``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar


class Code(StrEnum):
    """``error.code``: the class of the error."""

    INVALID_REQUEST = "invalid_request"
    VALIDATION_ERROR = "validation_error"
    UNAUTHORIZED = "unauthorized"
    NOT_FOUND = "not_found"
    RATE_LIMIT_EXCEEDED = "rate_limit_exceeded"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    UPSTREAM_ERROR = "upstream_error"


class Reason(StrEnum):
    """``error.details.reason``: the cause of the error, for programs."""

    MISSING = "missing"
    INVALID_FORMAT = "invalid_format"
    OUT_OF_RANGE = "out_of_range"
    CONFLICT = "conflict"
    UNKNOWN_MEMBER = "unknown_member"
    UNSUPPORTED_ACTION = "unsupported_action"
    UNSUPPORTED_NETWORK = "unsupported_network"
    UNSUPPORTED_TOKEN = "unsupported_token"
    QUOTE_EXPIRED = "quote_expired"
    QUOTE_INVALID = "quote_invalid"
    NO_ROUTE = "no_route"
    INSUFFICIENT_LIQUIDITY = "insufficient_liquidity"
    AMOUNT_TOO_LOW = "amount_too_low"
    AMOUNT_TOO_HIGH = "amount_too_high"
    PRICE_MOVED = "price_moved"
    REVERTED = "reverted"
    ROLE_REQUIRED = "role_required"
    UNSAFE_ANSWER = "unsafe_answer"
    PROVIDER_TIMEOUT = "provider_timeout"
    PROVIDER_ERROR = "provider_error"
    RPC_ERROR = "rpc_error"
    CAPABILITY_DISABLED = "capability_disabled"
    RELAY_UNSUPPORTED = "relay_unsupported"
    METHOD_NOT_ALLOWED = "method_not_allowed"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused member of a request.

    ``path`` is its dotted path. ``message`` says what was expected and what to do. It either starts with the
    path or continues it: "must be greater than zero".
    """

    path: str
    reason: Reason
    message: str

    @property
    def sentence(self) -> str:
        """Returns the message as a sentence with the member's path: "amount must be greater than zero."."""
        text = self.message
        if self.path and not text.startswith(self.path):
            text = f"{self.path} {text}" if text[:1].islower() else f"{self.path}: {text}"
        return text if text.endswith((".", "?")) else f"{text}."


class GatewayError(Exception):
    """Base of all errors that are sent to clients. ``message`` must not contain secrets or URLs."""

    status: ClassVar[int]
    code: ClassVar[Code]

    def __init__(
        self,
        message: str,
        *,
        reason: Reason | None = None,
        fields: Sequence[FieldError] = (),
        attempts: Sequence[Any] = (),
        retryable: bool | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.fields = tuple(fields)
        self.attempts = tuple(attempts)
        self.retryable = retryable
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})


class MalformedRequest(GatewayError):
    """The request cannot be read: not JSON, wrong content type, too large, or a line that is too long."""

    status = 400
    code = Code.INVALID_REQUEST


class InvalidRequest(GatewayError):
    """A member of the request is refused. Providers raise it for parameters that only they can check."""

    status = 422
    code = Code.VALIDATION_ERROR


class Unauthorized(GatewayError):
    """The deployment requires a key, and the request has none or a wrong one."""

    status = 401
    code = Code.UNAUTHORIZED


class NotFound(GatewayError):
    """Unknown, expired or forged quote, unknown pool, vault, token, route or path."""

    status = 404
    code = Code.NOT_FOUND


class RateLimited(GatewayError):
    """The caller made too many requests."""

    status = 429
    code = Code.RATE_LIMIT_EXCEEDED


class ProviderUnavailable(GatewayError):
    """No enabled provider serves this capability on this network."""

    status = 503
    code = Code.PROVIDER_UNAVAILABLE


class UpstreamError(GatewayError):
    """A provider or its upstream failed, has no route, or no longer meets the quote."""

    status = 502
    code = Code.UPSTREAM_ERROR


class RpcError(UpstreamError):
    """A node answered with a JSON-RPC error object (EIP-1474). ``data`` has the revert data."""

    def __init__(self, rpc_code: int, rpc_message: str, data: Any = None) -> None:
        super().__init__("The chain's node answered with an error.", reason=Reason.RPC_ERROR)
        self.rpc_code = rpc_code
        self.rpc_message = rpc_message
        self.data = data


class ConfigError(Exception):
    """A configuration cannot be used.

    The message names the key, what was expected, the actual value, and the remedy.
    """
