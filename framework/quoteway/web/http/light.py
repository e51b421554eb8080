"""The light path: answers a plain request of one operation without aiohttp's request, task and response.

aiohttp spends more on a request than the answer to a JSON-RPC call takes that is held in memory. Taken is a
chunk of bytes that is exactly one request: ``POST`` of the operation's path, which ends in a number, with
HTTP/1.1, kept alive, a ``Content-Length``, ``application/json`` and an object as the body, which is complete,
on a connection where nothing else is under way. All else goes to aiohttp unchanged. ``GET /healthz`` without
a body is taken in the same way: a probe does not wait behind the requests that came before it.

There is no second HTTP parser. The bytes of a head are read by aiohttp's own, with the limits of the
connection, and what it found in equal bytes is remembered. So both paths cut and read a request alike. Rate
limits, keys, headers, errors, metrics and the log are those of ``Middleware``.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from aiohttp import payload, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http import HttpVersion11, RawRequestMessage
from multidict import MultiMapping

from quoteway.errors import GatewayError
from quoteway.spans import Trace, end_spans, keep_spans
from quoteway.telemetry.tracing import continue_trace, traceparent
from quoteway.web.http.api_keys import ApiKey
from quoteway.web.http.cache import ALWAYS
from quoteway.web.http.envelope import error_response
from quoteway.web.http.limits import Counted
from quoteway.web.http.middleware import Middleware, new_request_id, request_id_of
from quoteway.web.http.operation import NO_STORE, Operation
from quoteway.web.http.request_traces import Told

if TYPE_CHECKING:
    from quoteway.web.http.protocol import EnvelopeHandler

MAX_HEADS: Final = 1_024
MAX_HEAD_BYTES: Final = 2_048
"""The heads that are remembered, and the longest of them."""
MAX_BODY_BYTES: Final = 65_536
HEALTH_PATH: Final = "/healthz"
HEALTHY: Final = b'{"status":"ok"}'
"""Where a probe asks whether the process serves, and what it is told."""
_PROBE: Final = f"GET {HEALTH_PATH} HTTP/1.1\r\n".encode()
_END: Final = b"\r\n\r\n"
_OBJECT: Final = ord("{")
_JSON_TYPES: Final = frozenset(("application/json", "application/json; charset=utf-8"))

Answer: TypeAlias = bytes | web.Response
"""A body of JSON for status 200, or a whole answer."""
Answerer: TypeAlias = Callable[[int, bytes, str, Counted | None], Answer | Awaitable[Answer]]
"""``(number, body, request_id, counted)`` -> the answer, or what to await for it. ``counted`` is the caller's
rate limit, with the request as one. Raises ``GatewayError``.
"""


@dataclass(frozen=True, slots=True)
class Head:
    """What aiohttp's parser found in the bytes of a head that may be taken."""

    method: str
    number: int
    size: int
    headers: MultiMapping[str] = field(repr=False)
    key: ApiKey | None
    """Its API key, which had not expired; None where none is asked for."""
    origin: str
    """The lines of an answer for a page of another origin."""
    own_id: str | None
    trace: str | None

    @property
    def may_come_again(self) -> bool:
        return self.own_id is None and self.trace is None


@dataclass(slots=True)
class Asked:
    """One request that was taken."""

    connection: EnvelopeHandler
    head: Head
    route: str
    request_id: str
    trace: str | None
    counted: Counted | None
    started: float
    kept: Trace | None = None
    error: GatewayError | None = None

    @property
    def told(self) -> Told:
        """What the access log says of it."""
        key = self.head.key
        return Told(caller=None if key is None else key.caller, error=self.error)


