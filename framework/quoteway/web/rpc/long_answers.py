"""Writes response objects whose result is a JSON text, long ones piece by piece."""

from __future__ import annotations

import asyncio

import orjson
from aiohttp import payload
from aiohttp.abc import AbstractStreamWriter

from quoteway.models import RawJson
from quoteway.web.rpc.answers import RpcResponse

_WRITTEN_BYTES = 256 << 10
"""How much of a long result is given to the connection at once."""


def written(response: RpcResponse) -> bytes | LongAnswer:
    """Returns the body of a response. A result that is a ``RawJson`` is put into it as it is."""
    result = response.get("result")
    if not isinstance(result, RawJson):
        return orjson.dumps(response)
    before = b'{"jsonrpc":"2.0","id":%b,"result":' % orjson.dumps(response["id"])
    if len(result) <= _WRITTEN_BYTES:
        return b"%b%b}" % (before, bytes(result))
    return LongAnswer(before, result)


class LongAnswer(payload.Payload):
    """An answer around a long result, which is written piece by piece and never copied as a whole."""

    def __init__(self, before: bytes, result: RawJson) -> None:
        super().__init__(result, content_type="application/json")
        self._before = before
        self._size = len(before) + len(result) + 1

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Returns the text. For the debugging of clients."""
        return (self._before + bytes(self._value.text) + b"}").decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        await self.write_with_length(writer, None)

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """Writes the body; each piece waits until the client has taken most of the one before."""
        text = memoryview(self._value.text)
        await writer.write(self._before)
        for at in range(0, len(text), _WRITTEN_BYTES):
            await writer.write(bytes(text[at : at + _WRITTEN_BYTES]))
            await writer.drain()
            await asyncio.sleep(0)  # a client that is fast enough would have it all at once
        await writer.write(b"}")
