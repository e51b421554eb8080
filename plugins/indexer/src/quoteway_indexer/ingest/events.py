"""Reads declarations of events: topics, parameters and where their words are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from quoteway.evm.abi import event_topic

MAX_CHARS: Final = 2_000
_DECLARATION = re.compile(r"\s*(?:event\s+)?([A-Za-z_$][\w$]*)\s*\((.*)\)\s*", re.ASCII | re.DOTALL)
_MEMBER = re.compile(r"\s*(?:\(([^()]*)\)([^(),]*)|([^(),]*))\s*(?:,|$)", re.ASCII)
_NUMBER = re.compile(r"(u?int)(\d+)", re.ASCII)
_BYTES = re.compile(r"bytes(\d+)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


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
class Parameter:
    """A parameter of an event; one of a struct is called ``struct.member``.

    ``at`` counts the topics after the first, or the words of the data.
    """

    name: str
    type: WordType
    indexed: bool
    at: int


@dataclass(frozen=True, slots=True)
class Event:
    """An event: topic 0 in 0x hex, and its parameters. ``words`` is how many words its data has.

    With a parameter of dynamic type in the data, this is the least number.
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
    for struct, rest, plain in _members(declaration, members):
        if plain:
            found = [_member(plain, name)]
            types.append(found[0][1])
        else:
            inner = [_member(each, name) for each in struct.split(",")]
            prefix = rest.strip()
            found = [
                (f"{prefix}.{text}" if text else "", each, is_indexed) for text, each, is_indexed in inner
            ]
            types.append(f"({','.join(each for _, each, _ in inner)})")
            if prefix and not _NAME.fullmatch(prefix):
                raise ValueError(
                    f"event {name}: {prefix!r} is no name of a struct; indexed ones cannot be read"
                )
        for text, canonical, is_indexed in found:
            word = _word_type(canonical)
            if not plain and (word.kind == "dynamic" or is_indexed):
                raise ValueError(
                    f"event {name}: structs may have types of one word only, none of them indexed"
                )
            topics, words = (topics + 1, words) if is_indexed else (topics, words + 1)
            parameters.append(Parameter(text, word, is_indexed, topics - 1 if is_indexed else words - 1))
    names = [each.name for each in parameters if each.name]
    if len(set(names)) != len(names):
        raise ValueError(f"event {name} has two parameters of one name: rename one of them")
    if topics > 3:
        raise ValueError(f"event {name} has {topics} indexed parameters: the EVM allows 3")
    is_dynamic = any(each.type.kind == "dynamic" and not each.indexed for each in parameters)
    topic = event_topic(f"{name}({','.join(types)})")
    return Event(name, topic, tuple(parameters), 1 + topics, words, is_dynamic)


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
    canonical = {"uint": "uint256", "int": "int256"}.get(parts[0], parts[0])
    return (rest[0] if rest else ""), canonical, is_indexed


def _word_type(canonical: str) -> WordType:
    if canonical in ("string", "bytes") or canonical.endswith("[]"):
        _word_type(canonical[:-2]) if canonical.endswith("[]") else None
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
        "int256, bytes1 to bytes32, or (not for a column) string, bytes or an array of them"
    )
