"""A gateway whose light path can be left out, and connections of it without sockets."""

import asyncio
import re

from quoteway.errors import Reason, RpcError, UpstreamError
from quoteway.hookspecs import hookimpl
from quoteway.models import RawJson
from quoteway.networks import Network
from quoteway.providers import RpcUpstream
from quoteway.web.http.light import LightPath

LONG = b'["' + b"ab" * 200_000 + b'"]'


class Node:
    """A node that answers some methods, fails at others, and holds balances."""

    def __init__(self):
        self.forwarded, self.kept_asked = [], []
        self.held = {"eth_getBalance": b'"0x5"', "eth_getBlockReceipts": LONG}
        self.released = asyncio.Event()

    @hookimpl
    def quoteway_networks(self):
        return [Network("ethereum", 1, "Ethereum")]

    @hookimpl
    def quoteway_rpc_upstreams(self, context):
        outer = self

        class Upstream(RpcUpstream):
            id, title, networks = "node", "Node", frozenset({1})

            async def forward(self, network, method, params, *, timeout_s):
                return await outer.answer(method, params)

            def kept(self, network, method, params):
                outer.kept_asked.append((network.slug, method, params))
                found = outer.held.get(method)
                if isinstance(found, Exception):
                    raise found
                return found

        return [Upstream()]

    async def answer(self, method, params):
        if method != "eth_chainId":
            self.forwarded.append((method, params))
        match method:
            case "eth_chainId":
                return "0x1"
            case "eth_blockNumber":
                await self.released.wait()
                return "0x10"
            case "eth_gasPrice":
                raise RpcError(-32000, "no", data="0x")
            case "eth_syncing":
                raise UpstreamError("No node answered.", reason=Reason.RPC_ERROR)
            case "eth_blobBaseFee":
                raise ValueError("a bug")
            case "eth_getLogs":
                return RawJson(LONG)
        return {"of": method}


class Wire(asyncio.Transport):
    """The server's end of a connection, in memory."""

    def __init__(self, protocol, address="192.0.2.1"):
        super().__init__({"peername": (address, 1)})
        self.protocol, self.out, self.closed, self.paused = protocol, bytearray(), False, False
        protocol.connection_made(self)

    def write(self, data):
        assert not self.closed or not data
        self.out += data

    def is_closing(self):
        return self.closed

    def close(self):
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    abort = close

    def pause_reading(self):
        self.paused = True

    def resume_reading(self):
        self.paused = False

    async def feed(self, data, turns=60):
        """Gives the server bytes, and lets it work until it waits for something."""
        while self.paused:
            await asyncio.sleep(0)
        if not self.closed:
            self.protocol.data_received(data)
        await self.rest(turns)

    def is_answering(self):
        """Whether a request that has arrived as a whole is being answered."""
        request = self.protocol._current_request
        whole = request is not None and request.content.is_eof()
        return not self.closed and (whole or self.protocol._answering is not None)

    async def rest(self, turns=60):
        for _ in range(turns):
            await asyncio.sleep(0)


class Room:
    """A served gateway. ``taken`` are the bodies, and the probes, that the light path took."""

    def __init__(self, api, node, monkeypatch):
        self.api, self.node, self.taken = api, node, []
        self.server = api.runner.server
        serve = LightPath._serve

        def counted(light, connection, head, body):
            self.taken.append(body)
            serve(light, connection, head, body)

        monkeypatch.setattr(LightPath, "_serve", counted)
        take_probe = LightPath._take_probe

        def counted_probe(light, connection, data):
            taken = take_probe(light, connection, data)
            self.taken += [data] * taken
            return taken

        monkeypatch.setattr(LightPath, "_take_probe", counted_probe)

    def connect(self, *, light=True):
        protocol = self.server()
        if not light:
            protocol._light = protocol._rest = None
        return Wire(protocol)

    async def exchange(self, chunks, *, light):
        """What the server writes to a client that sends these chunks, and whether it closes."""
        wire = self.connect(light=light)
        await wire.rest(3)
        for chunk in chunks:
            await wire.feed(chunk)
            async with asyncio.timeout(60):
                while wire.is_answering():
                    await asyncio.sleep(0.001)
        out, closed = bytes(wire.out), wire.closed
        wire.close()
        await wire.rest(5)
        return plain(out), closed


_VARYING = (
    (rb"\r\nDate: [^\r]*", b"\r\nDate: x"),
    (rb"\r\nX-Request-ID: [0-9a-f]{32}\r", b"\r\nX-Request-ID: x\r"),
    (rb'"requestId":"[0-9a-f]{32}"', b'"requestId":"x"'),
    (rb";r=\d+;t=\d+", b";r=x;t=x"),
    (rb"Retry-After: \d+", b"Retry-After: x"),
    (rb"in \d+ s\.", b"in x s."),
    (rb"(traceparent: 00-[0-9a-f]{32})-[0-9a-f]{16}", rb"\1-x"),
)


def plain(answer):
    """An answer without what differs from one to the next."""
    for pattern, instead in _VARYING:
        answer = re.sub(pattern, instead, answer)
    return answer


def post(body, *fields, path=b"/v2/rpc/1", size=None):
    lines = [b"POST %b HTTP/1.1" % path, b"Host: x", b"Content-Type: application/json", *fields]
    length = len(body) if size is None else size
    return b"\r\n".join([*lines, b"Content-Length: %d" % length]) + b"\r\n\r\n" + body


def probe(*fields, path=b"/healthz"):
    return b"\r\n".join([b"GET %b HTTP/1.1" % path, b"Host: x", *fields]) + b"\r\n\r\n"


def call(method="eth_chainId", params=b"[]", call_id=b"1"):
    return b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":%b}' % (call_id, method.encode(), params)


async def both(room, request):
    """Sends a request on both paths, twice on one connection. Returns what the light path took."""
    expected = await room.exchange([request] * 2, light=False)
    assert not room.taken
    assert await room.exchange([request] * 2, light=True) == expected
    assert expected[0].startswith(b"HTTP/1.") or b"Content-Length: 60" in request  # which waits for a byte
    return room.taken
