"""A node on a loopback socket with a given behaviour."""

import asyncio
import json


class FakeNode:
    """``behaviour(node, request, writer)`` answers one request; ``seen`` has the request bodies.

    While ``silent``, not even the chain id is told: what was asked then is never answered.
    """

    def __init__(self, behaviour=None, chain_id=1):
        self.behaviour = behaviour
        self.chain_id = chain_id
        self.silent = False
        self.seen = []
        self.headers = []
        self.paths = []
        self.port = 0
        self._server = None
        self._writers = set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in self._writers:
            writer.close()

    @property
    def methods(self):
        return [request["method"] for request in self.seen]

    @property
    def calls(self):
        """The requests without the check of the chain id and the reads of the head."""
        return [
            request
            for request in self.seen
            if request["method"] != "eth_chainId" and request.get("params") != ["latest", False]
        ]

    async def _connection(self, reader, writer):
        self._writers.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                self.paths.append(lines[0].split(" ")[1])
                headers = {
                    k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)
                }
                self.headers.append(headers)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                request = json.loads(body)
                self.seen.append(request)
                if self.silent:
                    await asyncio.sleep(3600)
                if request["method"] == "eth_chainId":
                    ok(writer, request, hex(self.chain_id))
                else:
                    await (self.behaviour or healthy)(self, request, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


def send(writer, body, status="200 OK", headers=""):
    body = body if isinstance(body, bytes) else body.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    )
    writer.write(head.encode() + body)


def ok(writer, request, result):
    send(writer, json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))


def error(code, message="no", data=None, status="200 OK"):
    async def behave(node, request, writer):
        fault = {"code": code, "message": message} | ({} if data is None else {"data": data})
        send(writer, json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": fault}), status)

    return behave


def raw(body, status="200 OK", headers=""):
    async def behave(node, request, writer):
        send(writer, body, status, headers)

    return behave


HEAD = {"number": "0x2a", "hash": "0x" + "2a" * 32, "parentHash": "0x" + "29" * 32, "timestamp": "0x1"}
HEALTHY = {"eth_getBlockByNumber": HEAD, "eth_getLogs": []}
"""The answers of a healthy node that are not 0x2a."""


async def healthy(node, request, writer):
    ok(writer, request, HEALTHY.get(request["method"], "0x2a"))
