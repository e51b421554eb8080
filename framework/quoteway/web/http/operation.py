"""One route of the API: method, path, schemas, and the handler that gets what they loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar

import orjson
from aiohttp import web

from quoteway.engine.gateway import Gateway
from quoteway.errors import (
    FieldError,
    InvalidRequest,
    ProviderUnavailable,
    RateLimited,
    Reason,
    UpstreamError,
    disabled,
)
from quoteway.evm.arrivals import another_arrival, noting_heads, request_arrival
from quoteway.guard.findings import check_form
from quoteway.host.outcomes import Outcome
from quoteway.host.states import networks_of
from quoteway.models import Block, Capability
from quoteway.networks import Networks
from quoteway.providers import Provider
from quoteway.web.http.api_keys import ApiKey
from quoteway.web.http.body import read_object
from quoteway.web.http.envelope import json_response
from quoteway.web.http.limits import Counted
from quoteway.web.http.names import with_addresses
from quoteway.web.http.schema import RequestSchema, invalid
from quoteway.web.wire.view import View, camel_case

T = TypeVar("T")
Group = Literal["quotes", "catalog", "rpc"]

REQUEST_ID: web.RequestKey[str] = web.RequestKey("request_id", str)
COUNTED: web.RequestKey[Counted] = web.RequestKey("counted", Counted)
CALLER: web.RequestKey[str] = web.RequestKey("caller", str)
KEY: web.RequestKey[ApiKey] = web.RequestKey("key", ApiKey)
PROVIDER: web.RequestKey[str] = web.RequestKey("provider", str)
"""The provider of the quote or action that was answered, for the log."""
"""What the middleware keeps with a request: its id, what counts it where a limit holds, who sent it, and
the API key that it has where keys are configured."""

NO_STORE: Mapping[str, str] = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler gets: the gateway and the loaded members of path, query and body."""

    gateway: Gateway
    request: web.Request
    operation: Operation
    path: Mapping[str, Any]
    query: Mapping[str, Any]
    body: Mapping[str, Any]

    @property
    def networks(self) -> Networks:
        return self.gateway.runtime.networks

    @property
    def request_id(self) -> str:
        return self.request[REQUEST_ID]

    async def count_further(self, requests: int) -> None:
        """Counts a call as so many requests more of its rate limit. Raises ``RateLimited`` over the limit."""
        counted = self.request.get(COUNTED)
        if counted is not None and requests:
            await counted.take(requests, taken=1)

    async def count_granted(self, requests: int, least: int = 1) -> tuple[int, RateLimited | None]:
        """Counts a call as so many requests more. Returns how many of them are within the rate limit, and the
        error of the others. Fewer than ``least`` help the caller nothing.
        """
        counted: Counted | None = self.request.get(COUNTED)
        if counted is None or not requests:
            return requests, None
        return await counted.take_granted(requests, taken=1, least=least)

    def require(self, capability: Capability, *chain_ids: int) -> None:
        """Raises ``ProviderUnavailable`` when no enabled provider serves these chains."""
        enabled = self.gateway.registry.enabled(capability)
        if not any(set(chain_ids) <= networks_of(provider) for provider in enabled):
            raise disabled(f"No enabled provider serves {capability.value} on the network(s) asked for.")

    async def ask(
        self, providers: Sequence[Provider], kind: Any, ask: Callable[[Provider], Awaitable[T]], *, verb: str
    ) -> list[Outcome[Provider, T]]:
        """As ``ask_checked``."""
        return await ask_checked(self.gateway, providers, kind, ask, verb=verb)


async def ask_checked(
    gateway: Gateway,
    providers: Sequence[Provider],
    kind: Any,
    ask: Callable[[Provider], Awaitable[T]],
    *,
    verb: str,
) -> list[Outcome[Provider, T]]:
    """Asks providers at once. An answer that is not of the type ``kind`` counts as a failure."""

    async def checked(provider: Provider) -> T:
        answer = await ask(provider)
        check_form(provider, answer, kind)
        return answer

    return await gateway.registry.calls.ask_all(providers, checked, verb=verb)


