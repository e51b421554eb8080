"""One JSON-RPC endpoint: builds the request, checks every member of the answer."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import aiohttp
import orjson
from quoteway import ConfigError, Endpoint, RpcError
from yarl import URL

# Errors about the node rather than the call: another upstream may succeed. JSON-RPC 2.0 "method not
# found"; EIP-1474 "method not supported", "limit exceeded", "resource not found"; 429 is what hosted nodes
# copy from HTTP.
_METHOD_MISSING = (-32601, -32004)
_RATE_LIMITED = (-32005, 429)
_DATA_MISSING = (-32001,)
# geth has only its catch-all code -32000 for these: the node lags or has pruned the state.
_DATA_MISSING_TEXTS = ("header not found", "header for hash not found", "missing trie node")
VERIFIED_S = 30.0
"""How long an upstream is believed to be of its network before its chain id is asked again."""
_MAX_DEPTH = 64
_MAX_CONTAINERS = 200_000
"""Lists and objects of one answer, counted with brackets inside of texts. 32 MiB of logs are some 110,000."""


class Unusable(Exception):  # noqa: N818 - not an error but the reason for failover
    """The upstream gave no usable answer to this request. ``kind`` is a word for the log."""

    def __init__(self, kind: str, error: RpcError | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.error = error

    @property
    def blames_upstream(self) -> bool:
        """Whether the endpoint failed, rather than only not serving this method or block."""
        return self.kind not in ("method_missing", "data_missing")


class Upstream:
    """An endpoint of one network. Its URL and headers are secrets: no text made here contains them."""

    def __init__(self, endpoint: Endpoint, chain_id: int, index: int, max_response_bytes: int) -> None:
        self.label = endpoint.name or f"upstream {index + 1}"
        self._chain_id = chain_id
        self._max_response_bytes = max_response_bytes
        self._url, self._headers = _request_parts(endpoint)
        self._ids: Iterator[int] = itertools.count(1)
        self._verified_at: float | None = None
        self._failed_until: float | None = None

    def __repr__(self) -> str:
        return f"<Upstream {self.label!r} of chain {self._chain_id}>"

    @property
    def failing(self) -> bool:
        """Whether its last request failed."""
        return self._failed_until is not None

    def cooling(self, now: float) -> bool:
        """Whether it failed within its cool-down, so that others are tried first."""
        return self._failed_until is not None and now < self._failed_until

    def failed(self, now: float, cooldown_s: float) -> None:
        """Starts a cool-down of ``cooldown_s``; its chain id is checked again afterwards."""
        self._failed_until = now + cooldown_s
        self._verified_at = None

    def succeeded(self) -> None:
        """Ends the cool-down."""
        self._failed_until = None

    def probing(self, now: float, cooldown_s: float) -> None:
        """Is called before each request: after a cool-down only one request at a time tries it again."""
        if self._failed_until is not None and now >= self._failed_until:
            self._failed_until = now + cooldown_s

    async def ask(
        self, http: aiohttp.ClientSession, method: str, params: Sequence[Any], *, timeout_s: float
    ) -> Any:
        """Returns the result. Raises ``RpcError`` for the node's own error, ``Unusable`` for any other
        failure."""
        try:
            async with asyncio.timeout(timeout_s):
                now = asyncio.get_running_loop().time()
                if self._verified_at is None:
                    await self._verify(http)
                elif now - self._verified_at >= VERIFIED_S:
                    self._verified_at = now  # of the requests at this time, one asks
                    await self._verify(http)
                return await self._exchange(http, method, params)
        except TimeoutError:
            raise Unusable("timeout") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # The exception's text may hold the URL: only its type is kept.
            raise Unusable(type(error).__name__) from None

    async def _verify(self, http: aiohttp.ClientSession) -> None:
        """Compares the chain id: a node of another chain would answer everything wrongly."""
        try:
            answered = await self._exchange(http, "eth_chainId", [])
        except RpcError as error:
            raise Unusable("no_chain_id", error) from None
        if not isinstance(answered, str) or answered.lower() != hex(self._chain_id):
            raise Unusable("wrong_chain_id")
        self._verified_at = asyncio.get_running_loop().time()

    async def _exchange(self, http: aiohttp.ClientSession, method: str, params: Sequence[Any]) -> Any:
        request_id = next(self._ids)
        body = _dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        async with http.post(self._url, data=body, headers=self._headers, allow_redirects=False) as response:
            if response.status == 429:
                raise Unusable("rate_limited")
            raw = await self._read(response)
            # Some nodes send JSON-RPC errors with a 4xx: an error object is used, a page is not.
            answer = _loads(raw)
            if response.status != 200 and not (isinstance(answer, dict) and "error" in answer):
                raise Unusable(f"http_{response.status}")
        return _result(answer, request_id)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        if 300 <= response.status < 400 or response.status >= 500:
            raise Unusable(f"http_{response.status}")
        chunks, size = [], 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > self._max_response_bytes:
                raise Unusable("too_large")
            chunks.append(chunk)
        return b"".join(chunks)


def _result(answer: Any, request_id: int) -> Any:
    if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0":
        raise Unusable("not_json_rpc")
    error = answer.get("error")
    # An error about an unreadable request carries no id (JSON-RPC 2.0, section 5).
    if answer.get("id") != request_id and not (error and answer.get("id") is None):
        raise Unusable("wrong_id")
    if error is None:
        if "result" not in answer:
            raise Unusable("not_json_rpc")
        return answer["result"]
    if not isinstance(error, dict) or type(error.get("code")) is not int:
        raise Unusable("not_json_rpc")
    found = RpcError(error["code"], str(error.get("message", "")), error.get("data"))
    if found.rpc_code in _METHOD_MISSING:
        raise Unusable("method_missing", found)
    if found.rpc_code in _RATE_LIMITED:
        raise Unusable("rate_limited", found)
    if found.rpc_code in _DATA_MISSING or found.rpc_message.lower().startswith(_DATA_MISSING_TEXTS):
        raise Unusable("data_missing", found)
    raise found


def _request_parts(endpoint: Endpoint) -> tuple[URL, Mapping[str, str]]:
    """Moves the URL's user part to the headers: in the URL it would appear in exception texts."""
    try:
        url = URL(endpoint.url)
    except ValueError:
        url = URL()
    if url.scheme not in ("http", "https") or not url.host:
        # Without the ValueError, which quotes the URL.
        raise ConfigError(
            f"endpoint {endpoint.name or '(unnamed)'!r} needs an http(s) URL: correct its url"
        ) from None
    headers = {"Content-Type": "application/json", "Accept": "application/json", **endpoint.headers}
    if url.user is not None:
        user_part = f"{url.user}:{url.password or ''}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(user_part).decode()}"  # RFC 7617
        url = url.with_user(None)
    return url, headers


def _dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError as error:  # an integer beyond 64 bits, which no parameter is
        raise ValueError("the parameters cannot be written as JSON") from error


def _loads(raw: bytes) -> Any:
    """Parses an answer. Refuses one that could not be passed on (orjson writes 254 levels), or takes long."""
    if raw.count(b"[") + raw.count(b"{") > _MAX_CONTAINERS:
        raise Unusable("too_many_members")
    answer = orjson.loads(raw)
    containers = [answer]
    for _ in range(_MAX_DEPTH):
        containers = [child for item in containers for child in _children(item)]
        if not containers:
            return answer
    raise Unusable("too_deep")


def _children(item: Any) -> Iterator[Any]:
    members = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return (member for member in members if isinstance(member, (dict, list)))
