"""What nodes and their providers do wrong, by name: faults of availability, as seen in the field.

``NODE_FAULTS`` are behaviours of a ``FaultyNode``. ``ADDRESS_FAULTS`` are endpoints that cannot be reached.
A fault that lies (an older head, another chain, wrong logs) is not here: that one node answers does not help
against it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from quoteway.testing.faulty_node import Behaviour, FaultyNode, send

SECRET: Final = "key-8c41f0-of-the-operator"
"""A key that faulty nodes repeat in what they answer: no answer, log or error of a plugin may hold it."""
_SLOW_S: Final = 2.0
_FOREVER_S: Final = 3600.0

Request = Mapping[str, Any]
Writer = asyncio.StreamWriter


def _raw(body: bytes | str, status: str = "200 OK", headers: str = "") -> Behaviour:
    async def behave(node: FaultyNode, request: Request, writer: Writer) -> None:
        send(writer, body, status, headers)

    return behave


def _members(status: str = "200 OK", **members: Any) -> Behaviour:
    """Returns a behaviour that answers these members beside the version and the id, or instead of them."""

    async def behave(node: FaultyNode, request: Request, writer: Writer) -> None:
        send(writer, json.dumps({"jsonrpc": "2.0", "id": request["id"], **members}), status)

    return behave


def _error(code: int, message: str, status: str = "200 OK") -> Behaviour:
    return _members(status, error={"code": code, "message": message})


def _of_method(method: str, behaviour: Behaviour) -> Behaviour:
    async def behave(node: FaultyNode, request: Request, writer: Writer) -> None:
        if request["method"] == method:
            await behaviour(node, request, writer)
        else:
            await node.forward(request, writer)

    return behave


def _delayed(delay_s: float) -> Behaviour:
    async def behave(node: FaultyNode, request: Request, writer: Writer) -> None:
        await asyncio.sleep(delay_s)
        await node.forward(request, writer)

    return behave


async def _hang(node: FaultyNode, request: Request, writer: Writer) -> None:
    await asyncio.sleep(_FOREVER_S)


async def _reset(node: FaultyNode, request: Request, writer: Writer) -> None:
    writer.transport.abort()


async def _reset_in_the_body(node: FaultyNode, request: Request, writer: Writer) -> None:
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"jsonrpc": "2.0", "resu')
    await writer.drain()
    writer.transport.abort()


async def _drip(writer: Writer, start: bytes) -> None:
    writer.write(start)
    for _ in range(10_000):
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def _drip_headers(node: FaultyNode, request: Request, writer: Writer) -> None:
    await _drip(writer, b"HTTP/1.1 200 OK\r\nX-Slow: ")


async def _drip_body(node: FaultyNode, request: Request, writer: Writer) -> None:
    await _drip(writer, b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n")


async def _redirect(node: FaultyNode, request: Request, writer: Writer) -> None:
    send(writer, "", "302 Found", f"Location: {node.upstream}\r\n")


async def _flapping(node: FaultyNode, request: Request, writer: Writer) -> None:
    """Is down every other half second."""
    if time.monotonic() % 1.0 < 0.5:
        await _reset(node, request, writer)
    else:
        await node.forward(request, writer)


def _cut_short(body: bytes) -> bytes:
    return body[: len(body) // 2]


_BOMB = gzip.compress(b" " * 50_000_000, compresslevel=1)
_WHOLE = json.dumps({"jsonrpc": "2.0", "id": 1, "result": "0x" + "ab" * 100}).encode()
_QUOTA = f"Monthly quota of {SECRET} exceeded, upgrade at https://example.com/plans"

NODE_FAULTS: Final[Mapping[str, Behaviour]] = {
    "reset": _reset,
    "reset in the body": _reset_in_the_body,
    "hang": _hang,
    "header drip": _drip_headers,
    "body drip": _drip_body,
    "slow 2 s": _delayed(_SLOW_S),
    "flapping": _flapping,
    "401": _error(-32000, f"invalid key {SECRET}", "401 Unauthorized"),
    "402": _error(-32000, _QUOTA, "402 Payment Required"),
    "403": _error(-32000, f"{SECRET} may not use this network", "403 Forbidden"),
    "404": _raw('{"message": "no such project"}', "404 Not Found"),
    "429": _raw("{}", "429 Too Many Requests"),
    "429 with Retry-After": _raw("{}", "429 Too Many Requests", "Retry-After: 1\r\n"),
    "500": _raw("oops", "500 Internal Server Error"),
    "503": _raw("{}", "503 Service Unavailable"),
    "redirect": _redirect,
    "HTML": _raw("<html>sorry</html>"),
    "empty": _raw(""),
    "truncated": _raw(_cut_short(_WHOLE)),
    "not UTF-8": _raw(b'{"jsonrpc": "2.0", "id": 1, "result": "\xff"}'),
    "wrong id": _members(id=987_654_321, result="0x1"),
    "wrong version": _members(jsonrpc="1.0", result="0x1"),
    "no result": _members(),
    "deep": _raw('{"jsonrpc": "2.0", "id": 1, "result": ' + "[" * 300 + "]" * 300 + "}"),
    "many lists": _raw('{"jsonrpc": "2.0", "id": 1, "result": [' + "[]," * 300_000 + "[]]}"),
    "gzip bomb": _raw(_BOMB, headers="Content-Encoding: gzip\r\n"),
    "50 MB": _raw(b" " * 50_000_000),
    "-32005": _error(-32005, "limit exceeded"),
    "429 in the body": _error(429, "too many requests"),
    "-32601": _error(-32601, "the method does not exist/is not available"),
    "-32001": _error(-32001, "resource not found"),
    "-32002": _error(-32002, "resource unavailable"),
    "-32016": _error(-32016, _QUOTA),
    "-32603": _error(-32603, "Internal error"),
    "internal error": _error(-32000, "internal error"),
    "timed out": _error(-32000, "request timed out"),
    "too many requests": _error(-32000, "too many requests"),
    "header not found": _error(-32000, "header not found"),
    "state pruned": _error(-32000, "required historical state unavailable"),
    "code 3 pruned": _error(3, "missing trie node: the state is pruned"),
    "range limited": _of_method("eth_getLogs", _error(-32602, "eth_getLogs is limited to a 10 block range")),
}

SHARES: Final[Mapping[str, tuple[Behaviour, float]]] = {
    "tail of 5 %, 2 s": (_delayed(_SLOW_S), 0.05),
    "30 % reset": (_reset, 0.3),
}
"""Faults of a share of the requests."""

SLOW: Final = ("hang", "header drip", "body drip", "slow 2 s", "tail of 5 %, 2 s", "blackhole")
"""Faults that only the time shows: the first call that meets one waits for as long as the hedge does."""


@contextlib.asynccontextmanager
async def _refused() -> AsyncIterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port
        yield f"http://127.0.0.1:{probe.getsockname()[1]}/"


@contextlib.asynccontextmanager
async def _blackhole() -> AsyncIterator[str]:
    """A host that drops connections: its queue of them is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


