"""The site of one plugin: its page at ``/`` for browsers, its files below ``/site/``, its docs at ``/docs/``.

All files are read at the first request and kept. A path is looked up among them and never opened, so that no
path leads out of the folder.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
import logging
import mimetypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from quoteway.engine.gateway import Gateway
from quoteway.models import Site
from quoteway.web.http.compression import MIN_BYTES, coding_of, tag_of

log = logging.getLogger("quoteway.web")

INDEX = "index.html"
DOCS = "docs"
NOBODY = "'none'"
EMBEDDED_SITE = "console"
"""Plugin whose site the embedded default shows where it is installed."""
MOST_BYTES = 32 << 20
"""The most that the files of a site may have together."""
_A_YEAR_S = 31_536_000
_TYPES = {".js": "text/javascript", ".svg": "image/svg+xml", ".webmanifest": "application/manifest+json"}
"""Types that a machine's own table may have otherwise."""


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file with its headers. ``packed`` is its body with gzip; None where that is not shorter."""

    body: bytes
    packed: bytes | None
    headers: Mapping[str, str]


def read_files(site: Site, headers: Mapping[str, str]) -> dict[str, SiteFile]:
    """Returns the files of a site by their path in its folder. Links are left out.

    Raises ``ValueError`` when they have more than ``MOST_BYTES`` together.
    """
    found, left = {}, MOST_BYTES
    for folder, _, names in os.walk(site.folder):
        for path in (Path(folder, name) for name in names):
            if path.is_symlink() or not path.is_file():
                continue
            left -= path.stat().st_size
            if left < 0:
                raise ValueError(f"its site has more than {MOST_BYTES} bytes")
            name = path.relative_to(site.folder).as_posix()
            kept = f"public, max-age={_A_YEAR_S}, immutable"
            caching = kept if name.startswith(f"{site.hashed}/") else "no-cache"
            found[name] = _read(path, {**headers, "Cache-Control": caching})
    return found


def _read(path: Path, headers: Mapping[str, str]) -> SiteFile:
    body = path.read_bytes()
    packed = gzip.compress(body, mtime=0) if len(body) >= MIN_BYTES else body
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    own = {
        "Content-Type": f"{kind}; charset=utf-8" if kind.startswith("text/") else kind,
        "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
    }
    return SiteFile(body, packed if len(packed) < len(body) else None, {**headers, **own})


def content_policy(frame_ancestors: Sequence[str]) -> str:
    """Returns the ``Content-Security-Policy`` of a site: nothing inline, nothing of another origin."""
    own = ("script-src", "style-src", "img-src", "font-src", "connect-src", "manifest-src")
    return "; ".join(
        (
            f"default-src {NOBODY}",
            *(f"{each} 'self'" for each in own),
            f"base-uri {NOBODY}",
            f"form-action {NOBODY}",
            f"frame-ancestors {' '.join(frame_ancestors or (NOBODY,))}",
            "require-trusted-types-for 'script'",
            f"trusted-types {NOBODY}",
        )
    )


class SiteFiles:
    """The files of the plugin that the configuration names, once its plugins are loaded."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        embedded = EMBEDDED_SITE if gateway.config.embedded else None
        self._named = gateway.config.server.site or embedded
        self._headers = {
            "Content-Security-Policy": content_policy(gateway.config.server.site_frame_ancestors),
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
        }
        self._files: dict[str, SiteFile] = {}
        self._reading = asyncio.Lock()

    @functools.cached_property
    def _site(self) -> Site | str | None:
        """The site; a sentence that says why there is none; None when no plugin is to have one."""
        plugins = self._gateway.registry.plugins
        entry = next((entry for entry in plugins if entry.name == self._named), None)
        if entry is None:
            return None
        for _, site in plugins.ask("quoteway_site", only=[entry]):
            if isinstance(site, Site):
                return site
        if entry.reason is None:
            log.error(
                "plugin %r has no site: server.site must name a plugin with `quoteway_site`", entry.name
            )
            return f"Plugin {entry.name!r} has no site: name another plugin in server.site."
        return f"Plugin {entry.name!r}, which has the site, is not enabled: {entry.reason}."

    async def _found(self) -> Mapping[str, SiteFile] | str | None:
        """Returns the files, with an index; else the sentence or None as ``_site``."""
        if INDEX in self._files:
            return self._files
        site = self._site if self._gateway.registry.plugins.loaded else None
        if not isinstance(site, Site):
            return site
        async with self._reading:
            try:
                # Again until there is an index: what is built while the server runs is found.
                self._files = await asyncio.to_thread(read_files, site, self._headers)
            except (OSError, ValueError) as error:
                log.error("the site of plugin %r cannot be read: %s", self._named, error)
                return f"The site of plugin {self._named!r} cannot be read: the log says why."
        return self._files if INDEX in self._files else site.missing

    async def page(self, request: web.Request) -> web.Response | None:
        """Returns the page at ``/``; None when there is none for this request."""
        if "text/html" not in request.headers.get("Accept", ""):
            return None
        found = await self._found()
        if found is None:
            return None
        if isinstance(found, str):
            text = f"{found} The API works without it: /v2/openapi.json describes it.\n"
            headers = {**self._headers, "Cache-Control": "no-store", "Vary": "Accept"}
            return web.Response(text=text, status=503, headers=headers)
        return _answer(request, found[INDEX], "Accept, Accept-Encoding")

    async def file(self, request: web.Request) -> web.StreamResponse:
        """Answers with a file of the site."""
        return await self._send(request, request.match_info["file"] or INDEX)

    async def docs(self, request: web.Request) -> web.StreamResponse:
        """Answers with a page of the documentation, which is in the site's folder ``docs``."""
        name = request.match_info["file"]
        return await self._send(request, f"{DOCS}/{name}{INDEX if not name or name[-1] == '/' else ''}")

    async def to_docs(self, request: web.Request) -> web.StreamResponse:
        """Leads to the address of the documentation where the site has it: its links begin there."""
        found = await self._found()
        if not isinstance(found, Mapping) or f"{DOCS}/{INDEX}" not in found:
            raise web.HTTPNotFound
        headers = {**self._headers, "Location": f"/{DOCS}/", "Cache-Control": "no-cache"}
        return web.Response(status=308, headers=headers)

    async def _send(self, request: web.Request, name: str) -> web.StreamResponse:
        found = await self._found()
        file = found.get(name) if isinstance(found, Mapping) else None
        if file is None:
            raise web.HTTPNotFound
        return _answer(request, file, "Accept-Encoding")


