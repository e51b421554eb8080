"""Maps LI.FI's errors to the gateway's: its numeric codes and, where no tool had a quote, the tools' codes.

Sources: the API reference's "Error codes", and ``ErrorCode``, ``ToolError``, ``UnavailableRoutes`` of
@lifi/types. Their messages are never passed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quoteway import Reason, UpstreamError

NO_ROUTE = "LI.FI has no route for this request."

# Code of the answer -> (reason, message for the client, whether a retry may succeed).
_CODES: Mapping[int, tuple[Reason, str, bool]] = {
    1001: (Reason.PROVIDER_ERROR, "LI.FI could not build the transaction.", True),
    1002: (Reason.NO_ROUTE, NO_ROUTE, False),
    1003: (Reason.NO_ROUTE, NO_ROUTE, False),
    1004: (Reason.NO_ROUTE, "LI.FI cannot serve this request.", False),
    1005: (Reason.PROVIDER_ERROR, "LI.FI's rate limit for this deployment is used up.", True),
    1006: (Reason.PROVIDER_ERROR, "LI.FI failed.", True),
    1007: (Reason.PRICE_MOVED, "LI.FI finds no route within the slippage: raise slippageBps.", False),
    1008: (Reason.PROVIDER_ERROR, "A service behind LI.FI failed.", True),
    1009: (Reason.PROVIDER_TIMEOUT, "LI.FI ran out of time.", True),
    1010: (Reason.PROVIDER_ERROR, "LI.FI does not accept this deployment's key.", False),
    1011: (Reason.PROVIDER_ERROR, "LI.FI refused the request as invalid.", False),
    1012: (Reason.RPC_ERROR, "LI.FI could not read a chain.", True),
    1013: (Reason.PROVIDER_ERROR, "LI.FI refused the request as malformed.", False),
}
_STATUSES: Mapping[int, int] = {400: 1011, 401: 1010, 403: 1010, 404: 1002, 422: 1004, 429: 1005, 504: 1009}
_SERVER_ERROR = 1006
_NO_QUOTE = (1002, 1003)

# The tools' codes when none had a quote, the most specific first.
_TOOLS: Mapping[str, tuple[Reason, str, bool]] = {
    "AMOUNT_TOO_LOW": (Reason.AMOUNT_TOO_LOW, "The amount is too low for LI.FI's routes.", False),
    "FEES_HIGHER_THAN_AMOUNT": (
        Reason.AMOUNT_TOO_LOW,
        "The fees of LI.FI's routes exceed the amount.",
        False,
    ),
    "AMOUNT_TOO_HIGH": (Reason.AMOUNT_TOO_HIGH, "The amount is too high for LI.FI's routes.", False),
    "INSUFFICIENT_LIQUIDITY": (
        Reason.INSUFFICIENT_LIQUIDITY,
        "LI.FI's routes lack the liquidity for the whole amount.",
        False,
    ),
    "DIFFERENT_RECIPIENT_NOT_SUPPORTED": (
        Reason.NO_ROUTE,
        "LI.FI's routes for this pair pay the sender only.",
        False,
    ),
    "CANNOT_GUARANTEE_MIN_AMOUNT": (
        Reason.NO_ROUTE,
        "LI.FI's routes for this pair cannot guarantee the minimum.",
        False,
    ),
    "NO_POSSIBLE_ROUTE": (Reason.NO_ROUTE, NO_ROUTE, False),
    "TOOL_TIMEOUT": (Reason.PROVIDER_TIMEOUT, "The services behind LI.FI ran out of time.", True),
    "RPC_ERROR": (Reason.RPC_ERROR, "LI.FI could not read a chain.", True),
    "TOOL_SPECIFIC_ERROR": (Reason.PROVIDER_ERROR, "The services behind LI.FI failed.", True),
    "UNKNOWN_ERROR": (Reason.PROVIDER_ERROR, "The services behind LI.FI failed.", True),
}
_MOST_TOOL_ERRORS = 1_000


def failure_of(status: int, body: Any) -> UpstreamError:
    """Returns the error for an answer other than 200; ``body`` is its JSON, None when it is not JSON."""
    given = body.get("code") if isinstance(body, Mapping) else None
    fallback = _STATUSES.get(status, _SERVER_ERROR)
    code = given if type(given) is int and given in _CODES else fallback
    if status == 429:
        code = 1005
    if code in _NO_QUOTE and isinstance(body, Mapping):
        said = {error.get("code") for error in _tool_errors(body.get("errors"))}
        for tool_code, (reason, message, retryable) in _TOOLS.items():
            if tool_code in said:
                return UpstreamError(message, reason=reason, retryable=retryable)
    reason, message, retryable = _CODES[code]
    return UpstreamError(message, reason=reason, retryable=retryable)


def _tool_errors(errors: Any) -> Iterator[Mapping[str, Any]]:
    """Yields the errors in both documented forms: ``[ToolError]`` and ``{failed: [{subpaths: {...}}]}``."""
    left = _MOST_TOOL_ERRORS
    lists = [errors]
    if isinstance(errors, Mapping):
        failed = errors.get("failed")
        routes = failed if isinstance(failed, list) else []
        paths = [route.get("subpaths") for route in routes if isinstance(route, Mapping)]
        lists = [found for path in paths if isinstance(path, Mapping) for found in path.values()]
    for found in lists:
        for error in found if isinstance(found, list) else ():
            left -= 1
            if left < 0:
                return
            # Codes are looked up by hash: a list would raise.
            if isinstance(error, Mapping) and isinstance(error.get("code"), str):
                yield error
