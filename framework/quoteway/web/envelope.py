"""JSON answers and the one error envelope: ``{"error": {code, message, requestId, details?}}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from aiohttp import web
from multidict import CIMultiDict

from quoteway.errors import GatewayError, MalformedRequest, NotFound, Reason, UpstreamError
from quoteway.models import Attempt

JSON = "application/json"


class PathMissing(NotFound):
    """No such path."""


class MethodNotAllowed(MalformedRequest):
    """The path exists, the method does not."""

    status: ClassVar[int] = 405


class BodyTimeout(MalformedRequest):
    """The body did not arrive within the deadline."""

    status: ClassVar[int] = 408


class BodyTooLarge(MalformedRequest):
    """The body is over the limit."""

    status: ClassVar[int] = 413


class UnsupportedMediaType(MalformedRequest):
    """The body is not declared as UTF-8 JSON."""

    status: ClassVar[int] = 415


class RequestTimeout(UpstreamError):  # noqa: N818 - named as the others of quoteway.errors
    """The request took longer than the deployment allows."""


CLOSING = (BodyTimeout, BodyTooLarge)
"""After these the rest of the body may still be on its way, so the connection is of no further use."""


def json_response(
    body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """An answer whose body is JSON bytes already."""
    every: CIMultiDict[str] = CIMultiDict(headers or {})
    every["Content-Type"] = JSON
    return web.Response(body=body, status=status, headers=every)


def error_body(error: GatewayError, request_id: str) -> bytes:
    """The envelope of an error."""
    envelope: dict[str, Any] = {
        "code": error.code.value,
        "message": error.message,
        "requestId": request_id,
    }
    details = error_details(error)
    if details:
        envelope["details"] = details
    return orjson.dumps({"error": envelope})


def error_details(error: GatewayError) -> dict[str, Any]:
    """``error.details``: reason, refused members, attempts of providers, whether to try again."""
    details: dict[str, Any] = dict(error.extra)
    if error.reason is not None:
        details["reason"] = Reason(error.reason).value
    if error.fields:
        details["fields"] = [
            {"path": field.path, "reason": field.reason.value, "message": field.sentence}
            for field in error.fields
        ]
    if error.attempts:
        details["attempts"] = [render_attempt(attempt) for attempt in error.attempts]
    retryable = error.retryable if error.retryable is not None else isinstance(error, UpstreamError)
    if error.retryable is not None or error.status in (429, 502, 503):
        details["retryable"] = retryable or error.status == 429
    return details


def render_attempt(attempt: Attempt) -> dict[str, Any]:
    """How one provider did: ``{provider, outcome, amountOut?, reason?}``."""
    return {
        "provider": attempt.provider,
        "outcome": attempt.outcome,
        "amountOut": None if attempt.amount_out is None else str(attempt.amount_out),
        "reason": attempt.reason,
    }


def error_response(error: GatewayError, request_id: str) -> web.Response:
    """The answer to an error, with the headers it carries."""
    response = json_response(error_body(error, request_id), status=error.status, headers=error.headers)
    response.headers["Cache-Control"] = "no-store"
    if isinstance(error, CLOSING):
        response.force_close()
    return response


def from_http_exception(error: web.HTTPException) -> GatewayError:
    """What aiohttp raised, in our words and with nothing of the request echoed."""
    if isinstance(error, web.HTTPNotFound):
        return PathMissing("There is no such path. See /v2/openapi.json for those there are.")
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        return MethodNotAllowed(
            f"This path does not take that method. It takes: {allowed}.",
            reason=Reason.METHOD_NOT_ALLOWED,
            headers={"Allow": allowed},
        )
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return BodyTooLarge("The request is too large.", reason=Reason.OUT_OF_RANGE)
    return MalformedRequest("The request cannot be read.", reason=Reason.INVALID_FORMAT)
