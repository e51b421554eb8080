"""Contract ABI (Solidity ABI specification): functions by signature, exact encoding, strict decoding.

The codec is ``abi_codec``; for types that it does not know ``eth_abi``, imported at first use because that
takes 160 ms. It accepts wrong address checksums when encoding and trailing bytes when decoding. Both are
refused here: the decoded call must be exactly the signed one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from quoteway.evm.abi_codec import Codec, check_leaf, codecs, pack, shape, unpack
from quoteway.evm.address import checksum, keccak256
from quoteway.models import Argument, DecodedCall

Leaf = Callable[[str, Any], Any]
"""Returns what a value without parts becomes, by its type."""


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
        return self._described(args, _to_plain)

    def describe_decoded(self, values: Sequence[Any]) -> DecodedCall:
        """As ``describe``, of what ``decode`` returned: it is not checked again."""
        return self._described(values, _decoded_to_plain)

    def _described(self, args: Sequence[Any], leaf: Leaf) -> DecodedCall:
        given = zip(self.names, self.types, args, strict=True)
        named = [Argument(name, type_, _convert(type_, value, leaf)) for name, type_, value in given]
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
    known = codecs(tuple(types))
    if known is not None:
        return pack(known, args)
    checked = [_convert(type_, value, check_leaf) for type_, value in zip(types, args, strict=True)]
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
    known = codecs(tuple(types))
    if known is not None:
        return _decode_known(types, known, data)
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


def _decode_known(types: Sequence[str], known: Sequence[Codec], data: bytes) -> tuple[Any, ...]:
    try:
        values, end = unpack(known, data, 0)
    except ValueError as error:
        raise ValueError(f"the data is no canonical encoding of ({', '.join(types)}): {error}") from None
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes come after the encoding of ({', '.join(types)})")
    return values


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


def from_json(types: Sequence[str], values: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of a call as answers of the API write them: integers as decimal text, the rest as it is.

    Raises ``ValueError`` for a value of another shape than its type's.
    """
    return tuple(_convert(type_, value, _from_json) for type_, value in zip(types, values, strict=True))


def _from_json(type_: str, value: Any) -> Any:
    if not type_.startswith(("uint", "int")):
        return value
    if not isinstance(value, str) or not re.fullmatch(r"-?[0-9]{1,78}", value, re.ASCII):
        raise ValueError(f"a value of type {type_} is a decimal integer as text")
    return int(value)


def _reencode_opaque(call: DecodedCall) -> bytes:
    (tail,) = call.args
    if re.fullmatch(r"0x[0-9a-f]{8}", call.signature) is None or tail.type != "bytes":
        raise ValueError("an opaque call is a selector and the bytes that follow it")
    return bytes.fromhex(call.signature[2:]) + bytes(check_leaf("bytes", tail.value))


# --- types -----------------------------------------------------------------------------------------------


def _convert(type_: str, value: Any, leaf: Leaf) -> Any:
    """``value`` with every leaf replaced by ``leaf(type, value)``; lists and structs become tuples."""
    item, members = shape(type_)
    if item is None and members is None:
        return leaf(type_, value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"a value of type {type_} is a sequence, not {type(value).__name__}")
    if item is not None:
        return tuple(_convert(item, each, leaf) for each in value)
    if members is None or len(value) != len(members):
        raise ValueError(f"a value of type {type_} has {len(members or ())} members, {len(value)} came")
    return tuple(_convert(member, each, leaf) for member, each in zip(members, value, strict=True))


def _from_chain(type_: str, value: Any) -> Any:
    return checksum(value) if type_ == "address" else value


def _to_plain(type_: str, value: Any) -> Any:
    return _decoded_to_plain(type_, check_leaf(type_, value))


def _decoded_to_plain(_: str, value: Any) -> Any:
    return "0x" + value.hex() if isinstance(value, bytes) else value


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
    return shape(bare)[1] or ()


def _names(members: str) -> list[str]:
    """The names of the members of a list that ``_types`` accepted; empty where none is given."""
    flat = members[1:-1]
    while "(" in flat:
        flat = re.sub(r"(\btuple\s*)?\([^()]*\)", "tuple", flat)
    words = [part.split() for part in flat.split(",")] if members[1:-1].strip() else []
    return [member[-1] if len(member) > 1 and member[-1] not in _KEYWORDS else "" for member in words]
