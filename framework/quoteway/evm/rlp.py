"""Recursive Length Prefix (Yellow Paper, appendix B): bytes, and lists of them."""

from __future__ import annotations

from typing import Any

MAX_DEPTH = 8


def decode(raw: bytes) -> Any:
    """One item and nothing after it. Raises ``ValueError`` for anything but the canonical encoding."""
    item, end = _item(raw, 0, 0)
    if end != len(raw) or encode(item) != raw:
        raise ValueError("not one canonical RLP item")
    return item


def encode(item: Any) -> bytes:
    """The encoding of bytes or of a list of items."""
    if isinstance(item, bytes):
        if len(item) == 1 and item[0] < 0x80:
            return item
        return _length(len(item), 0x80) + item
    content = b"".join(encode(member) for member in item)
    return _length(len(content), 0xC0) + content


def encode_integer(value: int) -> bytes:
    """A quantity as RLP wants it: big-endian without leading zeros, zero as nothing."""
    return value.to_bytes((value.bit_length() + 7) // 8)


def _length(size: int, offset: int) -> bytes:
    if size <= 55:
        return bytes([offset + size])
    digits = encode_integer(size)
    return bytes([offset + 55 + len(digits)]) + digits


def _item(raw: bytes, at: int, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if at >= len(raw):
        raise ValueError("cut short")
    head = raw[at]
    if head < 0x80:
        return raw[at : at + 1], at + 1
    is_list = head >= 0xC0
    size = head - (0xC0 if is_list else 0x80)
    start = at + 1
    if size > 55:
        width = size - 55
        size = int.from_bytes(raw[start : start + width])
        start += width
    end = start + size
    if end > len(raw):
        raise ValueError("cut short")
    if not is_list:
        return raw[start:end], end
    members, position = [], start
    while position < end:
        member, position = _item(raw, position, depth + 1)
        members.append(member)
    if position != end:
        raise ValueError("a member is longer than its list")
    return members, end
