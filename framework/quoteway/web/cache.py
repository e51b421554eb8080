"""Rendered answers kept as bytes, with strong ETags: a kept one costs a look-up and nothing is parsed."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web
from multidict import CIMultiDict

from quoteway.evm.single_flight import SingleFlight

ALWAYS: Mapping[str, str] = {"Server": "quoteway", "X-Content-Type-Options": "nosniff"}
"""The headers of every answer."""

MAX_AGE_S = 5
"""How long a rendered list is served again: about half a block of the usual chain."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """One answer, kept as bytes."""

    revision: int
    expires: float
    body: bytes
    headers: CIMultiDict[str]


@dataclass(slots=True)
class CatalogCache:
    """Rendered lists by path and query. The least recently used go first; a query's text is bounded by the
    line.
    """

    entries: OrderedDict[str, Rendered] = field(default_factory=OrderedDict)
    flights: SingleFlight = field(default_factory=SingleFlight)
    capacity: int = 512

    def get(self, key: str, revision: int, now: float) -> Rendered | None:
        found = self.entries.get(key)
        if found is None or found.revision != revision or found.expires <= now:
            return None
        return found

    def put(self, key: str, rendered: Rendered) -> None:
        self.entries[key] = rendered
        self.entries.move_to_end(key)
        while len(self.entries) > self.capacity:
            self.entries.popitem(last=False)


CACHE: web.AppKey[CatalogCache] = web.AppKey("catalog_cache", CatalogCache)


def kept_answers(
    cache: CatalogCache, revision: Callable[[], int]
) -> Callable[[web.Request, float], web.Response | None]:
    """Answers from the kept bytes of a request's very path and query; the time is ``time.monotonic``'s.

    Nothing is parsed; None when nothing good is kept.
    """

    def answer(request: web.Request, now: float) -> web.Response | None:
        rendered = cache.get(request.raw_path, revision(), now)
        return None if rendered is None else _respond(request, rendered)

    return answer


def keep(request: web.Request, revision: int, body: bytes) -> web.Response:
    """Keeps a rendered answer for its path and query, and answers with it."""
    headers = CIMultiDict(
        {
            **ALWAYS,
            "Content-Type": "application/json",
            "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
            "Cache-Control": f"public, max-age={MAX_AGE_S}",
        }
    )
    expires = time.monotonic() + MAX_AGE_S
    rendered = Rendered(revision, expires, body, headers)
    request.app[CACHE].put(request.raw_path, rendered)
    return _respond(request, rendered)


def _respond(request: web.Request, rendered: Rendered) -> web.Response:
    asked = request.headers.get("If-None-Match")
    headers = CIMultiDict(rendered.headers)
    if asked is not None and _matches(asked, rendered.headers["ETag"]):
        del headers["Content-Type"]
        return web.Response(status=304, headers=headers)
    return web.Response(body=rendered.body, headers=headers)


def _matches(asked: str, etag: str) -> bool:
    """RFC 9110, 13.1.2: weak comparison, a list, or ``*``."""
    return asked.strip() == "*" or etag in {tag.strip().removeprefix("W/") for tag in asked.split(",")}
