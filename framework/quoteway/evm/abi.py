"""Contract ABI (Solidity ABI specification): functions by signature, exact encoding, strict decoding.

The codec is ``eth_abi``, imported at first use because it costs 160 ms. It accepts a wrong address
checksum when encoding and trailing bytes when decoding; both are refused here, since what is decoded must
be exactly what will be signed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
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


@dataclass(frozen=True, slots=True)
class Function:
    """A contract function: canonical ``signature``, argument ``names`` and ``types``, what it ``returns``."""

    signature: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    returns: tuple[str, ...] = ()

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
        """The call in words, for the guard and for people; ``reencode`` makes the same calldata of it."""
        return DecodedCall(
            signature=self.signature,
            args=tuple(
                Argument(name, type_, _convert(type_, value, _to_plain))
                for name, type_, value in zip(self.names, self.types, args, strict=True)
            ),
        )


@lru_cache(maxsize=1024)
def function(declaration: str) -> Function:
    """A ``Function`` from a Solidity-like declaration.

    ``function("approve(address spender, uint256 amount) returns (bool)")``. Structs are parenthesised
    lists: ``"mint((address token0, uint24 fee) params, uint256 deadline)"``; names are optional. Raises
    ``ValueError`` for what is not such a declaration.
    """
    head = re.match(r"\s*(?:function\s+)?([A-Za-z_$][\w$]*)\s*(?=\()", declaration, re.ASCII)
    if head is None:
        raise ValueError(f"{declaration!r} is no declaration such as 'transfer(address to, uint256 amount)'")
    arguments, tail = _balanced(declaration[head.end() :])
    returns = re.fullmatch(r"(?:\s|external|public|view|pure|payable)*(?:returns\s*(\(.*\)))?\s*", tail, re.S)
    if returns is None:
        raise ValueError(f"{declaration!r}: 'returns (...)' was expected after the arguments")
    fields = _fields(arguments)
    types = tuple(type_ for type_, _ in fields)
    return Function(
        signature=f"{head[1]}({','.join(types)})",
        names=tuple(field or f"arg{index}" for index, (_, field) in enumerate(fields)),
        types=types,
        returns=tuple(type_ for type_, _ in _fields(returns[1])) if returns[1] else (),
    )


def encode(types: Sequence[str], args: Sequence[Any]) -> bytes:
    """ABI-encodes values: addresses as 0x text, bytes as bytes or 0x hex text, structs as tuples.

    Raises ``ValueError`` when a value does not fit its type, and for an address with a wrong EIP-55 checksum.
    """
    if len(types) != len(args):
        raise ValueError(f"{len(types)} values are expected, {len(args)} came")
    from eth_abi import abi

    checked = [_convert(type_, value, _check_leaf) for type_, value in zip(types, args, strict=True)]
    try:
        return abi.encode(types, checked)
    except Exception as error:  # eth_abi raises a family without a common base of its own
        raise ValueError(f"the values do not fit ({', '.join(types)}): {type(error).__name__}") from error


def decode(types: Sequence[str], data: bytes) -> tuple[Any, ...]:
    """ABI-decodes ``data``; addresses come as EIP-55 text, structs as tuples, arrays as tuples.

    Strict: the values must encode back to exactly the same bytes, so trailing bytes, dirty padding,
    overlapping or reordered tails are refused. Raises ``ValueError``.
    """
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


def decode_call(signature: str, data: bytes) -> tuple[Any, ...]:
    """The arguments in calldata of ``signature``, strictly. Raises ``ValueError``."""
    return function(signature).decode(data)


def decode_output(types: Sequence[str], data: bytes) -> tuple[Any, ...]:
    """What a contract returned, strictly; an alias of ``decode`` that reads better at call sites."""
    return decode(types, data)


def opaque_call(data: bytes, declarations: Sequence[str] = ()) -> DecodedCall:
    """Calldata that an upstream made, carried as it came: the selector, and the bytes that follow it.

    When it is the canonical calldata of one of ``declarations``, that reading stands in ``inner``, for
    people. Raises ``ValueError`` for calldata without a selector.
    """
    if len(data) < 4:
        raise ValueError(f"calldata begins with a selector of 4 bytes, {len(data)} came")
    tail = Argument("data", "bytes", "0x" + data[4:].hex())
    for declared in map(function, declarations):
        if declared.selector == data[:4]:
            try:
                reading = declared.describe(declared.decode(data))
            except ValueError:
                break
            return DecodedCall("0x" + data[:4].hex(), (tail,), (reading,), opaque=True)
    return DecodedCall("0x" + data[:4].hex(), (tail,), opaque=True)


def reencode(call: DecodedCall) -> bytes:
    """The calldata that a decoded call stands for: the guard compares it with what would be signed.

    Raises ``ValueError`` when the description does not fit its own signature.
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
    data = bytes.fromhex(call.signature[2:]) + _check_bytes("bytes", tail.value)
    if len(call.inner) > 1 or any(reading.opaque or reencode(reading) != data for reading in call.inner):
        raise ValueError("the reading of an opaque call does not encode to its bytes")
    return data


