"""Compressed bodies: gzip or deflate for JSON that is long enough, where the caller takes it.

``docs/decisions/compressed-answers.md`` says which answers, and why that tells nobody a secret.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from aiohttp import web
from multidict import CIMultiDict

MIN_BYTES: Final = 1_024
"""Shorter bodies fit one packet as they are."""
LEVEL: Final = 1
"""100 kB of a list take 0.65 ms and become 22 kB; with zlib's default of 6 it is 2.0 ms and 19 kB."""
_MAX_HEADER_CHARS: Final = 256

_WINDOWS: Final[Mapping[str, int]] = {"gzip": 31, "deflate": 15}
"""zlib's ``wbits`` of each content coding (RFC 9110, 8.4.1), the preferred one first."""


def coding_of(accepted: str | None, size: int) -> str | None:
    """The content coding for a body of ``size`` bytes, by ``Accept-Encoding``; None: as it is."""
    if accepted is None or size < MIN_BYTES or len(accepted) > _MAX_HEADER_CHARS:
        return None
    return _preferred(accepted)


@lru_cache(256)
def _preferred(accepted: str) -> str | None:
    """Of equal weights gzip is taken. Nothing is where the body as it is weighs more (RFC 9110, 12.5.3)."""
    weights: dict[str, float] = {}
    for part in accepted.lower().split(","):
        name, _, parameter = part.partition(";")
        key, _, value = parameter.replace(" ", "").partition("=")
        try:
            weights[name.strip()] = float(value) if key == "q" else 1.0
        except ValueError:
            return None
    anything = weights.get("*", 0.0)
    best = max(_WINDOWS, key=lambda name: weights.get(name, anything))
    weight = weights.get(best, anything)
    return best if 0 < weight <= 1 and weight >= weights.get("identity", 0.0) else None


def compressed(body: bytes, coding: str) -> bytes:
    """The body in a content coding."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, _WINDOWS[coding])
    return packer.compress(body) + packer.flush()


def tag_of(etag: str, coding: str | None) -> str:
    """The strong ETag of the same content in a coding: other bytes need another one (RFC 9110, 8.8.3)."""
    return etag if coding is None else f'{etag[:-1]}-{coding}"'


def compress(request_headers: Mapping[str, str], response: web.Response) -> None:
    """Compresses an answer in place where that is worth it, and tells caches what it depends on."""
    body, headers = response.body, response.headers
    if type(body) is not bytes or "Content-Encoding" in headers or "Vary" in headers:
        return
    if headers.get("Content-Type") != "application/json":
        return
    mark(headers)
    coding = coding_of(request_headers.get("Accept-Encoding"), len(body))
    if coding is not None:
        response.body = compressed(body, coding)
        headers["Content-Encoding"] = coding


def mark(headers: CIMultiDict[str]) -> None:
    """Says that the body depends on what the caller takes."""
    headers["Vary"] = "Accept-Encoding"
