"""Rendered answers kept as bytes, with strong ETags: a kept one costs a look-up and nothing is parsed."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from aiohttp import web
from cachetools import LRUCache, TLRUCache
from multidict import CIMultiDict

from quoteway.caching import compact
from quoteway.evm.single_flight import SingleFlight
from quoteway.web.http.compression import coding_of, compressed, mark, tag_of

if TYPE_CHECKING:
    from quoteway.web.http.operation import Call, Operation

ALWAYS: Mapping[str, str] = {"Server": "quoteway", "X-Content-Type-Options": "nosniff"}
"""The headers of every answer."""

MAX_AGE_S = 5
"""How long a rendered list is served again: about half a block of the usual chain."""
MAX_KEPT_BYTES = 64 << 20
CROWD = 2
"""While more answers than these are made by ``made_once``, those that are kept are sent again."""
MOST_MADE = 4
"""While so many are made, those that are kept are sent without being made anew."""


@dataclass(slots=True)
class CatalogCache:
    """Rendered answers by the registry's revision, and path and query.

    ``public`` False keeps the answers out of the caches of proxies, which would give them to anybody.
    """

    entries: TLRUCache[tuple[int, str], Rendered] = field(
        default_factory=lambda: TLRUCache(
            MAX_KEPT_BYTES,
            lambda _key, rendered, _now: max(rendered.expires, rendered.expires_in_crowd),
            time.monotonic,
            lambda rendered: rendered.size,
        )
    )
    """Those that may not be sent again are dropped: nobody may ever repeat their question."""
    changed: LRUCache[str, tuple[bytes, int]] = field(default_factory=lambda: LRUCache(512))
    """By path and query of a list that is not kept: a digest of its rows, and since when they are so."""
    flights: SingleFlight = field(default_factory=SingleFlight)
    public: bool = True
    making: dict[tuple[int, str], asyncio.Task[Rendered]] = field(default_factory=dict)
    """What is made by ``made_once``, by its key."""
    crowded: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while more than ``CROWD`` answers are made."""
    sent_again: int = 0
    """How many kept answers were sent again, before any route was matched."""
    made: int = 0
    """How many answers were made and kept."""

    def get(self, path: str, revision: int, now: float) -> Rendered | None:
        """Returns the kept answer of a path and query, when it may be served again at ``now``."""
        found = self.entries.get((revision, path))
        if found is None:
            return None
        if now < found.expires or (len(self.making) >= MOST_MADE and now < found.expires_in_crowd):
            self.sent_again += 1
            return found
        return None

    def begin(
        self, key: tuple[int, str], make: Callable[[], Coroutine[Any, Any, Rendered]]
    ) -> asyncio.Task[Rendered]:
        """Returns the task that makes an answer. It goes on when nobody waits for it any more."""
        task = self.making.get(key)
        if task is None:
            task = self.making[key] = asyncio.create_task(make(), name="rendering")
            task.add_done_callback(functools.partial(self._ended, key))
            if len(self.making) > CROWD:
                self.crowded.set()
        return task

    def _ended(self, key: tuple[int, str], task: asyncio.Task[Rendered]) -> None:
        del self.making[key]
        if len(self.making) <= CROWD:
            self.crowded.clear()
        if not task.cancelled() and task.exception() is None and task.result().expires_in_crowd:
            self.add(task.result())

    def add(self, rendered: Rendered) -> None:
        """Keeps an answer that is not longer than all of them may be."""
        if rendered.size <= MAX_KEPT_BYTES:
            self.made += 1
            self.entries[rendered.key] = rendered

    def compressed(self, rendered: Rendered, coding: str) -> bytes:
        """Returns the body in a content coding. It is compressed once, and counts where it is kept."""
        body = rendered.compressed.get(coding)
        if body is None:
            body = rendered.compressed[coding] = compressed(rendered.body, coding)
            if self.entries.get(rendered.key) is rendered:
                del self.entries[rendered.key]
                self.add(rendered)
                self.made -= 1  # it was counted when it was made
        return body

    async def close(self) -> None:
        """Ends what is being made."""
        tasks = list(self.making.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)


