"""Contract ABI (Solidity ABI specification): functions by signature, exact encoding, strict decoding.

The codec is ``eth_abi``, imported at first use because that takes 160 ms. It accepts wrong address checksums
when encoding and trailing bytes when decoding. Both are refused here: the decoded call must be exactly the
signed one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from quoteway.evm.address import checksum, keccak256, parse_address
from quoteway.models import Argument, DecodedCall


@lru_cache(maxsize=4096)
def selector(signature: str) -> bytes:
    """The first four bytes of Keccak-256 of a canonical signature such as ``transfer(address,uint256)``."""
    return keccak256(signature.encode())[:4]


@lru_cache(maxsize=1024)
def event_topic(signature: str) -> str:
    """Topic 0 of an event, 0x hex, by canonical signature such as ``Transfer(address,address,uint256)``."""
    return "0x" + keccak256(signature.encode()).hex()


@dataclass(frozen=True)
class Function:
    """A contract function by its Solidity-like declaration, which is parsed at first use.

    What cannot be read in it raises ``ValueError`` at that use.
    """

    declaration: str

    @cached_property
    def signature(self) -> str:
        """The canonical signature, such as ``transfer(address,uint256)``."""
        return f"{self._parts[1]}({','.join(self.types)})"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The arguments' names; ``arg0``, ``arg1``... where the declaration gives none."""
        return tuple(name or f"arg{index}" for index, name in enumerate(_names(self._parts[2])))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The arguments' canonical types."""
        return _types(self._parts[2])

    @cached_property
    def returns(self) -> tuple[str, ...]:
        """The canonical types of what the function returns."""
        return _types(self._parts[3]) if self._parts[3] else ()

    @cached_property
    def _parts(self) -> re.Match[str]:
        """The name, the list of arguments and the list of return values."""
        short = len(self.declaration) <= MAX_DECLARATION_CHARS
        parts = _FUNCTION.fullmatch(self.declaration) if short else None
        if parts is None:
            raise ValueError(
                f"{self.declaration[:200]!r} is no declaration such as 'transfer(address to, uint256 amount)'"
            )
        return parts

    @property
    def selector(self) -> bytes:
        """The four bytes that start the calldata."""
        return selector(self.signature)

    def encode(self, args: Sequence[Any]) -> bytes:
        """The calldata. Raises ``ValueError`` when an argument does not fit its type."""
        return self.selector + encode(self.types, args)

    def decode(self, data: bytes) -> tuple[Any, ...]:
        """The arguments in calldata. Raises ``ValueError`` for another selector or any non-canonical byte."""
        if data[:4] != self.selector:
            raise ValueError(f"this is not calldata of {self.signature}: the selector differs")
        return decode(self.types, data[4:])

    def decode_output(self, data: bytes) -> tuple[Any, ...]:
        """The return values. Raises ``ValueError`` for any non-canonical byte."""
        return decode(self.returns, data)

    def describe(self, args: Sequence[Any]) -> DecodedCall:
        """The call with named arguments; ``reencode`` makes the same calldata of it."""
        given = zip(self.names, self.types, args, strict=True)
        named = (Argument(name, type_, _convert(type_, value, _to_plain)) for name, type_, value in given)
        return DecodedCall(self.signature, tuple(named))


@lru_cache(maxsize=1024)
def function(declaration: str) -> Function:
    """A ``Function`` from a Solidity-like declaration.

    ``function("approve(address spender, uint256 amount) returns (bool)")``. Structs are parenthesised
    lists: ``"mint((address token0, uint24 fee) params, uint256 deadline)"``; names are optional. Nothing is
    parsed before the first use, so that declarations at import cost nothing.
    """
    return Function(declaration)


def encode(types: Sequence[str], args: Sequence[Any]) -> bytes:
    """ABI-encodes values: addresses as 0x text, bytes as bytes or 0x hex text, structs as tuples.

    Raises ``ValueError`` when a value does not fit its type, and for an address with a wrong EIP-55 checksum.
    """
    if len(types) != len(args):
        raise ValueError(f"{len(types)} values are expected, {len(args)} came")
    if _are_words(tuple(types)):
        return b"".join(map(_to_word, types, map(_check_leaf, types, args)))
    checked = [_convert(type_, value, _check_leaf) for type_, value in zip(types, args, strict=True)]
    from eth_abi import abi

    try:
        return abi.encode(types, checked)
    except Exception as error:  # eth_abi raises a family without a common base of its own
        raise ValueError(f"the values do not fit ({', '.join(types)}): {type(error).__name__}") from error


def decode(types: Sequence[str], data: bytes) -> tuple[Any, ...]:
    """ABI-decodes ``data``; addresses come as EIP-55 text, structs as tuples, arrays as tuples.

    Strict: the values must encode back to exactly the same bytes, so trailing bytes, dirty padding,
    overlapping or reordered tails are refused. Raises ``ValueError``.
    """
    if _are_words(tuple(types)):
        if len(data) != 32 * len(types):
            raise ValueError(f"{len(types)} words are expected, {len(data)} bytes came")
        return tuple(_from_word(type_, data[32 * at : 32 * at + 32]) for at, type_ in enumerate(types))
    from eth_abi import abi

    try:
        values = abi.decode(types, data)
        canonical = abi.encode(types, values)
    except Exception as error:  # as above; hostile offsets also give OverflowError
        raise ValueError(
            f"the data is no encoding of ({', '.join(types)}): {type(error).__name__}"
        ) from error
    if canonical != data:
        raise ValueError(f"the data is not the canonical encoding of ({', '.join(types)})")
    return tuple(_convert(type_, value, _from_chain) for type_, value in zip(types, values, strict=True))


