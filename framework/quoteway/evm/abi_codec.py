"""Encodes and decodes values by the Solidity ABI specification, in its canonical form only.

``eth_abi`` takes ten times as long: it was a fifth of the processor time of a quote for a swap that splits.
The tests compare the two. Types that are seldom used (``fixed``, ``function``, arrays without items) have no
codec here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import repeat
from typing import Any

from quoteway.evm.address import checksum, parse_address

WORD_BYTES = 32
MOST_FIXED = 256
"""The most items of an array of a fixed length."""
_WORD = re.compile(r"address|bool|u?int[0-9]{1,3}|bytes[0-9]{1,2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Codec:
    """How the values of one type are encoded.

    ``size`` is the number of bytes in the head: the value's own, or those of the offset if it is ``dynamic``.
    ``encode`` raises ``ValueError`` for a value that does not fit. ``decode`` takes the data and where the
    value begins, and returns it and where its encoding ends. It raises ``ValueError`` for any encoding but
    the canonical one. Its caller makes sure that ``size`` bytes of a type that is not dynamic are there.
    """

    dynamic: bool
    size: int
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes, int], tuple[Any, int]]


@lru_cache(maxsize=4096)
def codecs(types: tuple[str, ...]) -> tuple[Codec, ...] | None:
    """Returns the codec of each type; None when one of them has none. Raises ``ValueError`` for no type."""
    found = tuple(map(_codec, types))
    return tuple(each for each in found if each) if all(found) else None


def pack(members: Sequence[Codec], values: Sequence[Any]) -> bytes:
    """Encodes values one after the other: the heads, then the tails of those of dynamic types."""
    offset = sum(member.size for member in members)
    heads, tails = list[bytes](), list[bytes]()
    for member, value in zip(members, values, strict=True):
        data = member.encode(value)
        if member.dynamic:
            heads.append(offset.to_bytes(WORD_BYTES))
            tails.append(data)
            offset += len(data)
        else:
            heads.append(data)
    return b"".join((*heads, *tails))


def unpack(members: Sequence[Codec], data: bytes, start: int) -> tuple[tuple[Any, ...], int]:
    """Returns the values that ``pack`` encoded from ``start`` on, and where their encoding ends."""
    at, end = start, start + sum(member.size for member in members)
    if end > len(data):
        raise ValueError("bytes of the encoding are missing")
    values = []
    for member in members:
        if member.dynamic:
            # Tails follow one another in order, without a gap.
            if int.from_bytes(data[at : at + WORD_BYTES]) != end - start:
                raise ValueError("an offset of the encoding is not the canonical one")
            value, end = member.decode(data, end)
        else:
            value, _ = member.decode(data, at)
        values.append(value)
        at += member.size
    return tuple(values), end


@lru_cache(maxsize=4096)
def _codec(type_: str) -> Codec | None:
    item, members = shape(type_)
    if members is not None:
        inner = codecs(members)
        return None if inner is None else _struct(inner)
    if item is not None:
        of_item, length = _codec(item), type_[type_.rindex("[") + 1 : -1]
        if of_item is None or int(length or 1) not in range(1, MOST_FIXED + 1):
            return None
        return _list(type_, of_item) if not length else _struct((of_item,) * int(length), type_)
    if type_ in ("bytes", "string"):
        text = type_ == "string"
        return Codec(True, WORD_BYTES, partial(_to_bytes, type_), partial(_from_bytes, text=text))
    if _WORD.fullmatch(type_):
        return Codec(False, WORD_BYTES, partial(_word, type_), partial(_value, type_))
    return None


def _struct(members: tuple[Codec, ...], type_: str = "tuple") -> Codec:
    """Returns the codec of a struct, or of an array of a fixed length."""
    dynamic = any(member.dynamic for member in members)
    size = WORD_BYTES if dynamic else sum(member.size for member in members)

    def encode(value: Any) -> bytes:
        return pack(members, _sequence(type_, value, len(members)))

    return Codec(dynamic, size, encode, partial(unpack, members))


def _list(type_: str, item: Codec) -> Codec:
    """Returns the codec of an array of any length."""

    def encode(value: Any) -> bytes:
        values = _sequence(type_, value)
        return len(values).to_bytes(WORD_BYTES) + pack((item,) * len(values), values)

    def decode(data: bytes, at: int) -> tuple[Any, int]:
        length, at = _length(data, at)
        if length * item.size > len(data) - at:
            raise ValueError("bytes of the encoding of an array are missing")
        return unpack(tuple(repeat(item, length)), data, at)

    return Codec(True, WORD_BYTES, encode, decode)


def _sequence(type_: str, value: Any, length: int | None = None) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"a value of type {type_} is a sequence, not {type(value).__name__}")
    if length is not None and len(value) != length:
        raise ValueError(f"a value of type {type_} has {length} members, {len(value)} came")
    return value


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Returns the length of bytes or of an array, and where its content begins."""
    if at + WORD_BYTES > len(data):
        raise ValueError("a length is missing in the encoding")
    return int.from_bytes(data[at : at + WORD_BYTES]), at + WORD_BYTES


