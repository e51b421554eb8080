"""One WebSocket of a client: its calls, its subscriptions, and why it is closed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson
from aiohttp import WSCloseCode, WSMsgType, web

from quoteway.errors import GatewayError, MalformedRequest, RateLimited, Reason
from quoteway.evm.chain import RpcChain
from quoteway.telemetry.traces import Message
from quoteway.web.http.limits import Counted
from quoteway.web.http.socket_metrics import SocketMetrics
from quoteway.web.rpc.answers import INVALID_REQUEST, RpcResponse, error_of, refusal_of, result_of
from quoteway.web.rpc.calls import RpcCalls
from quoteway.web.rpc.outbox import Outbox
from quoteway.web.rpc.parsing import InvalidJson, NoCall, RpcCall, parse
from quoteway.web.rpc.subscriptions import ChainFeeds, Subscription, read_id, read_subscription

log = logging.getLogger("quoteway.web")

PARSE_ERROR: Final = -32700
CONCURRENT: Final = 16
"""Messages of one connection that are answered at once. More are not read until one is answered."""
CLOSE_TIMEOUT_S: Final = 1.0
"""How long a client has to take part in closing, until its connection is cut."""
RESYNC: Final = 4001
"""The close code when blocks were missed: subscribe anew, and read what is missing."""

Cause = Literal["client", "silent", "slow", "resync", "stopping", "failed", "expired"]


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """The limits of one connection."""

    subscriptions: int
    queue_bytes: int
    write_timeout_s: float


class Connection:
    """Answers the calls of one WebSocket until either side closes it. ``run`` raises nothing.

    ``traced`` makes each call a trace of its own; None: no traces are sent.
    """

    def __init__(
        self,
        ws: web.WebSocketResponse[Any],
        transport: asyncio.Transport | None,
        chain: RpcChain,
        feeds: ChainFeeds,
        calls: RpcCalls,
        counted: Counted | None,
        limits: SocketLimits,
        metrics: SocketMetrics,
        request_id: str,
        traced: Callable[[], AbstractContextManager[Message]] | None = None,
    ) -> None:
        self._ws = ws
        self._traced = traced
        self._transport = transport
        self._chain = chain
        self._feeds = feeds
        self._calls = calls
        self._counted = counted
        self._limits = limits
        self._metrics = metrics
        self._request_id = request_id
        self._outbox = Outbox(
            ws, limits.queue_bytes, limits.write_timeout_s, lambda: self.close("slow", "slow reader")
        )
        self._subscriptions: dict[str, Subscription] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(CONCURRENT)
        self._cause: Cause | None = None
        self._closing: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Serves until the connection is closed, and ends its subscriptions."""
        writing = asyncio.create_task(self._write(), name="socket:write")
        try:
            await self._receive()
        except Exception:  # isolation border: an HTTP error can no longer be sent on this connection
            log.exception("a WebSocket failed", extra={"request_id": self._request_id})
            self.close("failed", "")
        finally:
            for subscription in tuple(self._subscriptions.values()):
                self._end(subscription)
            for task in (writing, *self._tasks):
                task.cancel()
            if self._closing is not None:
                await self._closing
            silent = isinstance(self._ws.exception(), TimeoutError)  # no answer to a ping
            self._metrics.closed(self._cause or ("silent" if silent else "client"))

    async def _receive(self) -> None:
        while True:
            message = await self._ws.receive()
            # web3.py sends its calls in binary frames. geth takes both kinds too, and answers in text.
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                return
            await self._slots.acquire()
            if self._closing is not None:
                return
            task = asyncio.create_task(self._take(message.data), name="socket:call")
            self._tasks.add(task)
            task.add_done_callback(self._taken)

    def _taken(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._slots.release()
        if not task.cancelled() and task.exception() is not None:
            log.error(
                "a call over a WebSocket failed",
                extra={"request_id": self._request_id},
                exc_info=task.exception(),
            )
            self.close("failed", "")

    async def _write(self) -> None:
        try:
            await self._outbox.write()
        except TimeoutError:
            self.close("slow", "slow reader")
        except ConnectionError:  # the client is gone, which the reading side sees
            pass

    # --- closing --------------------------------------------------------------------------------------------

    def close(self, cause: Cause, reason: str) -> None:
        """Begins to close the connection; only the first cause counts."""
        if self._closing is None:
            self._cause = cause
            self._closing = asyncio.create_task(self._close(_CODES[cause], reason), name="socket:close")

    async def _close(self, code: int, reason: str) -> None:
        for subscription in tuple(self._subscriptions.values()):
            self._end(subscription)
        for task in tuple(self._tasks):
            task.cancel()
        with contextlib.suppress(TimeoutError, ConnectionError, RuntimeError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._ws.close(code=code, message=reason.encode(), drain=False)
        # A client that does not read would not get the close frame, and hold the buffers as it does now.
        if self._transport is not None and self._transport.get_write_buffer_size():
            self._transport.abort()

    async def stop(self, grace_s: float) -> None:
        """Sends what is due, and closes the connection because the service stops."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_s)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._outbox.empty()
        self.close("stopping", "the service stops")
        if self._closing is not None:
            await asyncio.wait([self._closing])

    # --- calls ----------------------------------------------------------------------------------------------

    async def _take(self, raw: bytes) -> None:
        """Answers one message: a call or a batch."""
        begun: list[Subscription] = []
        try:
            answer = await self._answer(raw, begun)
            if answer is not None:
                await self._outbox.send(answer)
        except BaseException:
            for subscription in begun:
                self._end(subscription)
            raise
        for subscription in begun:
            subscription.release()

    async def _answer(self, raw: bytes, begun: list[Subscription]) -> bytes | None:
        try:
            asked = parse(raw)
        except MalformedRequest as error:
            refused = await self._count(1)
            code = PARSE_ERROR if isinstance(error, InvalidJson) else INVALID_REQUEST
            reason = Reason.INVALID_FORMAT.value
            nothing = error_of(None, code, error.message, reason, self._request_id)
            return orjson.dumps(nothing if refused is None else self._refusal(None, "", refused))
        if isinstance(asked, list):
            return await self._answer_batch(asked, begun)
        refused = await self._count(asked.cost)
        if asked.is_notification:
            return None
        if refused is not None:
            return orjson.dumps(self._refusal(asked.id, asked.method, refused))
        return orjson.dumps(await self._answer_one(asked, begun))

    async def _answer_batch(self, calls: list[RpcCall | NoCall], begun: list[Subscription]) -> bytes | None:
        reason = Reason.INVALID_FORMAT.value
        if not calls:
            text = "a batch must have a call"
            return orjson.dumps(error_of(None, INVALID_REQUEST, text, reason, self._request_id))
        refused = await self._count(sum(call.cost for call in calls))
        places = asyncio.Semaphore(CONCURRENT)

        async def answered(call: RpcCall | NoCall) -> bytes:
            if isinstance(call, NoCall):
                text = call.message
                return orjson.dumps(error_of(None, INVALID_REQUEST, text, reason, self._request_id))
            if call.is_notification:
                return b""
            if refused is not None:
                return orjson.dumps(self._refusal(call.id, call.method, refused))
            async with places:
                return orjson.dumps(await self._answer_one(call, begun))

        answers = await asyncio.gather(*map(answered, calls))
        return b"[" + b",".join(filter(None, answers)) + b"]" if any(answers) else None

    async def _answer_one(self, call: RpcCall, begun: list[Subscription]) -> RpcResponse:
        if self._traced is None:
            return await self._answered(call, begun, None)
        with self._traced() as message:
            return await self._answered(call, begun, message)

    async def _answered(
        self, call: RpcCall, begun: list[Subscription], message: Message | None
    ) -> RpcResponse:
        try:
            if call.method == "eth_subscribe":
                return result_of(call.id, await self._subscribe(call.params, begun))
            if call.method == "eth_unsubscribe":
                found = self._subscriptions.get(read_id(call.params))
                if found is not None:
                    self._end(found)
                return result_of(call.id, found is not None)
            return await self._calls.answer(self._chain, call, self._request_id)
        except GatewayError as error:
            if message is not None:
                message.outcome, message.reason = "failed", error.reason
            return self._refusal(call.id, call.method, error)

    def _refusal(self, call_id: Any, method: str, error: GatewayError) -> RpcResponse:
        return refusal_of(call_id, method, error, self._request_id)

    async def _count(self, cost: int) -> RateLimited | None:
        """Counts calls of a cost against the caller's rate limit. Returns the error over the limit."""
        if self._counted is not None:
            try:
                await self._counted.take(cost)
            except RateLimited as error:
                return error
        return None

    # --- subscriptions --------------------------------------------------------------------------------------

    async def _subscribe(self, params: Any, begun: list[Subscription]) -> str:
        subscription = read_subscription(params, self._push, self._lose)
        if len(self._subscriptions) >= self._limits.subscriptions:
            text = f"A connection may have {self._limits.subscriptions} subscriptions. End one of them first."
            raise RateLimited(text, reason=Reason.OUT_OF_RANGE)
        self._subscriptions[subscription.id] = subscription
        self._metrics.subscribed(subscription.kind, 1)
        try:
            await subscription.join(self._feeds)
        except BaseException:
            self._end(subscription)
            raise
        begun.append(subscription)
        return subscription.id

    def _end(self, subscription: Subscription) -> None:
        if self._subscriptions.pop(subscription.id, None) is not None:
            subscription.leave(self._feeds)
            self._metrics.subscribed(subscription.kind, -1)

    def _push(self, message: bytes) -> None:
        self._metrics.notified()
        self._outbox.push(message)

    def _lose(self) -> None:
        self.close("resync", "resync: blocks were missed")


_CODES: Final[dict[Cause, int]] = {
    "slow": WSCloseCode.POLICY_VIOLATION,
    "resync": RESYNC,
    "stopping": WSCloseCode.GOING_AWAY,
    "expired": WSCloseCode.POLICY_VIOLATION,
    "failed": WSCloseCode.INTERNAL_ERROR,
}
