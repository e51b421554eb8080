"""Gateways over the devnet's node, and WebSocket clients of them."""

import asyncio
import json
import re

import aiohttp
import pytest
from aiohttp import WSMsgType
from quoteway.testing.fakes import HttpRpc

DEADLINE_S = 60
RICH = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
PATH = "/v2/rpc/31337"
KEY = "4f1c9a07e2d85b36c0a7914ed3f8625b"


HANDSHAKE = (
    f"GET {PATH} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
).encode()


class Node(HttpRpc):
    """The devnet's node, counted; ``broken`` is raised instead of its answers, ``replies`` are given."""

    def __init__(self, context):
        super().__init__(context, provider_id="node")
        self.asked, self.broken, self.replies = [], None, {}

    async def forward(self, network, method, params, *, timeout_s):
        self.asked.append(method)
        if self.broken is not None:
            raise self.broken
        if method in self.replies:
            return self.replies[method]
        return await super().forward(network, method, params, timeout_s=timeout_s)


class Client:
    """A WebSocket client that keeps answers by id and notifications by subscription."""

    def __init__(self, ws):
        self.ws, self.answers, self.told, self.batches = ws, {}, {}, []
        self._arrived = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())
        self._ids = 0

    async def _read(self):
        async for message in self.ws:
            assert message.type is WSMsgType.TEXT
            body = json.loads(message.data)
            async with self._arrived:
                if isinstance(body, list):
                    self.batches.append(body)
                elif body.get("method") == "eth_subscription":
                    given = body["params"]
                    self.told.setdefault(given["subscription"], []).append(given["result"])
                else:
                    self.answers[body["id"]] = body
                self._arrived.notify_all()

    async def until(self, condition):
        async with asyncio.timeout(DEADLINE_S), self._arrived:
            await self._arrived.wait_for(condition)

    async def ask(self, method, *params, **more):
        self._ids += 1
        call_id = more.pop("id", f"c{self._ids}")
        call = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": list(params), **more}
        await self.ws.send_str(json.dumps(call))
        await self.until(lambda: call_id in self.answers)
        return self.answers.pop(call_id)

    async def result(self, method, *params):
        answer = await self.ask(method, *params)
        assert "result" in answer, answer
        return answer["result"]

    async def code(self, method, *params, **more):
        return (await self.ask(method, *params, **more))["error"]["code"]

    async def closed(self):
        async with asyncio.timeout(DEADLINE_S):
            await self._reading
        return self.ws.close_code


class Room:
    """A gateway over the devnet's node, and clients of it."""

    def __init__(self, devnet, api, node, stack):
        self.devnet, self.api, self.node, self._stack = devnet, api, node, stack
        self.weth = devnet.chains["devnet"].contracts["WETH9"]

    async def connect(self, path=PATH, **options):
        return Client(
            await self._stack.enter_async_context(self.api.session.ws_connect(self.api.url + path, **options))
        )

    async def refused(self, path=PATH, **options):
        """The status of an upgrade that is refused."""
        with pytest.raises(aiohttp.WSServerHandshakeError) as error:
            await self.connect(path, **options)
        return error.value.status

    async def rpc(self, method, *params):
        def call():
            with self.devnet.rpc("devnet") as rpc:
                return rpc(method, *params)

        return await asyncio.to_thread(call)

    async def deposit(self, amount=1, times=1):
        def send():
            with self.devnet.rpc("devnet") as rpc:
                sent = {"from": RICH, "to": self.weth, "data": "0xd0e30db0", "value": hex(amount)}
                return [rpc.send(sent) for _ in range(times)]

        return await asyncio.to_thread(send)

    async def metric(self, name):
        text = (await self.api.get("/metrics")).raw.decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return 0 if found is None else float(found[1])

    async def until(self, look):
        async with asyncio.timeout(DEADLINE_S):
            while not await look():
                await asyncio.sleep(0.02)
