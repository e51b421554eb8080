"""A small chain that nodes answer from, honestly or not: blocks with parents, receipts, logs and blooms."""

import asyncio
import hashlib
import json

import aiohttp
from aiohttp import web
from fake_node import ok
from quoteway.evm.address import keccak256

ADDRESS = "0x" + "a1" * 20
OTHER = "0x" + "b2" * 20
TOPIC = "0x" + "c3" * 32


def digest(*parts):
    return "0x" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def bloom_of(items):
    bloom = 0
    for item in items:
        found = keccak256(bytes.fromhex(item[2:]))
        for at in (0, 2, 4):
            bloom |= 1 << (int.from_bytes(found[at : at + 2]) % 2048)
    return f"0x{bloom:0512x}"


class ChainModel:
    """``length`` blocks; from ``fork_at`` on those of branch ``branch``. Each has one log of ``ADDRESS``."""

    def __init__(self, length=100, branch="main", fork_at=0):
        self.branch = branch
        self.fork_at = fork_at
        self.length = length

    def hash(self, number):
        return digest("block", self.branch if number >= self.fork_at else "main", number)

    def block(self, number):
        if not 0 <= number < self.length:
            return None
        return {
            "number": hex(number),
            "hash": self.hash(number),
            "parentHash": self.hash(number - 1),
            "timestamp": hex(1_700_000_000 + number),
            "logsBloom": bloom_of([ADDRESS, TOPIC]),
            "transactions": [self.transaction(number)],
        }

    def transaction(self, number):
        return digest("transaction", number)

    def log(self, number):
        return {
            "address": ADDRESS,
            "topics": [TOPIC],
            "data": "0x",
            "blockNumber": hex(number),
            "blockHash": self.hash(number),
            "transactionHash": self.transaction(number),
            "transactionIndex": "0x0",
            "logIndex": "0x0",
            "removed": False,
        }

    def receipt(self, transaction):
        for number in range(self.length):
            if self.transaction(number) == transaction:
                place = {"blockNumber": hex(number), "blockHash": self.hash(number)}
                return {"transactionHash": transaction, "logs": [self.log(number)], "status": "0x1"} | place
        return None

    def number(self, tag):
        names = {"latest": self.length - 1, "finalized": max(self.length - 65, 0), "earliest": 0}
        return names[tag] if tag in names else int(tag, 16)

    def answer(self, method, params):
        """The result of an honest node with this chain."""
        if method == "eth_blockNumber":
            return hex(self.length - 1)
        if method == "eth_getBlockByNumber":
            return self.block(self.number(params[0]))
        if method == "eth_getBlockByHash":
            return next((b for n in range(self.length) if (b := self.block(n))["hash"] == params[0]), None)
        if method == "eth_getTransactionReceipt":
            return self.receipt(params[0])
        if method == "eth_getTransactionByHash":
            receipt = self.receipt(params[0])
            return receipt and {"hash": params[0]} | {k: receipt[k] for k in ("blockNumber", "blockHash")}
        if method == "eth_getLogs":
            return self._logs(params[0])
        return "0x2a"

    def _logs(self, wanted):
        logs = [self.log(number) for number in range(self.length)]
        if "blockHash" in wanted:
            logs = [log for log in logs if log["blockHash"] == wanted["blockHash"]]
        else:
            first, last = (self.number(wanted[end]) for end in ("fromBlock", "toBlock"))
            logs = [log for log in logs if first <= int(log["blockNumber"], 16) <= last]
        return [log for log in logs if wanted.get("address") in (None, log["address"])]


class Node:
    """The behaviour of a ``FakeNode`` with a chain.

    ``lies`` maps methods to what is answered instead: a value, or a function of the honest answer.
    """

    def __init__(self, chain, **lies):
        self.chain = chain
        self.lies = lies

    async def __call__(self, node, request, writer):
        ok(writer, request, self.result(request["method"], request["params"]))

    def result(self, method, params):
        honest = self.chain.answer(method, params)
        if method not in self.lies:
            return honest
        lie = self.lies[method]
        return lie(honest) if callable(lie) else lie


class SocketNode:
    """A node of a chain at one port for HTTP and WebSocket; ``mine`` adds a block and pushes its header."""

    def __init__(self, chain, chain_id=1):
        self.chain = chain
        self.chain_id = chain_id
        self.seen = []
        self.sockets = []
        self.connections = 0
        self.mute = False
        self.port = 0
        self.changed = asyncio.Event()

    async def __aenter__(self):
        app = web.Application()
        app.router.add_post("/", self._http)
        app.router.add_get("/", self._socket)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_):
        await self.drop()
        await self._runner.cleanup()

    def answer(self, request):
        self.seen.append(request["method"])
        known = {"eth_chainId": hex(self.chain_id), "eth_subscribe": "0x5"}
        method = request["method"]
        result = known[method] if method in known else self.chain.answer(method, request["params"])
        return {"jsonrpc": "2.0", "id": request["id"], "result": result}

    async def _http(self, request):
        return web.json_response(self.answer(await request.json()))

    async def _socket(self, request):
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.connections += 1
        self.sockets.append(socket)
        try:
            async for message in socket:
                call = json.loads(message.data)
                await socket.send_json(self.answer(call))
                if call["method"] == "eth_subscribe":
                    self.changed.set()
        finally:
            self.sockets.remove(socket)
        return socket

    async def mine(self, chain=None):
        if chain is None:
            self.chain.length += 1
        else:
            self.chain = chain
        await self.push(self.chain.block(self.chain.length - 1))

    async def push(self, header):
        params = {"subscription": "0x5", "result": header}
        message = {"jsonrpc": "2.0", "method": "eth_subscription", "params": params}
        for socket in list(self.sockets):
            if not self.mute:
                await socket.send_json(message)

    async def drop(self):
        for socket in list(self.sockets):
            await socket.close(code=aiohttp.WSCloseCode.GOING_AWAY)


async def until(condition):
    """Waits until ``condition()`` is true."""
    async with asyncio.timeout(60):
        while not (found := condition()):
            await asyncio.sleep(0.01)
    return found
