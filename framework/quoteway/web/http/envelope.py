"""JSON answers and the error envelope."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import orjson
from aiohttp import web

from quoteway.errors import GatewayError, MalformedRequest, NotFound, Reason, UpstreamError
from quoteway.web.wire.errors import error_wire


class PathMissing(NotFound):
    """No such path."""


class MethodNotAllowed(MalformedRequest, status=405):
    """The path exists, the method does not."""


class BodyTimeout(MalformedRequest, status=408):
    """The body did not arrive within the deadline."""


class BodyTooLarge(MalformedRequest, status=413):
    """The body is over the limit."""


class UnsupportedMediaType(MalformedRequest, status=415):
    """The body is not declared as UTF-8 JSON."""


class RequestTimeout(UpstreamError):  # noqa: N818 - named as the others of quoteway.errors
    """The request took longer than the deployment allows."""


def json_response(body: bytes, status: int, headers: Mapping[str, str]) -> web.Response:
    """An answer whose body is already JSON."""
    return web.Response(body=body, status=status, headers={**headers, "Content-Type": "application/json"})


def error_response(
    error: GatewayError, request_id: str, more: Mapping[str, object] = MappingProxyType({})
) -> web.Response:
    """The answer to an error, with the headers it carries. ``more`` are members beside ``error``."""
    body = orjson.dumps({**error_wire(error, request_id), **more})
    response = json_response(body, error.status, error.headers)
    response.headers["Cache-Control"] = "no-store"
    if isinstance(error, BodyTimeout | BodyTooLarge):  # the rest of the body may still arrive
        response.force_close()
    return response


def from_http_exception(error: web.HTTPException) -> GatewayError:
    """An error of aiohttp as one of ours, without any text of the request."""
    if isinstance(error, web.HTTPNotFound):
        return PathMissing("This path does not exist. /v2/openapi.json lists all paths.")
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        text = f"This path does not allow this method. Allowed: {allowed}."
        return MethodNotAllowed(text, reason=Reason.METHOD_NOT_ALLOWED, headers={"Allow": allowed})
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return BodyTooLarge("The request is too large.", reason=Reason.OUT_OF_RANGE)
    return MalformedRequest("The request cannot be read.", reason=Reason.INVALID_FORMAT)
