"""The server of ``[shared]``: commands with a time limit, rests after failures, and signed values."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

log = logging.getLogger("quoteway.host.shared_server")

T = TypeVar("T")
FIRST_REST_S: Final = 1.0
LONGEST_REST_S: Final = 10.0
MOST_VALUE_BYTES: Final = 4 << 20
"""The longest value, before it is compressed."""
COMPRESSED_FROM_BYTES: Final = 4_096
_MAC_BYTES: Final = 16
_PLAIN, _DEFLATED = b"=", b"~"
_PERSON: Final = b"quoteway shared"


class Unreachable(Exception):  # noqa: N818 - an outcome that callers expect
    """The server did not answer, or is left alone because it did not a moment ago."""


class SharedServer:
    """Connections to the server. ``head_events`` are counted by network, ``answer_results`` by plugin.

    A server that fails is left alone for ``FIRST_REST_S``, and for twice the time after each further failure,
    up to ``LONGEST_REST_S``. ``failures`` counts them.
    """

    def __init__(
        self,
        client: Any,
        prefix: str,
        secrets: Sequence[bytes],
        *,
        timeout_s: float,
        wait_s: float = 0.5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client = client
        self.prefix = prefix
        self.wait_s = wait_s
        self.clock = clock
        self.failures = 0
        self.head_events: Counter[tuple[str, str]] = Counter()
        self.answer_results: Counter[tuple[str, str]] = Counter()
        self._keys = [hashlib.blake2b(secret, person=_PERSON, digest_size=32).digest() for secret in secrets]
        self._timeout_s = timeout_s
        self._rests_until = float("-inf")
        self._rest_s = FIRST_REST_S

    @property
    def rests(self) -> bool:
        """Returns whether the server is left alone now."""
        return self.clock() < self._rests_until

    async def run(self, command: Callable[[Any], Awaitable[T]]) -> T:
        """Returns what ``command(client)`` does. Raises ``Unreachable``."""
        if self.rests:
            raise Unreachable
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await command(self.client)
        except Exception as error:  # isolation border: the client has exceptions of its own
            self.failed(error)
            raise Unreachable from None
        if self._rest_s > FIRST_REST_S:
            log.warning("the server of [shared] answers again")
        self._rest_s = FIRST_REST_S
        return answer

    def failed(self, error: Exception) -> None:
        """Notes that the server did not answer, and leaves it alone for a while."""
        self.failures += 1
        if self.rests:  # of those that were under way together, the first one counts
            return
        if self._rest_s == FIRST_REST_S:
            # Its text may hold the URL: only the type is told.
            told = type(error).__name__
            log.warning("the server of [shared] does not answer, this process reads for itself: %s", told)
        self._rests_until = self.clock() + self._rest_s
        self._rest_s = min(2 * self._rest_s, LONGEST_REST_S)

    # --- values ---------------------------------------------------------------------------------------------

    def sealed(self, name: bytes, body: bytes) -> bytes:
        """Returns a value for ``name``, signed and, when it is long, compressed."""
        deflated = zlib.compress(body, 1) if len(body) >= COMPRESSED_FROM_BYTES else b""
        marked = _DEFLATED + deflated if deflated and len(deflated) < len(body) else _PLAIN + body
        return self._mac(self._keys[0], name, marked) + marked

    def opened(self, name: bytes, value: Any) -> bytes | None:
        """Returns the body of a value; None for what no replica with one of the keys wrote for ``name``."""
        if not isinstance(value, bytes) or len(value) <= _MAC_BYTES:
            return None
        mac, marked = value[:_MAC_BYTES], value[_MAC_BYTES:]
        if not any(hmac.compare_digest(mac, self._mac(key, name, marked)) for key in self._keys):
            return None
        if marked[:1] == _PLAIN:
            return marked[1:]
        inflating = zlib.decompressobj()
        try:
            body = inflating.decompress(marked[1:], MOST_VALUE_BYTES)
        except zlib.error:
            return None
        return body if inflating.eof else None

    @staticmethod
    def _mac(key: bytes, name: bytes, marked: bytes) -> bytes:
        return hashlib.blake2b(name + b"\0" + marked, key=key, digest_size=_MAC_BYTES).digest()