@dataclass(frozen=True, slots=True)
class Rendered:
    """One answer, kept as bytes. ``key`` is its place in the cache: a revision, and path and query."""

    operation: Operation
    key: tuple[int, str]
    expires: float
    expires_in_crowd: float
    body: bytes
    headers: CIMultiDict[str]
    compressed: dict[str, bytes] = field(default_factory=dict)
    """The body in the content codings that were asked for."""

    @property
    def size(self) -> int:
        """Returns about how many bytes it takes in memory."""
        return len(self.body) + sum(map(len, self.compressed.values())) + _OVERHEAD_BYTES


_OVERHEAD_BYTES = 2_000
"""The headers of an answer, its path and its place in the cache."""

CACHE: web.AppKey[CatalogCache] = web.AppKey("catalog_cache", CatalogCache)


def keep(call: Call, revision: int, body: bytes) -> web.Response:
    """Keeps an answer for its path and query, and answers with it. ``revision`` is from before rendering."""
    key = revision, call.request.raw_path
    rendered = _rendered(call, key, body, f"max-age={MAX_AGE_S}", MAX_AGE_S, MAX_AGE_S)
    cache = call.request.app[CACHE]
    cache.add(rendered)
    return respond(call.request, rendered, cache)


async def made_once(
    call: Call, make: Callable[[], Coroutine[Any, Any, tuple[bytes, bool]]], old_s: float
) -> web.Response:
    """Answers with what ``make`` makes once for all who ask for the same path and query meanwhile.

    ``make`` returns the body, and whether it may be kept. While more than ``CROWD`` answers are being made,
    one that is at most ``old_s`` old is sent again, and renewed in the background: with little to do all
    callers get the newest, with much to do they do not wait for each other's answers.
    """
    cache, key = call.request.app[CACHE], (call.gateway.registry.revision, call.request.raw_path)

    async def made() -> Rendered:
        body, is_kept = await make()
        made = _rendered(call, key, compact(body), "no-cache", 0, old_s)
        if not is_kept:
            made.headers["Cache-Control"] = "no-store"
            made = replace(made, expires_in_crowd=0.0)
        return made

    old = cache.entries.get(key)
    task = cache.begin(key, made)
    if old is not None and time.monotonic() < old.expires_in_crowd:
        crowd = asyncio.ensure_future(cache.crowded.wait())
        try:
            await asyncio.wait((task, crowd), return_when=asyncio.FIRST_COMPLETED)
        finally:
            crowd.cancel()
        if not task.done():
            return respond(call.request, old, cache)
    return respond(call.request, await asyncio.shield(task), cache)


def revalidated(call: Call, body: bytes) -> web.Response:
    """Answers with what was made for this request alone. Caches may keep it, but ask each time."""
    key = call.gateway.registry.revision, call.request.raw_path
    return respond(call.request, _rendered(call, key, body, "no-cache", 0, 0), call.request.app[CACHE])


def changed_at(call: Call, rows: bytes, now: int, variant: str) -> int:
    """Returns since when the rows of this path and query have been the same for the callers of ``variant``,
    Unix seconds.
    """
    changed, path = call.request.app[CACHE].changed, f"{call.request.raw_path} {variant}"
    digest = hashlib.sha256(rows).digest()
    if path not in changed or changed[path][0] != digest:
        changed[path] = digest, now
    return int(changed[path][1])


def _rendered(
    call: Call, key: tuple[int, str], body: bytes, caching: str, fresh_s: float, old_s: float
) -> Rendered:
    headers = CIMultiDict(
        {
            **ALWAYS,
            "Content-Type": "application/json",
            "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
            "Cache-Control": f"{'public' if call.request.app[CACHE].public else 'private'}, {caching}",
        }
    )
    mark(headers)
    now = time.monotonic()
    return Rendered(call.operation, key, now + fresh_s, now + old_s, body, headers)


def respond(request: web.Request, rendered: Rendered, cache: CatalogCache) -> web.Response:
    """The kept bytes, compressed where the caller takes that, or 304 when the caller has them."""
    headers = CIMultiDict(rendered.headers)
    coding = coding_of(request.headers.get("Accept-Encoding"), len(rendered.body))
    etag = headers["ETag"] = tag_of(rendered.headers["ETag"], coding)
    # RFC 9110, 13.1.2: weak comparison, a list, or ``*``
    if any(tag.value in ("*", etag.strip('"')) for tag in request.if_none_match or ()):
        del headers["Content-Type"]
        return web.Response(status=304, headers=headers)
    if coding is None:
        return web.Response(body=rendered.body, headers=headers)
    headers["Content-Encoding"] = coding
    return web.Response(body=cache.compressed(rendered, coding), headers=headers)
