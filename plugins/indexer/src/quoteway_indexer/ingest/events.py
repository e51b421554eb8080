"""Reads declarations of events: topics, parameters and where their words are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from quoteway.evm.abi import event_topic

MAX_CHARS: Final = 2_000
_DECLARATION = re.compile(r"\s*(?:event\s+)?([A-Za-z_$][\w$]*)\s*\((.*)\)\s*", re.ASCII | re.DOTALL)
_MEMBER = re.compile(r"\s*(?:\(([^()]*)\)([^(),]*)|([^(),]*))\s*(?:,|$)", re.ASCII)
_NUMBER = re.compile(r"(u?int)(\d+)", re.ASCII)
_BYTES = re.compile(r"bytes(\d+)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_ARRAY = re.compile(r"([^\[\]]+)\[([1-9]\d{0,2})?\]", re.ASCII)
_STRUCT_END = re.compile(r"(\[([1-9]\d{0,2})?\])?\s*([A-Za-z_$][\w$]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class WordType:
    """A type of one word: ``uint``, ``int``, ``bytes`` (left-aligned), ``address`` or ``bool``.

    ``bits`` are those that a value may use; ``dynamic`` stands for a type whose word is an offset or a hash.
    """

    kind: str
    bits: int

    @property
    def is_integer(self) -> bool:
        """Returns whether a value is an integer."""
        return self.kind in ("uint", "int", "bool")


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """How the items of an array lie in the data of a log.

    ``length`` is their number; None: the data tells it. An item has ``words`` words, of which the value is
    the one at ``at``: items may be structs.
    """

    length: int | None
    words: int
    at: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an event; one of a struct is called ``struct.member``, the items of an array ``name[]``.

    ``at`` counts the topics after the first, or the words of the data: the first of an array of fixed length,
    and the one that tells where the items of another array begin. ``type`` is that of an item.
    """

    name: str
    type: WordType
    indexed: bool
    at: int
    array: ArrayShape | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """An event: topic 0 in 0x hex, and its parameters. ``words`` is how many words its data has.

    With a parameter of dynamic size in the data, this is the least number.
    """

    name: str
    topic: str
    parameters: tuple[Parameter, ...]
    topics: int
    words: int
    is_dynamic: bool

    def parameter(self, name: str) -> Parameter:
        """Returns a parameter. Raises ``ValueError`` for an unknown name, or a type without a value."""
        for each in self.parameters:
            if each.name == name:
                if each.type.kind == "dynamic":
                    raise ValueError(
                        f"parameter {name!r} of event {self.name} has a dynamic type: a column takes types "
                        "of one word only"
                    )
                return each
        if any(each.name.startswith(f"{name}[]") for each in self.parameters):
            raise ValueError(
                f"parameter {name!r} of event {self.name} is an array: '{name}[]' makes a row of each item"
            )
        known = ", ".join(each.name for each in self.parameters if each.name)
        raise ValueError(f"event {self.name} has no parameter {name!r}; it has {known or 'none with names'}")


def read_event(declaration: str) -> Event:
    """Returns an event from its declaration in Solidity. Raises ``ValueError`` saying what is wrong."""
    match = _DECLARATION.fullmatch(declaration) if len(declaration) <= MAX_CHARS else None
    if match is None:
        raise _no_event(declaration)
    name, members = match.groups()
    parameters: list[Parameter] = []
    types: list[str] = []
    topics = words = 0
    is_dynamic = False
    for struct, rest, plain in _members(declaration, members):
        given = _plain(plain, name) if plain else _struct(struct, rest, name)
        types.append(given.canonical)
        width = len(given.members)
        for at, (text, word) in enumerate(given.members):
            shape = None
            place = topics if given.is_indexed else words + at
            if given.length is not None:
                place, shape = words, ArrayShape(given.length or None, width, at)
            parameters.append(Parameter(text, word, given.is_indexed, place, shape))
            is_dynamic |= not given.is_indexed and (word.kind == "dynamic" or given.length == 0)
        if given.is_indexed:
            topics += 1
        else:
            words += 1 if given.length == 0 else width * (given.length or 1)
    names = [each.name for each in parameters if each.name]
    if len(set(names)) != len(names):
        raise ValueError(f"event {name} has two parameters of one name: rename one of them")
    if topics > 3:
        raise ValueError(f"event {name} has {topics} indexed parameters: the EVM allows 3")
    topic = event_topic(f"{name}({','.join(types)})")
    return Event(name, topic, tuple(parameters), 1 + topics, words, is_dynamic)


