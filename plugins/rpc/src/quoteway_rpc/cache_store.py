"""Answers that never change, in a Valkey or Redis that replicas share.

The store is a help and never needed: one that fails, hangs or is gone costs a short wait at most and is then
left alone until it answers in the background. Reads of the core do not use it, so that whoever can write to
it changes no quote.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any

import orjson
from quoteway import ConfigError, DoctorCheck, StoreRest, ask_store, store_client

TIMEOUT_S = 0.1
"""How long a call waits for the store."""
_CONNECT_S = 1.0
"""How long a write may take, and a look at a store that failed: both may connect to it first, by TLS."""
_KEPT_S = 7 * 86_400
_MAX_WRITES = 64
_SETTING = "plugin.rpc.cache_store"
_PREFIX = b"quoteway:rpc:1:"
_DIGEST_BYTES = 16


class Store:
    """Bytes of answers by the key of their call. The prefix holds the version of the format."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.rest = StoreRest(
            client.ping, what="The store of the RPC cache", meanwhile="it is not used", answer_s=_CONNECT_S
        )
        self._writes: set[asyncio.Task[None]] = set()

    async def get(self, key: bytes) -> bytes | None:
        """Returns the JSON of an answer; None when there is none, it is damaged, or the store fails."""
        if self.rest.rests:
            return None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                value = await self._client.get(_name(key))
        except Exception as error:  # isolation border: the store is not needed
            self.rest.failed(error)
            return None
        self.rest.worked()
        return None if value is None else _opened(key, value)

    def put(self, key: bytes, body: bytes) -> None:
        """Writes an answer in the background. It is left out while many others are being written."""
        if self.rest.rests or len(self._writes) >= _MAX_WRITES:
            return
        task = asyncio.create_task(self._write(key, body), name="write to the cache's store")
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _write(self, key: bytes, body: bytes) -> None:
        try:
            async with asyncio.timeout(_CONNECT_S):
                await self._client.set(_name(key), _digest(key, body) + body, ex=_KEPT_S)
        except Exception as error:  # isolation border: the store is not needed
            self.rest.failed(error)

    async def close(self) -> None:
        """Waits shortly for what is being written, and closes the connections."""
        if self._writes:
            await asyncio.wait(self._writes, timeout=TIMEOUT_S)
        await self.rest.close()
        with contextlib.suppress(Exception):
            await self._client.aclose()


def open_store(url: str) -> Store:
    """Returns the store at a URL as ``quoteway.store_client`` takes them, not connected yet.

    Raises ``ConfigError`` without the client's package, and for options or files that cannot be used.
    """
    with _client_installed():
        return Store(store_client(url, _SETTING, timeout_s=_CONNECT_S))


def cache_check(url: str) -> DoctorCheck:
    """Returns what ``quoteway doctor`` asks of the store at a URL."""

    async def ask() -> str:
        with _client_installed():
            return await ask_store(url, _SETTING)

    return DoctorCheck("cache_store", ask, "replicas do not share what they answer clients")


@contextlib.contextmanager
def _client_installed() -> Iterator[None]:
    try:
        yield
    except ImportError:
        raise ConfigError(
            f"{_SETTING} names a Valkey or Redis server, and its client is not installed: "
            "pip install 'quoteway-rpc[valkey]'"
        ) from None


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
