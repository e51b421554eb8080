"""The server of ``[shared]``: commands with a time limit, rests after failures, and signed values."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from quoteway.store_rest import StoreRest

T = TypeVar("T")
QUICK_PART: Final = 5
"""A server is slow whose answers take more than this part of the time limit. One that was left alone is used
again when it answers within it."""
MOST_VALUE_BYTES: Final = 4 << 20
"""The longest value, before it is compressed."""
COMPRESSED_FROM_BYTES: Final = 4_096
_MAC_BYTES: Final = 16
_TIME_BYTES: Final = 8
_SEALED: Final = b"!"
"""The first byte of a value. A signature may begin with any byte, also with that of another kind of value."""
_HEAD_BYTES: Final = 1 + _MAC_BYTES + _TIME_BYTES
MOST_STORED_BYTES: Final = MOST_VALUE_BYTES + _HEAD_BYTES + 1
CLOCKS_DIFFER_S: Final = 5.0
"""How long a value is believed after its end: the clocks of replicas differ a little."""
_PLAIN, _DEFLATED = b"=", b"~"
_PERSON: Final = b"quoteway shared"


class Unreachable(Exception):  # noqa: N818 - an outcome that callers expect
    """The server did not answer, or is left alone because it did not a moment ago."""


class Waits:
    """How long one request has waited for something, ``most_s`` at most. Waits at one time count once."""

    __slots__ = ("_began_at", "_spent_s", "_waiting", "most_s", "times")

    def __init__(self, most_s: float) -> None:
        self.most_s = most_s
        self._spent_s = self._began_at = 0.0
        self._waiting = self.times = 0

    def begin(self, now: float) -> float:
        """Notes that the request waits, and returns for how long it may."""
        if not self._waiting:
            self._began_at = now
            self.times += 1
        self._waiting += 1
        return max(self.most_s - self._spent_s - (now - self._began_at), 0.0)

    def end(self, now: float) -> None:
        """Notes the end of a wait that ``begin`` began."""
        self._waiting -= 1
        if not self._waiting:
            self._spent_s += now - self._began_at


class RequestWaits:
    """The waits of one request: for the server, and for other replicas that read the same."""

    __slots__ = ("others", "server")

    def __init__(self, server: SharedServer, wait_s: float | None = None) -> None:
        self.server = Waits(server.timeout_s)
        self.others = Waits(server.wait_s if wait_s is None else wait_s)


class SharedServer:
    """Connections to the server. ``head_events`` are counted by network, ``answer_results`` by plugin.

    A server that fails is left alone until it answers again (``rest``).
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
        now: Callable[[], float] = time.time,
    ) -> None:
        self.now = now
        self.client = client
        self.prefix = prefix
        self.wait_s = wait_s
        self.clock = clock
        self.head_events: Counter[tuple[str, str]] = Counter()
        self.answer_results: Counter[tuple[str, str]] = Counter()
        self.waits: WeakKeyDictionary[object, RequestWaits] = WeakKeyDictionary()
        self._keys = [hashlib.blake2b(secret, person=_PERSON, digest_size=32).digest() for secret in secrets]
        self.timeout_s = timeout_s
        self.rest = StoreRest(
            lambda: client.get(f"{prefix}/look"),
            what="the server of [shared]",
            meanwhile="this process reads for itself",
            answer_s=timeout_s / QUICK_PART,
        )

    @property
    def failures(self) -> int:
        """Returns how many commands failed."""
        return self.rest.failures

    @property
    def rests(self) -> bool:
        """Returns whether the server is left alone now."""
        return self.rest.rests

    async def run(self, command: Callable[[Any], Awaitable[T]]) -> T:
        """Returns what ``command(client)`` does. Raises ``Unreachable``."""
        if self.rests:
            raise Unreachable
        try:
            async with asyncio.timeout(self.timeout_s):
                answer = await command(self.client)
        except Exception as error:  # isolation border: the client has exceptions of its own
            self.rest.failed(error)
            raise Unreachable from None
        self.rest.worked()
        return answer

    async def close(self) -> None:
        """Closes the connections."""
        await self.rest.close()
        await self.client.aclose()

    # --- values ---------------------------------------------------------------------------------------------

    def sealed(self, name: bytes, body: bytes, ttl_s: float) -> bytes:
        """Returns a value for ``name``, signed with the end of its time and, when it is long, compressed."""
        deflated = zlib.compress(body, 1) if len(body) >= COMPRESSED_FROM_BYTES else b""
        marked = _DEFLATED + deflated if deflated and len(deflated) < len(body) else _PLAIN + body
        ends_ms = round((self.now() + ttl_s) * 1_000)
        dated = ends_ms.to_bytes(_TIME_BYTES, "big") + marked
        return _SEALED + self._mac(self._keys[0], name, dated) + dated

    def opened(self, name: bytes, value: Any) -> bytes | None:
        """Returns the body of a value; None for what no replica with one of the keys wrote for ``name``, and
        for what is older than it was to be kept."""
        if not isinstance(value, bytes) or not _HEAD_BYTES < len(value) <= MOST_STORED_BYTES:
            return None
        if value[:1] != _SEALED:
            return None
        mac, dated = value[1 : 1 + _MAC_BYTES], value[1 + _MAC_BYTES :]
        if not any(hmac.compare_digest(mac, self._mac(key, name, dated)) for key in self._keys):
            return None
        ends_ms, marked = int.from_bytes(dated[:_TIME_BYTES], "big"), dated[_TIME_BYTES:]
        if self.now() * 1_000 > ends_ms + 1_000 * CLOCKS_DIFFER_S:
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
    def _mac(key: bytes, name: bytes, dated: bytes) -> bytes:
        return hashlib.blake2b(name + b"\0" + dated, key=key, digest_size=_MAC_BYTES).digest()
