"""Every error of the client: one class for each code of the API, and those of the client itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class QuotewayError(Exception):
    """Base of every error of this package. ``retryable``: whether the same request may succeed later."""

    retryable = False
    retry_after_s: float | None = None


class ConnectionFailed(QuotewayError):
    """No whole answer came: the connection failed, was cut, or was too slow."""

    retryable = True


class UnexpectedAnswer(QuotewayError):
    """What answered is not the gateway, or not one that this version understands.

    ``status`` is the HTTP status, ``content`` the beginning of the body.
    """

    def __init__(
        self, message: str, status: int, content: bytes = b"", retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.content = content[:500]
        self.retryable = status in (429, 502, 503, 504)
        self.retry_after_s = retry_after_s


class ApiError(QuotewayError):
    """The gateway refused a request. The class of an unknown ``code`` of a newer gateway.

    ``code`` and ``reason`` are those of the API's page of errors; ``reason`` is None where there is none.
    ``details`` are the members of ``error.details``, ``request_id`` names the request in the gateway's logs.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details or {}
        self.reason: str | None = self.details.get("reason")
        self.request_id = request_id
        self.retry_after_s = retry_after_s
        told = self.details.get("retryable")
        self.retryable = told is True or (status == 429 and told is not False)

    def __str__(self) -> str:
        named = self.code if self.reason is None else f"{self.code}, {self.reason}"
        fields = "".join(f"\n  {each.get('path')}: {each.get('message')}" for each in self.fields)
        return f"{self.message} ({named}; request {self.request_id}){fields}"

    @property
    def fields(self) -> Sequence[Mapping[str, Any]]:
        """The refused members of the request: ``path``, ``reason``, ``message``, perhaps ``candidates``."""
        found = self.details.get("fields")
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


class InvalidRequest(ApiError):
    """400, 408, 413, 415, 421: the request cannot be read."""


class ValidationFailed(ApiError):
    """422: a member of the request is refused; 403: the operator's custody policy refuses the action, or the
    API key may not use the provider.
    """


class Unauthorized(ApiError):
    """401: the deployment requires a key, and the request has none or a wrong one."""


class NotFound(ApiError):
    """404: an unknown, expired or forged quote, or an unknown pool, vault, token or route."""


class RateLimited(ApiError):
    """429: too many requests."""


class ProviderUnavailable(ApiError):
    """503: no enabled provider serves this on the network."""


class UpstreamFailed(ApiError):
    """502: a provider failed, has no route, or no longer meets the quote."""


CODES: Mapping[str, type[ApiError]] = {
    "invalid_request": InvalidRequest,
    "validation_error": ValidationFailed,
    "unauthorized": Unauthorized,
    "not_found": NotFound,
    "rate_limit_exceeded": RateLimited,
    "provider_unavailable": ProviderUnavailable,
    "upstream_error": UpstreamFailed,
}


class RpcError(QuotewayError):
    """A node, or the gateway for it, answered a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} (JSON-RPC error {code})")
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True)
class Difference:
    """A member that is not what was asked."""

    member: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.member} must be {self.expected}, not {self.found}"


class Mismatch(QuotewayError):
    """An answer is not what was asked: do not sign it, and find out why. ``differences`` has each member."""

    def __init__(self, differences: Sequence[Difference]) -> None:
        super().__init__("; ".join(map(str, differences)))
        self.differences = tuple(differences)


class QuoteMismatch(Mismatch):
    """A quote is for another request than the one that was sent."""


class ActionMismatch(Mismatch):
    """An action does something else than its quote says. Nothing of it was signed."""


class SignatureInvalid(QuotewayError):
    """The gateway's signature of an action is missing, false or expired."""


class NotExecutable(QuotewayError):
    """An action cannot succeed as it is, or may not be sent any more. Nothing more of it was signed."""


class TransactionFailed(QuotewayError):
    """A transaction was mined and reverted. ``hash`` and ``receipt`` are its, ``index`` its place in the
    action.
    """

    def __init__(self, index: int, hash_: str, receipt: Mapping[str, Any]) -> None:
        super().__init__(
            f"transaction {index} of the action, {hash_}, reverted; those after it were not sent"
        )
        self.index = index
        self.hash = hash_
        self.receipt = receipt


class NotConfirmed(QuotewayError):
    """A transaction was sent and not mined in time: it may still be. Do not sign another in its place.

    ``raw`` are its signed bytes, which may be sent again as they are.
    """

    def __init__(self, index: int, hash_: str, raw: str, cause: str) -> None:
        super().__init__(
            f"transaction {index} of the action, {hash_}, was signed and sent; it is not known whether it "
            f"is mined: {cause}. Look for its receipt before anything else is signed with its nonce"
        )
        self.index = index
        self.hash = hash_
        self.raw = raw
