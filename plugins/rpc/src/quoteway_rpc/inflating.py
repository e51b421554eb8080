"""Unpacks bodies in small steps: a megabyte of gzip may unfold into a gigabyte."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence

from quoteway_rpc.nesting import Nesting, UnreadableError

CODINGS = (b"gzip", b"x-gzip", b"deflate")
STEP_BYTES = 256 << 10
"""What is unpacked at once, some 0.5 ms of work."""


async def inflate(pieces: Sequence[bytes], coding: bytes, max_bytes: int) -> bytes:
    """Returns the unpacked body. Other tasks run between two steps.

    Raises ``UnreadableError`` for a body that is too long unpacked, damaged, or hard to read.
    """
    unpacker = zlib.decompressobj(_window_bits(pieces, coding))
    unpacked: list[bytes] = []
    size, nesting = 0, Nesting()
    for piece in pieces:
        left = piece
        while left:
            if unpacker.eof:
                raise UnreadableError("bad_coding")  # something follows the end
            try:
                step = unpacker.decompress(left, STEP_BYTES)
            except zlib.error:
                raise UnreadableError("bad_coding") from None
            size += len(step)
            if size > max_bytes:
                raise UnreadableError("too_large")
            nesting.add(step)
            unpacked.append(step)
            left = unpacker.unconsumed_tail
            if size > STEP_BYTES:
                await asyncio.sleep(0)
    # What did not fit into the last step.
    while not unpacker.eof and (step := unpacker.decompress(b"", STEP_BYTES)):
        size += len(step)
        if size > max_bytes:
            raise UnreadableError("too_large")
        nesting.add(step)
        unpacked.append(step)
    if not unpacker.eof or unpacker.unused_data:
        raise UnreadableError("bad_coding")
    return b"".join(unpacked)


def _window_bits(pieces: Sequence[bytes], coding: bytes) -> int:
    """``deflate`` means zlib's format (RFC 9110, section 8.4.1.2), but some servers send it without its
    header, whose first byte has the method 8 in its lower half."""
    if coding != b"deflate":
        return 16 + zlib.MAX_WBITS
    first = next((piece[0] for piece in pieces if piece), 0x78)
    return zlib.MAX_WBITS if first & 0x0F == 8 else -zlib.MAX_WBITS
