"""The new heads that one upstream pushes over its WebSocket (``eth_subscribe`` with ``newHeads``)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
from quoteway import UpstreamError
from quoteway.evm.answers import header_of

from quoteway_rpc.upstream import Unusable, Upstream

if TYPE_CHECKING:
    from quoteway_rpc.heads import NetworkHeads

MAX_MESSAGE_BYTES = 1 << 17
"""A header has about 1 kB."""
SILENT_BLOCKS = 5
"""After so many block times without a head, the node is asked over HTTP whether there is a newer one."""
_SHORTEST_SILENCE_S = 5.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0
_PING_S = 15.0
_CHAIN_ID, _SUBSCRIBE = 1, 2


class HeadFeed:
    """Follows one upstream and connects again when the connection is lost, after growing pauses."""

    def __init__(self, upstream: Upstream, heads: NetworkHeads) -> None:
        self._upstream = upstream
        self._heads = heads
        self._pause_s = _FIRST_PAUSE_S

    async def run(self) -> None:
        """Runs until it is cancelled. The node's chain id is compared on each connection."""
        while True:
            if self._heads.is_cordoned(self._upstream):
                await asyncio.sleep(_FIRST_PAUSE_S)
                continue
            try:
                kind = await self._follow()
            except (aiohttp.ClientError, OSError, ValueError, TimeoutError, UpstreamError, Unusable) as error:
                kind = type(error).__name__  # its text may hold the URL
            finally:
                self._heads.pushing(self._upstream, live=False)
            self._heads.lost_feed(self._upstream, kind)
            await asyncio.sleep(self._pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    async def _follow(self) -> str:
        """Returns why the connection ended."""
        url, headers = self._upstream.ws or ("", {})
        shared = self._heads.http()
        # A session of its own, since ``ws_connect`` follows redirects. The connections are the shared ones.
        async with (
            aiohttp.ClientSession(
                connector=shared.connector, connector_owner=False, middlewares=(_no_redirect,)
            ) as session,
            asyncio.timeout(None) as opening,
        ):
            opening.reschedule(asyncio.get_running_loop().time() + _SHORTEST_SILENCE_S)
            async with session.ws_connect(
                url, headers=headers, max_msg_size=MAX_MESSAGE_BYTES, heartbeat=_PING_S, compress=0
            ) as socket:
                await socket.send_str(_request(_CHAIN_ID, "eth_chainId", []))
                await socket.send_str(_request(_SUBSCRIBE, "eth_subscribe", ["newHeads"]))
                opening.reschedule(None)
                return await self._read(socket)

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> str:
        chain_id = subscription = None
        last = 0
        silence_s = max(SILENT_BLOCKS * self._heads.network.block_time_s, _SHORTEST_SILENCE_S)
        while True:
            live = chain_id is not None and subscription is not None
            try:
                message = await socket.receive(timeout=silence_s if live else _SHORTEST_SILENCE_S)
            except TimeoutError:
                # A newer head than it pushed: the subscription is lost.
                if not live or self._heads.is_cordoned(self._upstream) or await self._number() > last:
                    return "silent"
                continue
            if self._heads.is_cordoned(self._upstream):
                return "cordoned"
            if message.type is not aiohttp.WSMsgType.TEXT:
                return "closed"
            answer = orjson.loads(message.data)
            if not isinstance(answer, dict):
                return "not_json_rpc"
            if answer.get("id") == _CHAIN_ID:
                chain_id = answer.get("result")
                if not self._upstream.is_chain_id(chain_id):
                    self._upstream.reconnected()
                    return "wrong_chain_id"
            elif answer.get("id") == _SUBSCRIBE:
                subscription = answer.get("result")
                if not isinstance(subscription, str):
                    return "no_subscription"
            elif live and (header := _pushed(answer, subscription)) is not None:
                self._pause_s = _FIRST_PAUSE_S
                last = header.block.number
                self._heads.tell_header(self._upstream, header)
            if chain_id is not None and subscription is not None and not live:
                last = await self._number()  # of the head before the first one pushed
                self._heads.pushing(self._upstream, live=True)

    async def _number(self) -> int:
        """Returns the number of the node's head as it answers over HTTP."""
        await self._heads.look(self._upstream)
        return self._heads.views[self._upstream].number or 0


def _pushed(answer: Mapping[str, Any], subscription: object) -> Any:
    params = answer.get("params")
    if answer.get("method") != "eth_subscription" or not isinstance(params, dict):
        return None
    if params.get("subscription") != subscription or not isinstance(params.get("result"), dict):
        return None
    return header_of(params["result"])


def _request(request_id: int, method: str, params: list[str]) -> str:
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).decode()


async def _no_redirect(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    response = await handler(request)
    if 300 <= response.status < 400:
        response.close()
        raise aiohttp.ClientPayloadError("redirected")
    return response
