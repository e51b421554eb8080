"""WebSocket at the path of the JSON-RPC proxy: who may connect, and all open connections."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

from aiohttp import web

from quoteway.engine.gateway import Gateway
from quoteway.errors import MalformedRequest, ProviderUnavailable, RateLimited, Reason
from quoteway.telemetry.traces import Message, Tracer
from quoteway.web.http.operation import CALLER, COUNTED, KEY, REQUEST_ID, require_ready
from quoteway.web.http.origins import Origins, same_host
from quoteway.web.http.socket_metrics import SocketMetrics
from quoteway.web.rpc.calls import RpcCalls
from quoteway.web.rpc.connection import CLOSE_TIMEOUT_S, Connection, SocketLimits
from quoteway.web.rpc.paths import RpcPath
from quoteway.web.rpc.subscriptions import ChainFeeds

PATH: Final = "/v2/rpc/{chainId}"
_RETRY_S = "10"


class OriginRefused(MalformedRequest, status=403):
    """A page of this origin may not connect."""


class Sockets:
    """All WebSocket connections of this process."""

    def __init__(
        self, gateway: Gateway, metrics: SocketMetrics, calls: RpcCalls, tracer: Tracer | None = None
    ) -> None:
        self._gateway = gateway
        self._tracer = tracer
        self._metrics = metrics
        self._calls = calls
        self._config = gateway.config.sockets
        self._origins = Origins(gateway.config)
        self._feeds: dict[int, ChainFeeds] = {}
        self._open: set[Connection] = set()
        self._callers: Counter[str] = Counter()
        self._is_stopping = False

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Serves one connection until it is closed."""
        if request.headers.get("Upgrade", "").strip().lower() != "websocket":
            raise web.HTTPMethodNotAllowed("GET", ["POST"])
        require_ready(self._gateway)
        gateway = self._gateway
        path = RpcPath(lambda: gateway.runtime.networks).accept(dict(request.match_info))
        chain_id: int = path["chain_id"]
        self._check_origin(request)
        chain = self._calls.chain(chain_id)
        caller = request[CALLER]
        key = request.get(KEY)
        self._check_room(caller, None if key is None else key.connections)
        server = gateway.config.server
        ws = web.WebSocketResponse(
            timeout=CLOSE_TIMEOUT_S,
            heartbeat=self._config.ping_s,
            compress=False,  # it costs memory for each connection, and each notification would be packed anew
            max_msg_size=server.rpc_body_limit_bytes,
            writer_limit=65_536,
            decode_text=False,
        )
        request_id = request[REQUEST_ID]
        ws.headers.update({"X-Request-ID": request_id, "Server": "quoteway"})
        self._callers[caller] += 1
        try:
            await ws.prepare(request)
            connection = Connection(
                ws,
                request.transport,
                chain,
                self._feeds.get(chain_id) or self._feeds.setdefault(chain_id, ChainFeeds.of(chain)),
                self._calls,
                request.get(COUNTED),
                SocketLimits(
                    self._config.subscriptions, self._config.queue_bytes, self._config.write_timeout_s
                ),
                self._metrics,
                request_id,
                self._traced(request.headers.get("traceparent")),
            )
            self._open.add(connection)
            self._metrics.opened()
            ending = None
            if key is not None and (left_s := key.left_s) is not None:
                text = "the API key expired"
                ending = asyncio.get_running_loop().call_later(left_s, connection.close, "expired", text)
            try:
                await connection.run()
            finally:
                if ending is not None:
                    ending.cancel()
                self._open.discard(connection)
        finally:
            self._callers[caller] -= 1
            if not self._callers[caller]:
                del self._callers[caller]
        return ws

    def _traced(self, given: str | None) -> Callable[[], AbstractContextManager[Message]] | None:
        """Returns what makes each call a trace of its own; None where no traces are sent."""
        return None if self._tracer is None else partial(self._tracer.message, "WS", PATH, given)

    def _check_origin(self, request: web.Request) -> None:
        """Refuses pages of other origins: browsers let every page open a WebSocket (RFC 6455, section 10.2).

        Programs send no ``Origin``; they are not restricted by it.
        """
        origin = request.headers.get("Origin")
        if origin is None or self._origins.allow(origin) or same_host(origin, request.headers):
            return
        self._metrics.refused("origin")
        raise OriginRefused("Pages of this origin may not connect.", reason=Reason.CONFLICT)

    def _check_room(self, caller: str, most: int | None) -> None:
        again = {"Retry-After": _RETRY_S}
        most = self._config.connections_per_caller if most is None else most
        if self._is_stopping or self._callers.total() >= self._config.connections:
            self._metrics.refused("full")
            text = "The service has as many WebSocket connections as it takes."
            raise ProviderUnavailable(text, headers=again, retryable=True)
        if self._callers[caller] >= most:
            self._metrics.refused("caller")
            text = f"More than {most} WebSocket connections. Close one first."
            raise RateLimited(text, headers=again, retryable=True)

    async def stop(self, app: web.Application | None = None) -> None:
        """Takes no further connection, sends what is due on the open ones, and closes them."""
        self._is_stopping = True
        grace_s = self._gateway.config.server.shutdown_timeout_s / 4
        await asyncio.gather(*(connection.stop(grace_s) for connection in tuple(self._open)))
