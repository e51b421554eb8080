"""Answers that never change, in a Valkey or Redis that replicas share.

The store is a help and never needed: one that fails, hangs or is gone costs a short wait at most and is then
left alone for a while. Reads of the core do not use it, so that whoever can write to it changes no quote.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Callable
from typing import Any

import orjson
from quoteway import ConfigError

TIMEOUT_S = 0.1
"""How long a call waits for the store."""
REST_S = 10.0
"""How long a store that failed is left alone."""
_KEPT_S = 7 * 86_400
_MAX_WRITES = 64
_PREFIX = b"quoteway:rpc:1:"
_DIGEST_BYTES = 16


class Store:
    """Bytes of answers by the key of their call. The prefix holds the version of the format."""

    def __init__(
        self,
        client: Any,
        log: logging.LoggerAdapter[logging.Logger] | logging.Logger,
        clock: Callable[[], float],
    ) -> None:
        self._client = client
        self._log = log
        self._clock = clock
        self._rests_until = float("-inf")
        self._failed = False
        self._writes: set[asyncio.Task[None]] = set()

    async def get(self, key: bytes) -> bytes | None:
        """Returns the JSON of an answer; None when there is none, it is damaged, or the store fails."""
        if self._clock() < self._rests_until:
            return None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                value = await self._client.get(_name(key))
        except Exception as error:  # isolation border: the store is not needed
            self._fails(error)
            return None
        self._works()
        return None if value is None else _opened(key, value)

    def put(self, key: bytes, body: bytes) -> None:
        """Writes an answer in the background. It is left out while many others are being written."""
        if self._clock() < self._rests_until or len(self._writes) >= _MAX_WRITES:
            return
        task = asyncio.create_task(self._write(key, body), name="write to the cache's store")
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _write(self, key: bytes, body: bytes) -> None:
        try:
            async with asyncio.timeout(10 * TIMEOUT_S):
                await self._client.set(_name(key), _digest(key, body) + body, ex=_KEPT_S)
        except Exception as error:  # isolation border: the store is not needed
            self._fails(error)

    def _fails(self, error: Exception) -> None:
        self._rests_until = self._clock() + REST_S
        if not self._failed:
            # Its text may hold the URL: only the type is told.
            self._log.warning("the store of the RPC cache fails, it is not used: %s", type(error).__name__)
        self._failed = True

    def _works(self) -> None:
        if self._failed:
            self._log.warning("the store of the RPC cache works again")
        self._failed = False

    async def close(self) -> None:
        """Waits shortly for what is being written, and closes the connections."""
        if self._writes:
            await asyncio.wait(self._writes, timeout=TIMEOUT_S)
        with contextlib.suppress(Exception):
            await self._client.aclose()


def open_store(
    url: str, log: logging.LoggerAdapter[logging.Logger] | logging.Logger, clock: Callable[[], float]
) -> Store:
    """Returns the store at a ``valkey://`` or ``redis://`` URL, not connected yet."""
    try:
        from valkey import asyncio as valkey
    except ImportError:
        raise ConfigError(
            "plugin.rpc.cache_store names a Valkey or Redis server, and its client is not installed: "
            "pip install 'quoteway-rpc[valkey]'"
        ) from None
    scheme, _, rest = url.partition("://")
    try:
        # Redis and Valkey speak one protocol.
        client = valkey.Valkey.from_url(
            f"{scheme.replace('redis', 'valkey')}://{rest}",
            socket_timeout=10 * TIMEOUT_S,
            socket_connect_timeout=10 * TIMEOUT_S,
            # The client's own default compares no host names.
            **({"ssl_check_hostname": True} if scheme in ("rediss", "valkeys") else {}),
        )
    except ValueError:
        # Without its text, which may quote the URL.
        raise ConfigError("plugin.rpc.cache_store: expected a valkey:// or redis:// URL") from None
    return Store(client, log, clock)


def _name(key: bytes) -> bytes:
    return _PREFIX + key


def _digest(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(key + b"\0" + body, digest_size=_DIGEST_BYTES).digest()


def _opened(key: bytes, value: Any) -> bytes | None:
    if not isinstance(value, bytes) or len(value) <= _DIGEST_BYTES:
        return None
    digest, body = value[:_DIGEST_BYTES], value[_DIGEST_BYTES:]
    if digest != _digest(key, body):
        return None
    try:
        answer = orjson.loads(body)
    except ValueError:
        return None
    return None if answer is None else body
