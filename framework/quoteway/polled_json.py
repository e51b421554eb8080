"""A JSON document of an upstream, read again and again in the background and served from memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from quoteway.background import Background
from quoteway.errors import ConfigError, Reason, UpstreamError
from quoteway.shared_answers import SharedAnswers
from quoteway.shared_documents import SharedDocument

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")
MAX_BYTES = 8 * 1024 * 1024
TIMEOUT_S = 10.0
MAX_ETAG_CHARS = 512
STALE_AFTER = 10
"""By default a value is served for so many times ``every_s`` after it was last confirmed."""


class PolledJson(Generic[T]):
    """What ``parse`` made of the document at ``url``, at most ``every_s`` seconds old while it can be read;
    twice that where replicas share it (``shared``), since one of them reads it for all.

    A document that cannot be read or parsed leaves the last good value in place, until that is
    ``most_age_s`` seconds old. The document has at most ``max_bytes`` bytes after decompression, and is
    nested at most 1,024 levels deep (orjson). Redirects are not followed: the operator chose the URL, not
    where it leads. ``parse`` runs in a thread, and raises ``ValueError``, ``KeyError`` or ``TypeError`` for a
    document of another shape. No message or log line has the URL, the headers or the document.
    """

    def __init__(
        self,
        background: Background,
        session: Callable[[], aiohttp.ClientSession],
        url: str,
        every_s: float,
        parse: Callable[[Any], T],
        *,
        headers: Mapping[str, str] | None = None,
        most_age_s: float | None = None,
        max_bytes: int = MAX_BYTES,
        clock: Callable[[], float] = time.monotonic,
        shared: SharedAnswers | None = None,
    ) -> None:
        """Raises ``ConfigError`` for a URL that is not http(s) or holds a user or password."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
            raise ConfigError(
                "a polled document needs an http(s) URL without a user and password: send a key in headers"
            )
        self._background = background
        self._session = session
        self._url = url
        self._parse = parse
        self._headers = {"Accept": "application/json", **(headers or {})}
        self._most_age_s = STALE_AFTER * every_s if most_age_s is None else most_age_s
        self._max_bytes = max_bytes
        self._clock = clock
        place = [url, *(part for header in sorted(self._headers.items()) for part in header)]
        self._document = SharedDocument(shared, place, every_s)
        self._body: bytes | None = None
        self._etag: str | None = None
        self._value: T | None = None
        self._read_at: float | None = None
        self._reading: asyncio.Task[None] | None = None
        self.revision = 0
        """Grows by one with every new document."""
        background.every(every_s, self.refresh)

    @property
    def age_s(self) -> float | None:
        """Returns how long ago the document was last read or found unchanged, in seconds; None: never."""
        return None if self._read_at is None else self._clock() - self._read_at

    @property
    def known(self) -> T | None:
        """Returns the value in memory; None before the first one, and when it is older than allowed."""
        age_s = self.age_s
        return None if age_s is None or age_s > self._most_age_s else self._value

    async def get(self) -> T:
        """Returns the value in memory. Without one, reads the document now, once for all who wait.

        Raises ``UpstreamError`` when it cannot be read.
        """
        if self.known is None:
            await self.refresh()
        value = self._value
        assert value is not None
        return value

    async def refresh(self) -> None:
        """Reads the document, together with whoever reads it already. Raises ``UpstreamError``."""
        if self._reading is None:
            self._reading = self._background.run(self._read())
            self._reading.add_done_callback(self._end)
        await asyncio.shield(self._reading)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._reading = None
        if not task.cancelled():
            task.exception()

    async def _read(self) -> None:
        taken = await self._document.take()
        if taken is not None and len(taken[0]) <= self._max_bytes:
            body, age_s = taken
            if body != self._body:
                self._etag = None  # it is of another answer
                await self._use(body)
            self._read_at = self._clock() - age_s
            return
        try:
            await self._fetch()
        except BaseException:
            self._document.refuse()
            raise
        if self._body is not None:
            self._document.give(self._body)

    async def _fetch(self) -> None:
        import aiohttp

        try:
            async with asyncio.timeout(TIMEOUT_S):
                body = await self._fetched()
        except TimeoutError:
            why = f"it gave no whole answer within {TIMEOUT_S:g} s"
            raise _failed(why, Reason.PROVIDER_TIMEOUT) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _failed(f"the request failed ({type(error).__name__})") from None
        if body is not None:
            await self._use(body)
        self._read_at = self._clock()

    async def _use(self, body: bytes) -> None:
        try:
            self._value = await asyncio.to_thread(self._parsed, body)
        except BaseException:
            self._document.refuse()
            raise
        self.revision += 1
        # Other replicas are given it again while the upstream says that it has not changed.
        self._body = body if self._document.is_shared else None

    async def _fetched(self) -> bytes | None:
        """Returns the document; None when it has not changed."""
        headers = self._headers if self._etag is None else {**self._headers, "If-None-Match": self._etag}
        async with self._session().get(self._url, headers=headers, allow_redirects=False) as response:
            if response.status == 304 and self._etag is not None:
                return None
            if response.status != 200:
                raise _failed(f"it answered with status {response.status}")
            body = bytearray()
            async for chunk in response.content.iter_chunked(1 << 16):
                body += chunk
                if len(body) > self._max_bytes:
                    raise _failed(f"its document has more than {self._max_bytes} bytes")
            etag = response.headers.get("ETag")
        self._etag = etag if etag and len(etag) <= MAX_ETAG_CHARS else None
        return bytes(body)

    def _parsed(self, body: bytes) -> T:
        import orjson

        try:
            document = orjson.loads(body)
        except ValueError:
            self._etag = None
            raise _failed("its document is no JSON, or nested too deep") from None
        try:
            value = self._parse(document)
            if value is None:
                raise ValueError("nothing")
            return value
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            self._etag = None
            raise _failed(f"its document has another shape ({type(error).__name__})") from None


def _failed(why: str, reason: Reason = Reason.PROVIDER_ERROR) -> UpstreamError:
    return UpstreamError(f"The provider's upstream could not be read: {why}.", reason=reason, retryable=True)
