"""Rendered answers kept as bytes, with strong ETags: a kept one costs a look-up and nothing is parsed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web
from cachetools import LRUCache
from multidict import CIMultiDict

from quoteway.evm.single_flight import SingleFlight
from quoteway.web.http.compression import MAX_KEPT, Kept, coding_of, content_of, kept_compressed, mark, tag_of

if TYPE_CHECKING:
    from quoteway.web.http.operation import Call, Operation

ALWAYS: Mapping[str, str] = {"Server": "quoteway", "X-Content-Type-Options": "nosniff"}
"""The headers of every answer."""

MAX_AGE_S = 5
"""How long a rendered list is served again: about half a block of the usual chain."""


@dataclass(slots=True)
class CatalogCache:
    """Rendered lists by the registry's revision, and path and query.

    ``public`` False keeps the answers out of the caches of proxies, which would give them to anybody.
    """

    entries: LRUCache[tuple[int, str], Rendered] = field(default_factory=lambda: LRUCache(512))
    changed: LRUCache[str, tuple[bytes, int]] = field(default_factory=lambda: LRUCache(512))
    """By path and query of a list that is not kept: a digest of its rows, and since when they are so."""
    compressed: Kept = field(default_factory=lambda: LRUCache(MAX_KEPT))
    """Kept bodies by themselves and their content coding."""
    flights: SingleFlight = field(default_factory=SingleFlight)
    public: bool = True

    def get(self, path: str, revision: int, now: float) -> Rendered | None:
        found = self.entries.get((revision, path))
        return found if found is not None and found.expires > now else None


@dataclass(frozen=True, slots=True)
class Rendered:
    """One answer, kept as bytes."""

    operation: Operation
    expires: float
    body: bytes
    headers: CIMultiDict[str]


CACHE: web.AppKey[CatalogCache] = web.AppKey("catalog_cache", CatalogCache)


def keep(call: Call, revision: int, body: bytes) -> web.Response:
    """Keeps an answer for its path and query, and answers with it. ``revision`` is from before rendering."""
    rendered = _rendered(call, body, f"max-age={MAX_AGE_S}")
    cache = call.request.app[CACHE]
    cache.entries[revision, call.request.raw_path] = rendered
    return respond(call.request, rendered, cache)


def revalidated(call: Call, body: bytes) -> web.Response:
    """Answers with what was made for this request alone. Caches may keep it, but ask each time."""
    return respond(call.request, _rendered(call, body, "no-cache"), call.request.app[CACHE])


def changed_at(call: Call, rows: bytes, now: int) -> int:
    """Returns since when the rows of this path and query have been the same, Unix seconds."""
    changed, path = call.request.app[CACHE].changed, call.request.raw_path
    digest = hashlib.sha256(rows).digest()
    if path not in changed or changed[path][0] != digest:
        changed[path] = digest, now
    return int(changed[path][1])


def _rendered(call: Call, body: bytes, caching: str) -> Rendered:
    headers = CIMultiDict(
        {
            **ALWAYS,
            "Content-Type": "application/json",
            "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
            "Cache-Control": f"{'public' if call.request.app[CACHE].public else 'private'}, {caching}",
        }
    )
    mark(headers)
    return Rendered(call.operation, time.monotonic() + MAX_AGE_S, body, headers)


def respond(request: web.Request, rendered: Rendered, cache: CatalogCache) -> web.Response:
    """The kept bytes, compressed where the caller takes that, or 304 when the caller has them."""
    headers = CIMultiDict(rendered.headers)
    coding = coding_of(request.headers.get("Accept-Encoding"), len(rendered.body))
    headers["ETag"] = tag_of(rendered.headers["ETag"], coding)
    own = rendered.headers["ETag"].strip('"')
    # RFC 9110, 13.1.2: weak comparison, a list, or ``*``
    if any(tag.value == "*" or content_of(tag.value) == own for tag in request.if_none_match or ()):
        del headers["Content-Type"]
        return web.Response(status=304, headers=headers)
    if coding is None:
        return web.Response(body=rendered.body, headers=headers)
    headers["Content-Encoding"] = coding
    return web.Response(body=kept_compressed(cache.compressed, rendered.body, coding), headers=headers)