def _to_bytes(type_: str, value: Any) -> bytes:
    if type_ == "string":
        if not isinstance(value, str):
            raise ValueError(f"a value of type string is a text, {type(value).__name__} came")
        content = value.encode()
    else:
        content = check_leaf(type_, value)
    return len(content).to_bytes(WORD_BYTES) + content + bytes(-len(content) % WORD_BYTES)


def _from_bytes(data: bytes, at: int, *, text: bool) -> tuple[Any, int]:
    length, at = _length(data, at)
    end = at + length + -length % WORD_BYTES
    if end > len(data):
        raise ValueError("bytes of the encoding are missing")
    if any(data[at + length : end]):
        raise ValueError("the padding of bytes is not zero in the encoding")
    content = bytes(data[at : at + length])
    return content.decode() if text else content, end


def _word(type_: str, value: Any) -> bytes:
    return _to_word(type_, check_leaf(type_, value))


def _value(type_: str, data: bytes, at: int) -> tuple[Any, int]:
    return _from_word(type_, data[at : at + WORD_BYTES]), at + WORD_BYTES


def _to_word(type_: str, value: Any) -> bytes:
    """The word of a value that ``check_leaf`` returned. Raises ``ValueError`` when it does not fit."""
    if type_ == "address":
        return bytes(12) + bytes.fromhex(value[2:])
    if type_ == "bool":
        if not isinstance(value, bool):
            raise ValueError(f"a value of type bool is a bool, {type(value).__name__} came")
        return int(value).to_bytes(32)
    if type_.startswith("bytes"):
        return bytes(value).ljust(32, b"\0")
    lowest, highest = _bounds(type_)
    if not lowest <= value <= highest:
        raise ValueError(f"the value does not fit {type_}")
    return int(value).to_bytes(32, signed=value < 0)


def _from_word(type_: str, word: bytes) -> Any:
    """The value in a word. Raises ``ValueError`` when another word would mean the same."""
    number = int.from_bytes(word, signed=type_.startswith("int"))
    value: Any
    if type_ == "address":
        fits, value = not any(word[:12]), checksum("0x" + word[12:].hex())
    elif type_ == "bool":
        fits, value = number <= 1, number == 1
    elif type_.startswith("bytes"):
        size = int(type_[5:])
        fits, value = not any(word[size:]), word[:size]
    else:
        lowest, highest = _bounds(type_)
        fits, value = lowest <= number <= highest, number
    if not fits:
        raise ValueError(f"0x{word.hex()} is no encoding of {type_}")
    return value


@lru_cache(maxsize=64)
def _bounds(type_: str) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    bits = int(type_.lstrip("uint"))
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if type_.startswith("int") else (0, (1 << bits) - 1)


# --- types -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def shape(type_: str) -> tuple[str | None, tuple[str, ...] | None]:
    """The type of an array's items and the types of a struct's members, by eth_abi's grammar; None where the
    type has none. Raises ``ValueError`` for an unknown type."""
    from eth_abi import grammar, registry
    from eth_abi.exceptions import ParseError

    try:
        parsed: Any = grammar.parse(grammar.normalize(type_))  # type: ignore[no-untyped-call]
        parsed.validate()
        known = registry.registry.has_encoder(parsed.to_type_str())
    except (ValueError, ParseError):
        known = False
    if not known:
        raise ValueError(f"{type_[:200]!r} is no ABI type")
    if parsed.is_array:
        return parsed.item_type.to_type_str(), None
    if isinstance(parsed, grammar.TupleType):
        return None, tuple(member.to_type_str() for member in parsed.components)
    return None, None


def check_leaf(type_: str, value: Any) -> Any:
    if type_ == "address":
        if not isinstance(value, str):
            raise ValueError(f"an address is 0x text, {type(value).__name__} came")
        return parse_address(value)
    # bool is an int in Python: True would encode as uint256 1.
    if type_.startswith(("uint", "int")) and type(value) is not int:
        raise ValueError(f"a value of type {type_} is an int, {type(value).__name__} came")
    if type_.startswith("bytes"):
        return _check_bytes(type_, value)
    return value


def _check_bytes(type_: str, value: Any) -> bytes:
    if isinstance(value, str) and value.startswith("0x"):
        value = bytes.fromhex(value[2:])
    if not isinstance(value, (bytes, bytearray)):
        raise ValueError(f"a value of type {type_} is bytes or 0x hex text, {type(value).__name__} came")
    # eth_abi right-pads a short bytesN: a cut hash or pool id would pass for a whole one.
    if type_ != "bytes" and len(value) != int(type_[5:]):
        raise ValueError(f"a value of type {type_} has {type_[5:]} bytes, {len(value)} came")
    return bytes(value)