def encode_call(signature: str, args: Sequence[Any]) -> bytes:
    """Calldata of ``signature`` (canonical or with names) for ``args``. Raises ``ValueError``."""
    return function(signature).encode(args)


def opaque_call(data: bytes) -> DecodedCall:
    """Describes calldata of an unknown function as its selector and the bytes that follow.

    Raises ``ValueError`` for calldata without a selector.
    """
    if len(data) < 4:
        raise ValueError(f"calldata begins with a selector of 4 bytes, {len(data)} came")
    tail = Argument("data", "bytes", "0x" + data[4:].hex())
    return DecodedCall("0x" + data[:4].hex(), (tail,), opaque=True)


def reencode(call: DecodedCall) -> bytes:
    """The calldata of a decoded call.

    Raises ``ValueError`` when the arguments do not fit the signature.
    """
    if call.opaque:
        return _reencode_opaque(call)
    declared = function(call.signature)
    if declared.signature != call.signature or tuple(arg.type for arg in call.args) != declared.types:
        raise ValueError("the decoded arguments do not fit the decoded signature")
    return declared.encode([arg.value for arg in call.args])


def _reencode_opaque(call: DecodedCall) -> bytes:
    (tail,) = call.args
    if re.fullmatch(r"0x[0-9a-f]{8}", call.signature) is None or tail.type != "bytes":
        raise ValueError("an opaque call is a selector and the bytes that follow it")
    return bytes.fromhex(call.signature[2:]) + _check_bytes("bytes", tail.value)


# --- types -----------------------------------------------------------------------------------------------

Leaf = Callable[[str, Any], Any]


def _convert(type_: str, value: Any, leaf: Leaf) -> Any:
    """``value`` with every leaf replaced by ``leaf(type, value)``; lists and structs become tuples."""
    item, members = _shape(type_)
    if item is None and members is None:
        return leaf(type_, value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"a value of type {type_} is a sequence, not {type(value).__name__}")
    if item is not None:
        return tuple(_convert(item, each, leaf) for each in value)
    if members is None or len(value) != len(members):
        raise ValueError(f"a value of type {type_} has {len(members or ())} members, {len(value)} came")
    return tuple(_convert(member, each, leaf) for member, each in zip(members, value, strict=True))


@lru_cache(maxsize=4096)
def _shape(type_: str) -> tuple[str | None, tuple[str, ...] | None]:
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


def _check_leaf(type_: str, value: Any) -> Any:
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


def _from_chain(type_: str, value: Any) -> Any:
    return checksum(value) if type_ == "address" else value


def _to_plain(type_: str, value: Any) -> Any:
    checked = _check_leaf(type_, value)
    return "0x" + checked.hex() if isinstance(checked, bytes) else checked


# --- words ------------------------------------------------------------------------------------------------

# Nine of ten calls have arguments of one word each. eth_abi takes ten times as long for them, which was a
# quarter of a quote's CPU time.

_WORD = re.compile(r"address|bool|u?int[0-9]{1,3}|bytes[0-9]{1,2}", re.ASCII)


@lru_cache(maxsize=4096)
def _are_words(types: tuple[str, ...]) -> bool:
    """Whether each of these types is encoded in one word."""
    return all(_WORD.fullmatch(type_) and _shape(type_) == (None, None) for type_ in types)


def _to_word(type_: str, value: Any) -> bytes:
    """The word of a value that ``_check_leaf`` returned. Raises ``ValueError`` when it does not fit."""
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


# --- declarations ------------------------------------------------------------------------------------------

MAX_DECLARATION_CHARS = 4_096

_FUNCTION = re.compile(
    r"\s*(?:function\s+)?([A-Za-z_$][\w$]*)\s*(\(.*?\))(?:\s|external|public|view|pure|payable)*"
    r"(?:returns\s*(\(.*\)))?\s*",
    re.ASCII | re.DOTALL,
)
_MEMBER_NAME = re.compile(
    r"(?<=[\w\])])\s+(?:(?:calldata|memory|indexed|payable)\b\s*)?([A-Za-z_$][\w$]*)?\s*(?=[,)])", re.ASCII
)
_KEYWORDS = frozenset({"calldata", "memory", "indexed", "payable"})


def _types(members: str) -> tuple[str, ...]:
    """The canonical types in a parenthesised list of members with or without names."""
    bare = re.sub(r"\s+|\btuple\b", "", _MEMBER_NAME.sub("", members))
    if bare == "()":  # eth_abi's grammar has no empty struct
        return ()
    return _shape(bare)[1] or ()


def _names(members: str) -> list[str]:
    """The names of the members of a list that ``_types`` accepted; empty where none is given."""
    flat = members[1:-1]
    while "(" in flat:
        flat = re.sub(r"(\btuple\s*)?\([^()]*\)", "tuple", flat)
    words = [part.split() for part in flat.split(",")] if members[1:-1].strip() else []
    return [member[-1] if len(member) > 1 and member[-1] not in _KEYWORDS else "" for member in words]