def _answer(request: web.Request, found: SiteFile, vary: str) -> web.Response:
    accepted = request.headers.get("Accept-Encoding")
    is_packed = found.packed is not None and coding_of(accepted, len(found.body)) == "gzip"
    headers = {**found.headers, "Vary": vary}
    etag = headers["ETag"] = tag_of(headers["ETag"], "gzip" if is_packed else None)
    if any(tag.value in ("*", etag.strip('"')) for tag in request.if_none_match or ()):
        del headers["Content-Type"]
        return web.Response(status=304, headers=headers)
    if found.packed is not None and is_packed:
        return web.Response(body=found.packed, headers={**headers, "Content-Encoding": "gzip"})
    return web.Response(body=found.body, headers=headers)


def site_routes(gateway: Gateway, root: Handler) -> list[web.RouteDef]:
    """``/``, which ``root`` answers where a page is not asked for, the files below ``/site/``, and those of
    the documentation below ``/docs/``.
    """
    files = SiteFiles(gateway)

    async def show(request: web.Request) -> web.StreamResponse:
        page = await files.page(request)
        if page is not None:
            return page
        answer = await root(request)
        answer.headers["Vary"] = "Accept"
        return answer

    routes = [web.get("/", show), web.get("/site/{file:.*}", files.file)]
    return [*routes, web.get("/docs", files.to_docs), web.get("/docs/{file:.*}", files.docs)]
