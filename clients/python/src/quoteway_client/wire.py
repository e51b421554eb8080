"""How the wire writes values: base class and integer type of all models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from quoteway_client.models.amounts import AMOUNTS

T = TypeVar("T")


class Model(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of an answer. Members that this version does not know are left out."""


class Quantity(int):
    """An integer that the wire writes as 0x hex, such as the value of a transaction."""


def read(data: bytes, type_: type[T]) -> T:
    """Returns the model in a JSON text. Amounts, which are decimal text there, become integers.

    Raises ``msgspec.DecodeError`` for what is no JSON and ``msgspec.ValidationError`` for another shape.
    """
    return msgspec.json.decode(data, type=type_, strict=False, dec_hook=_decode)


def convert(value: Any, type_: type[T]) -> T:
    """Returns the model of a JSON object that is already parsed. Raises ``msgspec.ValidationError``."""
    return msgspec.convert(value, type=type_, strict=False, dec_hook=_decode)


def _decode(type_: type[Any], value: Any) -> Any:
    if type_ is not Quantity:
        raise NotImplementedError(f"no value of the wire is a {type_.__name__}")
    if isinstance(value, str) and value.startswith("0x"):
        return Quantity(value, 16)
    raise ValueError("a quantity must be 0x hex")


def body(members: Mapping[str, Any]) -> bytes:
    """Returns the JSON of a request: names in camel case, amounts as decimal text, without members of None.

    Raises ``TypeError`` for a float: an amount is an ``int`` of base units.
    """
    return msgspec.json.encode(_plain(members))


def camel(name: str) -> str:
    """Returns the name of a member on the wire: ``from_token`` is ``fromToken``."""
    first, *others = name.rstrip("_").split("_")
    return first + "".join(word.title() for word in others)


def text(name: str, value: Any) -> Any:
    """Returns the value of a member as the wire writes it. Raises ``TypeError`` for a float."""
    if isinstance(value, float) or (name in AMOUNTS and isinstance(value, bool)):
        raise TypeError(
            f"{name} must be an int of base units, not {value!r}: to_units('1.5', decimals) makes one"
        )
    return str(value) if name in AMOUNTS and isinstance(value, int) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {camel(name): _plain(text(name, each)) for name, each in value.items() if each is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value
