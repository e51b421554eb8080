"""Asks a running server what it tells its operator alone: recordings, and reads of its chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import aiohttp
import orjson

from quoteway.errors import ConfigError

TIMEOUT_S = 60.0


class Operator:
    """The operator of the server at ``url``, with its ``capture_key``; None in the embedded default."""

    def __init__(self, url: str, key: str | None) -> None:
        self.url = url.rstrip("/")
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}

    async def capture(self, request_id: str) -> bytes:
        """Returns the bundle of a request. Raises ``ConfigError`` with what to do."""
        status, body = await self._send("GET", f"/operator/captures/{quote(request_id, safe='')}")
        if status == 404:
            raise ConfigError(
                f"{self.url} has no recording of request {request_id!r}: check the id, and set [server] "
                "capture to how many requests it is to keep"
            )
        return self._sound(status, body)

    async def read(self, chain_id: int, method: str, params: Sequence[Any]) -> Mapping[str, Any] | None:
        """Returns the outcome of a read as a recording has it; None when it cannot be had.

        Raises ``ConfigError`` when the server does not answer.
        """
        asked = {"chainId": chain_id, "method": method, "params": list(params)}
        status, body = await self._send("POST", "/operator/reads", asked)
        outcome = orjson.loads(body) if status == 200 and body is not None else None
        return outcome if isinstance(outcome, dict) and ("result" in outcome or "error" in outcome) else None

    async def _send(self, method: str, path: str, body: Any = None) -> tuple[int, bytes | None]:
        """Returns status and body; the body is None where it is no JSON."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, headers=self._headers) as session,
                session.request(method, self.url + path, json=body, allow_redirects=False) as response,
            ):
                text = await response.read()
                return response.status, text if response.content_type == "application/json" else None
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise ConfigError(
                f"{self.url} does not answer ({type(error).__name__}): start it, or give --url"
            ) from None

    def _sound(self, status: int, body: bytes | None) -> bytes:
        if status == 200 and body is not None:
            return body
        if status == 401:
            raise ConfigError(
                f"{self.url} refuses the key: set [server] capture_key as the server has it, or --config"
            )
        raise ConfigError(f"{self.url} answered {status}: it is no Quoteway server that keeps recordings")