Handler = Callable[[Call], Awaitable[Mapping[str, Any] | web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Operation:
    """A route as data; OpenAPI, routing, validation, limits and metrics are all made from it.

    It decorates its handler, which gives it its ``name``, the operationId:

        @get("/v2/tokens", "Tokens", TokenPage, query=TokensQuery)
        async def list_tokens(call: Call) -> web.Response: ...

    ``group`` is the rate limit it counts against, ``status`` that of success. ``body_shape`` and
    ``response_shape`` name OpenAPI schemas in ``shapes``, for what is no single object; the handler then
    reads the body. ``cached``: the answer has an ETag; ``may_be_empty``: it
    may be 204; ``streams``: it is a stream of events, each with data of ``response_shape``. ``failures`` are
    the statuses it has besides those of every operation and of wrong members.
    A query is checked only where the operation has a schema for it: unknown query members are then refused
    like unknown body members.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    summary: str
    response: type[View]
    _: KW_ONLY
    name: str = ""
    handler: Handler | None = field(default=None, repr=False)
    description: str = ""
    tag: str = ""
    group: Group = "catalog"
    status: int = 200
    path_schema: type[RequestSchema] | None = None
    query: type[RequestSchema] | None = None
    body: type[RequestSchema] | None = None
    body_required: bool = True
    body_shape: str | None = None
    response_shape: str | None = None
    shapes: Mapping[str, Any] = field(default_factory=dict)
    cached: bool = False
    may_be_empty: bool = False
    streams: bool = False
    failures: tuple[int, ...] = ()
    needs_ready: bool = True
    needs_key: bool = False
    """Whether its handler asks whose API key a request has."""
    light: Callable[[Mapping[str, str]], Mapping[str, Any] | None] | None = field(default=None, repr=False)
    """Loads a path that ends in a number at the least cost; None: the schema says what is wrong with it."""

    @property
    def errors(self) -> list[int]:
        """The statuses of its errors."""
        malformed = [400, 408, 413, 415] if self.body or self.body_shape else []
        refused = [422] if self.path_schema or self.query or self.body else []
        of_keys = [403] if self.group == "quotes" else []  # keys may be limited to some providers
        return sorted({*self.failures, *malformed, *refused, *of_keys, 401, 421, 429, 503})

    def __call__(self, handler: Handler, name: str = "") -> Operation:
        return replace(self, handler=handler, name=name or camel_case(handler.__name__))

    def bind(self, gateway: Gateway) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """The aiohttp handler: reads the request, refuses all wrong members at once, calls ``handler``."""
        schemas = (self.path_schema, self.query, self.body)
        path, query, body = (kind(lambda: gateway.runtime.networks) if kind else None for kind in schemas)
        server = gateway.config.server
        timeout_s = server.body_timeout_s
        limit = server.rpc_body_limit_bytes if self.group == "rpc" else server.body_limit_bytes
        handler = self.handler
        assert handler is not None
        # A stream has begun when it fails, and what reads its body itself cannot read it again.
        is_once = self.streams or self.body_shape is not None or self.group == "rpc"

        async def handle(request: web.Request) -> web.StreamResponse:
            if self.needs_ready:
                require_ready(gateway)
            if self.light is not None and (found := self.light(request.match_info)) is not None:
                return await answered(Call(gateway, request, self, found, {}, {}))
            raw: Mapping[str, Any] = {}
            if body is not None:
                raw = await read_object(
                    request, limit_bytes=limit, timeout_s=timeout_s, may_be_empty=not self.body_required
                )
            asked = _single(request) if query is not None else {}
            in_path, in_query, in_body = _load((path, dict(request.match_info)), (query, asked), (body, raw))
            # The request has arrived in full only here: all chain reads that follow are at a head read later.
            with request_arrival() if self.group == "quotes" else contextlib.nullcontext():
                if query is not None:
                    in_query = await with_addresses(gateway, query, asked, in_query, in_path)
                if body is not None:
                    in_body = await with_addresses(gateway, body, raw, in_body, in_path)
                call = Call(gateway, request, self, in_path, in_query, in_body)
                return await (answered(call) if is_once else lasting(call))

        async def lasting(call: Call) -> web.StreamResponse:
            """Answers once more, at new heads, when a read failed at a block that has been taken back: some
            nodes keep nothing of it.
            """
            with noting_heads() as used:
                try:
                    return await answered(call)
                except UpstreamError as error:
                    if error.reason is not Reason.RPC_ERROR or not await _is_reorganised(gateway, used):
                        raise
            with another_arrival() if self.group == "quotes" else contextlib.nullcontext():
                return await answered(call)

        async def answered(call: Call) -> web.StreamResponse:
            answer = await handler(call)
            if isinstance(answer, web.StreamResponse):
                return answer
            if self.group == "quotes" and isinstance(answer.get("provider"), str):
                call.request[PROVIDER] = answer["provider"]
            return json_response(orjson.dumps(answer), self.status, NO_STORE)

        return handle


get, post, delete = partial(Operation, "GET"), partial(Operation, "POST"), partial(Operation, "DELETE")
post_quotes = partial(post, group="quotes", failures=(404, 502))


def require_ready(gateway: Gateway) -> None:
    """Raises ``ProviderUnavailable`` while the gateway starts."""
    if not gateway.ready:
        raise ProviderUnavailable("The service is starting.", headers={"Retry-After": "1"}, retryable=True)


async def _is_reorganised(gateway: Gateway, heads: Mapping[int, Block]) -> bool:
    """Returns whether one of the blocks has been taken back."""
    for chain_id, block in heads.items():
        if await gateway.runtime.chain(chain_id).replacing(block) is not None:
            return True
    return False


def _single(request: web.Request) -> Mapping[str, str]:
    """The query's members. Raises ``InvalidRequest`` for one that is given twice."""
    query = request.query
    members = dict(query)
    if len(members) != len(query):
        twice = sorted({name for name in members if len(query.getall(name)) > 1})
        raise invalid(*(FieldError(name[:64], Reason.CONFLICT, "is given more than once") for name in twice))
    return members


def _load(*parts: tuple[RequestSchema | None, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Loads path, query and body; the refused members of all three go into one answer."""
    loaded: list[Mapping[str, Any]] = []
    refused: list[FieldError] = []
    for schema, raw in parts:
        try:
            loaded.append(raw if schema is None else schema.accept(raw))
        except InvalidRequest as error:
            refused.extend(error.fields)
    if refused:
        raise invalid(*refused)
    return loaded
