"""What came of a call of a provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from quoteway.errors import GatewayError, Reason, UpstreamError
from quoteway.providers import Provider

P = TypeVar("P", bound=Provider)
T = TypeVar("T")

NO_ROUTE_REASONS = frozenset(
    {
        *(Reason.NO_ROUTE, Reason.INSUFFICIENT_LIQUIDITY, Reason.PRICE_IMPACT_TOO_HIGH),
        *(Reason.AMOUNT_TOO_LOW, Reason.AMOUNT_TOO_HIGH),
    }
)
CAUSED_BY_REQUESTS = NO_ROUTE_REASONS | {Reason.REVERTED, Reason.PRICE_MOVED}
"""The reasons that a token, a pool or an account of the request can cause."""
_REASONS = {
    "timeout": Reason.PROVIDER_TIMEOUT,
    "no_route": Reason.NO_ROUTE,
    "failed": Reason.PROVIDER_ERROR,
    "open": Reason.PROVIDER_PAUSED,
}
"""The reasons of outcomes whose error says none."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[P, T]):
    """The outcome of a provider call. ``error`` may be set when ``kind`` is ``failed`` or ``no_route``.

    ``open`` is that of a provider that was not called, because its circuit breaker is open.
    """

    provider: P
    kind: Literal["quoted", "no_route", "failed", "timeout", "open"]
    value: T | None = None
    error: GatewayError | None = None
    duration_s: float = 0.0

    @property
    def reason(self) -> Reason | None:
        return (self.error.reason if self.error is not None else None) or _REASONS.get(self.kind)

    @property
    def cause(self) -> str | None:
        """Returns the reason, or the error's code where it is the caller's and has none; None for a quote."""
        if self.kind == "quoted":
            return None
        error, reason = self.error, self.reason
        if error is not None and error.reason is None and error.status < 500:
            return error.code
        return None if reason is None else reason.value

    @property
    def failed(self) -> bool:
        """Returns whether the provider failed, was late or was not called."""
        return self.kind in ("failed", "timeout", "open")

    @property
    def is_error(self) -> bool:
        """Returns whether the provider or what it depends on failed, rather than the request."""
        error = self.error
        if self.kind not in ("failed", "timeout"):
            return False
        return error is None or (error.status >= 500 and error.reason not in CAUSED_BY_REQUESTS)

    @property
    def answered(self) -> bool:
        """Returns whether the provider had a result or said that it has none."""
        return self.kind in ("quoted", "no_route")

    def failure(self, message: str = "The provider failed.") -> GatewayError:
        """Returns the error of a provider without an answer; ``message`` is for one that raised none."""
        return self.error or UpstreamError(message, reason=self.reason, retryable=True)


def is_sound(error: GatewayError) -> bool:
    """Returns whether an error that a provider raised has the types that its class declares."""
    return type(error.message) is str and (error.reason is None or type(error.reason) is Reason)
