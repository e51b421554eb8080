"""The exchange with a server, without I/O: what is sent, how answers are read, and when it is tried again.

A flow is a generator that yields ``Request`` and ``Pause``. A client carries them out and sends the ``Reply``
or ``Failure`` of each request back; the flow returns a model or raises an error of
``quoteway_client.errors``. Both clients run the same flows.
"""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import urlsplit

import msgspec

from quoteway_client import wire
from quoteway_client.calls import Call
from quoteway_client.errors import (
    CODES,
    ApiError,
    ConnectionFailed,
    QuotewayError,
    RpcError,
    UnexpectedAnswer,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request. It has to be answered within ``timeout_s`` seconds, and is never redirected."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes
    timeout_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. Names of ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """An answer of the API: its model, and its JSON as it came."""

    model: T
    content: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """No whole answer came; ``cause`` says why, without URL or key."""

    cause: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Time to wait before the next request."""

    seconds: float


Flow: TypeAlias = Generator[Request | Pause, Any, T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """How long a request is tried.

    Every request of the API may be sent again: the same quote at the same block gives the same bytes, and the
    same signed transaction takes effect once.
    """

    timeout_s: float = 30.0
    deadline_s: float = 60.0
    first_pause_s: float = 0.25
    longest_pause_s: float = 8.0
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random

    def pause_s(self, error: QuotewayError, attempt: int) -> float:
        """Returns the seconds to wait after the failed ``attempt``, from 0: never less than the server asks
        for.
        """
        if error.retry_after_s is not None:
            return error.retry_after_s * (1 + 0.1 * self.random())
        return min(self.longest_pause_s, self.first_pause_s * 2.0 ** min(attempt, 16)) * (
            0.5 + 0.5 * self.random()
        )


@dataclass(frozen=True, slots=True)
class Gateway:
    """The gateway: its address, the caller's key, and how long requests are tried."""

    base_url: str
    api_key: str | None
    retrying: Retrying

    @classmethod
    def at(cls, base_url: str, api_key: str | None, retrying: Retrying) -> Gateway:
        """Returns a gateway. Raises ``ValueError`` for an address or a key that cannot be used."""
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("base_url must be an address such as https://gateway.example, without a query")
        if parts.username is not None or parts.password is not None:
            raise ValueError("base_url must be without user and password: pass a key as api_key")
        if api_key is not None and (not api_key or not api_key.isascii() or not api_key.isprintable()):
            raise ValueError("api_key must be printable ASCII text")
        return cls(base_url.rstrip("/"), api_key, retrying)

    def __repr__(self) -> str:
        return f"Gateway({self.base_url!r})"

    def call(self, call: Call[T]) -> Flow[T]:
        """Performs a call of the API, again where that is allowed and helps."""
        return (yield from self.answered(call)).model

    def answered(self, call: Call[T]) -> Flow[Answered[T]]:
        """Performs a call as ``call`` does. Returns the bytes of the answer too."""
        request = self._request(call.method, call.target(), call.content())

        def read(reply: Reply) -> Answered[T]:
            return Answered(_model(reply, call.returns), reply.content)

        answer = yield from asked(self.retrying, request, read)
        if call.check is not None:
            call.check(answer.model)
        return answer

    def json(self, path: str) -> Flow[Any]:
        """Reads a JSON object outside of the API, such as the key set of the gateway's signatures."""
        request = self._request("GET", path, b"")
        return (yield from asked(self.retrying, request, lambda reply: _model(reply, dict[str, Any])))

    def rpc(self, chain_id: int, method: str, params: tuple[Any, ...]) -> Flow[Any]:
        """Calls a node through the gateway."""
        request = self._request("POST", f"/v2/rpc/{chain_id}", rpc_body(method, params))
        return (yield from asked(self.retrying, request, _rpc_result))

    def _request(self, method: str, target: str, content: bytes) -> Request:
        headers = {"Accept": "application/json"}
        if content:
            headers["Content-Type"] = "application/json"
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        return Request(method, self.base_url + target, headers, content)


def node_rpc(url: str, retrying: Retrying, method: str, params: tuple[Any, ...]) -> Flow[Any]:
    """Calls a node of the caller's own, which never sees the gateway's key."""
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    return (yield from asked(retrying, Request("POST", url, headers, rpc_body(method, params)), _rpc_result))


def rpc_body(method: str, params: tuple[Any, ...]) -> bytes:
    """Returns the JSON of a JSON-RPC call."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def asked(retrying: Retrying, request: Request, read: Callable[[Reply], T]) -> Flow[T]:
    """Sends a request until it succeeds, fails for good, or the deadline would be over."""
    ends_at = retrying.clock() + retrying.deadline_s
    attempt = 0
    while True:
        left_s = max(ends_at - retrying.clock(), 0.001)
        answer = yield replace(request, timeout_s=min(retrying.timeout_s, left_s))
        try:
            if isinstance(answer, Failure):
                raise ConnectionFailed(
                    f"no answer to {request.method} {urlsplit(request.url).path}: {answer.cause}"
                )
            return read(answer)
        except QuotewayError as error:
            pause_s = retrying.pause_s(error, attempt)
            if not error.retryable or retrying.clock() + pause_s >= ends_at:
                raise
        yield Pause(pause_s)
        attempt += 1


def _model(reply: Reply, type_: type[T]) -> T:
    if not 200 <= reply.status < 300:
        raise refusal(reply)
    try:
        return wire.read(reply.content, type_)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        name = getattr(type_, "__name__", str(type_))
        raise UnexpectedAnswer(
            f"the answer cannot be read as {name}: {error}. Check that base_url is a Quoteway gateway, and "
            "that this version of quoteway-client is not older than it",
            reply.status,
            reply.content,
        ) from None


def _rpc_result(reply: Reply) -> Any:
    answer = _model(reply, dict[str, Any])
    error = answer.get("error")
    if isinstance(error, dict):
        code = error.get("code")
        raise RpcError(code if isinstance(code, int) else 0, str(error.get("message")), error.get("data"))
    if "result" not in answer:
        message = "the answer is no JSON-RPC: it has neither result nor error"
        raise UnexpectedAnswer(message, reply.status, reply.content)
    return answer["result"]


def refusal(reply: Reply) -> QuotewayError:
    """Returns the error of an answer that is no success."""
    if 300 <= reply.status < 400:
        return UnexpectedAnswer(
            f"the address answers {reply.status}, a redirect, which is not followed, since the request may "
            "have a key: use the final address",
            reply.status,
        )
    retry_after_s = _retry_after_s(reply.headers.get("retry-after"))
    try:
        error = msgspec.json.decode(reply.content)["error"]
        code, message = error["code"], error["message"]
        if not isinstance(code, str) or not isinstance(message, str):
            raise TypeError
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError, IndexError):
        return UnexpectedAnswer(
            f"{reply.status} without an error of the gateway: a proxy before it may have answered",
            reply.status,
            reply.content,
            retry_after_s,
        )
    details = error.get("details")
    return CODES.get(code, ApiError)(
        reply.status,
        code,
        message,
        details=details if isinstance(details, dict) else None,
        request_id=error.get("requestId") or reply.headers.get("x-request-id"),
        retry_after_s=retry_after_s,
    )


def _retry_after_s(value: str | None) -> float | None:
    """Seconds of a ``Retry-After``, which is a number or a date (RFC 9110, section 10.2.3)."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value[:12])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