# --- types -----------------------------------------------------------------------------------------------

Leaf = Callable[[str, Any], Any]


@lru_cache(maxsize=4096)
def _shape(type_: str) -> tuple[str, tuple[str, ...]]:
    """What a canonical type is made of: ("array", (element,)), ("tuple", members) or ("leaf", ())."""
    if type_.endswith("]"):
        return "array", (type_[: type_.rindex("[")],)
    if type_.startswith("("):
        return "tuple", tuple(member for member, _ in _fields(type_))
    return "leaf", ()


def _convert(type_: str, value: Any, leaf: Leaf) -> Any:
    """``value`` with every leaf replaced by ``leaf(type, value)``; lists and structs become tuples."""
    kind, members = _shape(type_)
    if kind == "leaf":
        return leaf(type_, value)
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"a value of type {type_} is a sequence, {type(value).__name__} came")
    if kind == "array":
        return tuple(_convert(members[0], item, leaf) for item in value)
    if len(value) != len(members):
        raise ValueError(f"a value of type {type_} has {len(members)} members, {len(value)} came")
    return tuple(_convert(member, item, leaf) for member, item in zip(members, value, strict=True))


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


def _balanced(text: str) -> tuple[str, str]:
    """Splits ``(...)rest`` after the parenthesis that closes the first one."""
    depth = 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return text[: index + 1], text[index + 1 :]
    raise ValueError("a parenthesis is not closed")


def _fields(group: str) -> list[tuple[str, str]]:
    """The (canonical type, name) pairs in a parenthesised list; the name is empty where none is given."""
    inner = group.strip()[1:-1].strip()
    if not inner:
        return []
    parts, depth, start = [], 0, 0
    for index, char in enumerate(inner + ","):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(inner[start:index].strip())
            start = index + 1
    return [_field(part) for part in parts]


def _field(part: str) -> tuple[str, str]:
    body = part.removeprefix("tuple").strip() if part.startswith("tuple") else part
    if body.startswith("("):
        members, tail = _balanced(body)
        base = f"({','.join(type_ for type_, _ in _fields(members))})"
    else:
        match = re.match(r"[a-z]+[0-9]*", body, re.ASCII)
        if match is None:
            raise ValueError(f"{part!r} is no argument such as 'address to'")
        base, tail = match[0], body[match.end() :]
        # The short forms are not canonical: a selector made from them is of another function.
        base = {"uint": "uint256", "int": "int256"}.get(base, base)
        _require_known(base)
    rest = re.fullmatch(
        r"((?:\[\d*\])*)(?:\s+(?:calldata|memory|indexed|payable))?(?:\s+([A-Za-z_$][\w$]*))?", tail, re.ASCII
    )
    if rest is None:
        raise ValueError(f"{part!r} is no argument such as 'address to'")
    return base + rest[1], rest[2] or ""


def _require_known(base: str) -> None:
    if base in ("address", "bool", "string", "bytes"):
        return
    match = re.fullmatch(r"(uint|int|bytes)([1-9][0-9]{0,2})", base)
    size = int(match[2]) if match else 0
    if match is None or not (1 <= size <= 32 if match[1] == "bytes" else size % 8 == 0 and 8 <= size <= 256):
        raise ValueError(f"{base!r} is no ABI type")
