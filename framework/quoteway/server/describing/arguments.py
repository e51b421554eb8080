"""The arguments of a call that may have a role: each with its path, and what replaces one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quoteway.models import NATIVE
from quoteway.server.describing.abi_file import AbiFunction, Parameter
from quoteway.server.describing.errors import CannotDescribe

_ALL_ITEMS = 16
"""Of a longer array of a fixed length, the first and the last item only may have a role."""
MOST_ARGUMENTS = 200


@dataclass(frozen=True, slots=True)
class CallArgument:
    """A value in the calldata: ``place`` are its indexes from the list of arguments on.

    Two of them may be at one place: the only item of an array is its first and its last.
    """

    path: str
    name: str
    type: str
    value: Any
    place: tuple[int, ...]

    @property
    def bits(self) -> int:
        """The size of an unsigned integer; 0 for another type."""
        return int(self.type[4:] or 256) if self.type.startswith("uint") and "[" not in self.type else 0

    @property
    def is_empty(self) -> bool:
        """Whether it is an array or ``bytes`` of no length."""
        return self.value in (b"", ())

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its name in lower case."""
        return words_of(self.name)


def words_of(name: str) -> tuple[str, ...]:
    """Returns the words of a name such as ``amountOutMin``, in lower case."""
    return tuple(word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name))


def arguments_of(function: AbiFunction, values: Sequence[Any]) -> list[CallArgument]:
    """Returns the arguments that a path can name. Raises ``CannotDescribe`` when there are too many.

    Of an array of any length the ends have a path: other transactions have another length.
    """
    found: list[CallArgument] = []
    names = function.function.names
    if len(set(names)) < len(names):
        raise CannotDescribe(f"two arguments of {names} have one name: rename one in the ABI file")
    for index, parameter in enumerate(function.inputs):
        for argument in _parts(f"#.{names[index]}", names[index], parameter, values[index], (index,)):
            found.append(argument)
            if len(found) > MOST_ARGUMENTS:
                raise CannotDescribe(
                    f"the call has over {MOST_ARGUMENTS} arguments: describe it by hand, see "
                    "docs/how-to/describe-the-calls-of-a-contract.md"
                )
    return found


def replaced(values: Sequence[Any], place: Sequence[int], value: Any) -> tuple[Any, ...]:
    """Returns the arguments with another value at a place."""
    at, *inner = place
    changed = replaced(values[at], inner, value) if inner else value
    return (*values[:at], changed, *values[at + 1 :])


def _parts(
    path: str, name: str, parameter: Parameter, value: Any, place: tuple[int, ...]
) -> Iterator[CallArgument]:
    type_, bracket, length = parameter.type.rpartition("[")
    if bracket:
        item = Parameter(type_, name, parameter.components)
        if not value:
            yield CallArgument(path, name, parameter.type, value, place)
            return
        for text, at in _places(value, length == "]", type_):
            yield from _parts(f"{path}.[{text}]", name, item, value[at], (*place, at))
    elif parameter.type == "tuple":
        for at, member in enumerate(parameter.components):
            yield from _parts(f"{path}.[{at}]", member.name, member, value[at], (*place, at))
    else:
        yield CallArgument(path, name, parameter.type, value, place)


def _places(items: Sequence[Any], any_length: bool, type_: str) -> Iterator[tuple[str, int]]:
    """Yields the items of an array that have a path: its text and the index."""
    last = len(items) - 1
    if any_length:
        yield from (("0", 0), ("-1", last))
        return
    yield from ((str(at), at) for at in (range(last + 1) if last < _ALL_ITEMS else (0, last)))
    used = next((at for at, item in enumerate(items) if item == NATIVE), 0)
    if type_ == "address" and used:
        yield "last", used - 1
