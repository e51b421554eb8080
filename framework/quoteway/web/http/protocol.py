"""aiohttp's server with the error envelope for requests that aiohttp refuses before any handler.

aiohttp answers an over-long line, an invalid request or a bad transfer encoding in plain text that quotes the
request, and logs it. ``Server`` creates ``RequestHandler`` itself, so both are subclassed here. Only this
module uses aiohttp's internals; ``tests/web/test_protocol.py`` fails when they change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpRequestParser, RawRequestMessage
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler, RequestPayloadError
from aiohttp.web_request import BaseRequest

from quoteway.errors import MalformedRequest, Reason
from quoteway.web.http.envelope import error_response, from_http_exception
from quoteway.web.http.limits import network_of
from quoteway.web.http.middleware import MIDDLEWARE, new_request_id

if TYPE_CHECKING:
    from quoteway.web.http.light import LightPath

log = logging.getLogger("quoteway.web")


class EnvelopeHandler(RequestHandler):
    """One connection. What the parser refuses is answered in the envelope; nothing of the request is
    logged. A client that does not take an answer within ``send_timeout_s`` seconds is cut off.
    """

    __slots__ = (
        "_answering",
        "_early",
        "_light",
        "_rest",
        "_send_deadline",
        "_send_timeout_s",
        "_server",
        "_unanswered",
        "on_lost",
    )

    def __init__(
        self,
        manager: EnvelopeServer,
        *,
        loop: asyncio.AbstractEventLoop,
        send_timeout_s: float,
        light: LightPath | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(manager, loop=loop, **kwargs)
        self._send_timeout_s = send_timeout_s
        self._send_deadline: asyncio.TimerHandle | None = None
        self._light = light
        self._answering: asyncio.Task[None] | None = None
        """The answer of the light path that is under way."""
        self._early = b""
        """What has arrived meanwhile."""
        self._unanswered = 0
        """Requests that aiohttp has read and not answered yet."""
        self._server = manager
        self._rest: int | None = 0 if light is not None else None
        """The bytes that are missing of the body of the last request; None when that is not known."""
        self.on_lost: Callable[[], None] | None = None
        """Called when the connection is lost, for an answer that lasts."""

    def data_received(self, data: bytes) -> None:
        if self._answering is not None:
            if data and not (self._close or self._force_close):
                self._early += data
                self._pause_transport_reading()
            return
        light = self._light
        if light is not None and self._rest == 0 and self._is_idle() and light.take(self, data):
            return
        before = self._request_count
        self._parse(data)
        self._unanswered += self._request_count - before
        if self._rest is not None:
            self._rest = self._missing(self._rest, data, before)

    def _parse(self, data: bytes) -> None:
        # While the server drains, aiohttp drops all data: a request whose body is arriving would hang
        # until its deadline. The connection still ends after the request that it is serving.
        draining = self._close or self._force_close
        if not draining or not self._request_in_progress:
            super().data_received(data)
            return
        closing, self._close, self._force_close = self._force_close, False, False
        try:
            super().data_received(data)
        finally:
            self._close, self._force_close = True, self._force_close or closing

    # --- the light path -----------------------------------------------------------------------------------

    def _is_idle(self) -> bool:
        """Whether aiohttp has answered all it was given, and may serve another request. It need not wait for
        it yet: clients are quicker than its way from an answer to the next request.
        """
        ends = self._close or self._force_close or self._paused or self._upgraded or self._server.draining
        return not (self._unanswered or ends) and self.transport is not None

    async def _handle_request(self, *args: Any) -> tuple[web.StreamResponse, bool]:
        try:
            return await super()._handle_request(*args)
        finally:
            self._unanswered -= 1

    def _missing(self, rest: int, data: bytes, before: int) -> int | None:
        """Returns what is missing of a request after aiohttp was given ``data``.

        None where it cannot be told for sure that aiohttp's parser stands at the end of a request: it keeps
        the connection then. ``rest`` was missing before, and ``before`` requests had begun.
        """
        if rest or not data:
            rest -= len(data)
            return rest if rest >= 0 and self._request_count == before else None
        end = data.find(b"\r\n\r\n") + 4
        if end < 4 or self._request_count != before + 1 or self._upgraded or not self._messages:
            return None
        message, body = self._messages[-1]
        if not isinstance(message, RawRequestMessage) or message.chunked or not data[:1].isalpha():
            return None
        if message.should_close:
            return None
        rest = end + int(message.headers.get("Content-Length", "0")) - len(data)
        return rest if rest >= 0 and body.is_eof() == (rest == 0) else None

    def read_head(self, text: bytes) -> RawRequestMessage | None:
        """Reads the head of one request as this connection's parser does between two requests; None for what
        it refuses, and for bytes that do not end with the one head that they begin.
        """
        lines = text.count(b"\r\n")
        if not text.endswith(b"\r\n\r\n") or text.count(b"\n") != lines or text.count(b"\r") != lines:
            return None
        parser = HttpRequestParser(
            BaseProtocol(self._loop),
            self._loop,
            self._read_bufsize,
            max_line_size=self.max_line_size,
            max_field_size=self.max_field_size,
            max_headers=self.max_headers,
        )
        try:
            messages, is_upgrade, rest = parser.feed_data(text)
        except HttpProcessingError:
            return None
        return messages[0][0] if len(messages) == 1 and not is_upgrade and not rest else None

    @property
    def remote(self) -> str | None:
        """The address of the client's end of the connection."""
        peer = self.peername
        return str(peer[0] if isinstance(peer, list | tuple) else peer) if peer is not None else None

    def taken(self) -> None:
        """Counts a request that aiohttp has not seen."""
        self._request_count += 1
        if self._manager is not None:
            self._manager.requests_count += 1
        self._restart_keepalive()

    def send(self, data: bytes) -> None:
        """Sends bytes of an answer, unless the client has gone."""
        if self.transport is not None:
            self.transport.write(data)

    async def drained(self) -> None:
        """Waits until the client has taken most of what was sent."""
        if self._paused:
            await self._drain_helper()

    def begin(self, answer: Coroutine[Any, Any, None]) -> None:
        """Runs the rest of an answer. Until its end the connection is as one that aiohttp serves."""
        self._request_in_progress = True
        self._answering = task = self._loop.create_task(self._run(answer))
        task.add_done_callback(self._answered)

    async def _run(self, answer: Coroutine[Any, Any, None]) -> None:
        await answer
        if not (self._early or self._close or self._force_close):
            # At once: in the loop's next turn the next request would be early.
            self._end_answer()
            self._restart_keepalive()

    def _end_answer(self) -> None:
        self._answering, self._request_in_progress = None, False
        if self._handler_waiter is not None and not self._handler_waiter.done():
            self._handler_waiter.set_result(None)

    def _answered(self, task: asyncio.Task[None]) -> None:
        if self._answering is not task:
            return
        self._end_answer()
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.log_exception("Unhandled exception", exc_info=error)
        if self._close or self._force_close or error is not None or task.cancelled():
            self.force_close()
            return
        self._restart_keepalive()
        early, self._early = self._early, b""
        if early:
            self._resume_transport_reading()
            self.data_received(early)

    def _restart_keepalive(self) -> None:
        """Gives the client the whole time until its next request, as aiohttp does after each answer."""
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        if self._keepalive_handle is None:
            self._keepalive_handle = self._loop.call_at(
                self._next_keepalive_close_time, self._process_keepalive
            )

    def _process_keepalive(self) -> None:
        if self._answering is not None:  # for aiohttp the connection is idle
            self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        super()._process_keepalive()

    # --- what aiohttp answers by itself -------------------------------------------------------------------

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        request_id = new_request_id()
        told = {"request_id": request_id}
        log.info("request refused before any handler: %s", type(exc).__name__, extra=told)
        if request.writer.output_size > 0:
            raise ConnectionError("part of an answer has been sent")
        error = MalformedRequest(
            "The request is not valid HTTP/1.1, or too long.", reason=Reason.INVALID_FORMAT
        )
        return _closing(error_response(error, request_id), request_id)

    def log_exception(self, *args: Any, **kw: Any) -> None:
        # aiohttp reads the rest of a body that no handler read, and reports an invalid one as our error.
        if isinstance(failure := kw.get("exc_info"), RequestPayloadError):
            log.info("the unread rest of a request body is invalid: %s", type(failure).__name__)
        else:
            super().log_exception(*args, **kw)

    def finish_response(
        self, request: BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> Coroutine[Any, Any, tuple[web.StreamResponse, bool]]:
        # An HTTPException here did not pass the middleware: an unknown Expect header.
        if isinstance(resp, web.HTTPException):
            request_id = new_request_id()
            resp = _closing(error_response(from_http_exception(resp), request_id), request_id)
        if self._server.draining and not resp.prepared:
            resp.force_close()
        return RequestHandler.finish_response(self, request, resp, start_time)

    def pause_writing(self) -> None:
        # The client reads too slowly. aiohttp would hold the answer as long as the connection lasts.
        super().pause_writing()
        if self.transport is not None:
            self._send_deadline = self._loop.call_later(self._send_timeout_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._cancel_send_deadline()
        super().resume_writing()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._cancel_send_deadline()
        manager, answering = self._manager, self._answering
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()
        if answering is not None and manager is not None and manager.handler_cancellation:
            answering.cancel()

    def _cancel_send_deadline(self) -> None:
        if self._send_deadline is not None:
            self._send_deadline.cancel()
            self._send_deadline = None


def _closing(response: web.Response, request_id: str) -> web.Response:
    response.headers["X-Request-ID"] = request_id
    response.headers["Server"] = "quoteway"
    response.force_close()
    return response


def _waits_for_request(connection: RequestHandler) -> bool:
    """Whether no request, or only a part of its headers, has arrived on a connection."""
    waiter = connection._waiter
    waits = waiter is not None and not waiter.done() and not connection._request_in_progress
    return connection._request_count == 0 or waits


class EnvelopeServer(web.Server):
    """aiohttp's ``Server`` making ``EnvelopeHandler`` connections.

    Unlike the original it raises for a misspelt keyword instead of using default settings. With more than
    ``max_connections`` (None: no limit) each new connection closes the oldest one that waits for a request:
    without that, connections on which nothing arrives keep all others out. With more than
    ``max_per_address`` of an address that is not ``unlimited`` the same holds among its own; where none of
    them waits, the new one is closed. Those whose requests never end thus take a part of the places only.
    """

    def __init__(
        self,
        handler: Callable[..., Any],
        *,
        max_connections: int | None = None,
        max_per_address: int | None = None,
        unlimited: Callable[[str], bool] = lambda address: False,
        light: LightPath | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(handler, **kwargs)
        self.draining = False
        """Whether each answer tells the client to close its connection."""
        self._light = light
        self._max_connections = max_connections
        self._max_per_address = max_per_address
        self._unlimited = unlimited
        self._of_address: dict[str, dict[RequestHandler, None]] = {}
        self._address_of: dict[RequestHandler, str] = {}

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if self._max_per_address is not None:
            self._limit_address(handler, transport, self._max_per_address)
        if self._max_connections is not None and len(self._connections) > self._max_connections:
            self._close_waiting(self._connections)

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self._forget(handler)

    def _limit_address(self, handler: RequestHandler, transport: asyncio.Transport, most: int) -> None:
        peer = transport.get_extra_info("peername")
        if not isinstance(peer, tuple) or self._unlimited(peer[0]):
            return
        address = network_of(peer[0])
        own = self._of_address.setdefault(address, {})
        own[handler], self._address_of[handler] = None, address
        if len(own) > most and not self._close_waiting([each for each in own if each is not handler]):
            self._close(handler)

    def _close_waiting(self, connections: Iterable[RequestHandler]) -> bool:
        """Closes the oldest connection that waits for a request. Returns whether there is one."""
        waiting = next((each for each in connections if _waits_for_request(each)), None)
        if waiting is not None:
            self._close(waiting)
        return waiting is not None

    def _close(self, connection: RequestHandler) -> None:
        self._connections.pop(connection, None)  # at once: the next arrival must find another
        self._forget(connection)
        connection.force_close()

    def _forget(self, connection: RequestHandler) -> None:
        address = self._address_of.pop(connection, None)
        if address is not None:
            own = self._of_address[address]
            own.pop(connection, None)
            if not own:
                del self._of_address[address]

    def __call__(self) -> RequestHandler:
        return EnvelopeHandler(self, loop=self._loop, light=self._light, **self._kwargs)


class EnvelopeRunner(web.AppRunner):
    """``AppRunner`` on ``EnvelopeServer``, which answers from the cache before it looks for a route."""

    __slots__ = ()

    async def _make_server(self) -> web.Server:
        plain = await super()._make_server()
        return EnvelopeServer(
            self.app[MIDDLEWARE].with_cached_answers(plain.request_handler),
            light=self.app[MIDDLEWARE].light,
            request_factory=plain.request_factory,
            handler_cancellation=plain.handler_cancellation,
            loop=plain._loop,
            **plain._kwargs,
        )


def replace_match(request: web.Request, found: web.UrlMappingMatchInfo) -> None:
    """Makes ``found`` the request's ``match_info``, which aiohttp keeps from the first time it is read."""
    request._match_info = found
    request._cache.pop("match_info", None)
