"""LI.FI's HTTP API with our key, a deadline and a size limit; its errors become the gateway's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp
import orjson
from quoteway import Context, Reason, Secret, UpstreamError

from quoteway_lifi.failures import failure_of

_UNREADABLE = "LI.FI's answer cannot be read."
_LONGEST_HOLD_S = 7_200  # LI.FI counts over two hours
_DEFAULT_HOLD_S = 30


class LifiApi:
    """One LI.FI endpoint. The key is in a request header only, never in a text made here."""

    def __init__(self, context: Context) -> None:
        settings = context.settings
        self._context = context
        self._base_url: str = settings["base_url"].rstrip("/")
        self._timeout_s: float = settings["timeout_s"]
        self._max_response_bytes: int = settings["max_response_bytes"]
        key: Secret | None = settings["api_key"]
        self._headers = {"Accept": "application/json"}
        if key is not None:
            self._headers["x-lifi-api-key"] = key.reveal()
        self._held_until = 0
        self._answered: bool | None = None

    @property
    def answering(self) -> bool | None:
        """Whether the last request got an answer; False during the pause after a 429, None before the
        first."""
        return False if self.held else self._answered

    @property
    def held(self) -> bool:
        """Whether requests are paused after a 429."""
        return self._context.now() < self._held_until

    async def get(self, path: str, params: Mapping[str, str]) -> Mapping[str, Any]:
        """Returns the JSON object at ``path``. Raises ``UpstreamError``, within ``timeout_s``.

        After a 429 no caller's request is sent before the time it names.
        """
        if self.held:
            raise failure_of(429, None)
        try:
            async with asyncio.timeout(self._timeout_s):
                status, body = await self._with_retry(path, params)
        except TimeoutError:
            self._answered = False
            raise UpstreamError(
                "LI.FI did not answer in time.", reason=Reason.PROVIDER_TIMEOUT, retryable=True
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            # The exception's text may hold the URL: only its type is kept.
            self._answered = False
            self._log(path, type(error).__name__)
            raise UpstreamError(
                "LI.FI cannot be reached.", reason=Reason.PROVIDER_ERROR, retryable=True
            ) from None
        self._answered = status < 500
        if status != 200:
            if status in (401, 403):
                self._context.log.error("LI.FI does not accept the key in [plugin.lifi] api_key")
            raise failure_of(status, body)
        if not isinstance(body, Mapping):
            raise unreadable()
        return body

    async def _with_retry(self, path: str, params: Mapping[str, str]) -> tuple[int, Any]:
        """Sends a request, and once more when no connection could be made or LI.FI answered 5xx: requests
        change nothing there. aiohttp itself retries when the connection breaks before an answer."""
        try:
            status, body = await self._exchange(path, params)
        except aiohttp.ClientConnectorError as error:
            self._log(path, type(error).__name__)
            return await self._exchange(path, params)
        if status < 500:
            return status, body
        self._log(path, f"http_{status}")
        return await self._exchange(path, params)

    async def _exchange(self, path: str, params: Mapping[str, str]) -> tuple[int, Any]:
        """Returns status and JSON (None when the body is not JSON). Starts the pause after a 429."""
        async with self._context.http.get(
            f"{self._base_url}/{path}", params=params, headers=self._headers, allow_redirects=False
        ) as response:
            if response.status == 429:
                self._hold(response.headers)
                return 429, None
            raw = await self._read(response)
            try:
                return response.status, orjson.loads(raw)
            except orjson.JSONDecodeError:
                return response.status, None

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        chunks, size = [], 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > self._max_response_bytes:
                raise unreadable()
            chunks.append(chunk)
        return b"".join(chunks)

    def _hold(self, headers: Mapping[str, str]) -> None:
        """Starts the pause of ``Retry-After`` (RFC 9110) or ``ratelimit-reset``, in seconds; a date is
        ignored."""
        waits = [headers.get(name, "") for name in ("Retry-After", "ratelimit-reset")]
        seconds = next((int(text) for text in waits if text.isascii() and text.isdigit()), _DEFAULT_HOLD_S)
        seconds = max(1, min(seconds, _LONGEST_HOLD_S))
        self._held_until = max(self._held_until, self._context.now() + seconds)
        self._context.log.warning("LI.FI's rate limit is reached: no request for %d s", seconds)

    def _log(self, path: str, kind: str) -> None:
        self._context.log.warning("LI.FI: %s failed: %s", path, kind)


def unreadable() -> UpstreamError:
    """Returns the error for an answer that does not follow the API's documentation."""
    return UpstreamError(_UNREADABLE, reason=Reason.PROVIDER_ERROR, retryable=True)