@dataclass(frozen=True, slots=True)
class _Given:
    """A parameter as it is declared: its canonical type, and the names and types of its values.

    ``length`` is that of an array, 0 where the data tells it; None: no array.
    """

    canonical: str
    is_indexed: bool
    members: Sequence[tuple[str, WordType]]
    length: int | None = None


def _plain(text: str, event: str) -> _Given:
    name, canonical, is_indexed = _member(text, event)
    word, length = _word_type(canonical), None
    array = _ARRAY.fullmatch(canonical)
    # Of an array that is indexed the topic is a hash; of texts or arrays the items have no one word.
    if array is not None and not is_indexed and _word_type(array[1]).kind != "dynamic":
        word, length = _word_type(array[1]), int(array[2] or 0)
        name = name and f"{name}[]"
    return _Given(canonical, is_indexed, [(name, word)], length)


def _struct(members: str, rest: str, event: str) -> _Given:
    inner = [_member(each, event) for each in members.split(",")]
    found = []
    end = _STRUCT_END.fullmatch(rest.strip())
    if end is None:
        raise ValueError(
            f"event {event}: {rest.strip()!r} is no name of a struct; indexed ones cannot be read"
        )
    brackets, size, prefix = end.groups()
    items = "[]" if brackets else ""
    for text, canonical, is_indexed in inner:
        word = _word_type(canonical)
        if word.kind == "dynamic" or is_indexed or _ARRAY.fullmatch(canonical):
            raise ValueError(f"event {event}: structs may have types of one word only, none of them indexed")
        found.append((f"{prefix or ''}{items}.{text}" if text else "", word))
    types = f"({','.join(each for _, each, _ in inner)})"
    if not brackets:
        return _Given(types, False, found)
    return _Given(types + brackets, False, found, int(size or 0))


def _members(declaration: str, text: str) -> list[tuple[str, str, str]]:
    """Returns the members of a list of parameters: of a struct its members and its name, or a plain one."""
    found: list[tuple[str, str, str]] = []
    if text.rstrip().endswith(","):
        raise ValueError("the text after the last comma is no parameter such as 'uint256 indexed id'")
    at = 0
    while at < len(text.rstrip()):
        match = _MEMBER.match(text, at)
        if match is None:
            raise _no_event(declaration)
        struct, rest, plain = match.groups()
        found.append((struct or "", rest or "", plain if struct is None else ""))
        if struct is None and not plain.strip():
            raise ValueError(f"{plain!r} is no parameter such as 'uint256 indexed id'")
        at = match.end()
    return found


def _no_event(declaration: str) -> ValueError:
    return ValueError(
        f"{declaration[:200]!r} is no declaration of an event such as "
        "'Transfer(address indexed from, address indexed to, uint256 value)'"
    )


def _member(member: str, event: str) -> tuple[str, str, bool]:
    """Returns the name, the canonical type and whether a parameter is indexed."""
    parts = member.split()
    is_indexed = len(parts) > 1 and parts[1] == "indexed"
    rest = parts[2:] if is_indexed else parts[1:]
    if not parts or len(rest) > 1 or (rest and not _NAME.fullmatch(rest[0])):
        raise ValueError(f"event {event}: {member.strip()!r} is no parameter such as 'uint256 indexed id'")
    base, bracket, size = parts[0].partition("[")
    canonical = {"uint": "uint256", "int": "int256"}.get(base, base) + bracket + size
    return (rest[0] if rest else ""), canonical, is_indexed


def _word_type(canonical: str) -> WordType:
    """Returns the type of the word that a value begins with."""
    if canonical in ("string", "bytes"):
        return WordType("dynamic", 256)
    if canonical.endswith("[]"):
        _word_type(canonical[:-2])
        return WordType("dynamic", 256)
    array = _ARRAY.fullmatch(canonical)
    if array is not None and _word_type(array[1]).kind != "dynamic":
        return WordType("dynamic", 256)
    if canonical in ("address", "bool"):
        return WordType(canonical, {"address": 160, "bool": 1}[canonical])
    number, fixed = _NUMBER.fullmatch(canonical), _BYTES.fullmatch(canonical)
    if number is not None and 0 < int(number[2]) <= 256 and int(number[2]) % 8 == 0:
        return WordType(number[1], int(number[2]))
    if fixed is not None and 0 < int(fixed[1]) <= 32:
        return WordType("bytes", 8 * int(fixed[1]))
    raise ValueError(
        f"{canonical!r} is no type that can be read: expected address, bool, uint8 to uint256, int8 to "
        "int256, bytes1 to bytes32, an array of one of these, or (not for a column) string, bytes or an "
        "array of them"
    )
