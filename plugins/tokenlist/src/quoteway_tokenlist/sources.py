"""The sources of lists: a file, or a URL requested with its ETag."""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import aiohttp
from quoteway import SharedDocument
from yarl import URL

from quoteway_tokenlist.document import ListError, TokenList, parse_list
from quoteway_tokenlist.fetch import Limits, fetch


class ListSource(ABC):
    """One list and its last good content. ``label`` names it in logs, without path or query."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.current: TokenList | None = None
        self._etag: str | None = None

    async def refresh(self) -> bool:
        """Reads the list and returns whether it changed. Raises ``ListError`` and keeps ``current`` then."""
        found = await self._read(self._etag)
        if found is None:
            return False
        body, etag = found
        changed = await self._use(body)
        self._etag = etag
        return changed

    async def _use(self, body: bytes) -> bool:
        # Files and many servers have no ETag.
        changed = self.current is None or hashlib.sha256(body).hexdigest() != self.current.digest
        if changed:
            # 10,000 entries with checksums take a tenth of a second, so they are parsed in a thread.
            self.current = await asyncio.to_thread(parse_list, body)
        return changed

    @abstractmethod
    def retry_s(self, failures: int) -> float:
        """Returns the seconds to wait after this many failures in a row."""

    @abstractmethod
    async def _read(self, etag: str | None) -> tuple[bytes, str | None] | None:
        """Returns the document and its ETag, if any; None when it has not changed since ``etag``."""


class FileSource(ListSource):
    """A list in a file. A missing file is retried soon: it may just be written."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        super().__init__(f"file {path.name}")
        self._path = path
        self._max_bytes = max_bytes

    def retry_s(self, failures: int) -> float:
        return float(min(failures, 30))

    async def _read(self, etag: str | None) -> tuple[bytes, str | None] | None:
        return await asyncio.to_thread(self._read_file), None

    def _read_file(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                body = file.read(self._max_bytes + 1)
        except (OSError, ValueError) as error:
            raise ListError(f"it cannot be read ({type(error).__name__})") from error
        if len(body) > self._max_bytes:
            raise ListError(f"it is larger than {self._max_bytes} bytes")
        return body


class UrlSource(ListSource):
    """A list at an http(s) URL. ``session`` returns the HTTP session once the server runs.

    Replicas share the list (``document``): one of them fetches it for all.
    """

    def __init__(
        self,
        url: URL,
        limits: Limits,
        session: Callable[[], aiohttp.ClientSession],
        document: SharedDocument | None = None,
    ) -> None:
        super().__init__(f"list of {url.host}")
        self._url = url
        self._limits = limits
        self._session = session
        self._document = document or SharedDocument(None, (), 1.0)
        self._body: bytes | None = None

    def retry_s(self, failures: int) -> float:
        return float(min(2 ** min(failures, 12), 3600))

    async def refresh(self) -> bool:
        """As ``ListSource.refresh``. Other replicas are given what could be read."""
        taken = await self._document.take()
        if taken is not None and len(taken[0]) <= self._limits.max_bytes:
            return await self._take(taken[0])
        try:
            changed = await super().refresh()
        except BaseException:
            self._document.refuse()
            raise
        if self._body is not None:
            self._document.give(self._body)
        return changed

    async def _take(self, body: bytes) -> bool:
        if body == self._body:
            return False
        try:
            changed = await self._use(body)
        except BaseException:
            self._document.refuse()
            raise
        self._etag = None  # it is of another answer
        return changed

    async def _use(self, body: bytes) -> bool:
        changed = await super()._use(body)
        # Other replicas are given it again while its host says that it has not changed.
        self._body = body if self._document.is_shared else None
        return changed

    async def _read(self, etag: str | None) -> tuple[bytes, str | None] | None:
        fetched = await fetch(self._session(), self._url, self._limits, etag=etag)
        return None if fetched.body is None else (fetched.body, fetched.etag)
