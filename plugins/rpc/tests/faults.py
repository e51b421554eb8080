"""What upstreams do wrong, by name: behaviours of a ``FakeNode``."""

import asyncio
import gzip
import json

from fake_node import error, ok, raw, send

CANARY = "canary-5f3a9c"
"""The credential of every upstream."""
MAX_BYTES = 200_000
"""The longest answer that the tests accept."""
BOMB = gzip.compress(b" " * 50_000_000, compresslevel=1)


async def hang(node, request, writer):
    await asyncio.sleep(3600)


async def reset(node, request, writer):
    writer.transport.abort()


async def reset_mid_body(node, request, writer):
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"jsonrpc": "2.0", "resu')
    await writer.drain()
    writer.transport.abort()


async def drip_header(node, request, writer):
    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 1000:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.02)


async def drip_body(node, request, writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n")
    for _ in range(1000):
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)


async def wrong_id(node, request, writer):
    send(writer, json.dumps({"jsonrpc": "2.0", "id": request["id"] + 1, "result": "0x1"}))


async def wrong_version(node, request, writer):
    send(writer, json.dumps({"jsonrpc": "1.0", "id": request["id"], "result": "0x1"}))


async def no_result(node, request, writer):
    send(writer, json.dumps({"jsonrpc": "2.0", "id": request["id"]}))


async def garbled_error(node, request, writer):
    send(writer, json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": "no"}))


async def huge(node, request, writer):
    ok(writer, request, "0x" + "00" * MAX_BYTES)


async def gzip_bomb(node, request, writer):
    send(writer, BOMB, headers="Content-Encoding: gzip\r\n")


async def deep(node, request, writer):
    send(writer, f'{{"jsonrpc": "2.0", "id": {request["id"]}, "result": {"[" * 300}{"]" * 300}}}')


async def redirect(node, request, writer):
    send(writer, "", "302 Found", f"Location: http://127.0.0.1:{node.elsewhere}/\r\n")


FAULTS = {
    "hang": hang,
    "reset": reset,
    "reset mid body": reset_mid_body,
    "header drip": drip_header,
    "body drip": drip_body,
    "500": raw("oops", "500 Internal Server Error"),
    "503": raw("{}", "503 Service Unavailable"),
    "429": raw("{}", "429 Too Many Requests", "Retry-After: 1\r\n"),
    "401": raw("denied", "401 Unauthorized"),
    "404": raw('{"message": "no such key"}', "404 Not Found"),
    "html": raw("<html>sorry</html>"),
    "empty": raw(""),
    "truncated": raw('{"jsonrpc": "2.0", "id": 1, "resu'),
    "not utf-8": raw(b'{"jsonrpc": "2.0", "result": "\xff"}'),
    "array": raw("[]"),
    "number": raw("5"),
    "very deep": raw("[" * 5000),
    "wrong id": wrong_id,
    "wrong version": wrong_version,
    "no result": no_result,
    "garbled error": garbled_error,
    "huge": huge,
    "gzip bomb": gzip_bomb,
    "deep": deep,
    "redirect": redirect,
    "-32005": error(-32005, "limit exceeded"),
    "429 inside 200": error(429, "too many requests"),
    "-32601": error(-32601, "the method does not exist"),
    "-32001": error(-32001, "resource not found"),
    "lagging": error(-32000, "header not found"),
    "401 with an error": error(-32602, "key canary-5f3a9c is unknown", status="401 Unauthorized"),
    "402 with an error": error(3, "pay at https://canary-5f3a9c.example", "0x", "402 Payment Required"),
    "403 with an error": error(-32000, "quota of canary-5f3a9c is used up", status="403 Forbidden"),
    "-32603": error(-32603, "canary-5f3a9c"),
    "-32002": error(-32002, "canary-5f3a9c"),
    "-32016": error(-32016, "canary-5f3a9c"),
    "internal error": error(-32000, "internal error at canary-5f3a9c"),
    "request timed out": error(-32000, "request timed out"),
    "too many requests": error(-32000, "too many requests by canary-5f3a9c, upgrade your plan"),
    "no historical state": error(-32000, "required historical state unavailable (reexec=128)"),
    "pruned": error(3, "state of canary-5f3a9c is pruned: archive nodes are on another plan"),
    "unknown error": error(-32000, "the frobnicator is unwell"),
}
