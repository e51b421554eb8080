"""The HTTP session that all plugins share, and the recording of what they exchange over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.streams import AsyncStreamIterator, StreamReader

from quoteway.host.recording import Recorder, current_recording
from quoteway.networks import Network
from quoteway.spans import span
from quoteway.telemetry.tracing import outgoing_traces

MAX_BODY_BYTES = 4_194_304
"""The longest answer that is recorded."""
MIN_CREDENTIAL_CHARS = 12
_PLAIN_HEADERS = {
    *("Accept", "Accept-Encoding", "Content-Encoding", "Content-Length", "Content-Type", "Host"),
    *("If-None-Match", "Traceparent", "Transfer-Encoding", "User-Agent"),
}
_KEPT_HEADERS = "Content-Type", "Retry-After"


def open_session(
    networks: Callable[[], Iterable[Network]],
    recorder: Recorder | None,
    connector: aiohttp.BaseConnector | None = None,
    *,
    timed: bool = False,
) -> aiohttp.ClientSession:
    """Opens the session. With a recorder it records every exchange but those with nodes of ``networks``;
    ``timed`` exchanges are spans of their request also without one.

    Without a ``connector`` connections are not limited: networks with nodes at one host would share the
    limit. The RPC plugin bounds each upstream.
    """
    middlewares: tuple[aiohttp.ClientMiddlewareType, ...] = ()
    if recorder is not None:
        middlewares = (_recording(recorder, networks),)
    elif timed:
        middlewares = (timing(networks),)
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=30),
        connector=connector or aiohttp.TCPConnector(limit=0),
        trace_configs=[outgoing_traces()],
        middlewares=middlewares,
    )


def exchange_key(method: str, host: str, path: str, body: str) -> tuple[str, ...]:
    """Returns what an exchange asks. Headers are left out: they hold keys."""
    return "http", method, host + path, body


def _is_node(url: str, networks: Iterable[Network]) -> bool:
    return any(
        _origin(endpoint.url) == _origin(url) for network in networks for endpoint in network.endpoints
    )


def timing(networks: Callable[[], Iterable[Network]]) -> aiohttp.ClientMiddlewareType:
    """Makes each exchange a span, but those with nodes of ``networks``."""

    async def measure(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        if _is_node(str(request.url), networks()):  # the span of the upstream tells of it
            return await handler(request)
        with span("exchange", request.method, "answered"):
            return await handler(request)

    return measure


def _recording(recorder: Recorder, networks: Callable[[], Iterable[Network]]) -> aiohttp.ClientMiddlewareType:
    async def record(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        if _is_node(str(request.url), networks()):
            return await handler(request)
        recorder.secrets.update(dict.fromkeys(_credentials(request)))
        recording, sent = current_recording(), await _sent(request)
        host = request.headers.get("Host") or request.url.authority
        key = exchange_key(request.method, host, request.url.raw_path_qs, sent)
        with span("exchange", request.method) as timed:
            try:
                response = await handler(request)
            except asyncio.CancelledError:
                recorder.note(recording, key, {"error": {"kind": "no_answer"}}, timed)
                raise
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                kind = "no_answer" if isinstance(error, TimeoutError) else "connection"
                recorder.note(recording, key, {"error": {"kind": kind}}, timed)
                raise
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}

        def note(body: bytes) -> None:
            answer = {"status": response.status, "headers": headers, "body": body.decode("utf-8", "replace")}
            recorder.note(recording, key, {"result": answer}, timed)

        response.content = Tee(response.content, note)  # type: ignore[assignment]  # a reader in all it does
        return response

    return record


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _credentials(request: aiohttp.ClientRequest) -> Iterator[str]:
    """Yields the values of headers that a plugin adds: each may be a key, which an answer may repeat."""
    for name, value in request.headers.items():
        credential = value.rpartition(" ")[2]
        if name.title() not in _PLAIN_HEADERS and len(credential) >= MIN_CREDENTIAL_CHARS:
            yield credential


async def _sent(request: aiohttp.ClientRequest) -> str:
    body: Any = request.body
    if isinstance(body, aiohttp.Payload):
        return (await body.as_bytes()).decode("utf-8", "replace")
    return ""


class Tee:
    """A response's stream that gives ``note`` the whole body once it was read to its end.

    A body over ``MAX_BODY_BYTES`` is read, and not noted.
    """

    def __init__(self, reader: StreamReader, note: Callable[[bytes], None]) -> None:
        self._reader = reader
        self._note: Callable[[bytes], None] | None = note
        self._body = bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    async def read(self, n: int = -1) -> bytes:
        return self._seen(await self._reader.read(n))

    async def readany(self) -> bytes:
        return self._seen(await self._reader.readany())

    def iter_chunked(self, n: int) -> AsyncStreamIterator[bytes]:
        return AsyncStreamIterator(lambda: self.read(n))

    def iter_any(self) -> AsyncStreamIterator[bytes]:
        return AsyncStreamIterator(self.readany)

    def _seen(self, chunk: bytes) -> bytes:
        if self._note is not None:
            self._body += chunk
            if len(self._body) > MAX_BODY_BYTES:
                self._note = None
            elif self._reader.at_eof():
                self._note(bytes(self._body))
                self._note = None
        return chunk
