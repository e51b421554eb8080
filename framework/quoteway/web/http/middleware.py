"""What every request passes: request id, API key, rate limit, deadline, error envelope, CORS, metrics, log.

One function instead of a chain of middlewares: four empty ones cost 3 us of the 40 that a cached list takes.
A cached answer is found by its path and query before any route is matched.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import random
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from aiohttp import web
from multidict import MultiMapping

from quoteway.config.model import Config
from quoteway.engine.provider_sets import limit_providers
from quoteway.errors import GatewayError, ProviderUnavailable, Reason, Unauthorized
from quoteway.host.recording import Recorder
from quoteway.spans import Trace, end_spans, keep_spans
from quoteway.telemetry.traces import Tracer
from quoteway.telemetry.tracing import continue_trace, traceparent
from quoteway.web.http.api_keys import ApiKey, ApiKeys
from quoteway.web.http.cache import ALWAYS, CatalogCache, Rendered, respond
from quoteway.web.http.compression import compress
from quoteway.web.http.envelope import RequestTimeout, error_response, from_http_exception
from quoteway.web.http.limits import Callers, Counted, Limiter
from quoteway.web.http.metrics import METHODS, Metrics
from quoteway.web.http.operation import CALLER, COUNTED, KEY, PROVIDER, REQUEST_ID, Group, Operation
from quoteway.web.http.origins import Hosts, Origins, is_local
from quoteway.web.http.request_traces import NOTHING_TOLD, RequestTraces, Told

if TYPE_CHECKING:
    from quoteway.web.http.light import LightPath

log = logging.getLogger("quoteway.web")

T = TypeVar("T")
Next = Callable[[web.Request], Awaitable[web.StreamResponse]]

_SAFE_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:/+=-]{0,127}")

# Not seeded for each id: ids are unique, not secret, and asking the system takes a tenth of a cached answer.
_request_ids = random.Random()  # noqa: S311

_EXPOSED = "X-Request-ID, ETag, RateLimit, RateLimit-Policy, Retry-After"


class Middleware:
    """The one middleware of the application."""

    def __init__(
        self,
        config: Config,
        metrics: Metrics,
        cache: CatalogCache,
        revision: Callable[[], int],
        recorder: Recorder | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        server = config.server
        self.operations: dict[Any, Operation] = {}
        self._direct: tuple[str, Next, Callable[[web.Request, str], None]] | None = None
        self.sockets: dict[Any, Group] = {}
        """Handlers that upgrade to WebSocket, with their rate limit. They have no deadline."""
        self.keys = ApiKeys(config.auth, config.limits.tiers)
        tiers = {key.caller: key.tier for key in self.keys if key.tier is not None}
        self.limiter = None
        if config.limits.enabled:
            self.limiter = Limiter(config.limits, local=is_local(config), tiers=tiers)
        self.callers = Callers(server.trusted_proxies)
        self.light: LightPath | None = None
        """What answers some requests before aiohttp makes anything of them."""
        self.metrics = metrics
        metrics.load.limiter, metrics.load.cache = self.limiter, cache
        metrics.load.tracer = self.tracer = tracer
        self.traces = RequestTraces(config.operator.requests)
        self._recorder = recorder
        self._cache = cache
        self._revision = revision
        self._origins = Origins(config)
        self.hosts = Hosts(config)
        self._log_all = server.access_log == "all"
        self.timeout_s = server.request_timeout_s

    async def close(self) -> None:
        """Closes the connections to the store of the limits."""
        if self.limiter is not None:
            await self.limiter.close()

    def serve_directly(self, prefix: str, handler: Next, match: Callable[[web.Request, str], None]) -> None:
        """Makes POSTs of ``prefix`` and a number pass to ``handler`` without a search for their route.

        ``match`` sets the request's ``match_info`` from the number.
        """
        self._direct = (prefix, handler, match)

    def with_cached_answers(self, route: Callable[[Any], Awaitable[web.StreamResponse]]) -> Next:
        """Serves cached answers at once and passes all other requests to ``route``.

        ``route`` must end in ``serve``.
        """

        def answer(request: web.Request) -> Awaitable[web.StreamResponse]:
            started = time.monotonic()
            if request.method == "GET":
                kept = self._cache.get(request.raw_path, self._revision(), started)
                if kept is not None and "Expect" not in request.headers:
                    return self._serve(request, kept.operation, kept, started)
            elif self._direct is not None and request.method == "POST":
                prefix, handler, match = self._direct
                number = request.raw_path.removeprefix(prefix)
                if number.isascii() and number.isdecimal() and "Expect" not in request.headers:
                    match(request, number)
                    return self._serve(request, self.operations.get(handler), handler, started)
            return route(request)

        return answer

    @web.middleware
    async def serve(self, request: web.Request, handler: Next) -> web.StreamResponse:
        """The middleware, for a request whose handler is known."""
        return await self._serve(request, self.operations.get(handler), handler, time.monotonic())

    async def _serve(
        self, request: web.Request, operation: Operation | None, source: Next | Rendered, started: float
    ) -> web.StreamResponse:
        headers = request.headers
        request_id = request_id_of(headers.get("X-Request-ID"))
        trace, kept = self._trace_of(request, operation, source)
        # Also when None: one task serves all requests of a connection, and the last one may have had a trace.
        traceparent.set(trace)
        if self.keys:
            limit_providers(None)
        recorded, is_shown = None, False
        if operation is not None and operation.group != "rpc":
            is_shown = self.traces.most > 0 and _is_shown(operation, source)
        if operation is not None and self._recorder is not None and operation.group != "rpc":
            kept = kept or Trace()
            recorded = self._recorder.begin(request_id, request.method, request.path_qs, kept)
        elif is_shown:
            kept = kept or Trace()
        mark = None if kept is None else keep_spans(kept)
        group = operation.group if operation is not None else self.sockets.get(source, "catalog")
        key: ApiKey | None = None
        failed: GatewayError | None = None
        counted: Counted | None = None
        response: web.StreamResponse | None = None
        # A WebSocket lasts for hours.
        counts = isinstance(source, Rendered) or source not in self.sockets
        self.metrics.load.under_way += counts
        try:
            self.hosts.check(headers)
            if (
                self._origins.some
                and request.method == "OPTIONS"
                and "Access-Control-Request-Method" in headers
            ):
                response = web.Response(status=204)
            else:
                if operation is not None or request.path.startswith(("/v2/", "/x/")):
                    key = self.keys.find(headers) if self.keys else None
                    if self.keys and (key is None or key.is_over):
                        if self.limiter is not None:
                            # A valid key is served whatever others send from the same address. Counting the
                            # address alone keeps answers independent of how near a wrong key is.
                            counted = Counted(self.limiter, "wrong_keys", self.callers.of(request))
                            await counted.take()
                        raise without_key(key)
                    caller = key.caller if key is not None else self.callers.at(request.remote, headers)
                    if key is not None and key.providers is not None:
                        limit_providers(key.providers)
                    is_asked = operation.streams or operation.needs_key if operation is not None else None
                    if source in self.sockets if is_asked is None else is_asked:
                        request[CALLER] = caller
                        if key is not None:
                            request[KEY] = key
                    if self.limiter is not None:
                        counted = Counted(self.limiter, group, caller)
                        await counted.take()
                if isinstance(source, Rendered):
                    response = respond(request, source, self._cache)
                else:
                    request[REQUEST_ID] = request_id
                    if counted is not None:
                        request[COUNTED] = counted
                    response = await self._answer(request, source)
        except ConnectionResetError:
            raise
        except Exception as error:
            failed = self.failed(error, operation.path if operation else _route(request), request_id)
            response = error_response(failed, request_id)
        finally:
            self.metrics.load.under_way -= counts
            if kept is not None and mark is not None:
                end_spans(kept, mark)
                if response is None:  # the caller is gone
                    self._send(kept, operation.path if operation else _route(request), request.method)
            if self._recorder is not None and recorded is not None:
                body = response.body if isinstance(response, web.Response) else None
                status = 0 if response is None else response.status
                self._recorder.finish(*recorded, status, body if isinstance(body, bytes) else None)
        if operation is not None and operation.group != "rpc" and isinstance(response, web.Response):
            compress(headers, response)
        self.complete(response, request_id, counted, trace)
        response.headers.extend(self.allowed_origin(request.method, headers))
        # The route template, never the path: paths hold quote tokens, and a caller chooses their bytes.
        route = operation.path if operation is not None else _route(request)
        told = Told(request.get(PROVIDER), None if key is None else key.caller, failed)
        if is_shown and kept is not None:
            self.traces.add(request_id, started, kept, request.method, route, response.status, told)
        self.answered(route, request.method, response.status, started, request_id, trace, told, kept)
        return response

    def _trace_of(
        self, request: web.Request, operation: Operation | None, source: Next | Rendered
    ) -> tuple[str | None, Trace | None]:
        """The trace context of a request, and what keeps its spans where they are sent."""
        given = request.headers.get("traceparent")
        # Streams and WebSockets last for hours, and probes of health are many.
        traced = not operation.streams if operation is not None else request.path.startswith("/x/")
        if self.tracer is None or not traced or (not isinstance(source, Rendered) and source in self.sockets):
            return continue_trace(given), None
        return self.tracer.begin(given)

    async def _answer(self, request: web.Request, handler: Next) -> web.StreamResponse:
        if handler in self.sockets:
            return await handler(request)
        return await self.in_time(handler(request))

    async def in_time(self, answer: Awaitable[T]) -> T:
        """Waits for an answer. Raises ``RequestTimeout`` when the deadline of requests is over."""
        try:
            async with asyncio.timeout(self.timeout_s):
                return await answer
        except TimeoutError:
            raise RequestTimeout(
                f"No answer within {self.timeout_s:g} s.", reason=Reason.PROVIDER_TIMEOUT, retryable=True
            ) from None

    def failed(self, error: Exception, route: str, request_id: str) -> GatewayError:
        """The error that a request gets, which is counted."""
        if isinstance(error, web.HTTPException):
            error = from_http_exception(error)
        elif not isinstance(error, GatewayError):
            # A bug. The API has no error code for it; the answer is ``provider_unavailable`` alone.
            log.error("unexpected error", exc_info=error, extra={"request_id": request_id, "route": route})
            error = ProviderUnavailable("The service failed to answer this request.")
        self.metrics.load.failed(error, route)
        return error

    def complete(
        self, response: web.StreamResponse, request_id: str, counted: Counted | None, trace: str | None
    ) -> None:
        """Adds the headers of every answer but those for pages of other origins."""
        out = response.headers
        out["X-Request-ID"] = request_id
        if "Server" not in out:  # a cached answer has them already
            out.update(ALWAYS)
        if counted is not None and counted.state is not None:
            out["RateLimit-Policy"] = counted.policy
            out["RateLimit"] = counted.state
        if trace is not None:
            out["traceparent"] = trace

    def answered(
        self,
        route: str,
        method: str,
        status: int,
        started: float,
        request_id: str,
        trace: str | None,
        told: Told = NOTHING_TOLD,
        kept: Trace | None = None,
    ) -> None:
        """Counts an answer to a request that began at ``started``, logs it, and sends its spans."""
        duration_s = time.monotonic() - started
        if kept is not None:
            self._send(kept, route, method, status, told)
        if status != 101:  # a WebSocket, which lasts for hours
            self.metrics.answered(route, method, status, duration_s)
        if status < 400 and not self._log_all:
            return
        level = logging.WARNING if status >= 500 else logging.INFO
        if log.isEnabledFor(level):
            extra = {
                "route": route,
                "method": method if method.isalpha() else "OTHER",
                "status": status,
                "duration_ms": round(duration_s * 1_000, 2),
                "request_id": request_id,
                **told.members(),
                **({"trace": trace[3:35]} if trace else {}),
            }
            log.log(level, "request", extra=extra)

    def _send(
        self,
        kept: Trace,
        route: str,
        method: str,
        status: int | None = None,
        told: Told = NOTHING_TOLD,
    ) -> None:
        if self.tracer is None or kept.context is None:
            return
        # Of an unknown method a caller chooses the bytes.
        known = method if method in METHODS else "_OTHER"
        reason = None if told.error is None else told.error.reason
        self.tracer.end(kept, known, route, status, provider=told.provider, reason=reason)

    def allowed_origin(self, method: str, headers: MultiMapping[str]) -> Sequence[tuple[str, str]]:
        """The headers that let a page of another origin read an answer; none where no page may."""
        if not self._origins.some:
            return ()
        out = [("Vary", "Origin")]
        origin = headers.get("Origin")
        if origin is None or not self._origins.allow(origin):
            return out
        out.append(("Access-Control-Allow-Origin", "*" if self._origins.any else origin))
        out.append(("Access-Control-Expose-Headers", _EXPOSED))
        if method == "OPTIONS":
            allowed = "Content-Type, Authorization, X-Request-ID, traceparent, If-None-Match, Last-Event-ID"
            out.append(("Access-Control-Allow-Methods", "GET, POST, OPTIONS"))
            out.append(("Access-Control-Allow-Headers", allowed))
            out.append(("Access-Control-Max-Age", "600"))
        return out


MIDDLEWARE: web.AppKey[Middleware] = web.AppKey("middleware", Middleware)


def without_key(key: ApiKey | None) -> Unauthorized:
    """The error of a request without a valid key; ``key`` is one that has expired."""
    text = "Send an API key: Authorization: Bearer <key>."
    if key is not None and key.ends_at is not None:
        ended = datetime.datetime.fromtimestamp(key.ends_at, datetime.UTC).isoformat(timespec="seconds")
        text = f"This API key expired at {ended}. Ask the operator for a new one."
    return Unauthorized(text, headers={"WWW-Authenticate": "Bearer"})


def _is_shown(operation: Operation, source: Next | Rendered) -> bool:
    """Whether operators see a request: an answer that is sent again calls nobody, and a stream lasts."""
    return not isinstance(source, Rendered) and not operation.streams


def _route(request: web.Request) -> str:
    """The template of a route that is no operation."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else "unmatched"


def new_request_id() -> str:
    """128 random bits in hex."""
    return f"{_request_ids.getrandbits(128):032x}"


def request_id_of(given: str | None) -> str:
    """The caller's own id when it is short and plain, else a new one."""
    return given if given is not None and _SAFE_REQUEST_ID.fullmatch(given) else new_request_id()
