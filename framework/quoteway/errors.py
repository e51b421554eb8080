"""Error codes, reasons, and the exceptions that become error answers.

Each class has one HTTP status and one ``error.code``. Six codes are those of the API contract
(``api-spec-v2``, Errors). ``unauthorized`` is added for deployments that require keys. ``Reason`` lists all
values of ``error.details.reason``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from quoteway.models import Notice, RequiredRole


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
    AMBIGUOUS_TOKEN = "ambiguous_token"
    UNRESOLVED_NAME = "unresolved_name"
    UNSUPPORTED_PROTOCOL = "unsupported_protocol"
    UNSUPPORTED_LIMIT = "unsupported_limit"
    UNSUPPORTED_FEE = "unsupported_fee"
    UNSUPPORTED_SIDE = "unsupported_side"
    QUOTE_EXPIRED = "quote_expired"
    QUOTE_INVALID = "quote_invalid"
    NO_ROUTE = "no_route"
    INSUFFICIENT_LIQUIDITY = "insufficient_liquidity"
    PRICE_IMPACT_TOO_HIGH = "price_impact_too_high"
    AMOUNT_TOO_LOW = "amount_too_low"
    AMOUNT_TOO_HIGH = "amount_too_high"
    ACKNOWLEDGEMENT_REQUIRED = "acknowledgement_required"
    PRICE_MOVED = "price_moved"
    QUOTE_MISMATCH = "quote_mismatch"
    REVERTED = "reverted"
    ROLE_REQUIRED = "role_required"
    UNSAFE_ANSWER = "unsafe_answer"
    PROVIDER_TIMEOUT = "provider_timeout"
    PROVIDER_ERROR = "provider_error"
    PROVIDER_PAUSED = "provider_paused"
    RPC_ERROR = "rpc_error"
    LOGS_UNAVAILABLE = "logs_unavailable"
    TOKEN_LIMIT = "token_limit"
    CONTRACT_MISSING = "contract_missing"
    NODES_DISAGREE = "nodes_disagree"
    BEHIND = "behind"
    CAPABILITY_DISABLED = "capability_disabled"
    RELAY_UNSUPPORTED = "relay_unsupported"
    METHOD_NOT_ALLOWED = "method_not_allowed"


@dataclass(frozen=True, slots=True)
class TokenCandidate:
    """A listed token that an ambiguous name may mean: its address, its id in a catalog, and its name."""

    address: str
    id: str
    name: str | None


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused member of a request.

    ``path`` is its dotted path. ``message`` says what was expected and what to do. It either starts with the
    path or continues it: "must be greater than zero". ``candidates`` are the tokens that an ambiguous name
    may mean.
    """

    path: str
    reason: Reason
    message: str
    candidates: tuple[TokenCandidate, ...] = ()

    @property
    def sentence(self) -> str:
        """Returns the message as a sentence with the member's path: "amount must be greater than zero."."""
        text = self.message
        if self.path and not text.startswith(self.path):
            text = f"{self.path} {text}" if text[:1].islower() else f"{self.path}: {text}"
        return text if text.endswith((".", "?")) else f"{text}."


@dataclass(eq=False, repr=False)
class GatewayError(Exception):
    """Base of all errors that are sent to clients. ``message`` must not contain secrets or URLs.

    Of the further members a client is shown those that are given: ``limit`` is the largest amount that would
    pass (base units), ``revert_reason`` the contract's words, ``not_ready`` why the service is not ready,
    ``differences`` what of a signed transaction is not as it was built.
    """

    status: ClassVar[int]
    code: ClassVar[str]

    message: str
    _: KW_ONLY
    reason: Reason | None = None
    fields: Sequence[FieldError] = ()
    attempts: Sequence[Any] = ()
    retryable: bool | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    acknowledgement_needed: Sequence[Notice] = ()
    limit: int | None = None
    required_role: RequiredRole | None = None
    revert_reason: str | None = None
    not_ready: Sequence[str] = ()
    differences: Sequence[Any] = ()

    def __init_subclass__(cls, status: int = 0, code: str = "") -> None:
        """Takes the HTTP status and ``error.code`` of a class; without them it has those of its base."""
        cls.status, cls.code = status or cls.status, code or cls.code

    def __post_init__(self) -> None:
        super().__init__(self.message)


class MalformedRequest(GatewayError, status=400, code="invalid_request"):
    """The request cannot be read: not JSON, wrong content type, too large, or a line that is too long."""


class InvalidRequest(GatewayError, status=422, code="validation_error"):
    """A member of the request is refused. Providers raise it for parameters that only they can check."""


class Unauthorized(GatewayError, status=401, code="unauthorized"):
    """The deployment requires a key, and the request has none or a wrong one."""


class NotFound(GatewayError, status=404, code="not_found"):
    """Unknown, expired or forged quote, unknown pool, vault, token, route or path."""


class RateLimited(GatewayError, status=429, code="rate_limit_exceeded"):
    """The caller made too many requests."""


class ProviderUnavailable(GatewayError, status=503, code="provider_unavailable"):
    """No enabled provider serves this capability on this network."""


def disabled(message: str) -> ProviderUnavailable:
    """Returns the error of what no enabled provider serves."""
    return ProviderUnavailable(message, reason=Reason.CAPABILITY_DISABLED)


class UpstreamError(GatewayError, status=502, code="upstream_error"):
    """A provider or its upstream failed, has no route, or no longer meets the quote."""


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
