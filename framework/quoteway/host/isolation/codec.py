"""Encodes what crosses between the server and an isolated plugin: a closed set of classes, as MessagePack.

Every container is an array whose first item is its kind, so that a tuple stays a tuple. Integers of any size,
bytes and the dataclasses of ``quoteway.models`` arrive exactly as they were. A class is named by its index in
a fixed list: decoding never imports anything and never runs code of a plugin.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Set
from enum import Enum
from operator import attrgetter
from typing import Any

import msgspec

from quoteway import errors, models
from quoteway.config.model import ProviderConfig
from quoteway.errors import ConfigError, FieldError, GatewayError, RpcError
from quoteway.models import SimulationUnsupported
from quoteway.networks import Endpoint, Network
from quoteway.secrets import Secret

_TUPLE, _LIST, _TABLE, _SET, _INT, _SECRET, _ENUM, _ERROR, _INCOMPLETE, _FIRST_CLASS = range(10)
MAX_CONTAINERS = 300_000
"""Most arrays in a message; 20,000 pools have 120,000. 16 MB of empty arrays kept the interpreter's lock for
11 s and took 1.2 GB."""
_CONTAINER_BYTES = bytes([*range(0x80, 0xA0), *range(0xDC, 0xE0)])
"""The first bytes of arrays and maps in MessagePack. In texts and numbers they count too."""
MAX_DEPTH = 128
"""Most levels of arrays in a message."""
_SAFE_RECURSION = 2_000
"""Below this limit Python's own check ends a decoding that is nested too deep. Libraries raise the limit
(py_ecc to 100,000), and then such a message would end the process."""
_MAX_INT_BYTES = 128
"""No amount needs more than 32. ``int`` of a longer text or product could take seconds to handle."""


class Uncodable(Exception):  # noqa: N818 - says what the value is
    """A value that may not cross, or a message that cannot be read."""


def _dataclasses() -> list[Any]:
    found = [
        kind for kind in vars(models).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)
    ]
    return [*sorted(found, key=lambda kind: kind.__name__), Network, Endpoint, FieldError, ProviderConfig]


def _error_classes() -> list[type[GatewayError]]:
    found = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GatewayError)
    ]
    return sorted(found, key=lambda kind: kind.__name__)


_CLASSES = _dataclasses()
_FIELDS = {kind: tuple(member.name for member in dataclasses.fields(kind)) for kind in _CLASSES}
_CODES = {kind: (code, attrgetter(*_FIELDS[kind])) for code, kind in enumerate(_CLASSES, _FIRST_CLASS)}
_ENUMS: list[Any] = [models.Capability, errors.Reason]
_ERRORS = _error_classes()
_ERROR_MEMBERS = tuple(member.name for member in dataclasses.fields(GatewayError))
_RPC_ERROR, _CONFIG_ERROR, _NO_SIMULATION = -1, -2, -3
_PLAIN = frozenset({str, bytes, bool, float, type(None)})


def encode(value: Any) -> bytes:
    """Returns the bytes of a value. Raises ``Uncodable`` for one that may not cross."""
    try:
        return msgspec.msgpack.encode(_packed(value))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Uncodable(str(error)) from None


def decode(data: bytes | bytearray | memoryview) -> Any:
    """Returns the value of bytes that another process sent. Raises ``Uncodable`` for any other bytes."""
    data = bytes(data)
    containers = len(data) - len(data.translate(None, _CONTAINER_BYTES))
    if containers > MAX_CONTAINERS:
        raise Uncodable(f"the message may have more than {MAX_CONTAINERS} arrays")
    if containers > MAX_DEPTH and sys.getrecursionlimit() > _SAFE_RECURSION and is_deep(data):
        raise Uncodable(f"the message has more than {MAX_DEPTH} levels")
    try:
        return _unpacked(msgspec.msgpack.decode(data))
    except Uncodable:
        raise
    except Exception as error:
        raise Uncodable(f"the message cannot be read: {type(error).__name__}") from None


def is_deep(data: bytes) -> bool:
    """Returns whether MessagePack has more than ``MAX_DEPTH`` levels, without recursion.

    What is no MessagePack is not looked at further than to where that shows.
    """
    at, open_items = 0, [1]
    while at < len(data):
        while open_items and not open_items[-1]:
            open_items.pop()
        if not open_items:
            return False
        open_items[-1] -= 1
        first = data[at]
        fixed, length_bytes, items = _SHAPES[first]
        length = int.from_bytes(data[at + 1 : at + 1 + length_bytes])
        at += 1 + length_bytes + fixed + (0 if items else length)
        if items:
            open_items.append((length if length_bytes else first & 0x0F) * items)
            if len(open_items) > MAX_DEPTH + 1:
                return True
    return False


def _shape(first: int) -> tuple[int, int, int]:
    """Returns, of a value by its first byte: the bytes that follow, those of its length, and items per unit
    of length (0: its length counts bytes)."""
    if 0x80 <= first < 0xA0:
        return 0, 0, 2 if first < 0x90 else 1
    if 0xA0 <= first < 0xC0:
        return first & 0x1F, 0, 0
    sized = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}  # bin, str
    if first in sized:
        return 0, sized[first], 0
    if 0xC7 <= first <= 0xC9:  # ext, with a byte for its type
        return 1, 1 << (first - 0xC7), 0
    if 0xD4 <= first <= 0xD8:
        return 1 + (1 << (first - 0xD4)), 0, 0
    if 0xDC <= first <= 0xDF:
        return 0, 2 if first in (0xDC, 0xDE) else 4, 1 if first < 0xDE else 2
    if 0xCC <= first <= 0xD3:  # integers of 1, 2, 4 and 8 bytes, without and with a sign
        return 1 << (first & 3), 0, 0
    return {0xCA: 4, 0xCB: 8}.get(first, 0), 0, 0  # floats; what is left has no more bytes


_SHAPES = [_shape(first) for first in range(256)]


# --- values -> arrays ---------------------------------------------------------------------------------------


def _packed(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is int:
        if -(1 << 63) <= value < 1 << 64:
            return value
        size = value.bit_length() // 8 + 1
        if size > _MAX_INT_BYTES:
            raise Uncodable("an integer is too large")
        return [_INT, value.to_bytes(size, signed=True)]
    code = _CODES.get(kind)
    if code is not None:
        return [code[0], *map(_packed, code[1](value))]
    if isinstance(value, Enum):
        if kind not in _ENUMS:
            raise Uncodable(f"{kind.__name__} is no class of quoteway.models")
        return [_ENUM, _ENUMS.index(kind), value.value]
    if isinstance(value, GatewayError | ConfigError | SimulationUnsupported):
        return [_ERROR, *map(_packed, _error_members(value))]
    if kind is Secret:
        return [_SECRET, value.reveal()]
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if kind is models.Incomplete:
        return [_INCOMPLETE, _packed(value.reason), *map(_packed, value)]
    if isinstance(value, tuple):
        return [_TUPLE, *map(_packed, value)]
    if isinstance(value, list):
        return [_LIST, *map(_packed, value)]
    if isinstance(value, Mapping):
        return [_TABLE, *(_packed(part) for item in value.items() for part in item)]
    if isinstance(value, Set):
        return [_SET, *map(_packed, value)]
    raise Uncodable(f"{kind.__name__} is no class of quoteway.models")


def _error_members(error: Exception) -> tuple[Any, ...]:
    if isinstance(error, RpcError):
        return (_RPC_ERROR, error.rpc_code, error.rpc_message, error.data)
    if isinstance(error, SimulationUnsupported):
        return (_NO_SIMULATION, error.reason)
    if isinstance(error, GatewayError):
        known = next(kind for kind in type(error).__mro__ if kind in _ERRORS)
        return (_ERRORS.index(known), *attrgetter(*_ERROR_MEMBERS)(error))
    return (_CONFIG_ERROR, str(error))


# --- arrays -> values ---------------------------------------------------------------------------------------


def _unpacked(packed: Any) -> Any:
    if type(packed) is not list:
        if type(packed) is int or type(packed) in _PLAIN:
            return packed
        raise Uncodable(f"a {type(packed).__name__} cannot be read")
    code, *items = packed
    if type(code) is not int or not 0 <= code < _FIRST_CLASS + len(_CLASSES):
        raise Uncodable(f"class {code!r} does not exist")
    if code < _FIRST_CLASS:
        return _READ[code](items)
    kind = _CLASSES[code - _FIRST_CLASS]
    if len(items) != len(_FIELDS[kind]):
        raise Uncodable(f"{kind.__name__} has {len(_FIELDS[kind])} members, not {len(items)}")
    return kind(**dict(zip(_FIELDS[kind], map(_unpacked, items), strict=True)))


def _integer(items: list[Any]) -> int:
    (data,) = items
    if type(data) is not bytes or len(data) > _MAX_INT_BYTES:
        raise Uncodable("an integer cannot be read")
    return int.from_bytes(data, signed=True)


def _table(items: list[Any]) -> dict[Any, Any]:
    values = [_unpacked(item) for item in items]
    return dict(zip(values[::2], values[1::2], strict=True))


def _enum(items: list[Any]) -> Enum:
    index, value = items
    found: Enum = _ENUMS[index](value)
    return found


def _secret(items: list[Any]) -> Secret:
    (text,) = items
    return Secret(text)


def _error(items: list[Any]) -> Exception:
    kind, *members = [_unpacked(item) for item in items]
    if kind == _RPC_ERROR:
        return RpcError(*members)
    if kind == _NO_SIMULATION:
        return SimulationUnsupported(*members)
    if kind == _CONFIG_ERROR:
        return ConfigError(*members)
    if not 0 <= kind < len(_ERRORS):
        raise Uncodable(f"error class {kind} does not exist")
    made: GatewayError = _ERRORS[kind](**dict(zip(_ERROR_MEMBERS, members, strict=True)))
    return made


def _incomplete(items: list[Any]) -> models.Incomplete[Any]:
    reason, *rows = map(_unpacked, items)
    return models.Incomplete(rows, reason)


_READ: Mapping[int, Callable[[list[Any]], Any]] = {
    _TUPLE: lambda items: tuple(map(_unpacked, items)),
    _LIST: lambda items: list(map(_unpacked, items)),
    _TABLE: _table,
    _SET: lambda items: frozenset(map(_unpacked, items)),
    _INT: _integer,
    _SECRET: _secret,
    _ENUM: _enum,
    _ERROR: _error,
    _INCOMPLETE: _incomplete,
}
