"""Reads a JSON body. A wrong type, size, duration or syntax has an error of its own."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import orjson
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestPayloadError

from quoteway.errors import MalformedRequest, Reason
from quoteway.host.recording import note_body
from quoteway.web.http.envelope import BodyTimeout, BodyTooLarge, UnsupportedMediaType


async def read_object(
    request: web.Request, *, limit_bytes: int, timeout_s: float, may_be_empty: bool = False
) -> dict[str, Any]:
    """The request's JSON object. Raises ``MalformedRequest`` (400, 408, 413 or 415).

    Of a key given twice the last value counts; NaN, a BOM and bad UTF-8 are refused.

    With ``may_be_empty`` no body is an empty object, and the content type does not matter: clients that send
    nothing often name another one.
    """
    if may_be_empty:
        raw = await _read(request, limit_bytes, timeout_s)
        note_body(raw)
        if not raw.strip():
            return {}
    else:
        raw = await read_json(request, limit_bytes=limit_bytes, timeout_s=timeout_s)
    try:
        value = orjson.loads(raw)
    except ValueError:  # orjson limits the depth, so a deep document fails too
        raise MalformedRequest("The body is not valid JSON in UTF-8.", reason=Reason.INVALID_FORMAT) from None
    if not isinstance(value, dict):
        raise MalformedRequest("The body must be a JSON object.", reason=Reason.INVALID_FORMAT)
    return value


async def read_json(request: web.Request, *, limit_bytes: int, timeout_s: float) -> bytes:
    """The bytes of a JSON body, not parsed. Raises ``MalformedRequest`` (400, 408, 413 or 415)."""
    raw = await _read(request, limit_bytes, timeout_s)
    note_body(raw)
    if not raw.strip():
        raise MalformedRequest("A JSON body is required.", reason=Reason.MISSING)
    _check_content_type(request)
    return raw


def _check_content_type(request: web.Request) -> None:
    """Raises ``UnsupportedMediaType`` for a body that is not declared as JSON in UTF-8."""
    if request.headers.get("Content-Type") == "application/json":  # of almost all requests
        return
    kind, charset = "", None
    with contextlib.suppress(Exception):  # of a header that the standard library's parser fails at
        kind, charset = request.content_type, request.charset
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise UnsupportedMediaType(
            "Send the body as Content-Type: application/json.", reason=Reason.INVALID_FORMAT
        )
    if charset is not None and charset.lower() not in ("utf-8", "utf8", "us-ascii"):
        raise UnsupportedMediaType("Send the body in UTF-8.", reason=Reason.INVALID_FORMAT)


async def _read(request: web.Request, limit_bytes: int, timeout_s: float) -> bytes:
    """The request's body, unpacked. Raises ``MalformedRequest`` (400, 408 or 413)."""
    too_large = BodyTooLarge(f"The body is over {limit_bytes} bytes.", reason=Reason.OUT_OF_RANGE)
    if (request.content_length or 0) > limit_bytes:
        raise too_large
    if not request.can_read_body:
        return b""
    raw = bytearray()
    try:
        content = request.content
        if content.is_eof() and content.exception() is None:  # it came with the headers
            raw += content.read_nowait()
            if len(raw) > limit_bytes:
                raise too_large
            return bytes(raw)
        # aiohttp has no deadline for a body: a slow one kept its connection open for minutes (measured)
        async with asyncio.timeout(timeout_s):
            while chunk := await request.content.readany():
                raw += chunk
                if len(raw) > limit_bytes:
                    raise too_large
    except TimeoutError:
        raise BodyTimeout("The body did not arrive in time.", retryable=True) from None
    except (RequestPayloadError, HttpProcessingError, ValueError, web.HTTPException):
        raise MalformedRequest("The body cannot be read.", reason=Reason.INVALID_FORMAT) from None
    return bytes(raw)
