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
    from quoteway.models import Notice, RequiredRole, Violation


class Reason(StrEnum):
    """``error.details.reason``: the cause of the error, for programs."""

    MISSING = "missing"
    """A member that the request needs is not there."""
    INVALID_FORMAT = "invalid_format"
    """A member has another form than its type."""
    OUT_OF_RANGE = "out_of_range"
    """A value is below its minimum or above its maximum."""
    CONFLICT = "conflict"
    """A value does not fit another member, the quote or the deployment."""
    UNKNOWN_MEMBER = "unknown_member"
    """The request has a member that the operation does not know."""
    UNSUPPORTED_ACTION = "unsupported_action"
    """The pool or vault cannot do this action."""
    UNSUPPORTED_NETWORK = "unsupported_network"
    """The network is not one of this deployment, or does not have what is asked for."""
    UNSUPPORTED_TOKEN = "unsupported_token"
    """The token does not exist, or cannot be used for this."""
    AMBIGUOUS_TOKEN = "ambiguous_token"
    """Several listed tokens have this name: name one of ``candidates``."""
    UNRESOLVED_NAME = "unresolved_name"
    """The name of an account stands for no address."""
    UNSUPPORTED_PROTOCOL = "unsupported_protocol"
    """No provider that is enabled has this protocol."""
    UNSUPPORTED_LIMIT = "unsupported_limit"
    """No provider keeps the limits that the request puts on the route."""
    UNSUPPORTED_FEE = "unsupported_fee"
    """No provider takes the integrator's fee."""
    UNSUPPORTED_SIDE = "unsupported_side"
    """No provider quotes an exact output."""
    QUOTE_EXPIRED = "quote_expired"
    """The quote is too old: request a new one."""
    QUOTE_INVALID = "quote_invalid"
    """The quote id is none of this deployment, or of another kind."""
    NO_ROUTE = "no_route"
    """No provider has a route for this request."""
    INSUFFICIENT_LIQUIDITY = "insufficient_liquidity"
    """The pools do not hold enough for this amount."""
    PRICE_IMPACT_TOO_HIGH = "price_impact_too_high"
    """The price impact is above what the request allows."""
    AMOUNT_TOO_LOW = "amount_too_low"
    """The amount is below what can be executed."""
    AMOUNT_TOO_HIGH = "amount_too_high"
    """The amount is above what can be executed; ``limit`` says how much, where known."""
    ACKNOWLEDGEMENT_REQUIRED = "acknowledgement_required"
    """The caller must first acknowledge the warnings that the error names."""
    POLICY_REFUSED = "policy_refused"
    """The operator's custody policy does not allow the action; ``violations`` say why."""
    POLICY_UNDECIDED = "policy_undecided"
    """What the operator's custody policy is decided by did not answer; ``violations`` say what."""
    PRICE_MOVED = "price_moved"
    """The chain has moved, and the quote's minimum is no longer met: request a new quote."""
    QUOTE_MISMATCH = "quote_mismatch"
    """The simulation did not give what the provider quoted."""
    REVERTED = "reverted"
    """A transaction reverts in the simulation; ``revertReason`` has the contract's words."""
    ROLE_REQUIRED = "role_required"
    """The contract lets only the holder of a role do this."""
    UNSAFE_ANSWER = "unsafe_answer"
    """The core refused what the provider answered."""
    PROVIDER_TIMEOUT = "provider_timeout"
    """The provider did not answer in time."""
    PROVIDER_ERROR = "provider_error"
    """The provider failed."""
    PROVIDER_PAUSED = "provider_paused"
    """The provider is not asked for now, since its last calls failed."""
    RPC_ERROR = "rpc_error"
    """The nodes of the network gave no usable answer."""
    LOGS_UNAVAILABLE = "logs_unavailable"
    """The nodes do not give the logs that are needed: rows are missing."""
    TOKEN_LIMIT = "token_limit"
    """There are more tokens than are looked at: rows are missing."""
    CONTRACT_MISSING = "contract_missing"
    """Contracts that the provider needs have no code on the network."""
    NODES_DISAGREE = "nodes_disagree"
    """The nodes of the network answered differently."""
    BEHIND = "behind"
    """The nodes do not have the block that the request asks for yet."""
    PROVIDER_NOT_ALLOWED = "provider_not_allowed"
    """The caller's API key gets no quotes and actions of the provider."""
    CAPABILITY_DISABLED = "capability_disabled"
    """No enabled provider serves this."""
    RELAY_UNSUPPORTED = "relay_unsupported"
    """The deployment broadcasts no transactions."""
    METHOD_NOT_ALLOWED = "method_not_allowed"
    """The HTTP or JSON-RPC method is not served."""


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
    ``differences`` what of a signed transaction is not as it was built, ``best_now`` what the best quote pays
    or takes that is outside the terms of a refresh (base units), ``violations`` what of an action the custody
    policy does not allow.
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
    best_now: int | None = None
    violations: Sequence[Violation] = ()

    def __init_subclass__(cls, status: int = 0, code: str = "") -> None:
        """Takes the HTTP status and ``error.code`` of a class; without them it has those of its base."""
        cls.status, cls.code = status or cls.status, code or cls.code

    def __post_init__(self) -> None:
        super().__init__(self.message)


class MalformedRequest(GatewayError, status=400, code="invalid_request"):
    """The request cannot be read: not JSON, wrong content type, too large, or a line that is too long."""


class InvalidRequest(GatewayError, status=422, code="validation_error"):
    """A member of the request is refused. Providers raise it for parameters that only they can check."""


class PolicyRefused(InvalidRequest, status=403):
    """The custody policy of the deployment does not allow the action. Only the core raises it."""


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