class LightPath:
    """Answers the plain requests of one operation whose path ends in a number."""

    def __init__(
        self, middleware: Middleware, operation: Operation, answer: Answerer, *, body_limit: int
    ) -> None:
        self._middleware = middleware
        self._route = operation.path
        self._group = operation.group
        self._prefix = operation.path.removesuffix("}").rpartition("{")[0]
        self._start = f"POST {self._prefix}".encode()
        self._answer = answer
        self._body_limit = min(body_limit, MAX_BODY_BYTES)
        self._heads: dict[bytes, Head] = {}

    def take(self, connection: EnvelopeHandler, data: bytes) -> bool:
        """Serves ``data`` if it is exactly one plain request. Returns whether it did.

        The connection must be idle, and aiohttp's parser between two requests.
        """
        if not data.startswith(self._start):
            return data.startswith(_PROBE) and data.endswith(_END) and self._take_probe(connection, data)
        end = data.find(_END) + len(_END)
        if end < len(_END) or end == len(data) or data[end] != _OBJECT:
            return False
        text = data[:end]
        head = self._heads.get(text)
        if head is None:
            head = self._read(connection, text)
        if head is None or len(data) - end != head.size or (head.key is not None and head.key.is_over):
            return False
        self._serve(connection, head, data[end:])
        return True

    def _take_probe(self, connection: EnvelopeHandler, data: bytes) -> bool:
        head = self._heads.get(data)
        if head is None:
            message = connection.read_head(data)
            plain = message is not None and self._is_plain(message, "GET") and message.path == HEALTH_PATH
            if message is None or not plain or "Content-Length" in message.headers:
                return False
            head = self._head(message, data, None, 0, 0)
        started = time.monotonic()
        connection.taken()
        connection.send(self._written(self._asked(connection, head, HEALTH_PATH, None, started), HEALTHY))
        return True

    def _is_plain(self, message: RawRequestMessage, method: str) -> bool:
        headers = message.headers
        return (
            message.method == method
            and message.version == HttpVersion11
            and not (message.should_close or message.upgrade or message.chunked or message.compression)
            and not ("Expect" in headers or "Upgrade" in headers or "Transfer-Encoding" in headers)
            and self._middleware.hosts.serve(headers)
        )

    def _read(self, connection: EnvelopeHandler, text: bytes) -> Head | None:
        """Has aiohttp's parser read a head. Returns None for one that is not plain."""
        message = connection.read_head(text)
        if message is None or not self._is_plain(message, "POST"):
            return None
        headers = message.headers
        number, size = message.path.removeprefix(self._prefix), headers.get("Content-Length", "")
        plain = (
            headers.get("Content-Type") in _JSON_TYPES
            and (number.isascii() and number.isdecimal() and number[0] != "0" and len(number) <= 16)
            and (size.isascii() and size.isdecimal() and len(size) <= 8)
        )
        if not plain or not 0 < int(size) <= self._body_limit:
            return None
        key = self._middleware.keys.find(headers)
        if self._middleware.keys and key is None:
            return None
        return self._head(message, text, key, int(number), int(size))

    def _head(
        self, message: RawRequestMessage, text: bytes, key: ApiKey | None, number: int, size: int
    ) -> Head:
        headers, method = message.headers, message.method
        own_id, given = headers.get("X-Request-ID"), headers.get("traceparent")
        origin = _lines(self._middleware.allowed_origin(method, headers))
        head = Head(method, number, size, headers, key, origin, own_id, given)
        # One with an id of its own does not come again.
        if head.may_come_again and len(text) <= MAX_HEAD_BYTES:
            if len(self._heads) >= MAX_HEADS:
                self._heads.clear()
            self._heads[text] = head
        return head

    def _serve(self, connection: EnvelopeHandler, head: Head, body: bytes) -> None:
        started = time.monotonic()
        middleware = self._middleware
        counted: Counted | None = None
        if middleware.limiter is not None:
            key = head.key
            caller = key.caller if key is not None else middleware.callers.at(connection.remote, head.headers)
            counted = Counted(middleware.limiter, self._group, caller)
        asked = self._asked(connection, head, self._route, counted, started)
        request_id = asked.request_id
        answer: Answer | Awaitable[Answer]
        try:
            if counted is None or counted.take_here():
                answer = self._answer(head.number, body, request_id, counted)
            else:
                answer = self._once_counted(counted, head.number, body, request_id)
        except Exception as error:
            asked.error = middleware.failed(error, self._route, request_id)
            answer = error_response(asked.error, request_id)
        connection.taken()
        if isinstance(answer, bytes):
            connection.send(self._written(asked, answer))
        else:
            connection.begin(self._later(asked, answer))

    def _asked(
        self, connection: EnvelopeHandler, head: Head, route: str, counted: Counted | None, started: float
    ) -> Asked:
        request_id = new_request_id() if head.own_id is None else request_id_of(head.own_id)
        trace, kept = None if head.trace is None else continue_trace(head.trace), None
        if self._middleware.tracer is not None and route != HEALTH_PATH:  # probes are many
            trace, kept = self._middleware.tracer.begin(head.trace)
        return Asked(connection, head, route, request_id, trace, counted, started, kept)

    async def _once_counted(self, counted: Counted, number: int, body: bytes, request_id: str) -> Answer:
        await counted.take()
        answer = self._answer(number, body, request_id, counted)
        return answer if isinstance(answer, bytes | web.Response) else await answer

    async def _later(self, asked: Asked, answer: web.Response | Awaitable[Answer]) -> None:
        """Answers what has to be waited for, and what is no plain body."""
        if asked.trace is not None:
            traceparent.set(asked.trace)
        mark = None if asked.kept is None else keep_spans(asked.kept)
        found: Answer
        load = self._middleware.metrics.load
        load.under_way += 1
        try:
            found = answer if isinstance(answer, web.Response) else await self._middleware.in_time(answer)
        except Exception as error:
            asked.error = self._middleware.failed(error, self._route, asked.request_id)
            found = error_response(asked.error, asked.request_id)
        finally:
            load.under_way -= 1
            if asked.kept is not None and mark is not None:
                end_spans(asked.kept, mark)
        connection = asked.connection
        if isinstance(found, bytes):
            connection.send(self._written(asked, found))
        else:
            body = found.body
            connection.send(self._written_response(asked, found))
            if isinstance(body, payload.Payload):
                await body.write_with_length(_Writer(connection), None)
        await connection.drained()

    def _written(self, asked: Asked, body: bytes) -> bytes:
        """An answer with status 200, as ``Middleware.complete`` and aiohttp write it."""
        limits, trace, counted = "", "", asked.counted
        if counted is not None and counted.state is not None:
            limits = f"RateLimit-Policy: {counted.policy}\r\nRateLimit: {counted.state}\r\n"
        if asked.trace is not None:
            trace = f"traceparent: {asked.trace}\r\n"
        head = (
            f"{_OK}X-Request-ID: {asked.request_id}\r\n{_ALWAYS}{limits}{trace}{asked.head.origin}"
            f"Content-Length: {len(body)}\r\nDate: {rfc822_formatted_time()}\r\n\r\n"
        )
        self._answered(asked, 200)
        return head.encode() + body

    def _written_response(self, asked: Asked, response: web.Response) -> bytes:
        """Any other answer, but for a body that is written piece by piece."""
        middleware, headers = self._middleware, response.headers
        middleware.complete(response, asked.request_id, asked.counted, asked.trace)
        headers.extend(middleware.allowed_origin("POST", asked.head.headers))
        self._answered(asked, response.status)
        body = response.body
        if response.status != 204:
            size = body.size if isinstance(body, payload.Payload) else len(body or b"")
            headers["Content-Length"] = str(size)
        headers["Date"] = rfc822_formatted_time()
        head = f"HTTP/1.1 {response.status} {response.reason}\r\n{_lines(headers.items())}\r\n"
        return head.encode() + (body if isinstance(body, bytes) else b"")

    def _answered(self, asked: Asked, status: int) -> None:
        self._middleware.answered(
            asked.route,
            asked.head.method,
            status,
            asked.started,
            asked.request_id,
            asked.trace,
            asked.told,
            asked.kept,
        )


class _Writer(AbstractStreamWriter):
    """Writes a long body to a connection.

    aiohttp's payloads call ``write`` and ``drain`` alone, and ``LightPath`` writes the head. Other
    members of the base class are never called.
    """

    def __init__(self, connection: EnvelopeHandler) -> None:
        self._connection = connection

    async def write(self, chunk: Any) -> None:
        self._connection.send(chunk)

    async def drain(self) -> None:
        await self._connection.drained()

    async def write_eof(self, chunk: bytes = b"") -> None:
        raise NotImplementedError

    async def write_headers(self, status_line: str, headers: Any) -> None:
        raise NotImplementedError

    def enable_compression(self, encoding: str = "deflate", strategy: int | None = None) -> None:
        raise NotImplementedError

    def enable_chunking(self) -> None:
        raise NotImplementedError


def _lines(headers: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers)


_ALWAYS: Final = _lines(ALWAYS.items())
_OK: Final = f"HTTP/1.1 200 OK\r\n{_lines(NO_STORE.items())}Content-Type: application/json\r\n"
