"""CoinMarketCap's HTTP API with our key: one request at a time, no more in a minute than the plan allows."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import aiohttp
import msgspec
from quoteway import Context, Secret

T = TypeVar("T")

_MINUTE_S = 60.0
_HOLD_S = 3_600.0
"""After a refused key or a used-up plan, which a person has to look after."""
_FIRST_RETRY_S, _LAST_RETRY_S = 5.0, 600.0


class ApiFailed(Exception):  # noqa: N818 - the last good answers stay
    """A request gave nothing. The text is for the operator; ``wait_s`` is when the next one may be made."""

    def __init__(self, text: str, wait_s: float) -> None:
        super().__init__(text)
        self.wait_s = wait_s


class Status(msgspec.Struct):
    """What CoinMarketCap says of a request."""

    error_code: int | str = 0
    credit_count: int = 0


class Envelope(msgspec.Struct, Generic[T]):
    """An answer. ``data`` is missing after an error."""

    status: Status
    data: T | None = None


class CoinMarketCapApi:
    """The API. The key is in a request header only, never in a text made here."""

    def __init__(self, context: Context, clock: Callable[[], float] = time.monotonic) -> None:
        settings = context.settings
        key: Secret = settings["api_key"]
        self._context = context
        self._clock = clock
        self._base_url: str = settings["base_url"].rstrip("/")
        self._refresh_s: float = settings["refresh_s"]
        self._timeout_s: float = settings["timeout_s"]
        self._max_bytes: int = settings["max_response_bytes"]
        self._pause_s = _MINUTE_S / settings["requests_per_minute"]
        self._headers = {"Accept": "application/json", "X-CMC_PRO_API_KEY": key.reveal()}
        self._next_s = 0.0
        self._failures = 0

    async def get(self, path: str, params: Mapping[str, str], kind: type[T]) -> T:
        """Returns ``data`` of an answer, after the pause that the plan asks for. Raises ``ApiFailed``.

        Replicas share answers: one of them asks for all, which costs the plan no more than one alone.
        """
        place = [self._base_url, path, *(part for pair in sorted(params.items()) for part in pair)]
        document = self._context.shared_document([*place, *self._headers.values()], self._refresh_s)
        taken = await document.take()
        if taken is not None:
            with contextlib.suppress(ApiFailed):
                return await self._data(taken[0], kind)
        try:
            body = await self._fetched(path, params)
            data = await self._data(body, kind)
        except BaseException:
            document.refuse()
            raise
        self._failures = 0
        document.give(body)
        return data

    async def _fetched(self, path: str, params: Mapping[str, str]) -> bytes:
        await asyncio.sleep(max(0.0, self._next_s - self._clock()))
        self._next_s = self._clock() + self._pause_s
        try:
            async with asyncio.timeout(self._timeout_s):
                status, headers, body = await self._exchange(path, params)
        except TimeoutError:
            raise self._failed("no answer in time") from None
        except (aiohttp.ClientError, OSError) as error:
            # The exception's text may hold the URL: only its type is kept.
            raise self._failed(type(error).__name__) from None
        if status in (401, 402, 403):
            raise self._failed(f"HTTP {status}: the key or its plan is not accepted", _HOLD_S)
        if status == 429:
            raise self._failed("HTTP 429: the plan's limit is reached", _retry_after_s(headers))
        if status != 200 or body is None:
            text = f"HTTP {status}" if status != 200 else f"its answer is larger than {self._max_bytes} bytes"
            raise self._failed(text)
        return body

    async def _data(self, body: bytes, kind: type[T]) -> T:
        try:
            answer = await asyncio.to_thread(msgspec.json.decode, body, type=Envelope[kind])  # type: ignore[valid-type]
        except (msgspec.MsgspecError, RecursionError):
            raise self._failed("its answer does not follow its documentation") from None
        if str(answer.status.error_code) != "0" or answer.data is None:
            raise self._failed("its answer names an error")
        data: T = answer.data
        return data

    async def _exchange(
        self, path: str, params: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], bytes | None]:
        async with self._context.http.get(
            f"{self._base_url}/{path}", params=params, headers=self._headers, allow_redirects=False
        ) as response:
            body = bytearray()
            if response.status == 200:
                async for chunk in response.content.iter_any():
                    body += chunk
                    if len(body) > self._max_bytes:
                        return 200, response.headers, None
            return response.status, response.headers, bytes(body)

    def _failed(self, text: str, wait_s: float | None = None) -> ApiFailed:
        self._failures += 1
        if wait_s is None:
            wait_s = min(_FIRST_RETRY_S * 2 ** min(self._failures - 1, 10), _LAST_RETRY_S)
        self._next_s = max(self._next_s, self._clock() + wait_s)
        return ApiFailed(text, wait_s)


def _retry_after_s(headers: Mapping[str, str]) -> float:
    """Returns the seconds of ``Retry-After`` (RFC 9110; a date is ignored), or else a minute."""
    text = headers.get("Retry-After", "")
    seconds = int(text) if text.isascii() and text.isdigit() and len(text) < 7 else _MINUTE_S
    return max(1.0, min(float(seconds), _HOLD_S))