@contextlib.asynccontextmanager
async def _no_such_host() -> AsyncIterator[str]:
    yield "http://node.invalid/"


@contextlib.asynccontextmanager
async def _no_tls() -> AsyncIterator[str]:
    """A port that answers a TLS handshake with something else."""

    async def answer(reader: asyncio.StreamReader, writer: Writer) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read(1)
            send(writer, "plain")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


ADDRESS_FAULTS: Final[Mapping[str, Callable[[], AbstractAsyncContextManager[str]]]] = {
    "refused": _refused,
    "blackhole": _blackhole,
    "no such host": _no_such_host,
    "TLS": _no_tls,
}
"""Faults of an address, by name: nothing answers there as a node. Each yields the URL while it lasts."""


def fault_names() -> Iterator[str]:
    """Yields the names of all faults."""
    yield from (*ADDRESS_FAULTS, *NODE_FAULTS, *SHARES)


@contextlib.asynccontextmanager
async def faulty_node(upstream: str, fault: str | None) -> AsyncIterator[FaultyNode]:
    """Runs a node with the named fault in front of the one at ``upstream``; with None, a healthy one."""
    if fault is not None and fault in ADDRESS_FAULTS:
        async with ADDRESS_FAULTS[fault]() as address:
            node = FaultyNode(upstream)
            node.address = address
            yield node
        return
    behaviour, share = SHARES.get(fault or "", (NODE_FAULTS.get(fault or ""), 1.0))
    if fault is not None and behaviour is None:
        raise ValueError(f"there is no fault {fault!r}: choose from {', '.join(fault_names())}")
    async with FaultyNode(upstream, behaviour, share=share).running() as node:
        yield node
